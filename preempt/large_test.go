package preempt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fullFleet has 500 nodes of 8 GPUs, full of jobs of at most so many GPUs (powers
// of two) and, if they may have 8, of gangs of 4 to 32 nodes.
func fullFleet(replicas int, each int64, most int) (*Chooser, []Candidate, func([]int) bool) {
	r := rand.New(rand.NewPCG(7, 8))
	var candidates []Candidate
	var holds [][]int32 // by candidate: node, GPUs
	add := func(nodes []int, gpus int) {
		c := Candidate{
			ID: fmt.Sprintf("job-%05d", len(candidates)), GPUMilli: int64(len(nodes)*gpus) * 1000, Checkpointable: r.IntN(3) > 0,
			SinceCheckpoint: r.Int64N(3_600_000), CheckpointCost: 5_000 + r.Int64N(60_000), RestartCost: 30_000 + r.Int64N(120_000),
		}
		var hold []int32
		for _, n := range nodes {
			c.Domains, c.HeldMilli = append(c.Domains, int32(n)), append(c.HeldMilli, int64(gpus)*1000)
			hold = append(hold, int32(n), int32(gpus))
		}
		candidates, holds = append(candidates, c), append(holds, hold)
	}
	for node := 0; node < 500; {
		if most == 8 && r.IntN(50) == 0 {
			var nodes []int
			for range min(4<<r.IntN(4), 500-node) {
				nodes = append(nodes, node)
				node++
			}
			add(nodes, 8)
			continue
		}
		for left := 8; left > 0; {
			gpus := min(1<<r.IntN(4), left, most)
			for gpus&(gpus-1) != 0 {
				gpus &= gpus - 1
			}
			add([]int{node}, gpus)
			left -= gpus
		}
		node++
	}
	free := make([]int32, 500)
	fits := func(chosen []int) bool {
		clear(free)
		count := 0
		for _, i := range chosen {
			for k := 0; k < len(holds[i]); k += 2 {
				node, gpus := holds[i][k], holds[i][k+1]
				before := int64(free[node]) * 1000 / each
				free[node] += gpus
				count += int(int64(free[node])*1000/each - before)
			}
		}
		return count >= replicas
	}
	return new(Chooser), candidates, fits
}

// leastPrice is a bound from below on the cost of room for so many replicas: it
// lets jobs go in part, at a part of their cost. Replicas of one GPU then take
// the cheapest GPUs, replicas of 8 the cheapest nodes.
func leastPrice(candidates []Candidate, replicas int, each, need int64) float64 {
	var offers []float64
	nodes := make([]float64, 500)
	for i := range candidates {
		c := &candidates[i]
		part := float64(c.Cost()) / float64(len(c.Domains))
		if c.GPUMilli > need {
			part = math.Inf(1)
		}
		for _, n := range c.Domains {
			nodes[n] += part
		}
		for range c.GPUMilli / 1000 {
			offers = append(offers, float64(c.Cost())/float64(c.GPUMilli/1000))
		}
	}
	if each == 8000 {
		offers = nodes
	}
	slices.Sort(offers)
	sum := 0.0
	for _, offer := range offers[:replicas] {
		sum += offer
	}
	return sum
}

// fullDemand is what is known of the beneficiary of a full fleet.
func fullDemand(replicas int, each int64) Requirement {
	d := Requirement{Members: replicas, MemberMilli: each}
	for n := range int32(500) {
		d.Domains = append(d.Domains, FreeDomain{Domain: n})
	}
	return d
}

// largeCases are replicas of so many GPUs on full nodes of jobs of at most so many.
var largeCases = []struct {
	replicas int
	each     int64
	most     int
}{
	{1, 1000, 8},
	{64, 1000, 8},
	{64, 1000, 1},
	{1, 4000, 8},
	{8, 4000, 8},
	{1, 8000, 8},
	{8, 8000, 8},
	{64, 8000, 8},
	{1, 8000, 2},
	{8, 8000, 2},
	{8, 8000, 1},
	{64, 8000, 1},
}

// TestLargeFleet: with the default bound on calls there is an answer, and it is
// close to a cost that none can be below. What is known of the demand proves that, and
// saves calls.
func TestLargeFleet(t *testing.T) {
	for _, c := range largeCases {
		chooser, candidates, fits := fullFleet(c.replicas, c.each, c.most)
		for _, options := range []Options{
			{NeedMilli: int64(c.replicas) * c.each},
			{NeedMilli: int64(c.replicas) * c.each, Requirement: fullDemand(c.replicas, c.each)},
			{NeedMilli: int64(c.replicas) * c.each, Requirement: fullDemand(c.replicas, c.each), ToleranceMilli: 10},
		} {
			choice, err := chooser.Choose(candidates, fits, options)
			require.NoError(t, err)
			require.Equal(t, ResultChosen, choice.Result)
			requireValid(t, candidates, fits, options, choice)
			proven, gap := float64(choice.Cost)/float64(choice.LowerBound), float64(choice.Cost)/leastPrice(candidates, c.replicas, c.each, options.NeedMilli)
			t.Logf("%d x %d of %d candidates: %d victims, cost %d, at most %.3f of the minimum, %.3f proven, %d calls, cut short %t",
				c.replicas, c.each/1000, len(candidates), len(choice.Victims), choice.Cost, gap, proven, choice.Calls, choice.CutShort)
			require.LessOrEqual(t, choice.LowerBound, choice.Cost)
			switch {
			case options.ToleranceMilli > 0:
				require.LessOrEqual(t, choice.Cost*1000, choice.LowerBound*1010)
				require.LessOrEqual(t, choice.Calls, 10)
			case options.Requirement.Members > 0:
				require.LessOrEqual(t, choice.Cost*1000, choice.LowerBound*1010)
			case c.each != 4000: // of which leastPrice knows little
				require.True(t, !choice.CutShort || gap < 1.06, "gap %f", gap)
			}
			for _, v := range choice.Victims {
				require.LessOrEqual(t, candidates[v].GPUMilli, options.NeedMilli, "no victim is larger than the beneficiary")
			}
		}
	}
}

// TestChooseAllocatesNothing guards the steady state.
func TestChooseAllocatesNothing(t *testing.T) {
	chooser, candidates, fits := fullFleet(8, 8000, 8)
	options := Options{NeedMilli: 64_000, MaxCalls: 600}
	_, _ = chooser.Choose(candidates, fits, options)
	require.Zero(t, testing.AllocsPerRun(3, func() { _, _ = chooser.Choose(candidates, fits, options) }))

	options.Requirement = fullDemand(8, 8000)
	_, _ = chooser.Choose(candidates, fits, options)
	require.Zero(t, testing.AllocsPerRun(3, func() { _, _ = chooser.Choose(candidates, fits, options) }))
}

// BenchmarkChoose is with a fits that costs next to nothing, so that it shows what the
// search itself does: all that calls can find, and what a demand saves.
func BenchmarkChoose(b *testing.B) {
	for _, c := range largeCases {
		chooser, candidates, fits := fullFleet(c.replicas, c.each, c.most)
		blind := Options{NeedMilli: int64(c.replicas) * c.each}
		knowing := blind
		knowing.Requirement, knowing.ToleranceMilli = fullDemand(c.replicas, c.each), 10
		for _, o := range []struct {
			name    string
			options Options
		}{{"blind", blind}, {"demand", knowing}} {
			b.Run(fmt.Sprintf("%dx%d/of=%d/%s", c.replicas, c.each/1000, c.most, o.name), func(b *testing.B) {
				b.ReportAllocs()
				calls := 0
				for b.Loop() {
					choice, _ := chooser.Choose(candidates, fits, o.options)
					calls = choice.Calls
				}
				b.ReportMetric(float64(calls), "calls/op")
				b.ReportMetric(float64(len(candidates)), "candidates")
			})
		}
	}
}
