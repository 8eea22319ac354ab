package state_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/drawn"
)

// Of the blocked shapes those are listed that ask for no more than is free, each once, though some
// are unblocked on the way.
func TestBlockedShapesByWhatTheyAskFor(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		var blocked state.Blocked
		var in []*record.Shape
		for range rapid.IntRange(0, 40).Draw(t, "shapes") {
			s := &record.Shape{GPUs: rapid.SampledFrom([]int{0, 1, 2, 3, 4, 7, 8, 9, 1 << 20, math.MaxInt}).Draw(t, "asks"), BlockedAt: -1}
			require.False(t, blocked.Has(s))
			blocked.Add(s)
			in = append(in, s)
		}
		free := rapid.SampledFrom([]int{0, 1, 3, 4, 8, 1000, 1 << 20, math.MaxInt}).Draw(t, "free")
		var found []*record.Shape
		for s := range blocked.Within(free) {
			require.NotContains(t, found, s)
			if found = append(found, s); rapid.Bool().Draw(t, "unblocked") {
				blocked.Remove(s)
			}
		}
		for _, s := range in {
			require.Equal(t, s.GPUs <= free, slices.Contains(found, s), s.GPUs)
			require.Equal(t, s.BlockedAt >= 0, blocked.Has(s))
		}
		left := slices.Collect(blocked.All())
		require.Len(t, left, blocked.Len())
		for _, s := range left {
			require.True(t, blocked.Has(s))
		}
		for range blocked.All() {
			break // as far as it is asked for
		}
	})
}

// Few of many are looked at where little is free.
func TestFewBlockedShapesAreListedForLittle(t *testing.T) {
	var blocked state.Blocked
	for i := range 10_000 {
		blocked.Add(&record.Shape{GPUs: 1 + i%1000})
	}
	many := 0
	for range blocked.Within(3) {
		many++
	}
	require.Equal(t, 30, many)
}
