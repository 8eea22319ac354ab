package migsim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/mig"
)

func plain(t require.TestingT, name string) *mig.Lattice {
	product, ok := mig.Lookup(name)
	require.True(t, ok, name)
	l, err := Plain(product)
	require.NoError(t, err)
	return l
}

// policies makes one of each.
func policies(l *mig.Lattice) []Policy {
	return []Policy{
		FirstFit(l), RoundRobin(l), BestFit(l), WorstFit(l), DriverOrder(l), MFI(l),
		Berth(l, nil), Berth(l, make([]uint32, l.Profiles())),
	}
}

// place asks for profiles, one after the other, and tells the GPUs and starts.
func place(t *testing.T, l *mig.Lattice, policy Policy, gpus int, names ...string) (list []string) {
	fleet := make([]mig.State, gpus)
	for _, text := range names {
		name, err := mig.ParseProfileName(text)
		require.NoError(t, err)
		p, ok := l.ProfileIndex(name)
		require.True(t, ok, text)
		gpu, at, next, ok := policy.Choose(fleet, p)
		if !ok {
			list = append(list, "nowhere")
			continue
		}
		fleet[gpu] = next
		list = append(list, string(rune('a'+gpu))+string(rune('0'+at.Start)))
	}
	return list
}

const (
	small   = "1g.10gb"
	quarter = "2g.20gb"
	half    = "3g.40gb"
	whole   = "7g.80gb"
)

func TestWherePoliciesPlace(t *testing.T) {
	l := plain(t, "A100-80GB")
	asked := []string{quarter, half, small, half, whole}
	require.Equal(t, []string{"a0", "a4", "a2", "b0", "nowhere"}, place(t, l, FirstFit(l), 2, asked...))
	require.Equal(t, []string{"a0", "b0", "a2", "b4", "nowhere"}, place(t, l, RoundRobin(l), 2, asked...))
	require.Equal(t, []string{"a4", "a0", "a6", "b4", "nowhere"}, place(t, l, BestFit(l), 2, asked...))
	require.Equal(t, []string{"a4", "b4", "a6", "a0", "nowhere"}, place(t, l, WorstFit(l), 2, asked...))
	require.Equal(t, []string{"a4", "a0", "a6", "b4", "nowhere"}, place(t, l, DriverOrder(l), 2, asked...))
	require.Equal(t, []string{"a4", "a0", "a6", "b4", "nowhere"}, place(t, l, MFI(l), 2, asked...))
	require.Equal(t, []string{"a4", "a0", "a6", "b4", "nowhere"}, place(t, l, Berth(l, nil), 2, asked...))
}

// What the driver was seen to do: the listings that DriverOrder names.
func TestDriverOrder(t *testing.T) {
	l := plain(t, "A100-80GB")
	order := func(names ...string) []string { return place(t, l, DriverOrder(l), 1, names...) }
	require.Equal(t, []string{"a6", "a4", "a5", "a0", "a1", "a2", "a3", "nowhere"}, order(slices.Repeat([]string{small}, 8)...))
	require.Equal(t, []string{"a4", "a0", "a2"}, order(quarter, quarter, quarter))
	require.Equal(t, []string{"a6", "a4", "a0"}, order(small, quarter, "4g.40gb"))
	require.Equal(t, []string{"a4", "a0", "a2", "a1"}, order(half, small, quarter, small))
	require.Equal(t, []string{"a6", "a4", "a0", "nowhere"}, order(small, small, quarter, half))
	require.Equal(t, []string{"a6", "a0"}, order(small, half))
}

// By hand: a 1g at 6 is in the way of itself, of the 1g.20gb at 6 and of the 3g at 4;
// the 7g needs more than is free.
func TestScores(t *testing.T) {
	l := plain(t, "A100-80GB")
	scores := Scores(l)
	score := func(texts ...string) int64 {
		var layout mig.Layout
		for _, text := range texts {
			at, err := mig.ParsePlacement(text)
			require.NoError(t, err)
			layout = append(layout, at)
		}
		s, err := l.StateOf(layout)
		require.NoError(t, err)
		return scores[s]
	}
	require.EqualValues(t, 0, score())
	require.EqualValues(t, 1+2+4, score("1g.10gb@6:1"))
	require.EqualValues(t, 1+2+2+4+4, score("1g.10gb@0:1"))
	require.EqualValues(t, 0, score("7g.80gb@0:8"))
	require.EqualValues(t, 4+2*2+2*2+4+4, score("3g.40gb@0:4"))
}

func TestMixes(t *testing.T) {
	for _, m := range Mixes() {
		again, ok := MixNamed(m.Name)
		require.True(t, ok)
		require.Equal(t, m, again)
		for profiles := 1; profiles < 9; profiles++ {
			weights, sum, percent := m.Weights(profiles), 0, 0
			for _, w := range weights {
				sum += int(w)
			}
			for _, w := range m.Percent {
				percent += w
			}
			require.Equal(t, percent*profiles, sum)
		}
	}
	_, ok := MixNamed("")
	require.False(t, ok)
	skewed, _ := MixNamed("skew-small")
	require.Equal(t, []uint32{165, 90, 45}, skewed.Weights(3), "30+25, 20+10, 10+5")
}

// The load is what it says, within the noise of a long run.
func TestLoad(t *testing.T) {
	l := plain(t, "A100-80GB")
	for _, mix := range Mixes() {
		s := Setup{Lattice: l, GPUs: 20, Mix: mix, LoadPercent: 80}
		held := 0
		requests := s.DrawSlots(1, 40_000)
		for _, r := range requests {
			held += sizes(l)[r.Profile] * r.Slots
		}
		require.InDelta(t, 0.80, float64(held)/float64(len(requests)*s.GPUs*8), 0.03, mix.Name)
		require.Equal(t, s.Draw(7), s.Draw(7))
		require.NotEqual(t, s.Draw(7), s.Draw(8))
	}
}

// Whatever a policy does is valid, it refuses only what fits nowhere, and nobody does
// better than the optimum. Nor does the optimum than the dumb search.
func TestPoliciesAndOptimum(t *testing.T) {
	lattices := []*mig.Lattice{plain(t, "A100-80GB"), plain(t, "A30")}
	drawn.Check(t, func(t *rapid.T) {
		s := Setup{
			Lattice: rapid.SampledFrom(lattices).Draw(t, "lattice"), GPUs: rapid.IntRange(1, 2).Draw(t, "GPUs"),
			Mix: rapid.SampledFrom(Mixes()).Draw(t, "mix"), LoadPercent: 150,
		}
		requests := s.DrawSlots(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 4).Draw(t, "requests"))
		optimum := s.Optimum(requests)
		require.Equal(t, dumbOptimum(s, requests, 0, make([]mig.State, s.GPUs), nil), optimum)
		for _, policy := range policies(s.Lattice) {
			result := s.RunAll(checked{t, s.Lattice, policy}, requests)
			require.Equal(t, len(requests), result.Asked)
			require.LessOrEqual(t, result.Accepted, optimum)
			require.LessOrEqual(t, result.MemoryAccepted, result.MemoryAsked)
		}
	})
}

// dumbOptimum tries everything and remembers nothing.
func dumbOptimum(s Setup, requests []Request, slot int, fleet []mig.State, ends []ending) int {
	if slot == len(requests) {
		return 0
	}
	fleet = slices.Clone(fleet)
	for _, e := range ends {
		if e.slot == slot {
			fleet[e.gpu], _ = s.Lattice.Remove(fleet[e.gpu], e.at)
		}
	}
	best := dumbOptimum(s, requests, slot+1, fleet, ends)
	for gpu := range fleet {
		before := fleet[gpu]
		for _, at := range s.Lattice.AppendOpen(nil, before, requests[slot].Profile) {
			fleet[gpu], _ = s.Lattice.PlaceAt(before, at)
			more := append(slices.Clone(ends), ending{slot + requests[slot].Slots, gpu, at})
			best = max(best, 1+dumbOptimum(s, requests, slot+1, fleet, more))
		}
		fleet[gpu] = before
	}
	return best
}

type ending struct {
	slot, gpu int
	at        mig.Placement
}

// checked watches a policy.
type checked struct {
	t require.TestingT
	l *mig.Lattice
	Policy
}

func (c checked) Choose(fleet []mig.State, profile int) (int, mig.Placement, mig.State, bool) {
	gpu, at, next, ok := c.Policy.Choose(fleet, profile)
	fits := slices.ContainsFunc(fleet, func(s mig.State) bool { return c.l.Fits(s, profile) })
	require.Equal(c.t, fits, ok)
	if ok {
		after, err := c.l.PlaceAt(fleet[gpu], at)
		require.NoError(c.t, err)
		require.Equal(c.t, after, next)
	}
	return gpu, at, next, ok
}

// With the load measured from the start, as the package comment says, a fleet is never
// pressed: first fit accepts everything.
func TestLoadSinceTheStartIsNoLoad(t *testing.T) {
	for _, mix := range Mixes() {
		s := Setup{Lattice: plain(t, "A100-80GB"), GPUs: 100, Mix: mix, LoadPercent: 50}
		requests := s.DrawSlots(1, s.longest())
		result := s.RunAll(FirstFit(s.Lattice), requests)
		require.InDelta(t, 800, result.MemoryAsked, 120, "about what the fleet has")
		require.Equal(t, result.Asked, result.Accepted)
	}
}

// A fleet that does not fragment accepts everything under a light load, and what is
// asked for is all that is counted.
func TestUnfragmented(t *testing.T) {
	s := Setup{Lattice: plain(t, "A100-80GB"), GPUs: 10, Mix: Mixes()[0], LoadPercent: 20}
	result := s.Unfragmented(s.Draw(1))
	require.Equal(t, result.Asked, result.Accepted)
	require.Equal(t, 3*s.longest(), result.Asked)
	require.InDelta(t, 100, result.Acceptance(), 0)
	s.LoadPercent = 300
	result = s.Unfragmented(s.Draw(1))
	require.Less(t, result.MemoryAcceptance(), 50.0)
	require.Greater(t, result.MemoryAcceptance(), 25.0)
}

// An instance is gone at the start of the slot in which it ends, and so makes room for
// the request of that slot.
func TestInstancesEnd(t *testing.T) {
	l := plain(t, "A100-80GB")
	s := Setup{Lattice: l, GPUs: 1, Mix: Mixes()[0], LoadPercent: 100}
	for slots, accepted := range map[int]int{1: 12, 2: 6, 3: 4, 12: 1, 13: 1} {
		requests := slices.Repeat([]Request{{Profile: l.Profiles() - 1, Slots: slots}}, 12)
		require.Equal(t, accepted, s.RunAll(FirstFit(l), requests).Accepted, slots)
	}
	// Of twelve, three warm up.
	requests := slices.Repeat([]Request{{Profile: l.Profiles() - 1, Slots: 2}}, 12)
	require.Equal(t, 9, s.Unfragmented(requests).Asked)
	require.Equal(t, 4, s.Unfragmented(requests).Accepted)
	require.Equal(t, 4, s.Run(FirstFit(l), requests).Accepted)
}
