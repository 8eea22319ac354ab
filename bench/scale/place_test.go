package scale

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"

	"github.com/berth-sched/berth/gang"
)

// decisions are the kinds that are measured.
var decisions = []struct {
	name string
	make func(tb testing.TB, gpus int) decision
}{
	{"Place/one-GPU", func(tb testing.TB, gpus int) decision { return placing(tb, gpus, 1, 1) }},
	{"Place/one-node", func(tb testing.TB, gpus int) decision { return placing(tb, gpus, 1, 8) }},
	{"Place/gang-of-512", func(tb testing.TB, gpus int) decision { return placing(tb, gpus, 64, 8) }},
	{"Churn/one-GPU", func(tb testing.TB, gpus int) decision { return churning(tb, gpus, 1) }},
	{"Churn/one-instance", churningInstances},
	{"Churn/one-node", func(tb testing.TB, gpus int) decision { return churning(tb, gpus, 8) }},
}

// BenchmarkDecision measures each kind on each fleet. One op is a place found and
// a place given back.
func BenchmarkDecision(b *testing.B) {
	for _, d := range decisions {
		for _, gpus := range []int{small, large} {
			b.Run(fmt.Sprintf("%s/gpus=%d", d.name, gpus), func(b *testing.B) {
				decide := d.make(b, gpus)
				b.ReportAllocs()
				for b.Loop() {
					if !decide() {
						b.Fatal("does not fit")
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			})
		}
	}
}

// BenchmarkDecisionRatio runs both fleets in turns, in rounds that are long against
// the clock's grain. One op is a round on each.
func BenchmarkDecisionRatio(b *testing.B) {
	for _, d := range decisions {
		b.Run(d.name, func(b *testing.B) {
			benchmarkRatio(b, d.make(b, small), d.make(b, large))
		})
	}
}

func benchmarkRatio(b *testing.B, onSmall, onLarge decision) {
	const round = 100
	var spent [2]time.Duration
	run := func(i int, decide decision) {
		start := time.Now()
		for range round {
			if !decide() {
				b.Fatal("does not fit")
			}
		}
		spent[i] += time.Since(start)
	}
	run(0, onSmall)
	run(1, onLarge) // and forget these: the caches are cold
	spent = [2]time.Duration{}
	b.ReportAllocs()
	for b.Loop() {
		run(0, onSmall)
		run(1, onLarge)
	}
	per := float64(b.N) * round
	b.ReportMetric(float64(spent[0].Nanoseconds())/per, "ns/small")
	b.ReportMetric(float64(spent[1].Nanoseconds())/per, "ns/large")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-large/small")
}

// A decision allocates nothing, whatever the fleet.
func TestDecisionsDoNotAllocate(t *testing.T) {
	for _, d := range decisions {
		for _, gpus := range []int{small, large} {
			decide := d.make(t, gpus)
			for range 2000 { // what grows has grown
				require.True(t, decide())
			}
			require.Zero(t, testing.AllocsPerRun(200, func() {
				if !decide() {
					t.Fatal("does not fit")
				}
			}), "%s on %d GPUs", d.name, gpus)
		}
	}
}

// churning gives back a GPU, or a node, that is drawn from the whole fleet, and
// places one of the same size.
func churning(tb builder, gpus, each int) decision {
	fleet, holds := newFleet(tb, fill(gpus), []string{"spine", "leaf"}, domains)
	if each == gpusPerNode {
		holds = regroup(tb, fleet, holds)
	}
	request, placement := gangOf(1, each), gang.Placement{}
	random := rand.New(rand.NewPCG(4, uint64(gpus)))
	return func() bool {
		i := random.IntN(len(holds))
		if fleet.Release(holds[i]) != nil || !fleet.Place(request, &placement) {
			return false
		}
		holds[i] = placement.Members[0].Hold
		return true
	}
}

// regroup turns the holds of every node that is full into a single one, and
// returns those.
func regroup(tb builder, fleet *gang.Fleet, holds []gang.Hold) []gang.Hold {
	tb.Helper()
	var whole []gang.Hold
	for len(holds) > 0 {
		n := 1
		for n < len(holds) && holds[n].Node == holds[0].Node {
			n++
		}
		if n == gpusPerNode {
			h := gang.Hold{Node: holds[0].Node, GPUs: 1<<gpusPerNode - 1, Host: countable.Amounts{countable.CPUMilli: 96_000, countable.MemoryMiB: 1 << 20}}
			for _, part := range holds[:n] {
				must(tb, fleet.Release(part))
			}
			must(tb, fleet.Hold(h))
			whole = append(whole, h)
		}
		holds = holds[n:]
	}
	return whole
}
