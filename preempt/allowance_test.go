package preempt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/internal/drawn"
)

// A bounded world is one in which not all candidates may go together.
type bounded struct {
	*world
	allowances []Allowance
	// odd: beside the allowances, nothing above 3 GPUs goes for the first of them, as what may go
	// need not be an amount alone.
	odd bool
}

// boundWorld draws allowances for a world: up to three, nested or not.
func boundWorld(r *rand.Rand, w *world) *bounded {
	b := &bounded{world: w, odd: r.IntN(4) == 0}
	for n := range 1 + r.IntN(3) {
		b.allowances = append(b.allowances, Allowance{GPUMilli: 1000 * r.Int64N(25), Above: r.IntN(n + 1)})
	}
	for i := range w.candidates {
		w.candidates[i].Allowance = r.IntN(len(b.allowances) + 1)
	}
	return b
}

// permits counts anew whether a set may go.
func (b *bounded) permits(chosen []int) bool {
	given := make([]int64, len(b.allowances)+1)
	largest := int64(0)
	for _, i := range chosen {
		for at := b.candidates[i].Allowance; at > 0; at = b.allowances[at-1].Above {
			given[at] += b.candidates[i].GPUMilli
		}
		if b.candidates[i].Allowance == 1 {
			largest = max(largest, b.candidates[i].GPUMilli)
		}
	}
	for at, a := range b.allowances {
		if given[at+1] > a.GPUMilli {
			return false
		}
	}
	return !b.odd || largest <= 3000
}

func (b *bounded) options(demand bool) Options {
	o := Options{NeedMilli: b.need(), Allowances: b.allowances, MaxCalls: math.MaxInt}
	if b.odd {
		o.Permits = b.permits
	}
	if demand {
		o.Requirement = b.demand()
	}
	return o
}

// TestAllowancesTwin: where not all candidates may go together, victims are found whenever some
// that may go suffice, of the least harm of all such sets; on fleets of up to five nodes, with
// gangs on several, against brute force over every set.
func TestAllowancesTwin(t *testing.T) {
	chosen, refused := 0, 0
	for seed := range drawn.Seeds(500) {
		r := rand.New(rand.NewPCG(seed, 18))
		b := boundWorld(r, randomWorld(r, 1+r.IntN(9), r.IntN(3) == 0))
		allowed := func(set []int) bool { return b.permits(set) && b.fits(set) }
		want, found := bruteForce(b.candidates, allowed, b.need())
		for _, demand := range []bool{false, true} {
			choice, err := Choose(b.candidates, b.fits, b.options(demand))
			require.NoError(t, err)
			require.False(t, choice.CutShort, "seed %d", seed)
			if !found {
				require.Equal(t, ResultInsufficient, choice.Result, "seed %d", seed)
				refused++
				continue
			}
			if len(want) == 0 {
				require.Equal(t, ResultNotNeeded, choice.Result, "seed %d", seed)
				continue
			}
			require.Equal(t, ResultChosen, choice.Result, "seed %d, demand %v: %v would do", seed, demand, want)
			require.True(t, allowed(choice.Victims), "seed %d", seed)
			for i := range choice.Victims {
				require.False(t, b.fits(slices.Delete(slices.Clone(choice.Victims), i, i+1)), "seed %d: one too many", seed)
			}
			require.Zero(t, compareLosses(losses(b.candidates, want, b.need()), losses(b.candidates, choice.Victims, b.need())), "seed %d, demand %v: %v is worse than %v", seed, demand, choice.Victims, want)
			chosen++
		}
	}
	require.Positive(t, chosen)
	require.Positive(t, refused)
}

// TestAllowancesAtScale: on 256 full nodes of 8 single jobs each, of which a queue keeps all but a
// few, the few are found that stand together.
func TestAllowancesAtScale(t *testing.T) {
	for _, keepOne := range []bool{false, true} {
		var candidates []Candidate
		w := &world{replicas: 4, each: 8000, free: make([]int64, 256)}
		for node := range w.free {
			for k := range 8 {
				queue := 1
				if keepOne && node%64 != 7 && k == 0 {
					queue = 2 // nothing of it may go
				}
				candidates = append(candidates, Candidate{
					ID: strconv.Itoa(node) + "/" + strconv.Itoa(k), GPUMilli: 1000, RestartCost: int64(1 + (node*7+k*13)%100), Allowance: queue,
					Domains: []int32{int32(node)}, HeldMilli: []int64{1000},
				})
				w.holds = append(w.holds, map[int]int64{node: 1000})
			}
		}
		w.candidates = candidates
		choice, err := Choose(candidates, w.fits, Options{NeedMilli: w.need(), MaxCalls: 2048, ToleranceMilli: 10, Requirement: w.demand(), Allowances: []Allowance{{GPUMilli: 32_000}, {}}})
		require.NoError(t, err)
		t.Log(choice.Calls, choice.CutShort)
		require.Equal(t, ResultChosen, choice.Result)
		require.Len(t, choice.Victims, 32)
		require.Less(t, choice.Calls, 1000)
	}
}

// TestAllowancesRefused: what makes no sense is refused by name.
func TestAllowancesRefused(t *testing.T) {
	one := []Candidate{{ID: "a", Allowance: 1}}
	yes := func([]int) bool { return true }
	for text, allowances := range map[string][]Allowance{
		`candidate 0 ("a"): allowance: is not within 0 and 0: 1`: nil,
		"allowances[0].gpuMilli: is negative: -1":                {{GPUMilli: -1}},
		"allowances[1].above: is not within 0 and 1: 2":          {{}, {Above: 2}},
	} {
		_, err := Choose(one, yes, Options{Allowances: allowances})
		require.ErrorContains(t, err, text)
	}
}
