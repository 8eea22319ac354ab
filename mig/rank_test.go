package mig

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// dumbWorth adds up the open placements one by one.
func dumbWorth(l *Lattice, s State, weights []uint32) int64 {
	any := false
	for p := range min(len(weights), l.Profiles()) {
		any = any || weights[p] > 0
	}
	var worth int64
	for p := range l.Profiles() {
		profile, _ := l.Profile(p)
		for range l.AppendOpen(nil, s, p) {
			switch size := int64(profile.MemorySlices); {
			case !any:
				worth += size * size
			case p < len(weights):
				worth += int64(weights[p]) * size * size
			}
		}
	}
	return worth
}

// dumbBest tries every start.
func dumbBest(t require.TestingT, l *Lattice, s State, profile int, weights []uint32) (Placement, State, int64, bool) {
	before := dumbWorth(l, s, weights)
	best, next, loss, found := Placement{}, s, int64(0), false
	for _, at := range l.AppendOpen(nil, s, profile) {
		after, err := l.PlaceAt(s, at)
		require.NoError(t, err)
		lost := before - dumbWorth(l, after, weights)
		if !found || lost < loss || lost == loss && openInAll(l, after) > openInAll(l, next) {
			best, next, loss, found = at, after, lost, true
		}
	}
	return best, next, loss, found
}

// Against the dumb twin, for any weights, states and profiles, those that do not exist
// among them. What is lost by placing one after the other is what is lost in all, and
// never less than nothing.
func TestRankingAgreesWithTwin(t *testing.T) {
	lattices := []*Lattice{lattice(t, "A100-80GB"), lattice(t, "A30"), lattice(t, "RTX PRO 6000"), lattice(t, "MI300X")}
	drawn.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(lattices).Draw(t, "lattice")
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32Max(9), rapid.Uint32()),
			0, l.Profiles()+2).Draw(t, "weights")
		r := NewRanking(l, weights)
		for range 20 {
			s := State(rapid.IntRange(0, l.States()-1).Draw(t, "state"))
			p := rapid.IntRange(0, l.Profiles()-1).Draw(t, "profile")
			wantAt, wantNext, wantLoss, wantOK := dumbBest(t, l, s, p, weights)
			at, next, loss, ok := r.Best(s, p)
			require.Equal(t, wantOK, ok)
			require.Equal(t, wantAt, at)
			require.Equal(t, wantNext, next)
			require.Equal(t, wantLoss, loss)
			require.GreaterOrEqual(t, loss, int64(0))
			require.Equal(t, loss, r.Loss(s, next))
			require.Equal(t, -loss, r.Loss(next, s))
			require.Equal(t, l.Fits(s, p), ok)
			o := State(rapid.IntRange(0, l.States()-1).Draw(t, "other"))
			require.Equal(t, r.Loss(s, o), r.Loss(s, 0)+r.Loss(0, o))
		}
	})
}

// A ranking does not panic on what the lattice does not have.
func TestRankingOfWhatIsNotThere(t *testing.T) {
	l := lattice(t, "A30")
	r := NewRanking(l, nil)
	beyond := State(l.States())
	for _, c := range []struct {
		s State
		p int
	}{{beyond, 0}, {math.MaxUint16, 0}, {0, -1}, {0, l.Profiles()}, {0, math.MaxInt}} {
		at, next, loss, ok := r.Best(c.s, c.p)
		require.False(t, ok)
		require.Zero(t, at)
		require.Equal(t, c.s, next)
		require.Zero(t, loss)
	}
	require.Zero(t, r.Loss(0, beyond))
	require.Zero(t, r.Loss(beyond, 0))
	require.NotZero(t, r.Loss(0, beyond-1))
}

// Only proportions matter, and no weights at all are equal weights.
func TestRankingWeights(t *testing.T) {
	l := lattice(t, "H100-80GB")
	choices := func(weights []uint32) (list []Placement) {
		r := NewRanking(l, weights)
		for s := range State(l.States()) {
			for p := range l.Profiles() {
				at, _, _, _ := r.Best(s, p)
				list = append(list, at)
			}
		}
		return list
	}
	alike := []uint32{5, 5, 5, 5, 5, 5, 5}
	require.Len(t, alike, l.Profiles())
	require.Equal(t, choices(nil), choices(alike))
	require.Equal(t, choices(nil), choices([]uint32{0, 0, 0, 0, 0, 0, 0, 9}), "a weight past the last profile")
	require.Equal(t, choices([]uint32{3, 0, 1}), choices([]uint32{3 << 20, 0, 1 << 20}))
	require.NotEqual(t, choices([]uint32{1}), choices([]uint32{0, 0, 0, 1}))
	largest := []uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32}
	require.Equal(t, choices(nil), choices(largest), "no overflow")
}

// What the ranking is for: a small instance goes to the GPU that is broken already, and
// on it to the quarter that is.
func TestRankingKeepsWhatIsWhole(t *testing.T) {
	l := lattice(t, "A100-80GB")
	r := NewRanking(l, []uint32{1, 1, 1, 1, 1, 1, 1})
	small := profileIndex(t, l, "1g.10gb")
	broken, err := l.StateOf(placements(t, "4g.40gb@0:4", "1g.10gb@6:1"))
	require.NoError(t, err)
	_, _, whole, _ := r.Best(0, small)
	for _, text := range []string{"3g.40gb@0:4", "2g.20gb@2:2", "1g.10gb@6:1", "1g.20gb@0:2"} {
		s, err := l.StateOf(placements(t, text))
		require.NoError(t, err)
		_, _, loss, ok := r.Best(s, small)
		require.True(t, ok)
		require.Less(t, loss, whole, text)
	}
	_, _, loss, ok := r.Best(broken, small)
	require.True(t, ok)
	require.Less(t, loss, whole)

	half, err := l.StateOf(placements(t, "1g.10gb@2:1"))
	require.NoError(t, err)
	at, _, _, ok := r.Best(half, small)
	require.True(t, ok)
	require.Equal(t, placements(t, "1g.10gb@3:1")[0], at)
}

func TestRankingDoesNotAllocate(t *testing.T) {
	l := lattice(t, "H100-80GB")
	r := NewRanking(l, []uint32{5, 0, 1, 3, 2, 0, 1})
	s, sum := State(0), int64(0)
	require.Zero(t, testing.AllocsPerRun(500, func() {
		s = (s + 61) % State(l.States())
		for p := range l.Profiles() {
			_, next, loss, _ := r.Best(s, p)
			sum += loss + r.Loss(s, next)
		}
	}))
	require.NotZero(t, sum)
}

func BenchmarkRankingBest(b *testing.B) {
	weights := []uint32{5, 0, 1, 3, 2, 0, 1}
	r := NewRanking(lattice(b, "H100-80GB"), weights)
	benchmark(b, func(_ *Lattice, s State, p int) bool {
		_, _, _, ok := r.Best(s, p)
		return ok
	})
}

func BenchmarkNewRanking(b *testing.B) {
	l := lattice(b, "H100-80GB")
	weights := []uint32{5, 0, 1, 3, 2, 0, 1}
	b.ReportAllocs()
	for b.Loop() {
		NewRanking(l, weights)
	}
}
