package mig

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

func TestArrangeAgreesWithTheTwin(t *testing.T) {
	for _, name := range []string{"A30", "A100-40GB", "RTX PRO 6000"} {
		t.Run(name, func(t *testing.T) {
			l := lattice(t, name)
			w := newTwin(l.Product())
			sets := w.reachable()
			slices.Sort(sets)
			drawn.Check(t, func(t *rapid.T) {
				// Most of the draw asks for what some state has, so that much fits.
				s := State(rapid.IntRange(0, l.States()-1).Draw(t, "state"))
				like := State(rapid.IntRange(0, l.States()-1).Draw(t, "like"))
				counts := make([]int, l.Profiles())
				for p := range counts {
					counts[p] = max(0, l.Instances(like, p)-l.Instances(s, p))
				}
				counts[rapid.IntRange(0, l.Profiles()-1).Draw(t, "more")] += rapid.IntRange(0, 1).Draw(t, "by")
				got, ok := l.Arrange(s, counts)

				best, most := -1, -1
				for i, set := range sets {
					if set&sets[s] != sets[s] {
						continue
					}
					has := make([]int, len(counts))
					for _, placement := range w.layout(set &^ sets[s]) {
						p, _ := l.ProfileIndex(placement.Profile)
						has[p]++
					}
					if slices.Equal(has, counts) && len(w.open(set)) > most {
						best, most = i, len(w.open(set))
					}
				}
				require.Equal(t, best >= 0, ok)
				if ok {
					require.EqualValues(t, best, got)
				} else {
					require.Equal(t, s, got)
				}
			})
		})
	}
}

func TestArrangeRefusesCountsOutOfRange(t *testing.T) {
	l := lattice(t, "A30")
	for _, counts := range [][]int{{-1}, {math.MaxInt, math.MaxInt}, {0, 0, 0, 0, 0, 1}} {
		_, ok := l.Arrange(0, counts)
		require.False(t, ok, "%v", counts)
	}
	s, ok := l.Arrange(3, nil)
	require.True(t, ok)
	require.EqualValues(t, 3, s)
}
