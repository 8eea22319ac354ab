package roster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// A roster has what a map has, in order of number; and a number far off costs little.
func TestARosterIsAMapInOrder(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		var r Roster[int]
		want := map[int]*int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			number := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(500, 530), rapid.IntRange(0, 3000)).Draw(t, "number")
			require.Equal(t, want[number], r.At(number))
			if want[number] != nil {
				r.Remove(number)
				delete(want, number)
			} else {
				want[number] = &number
				r.Add(number, want[number])
			}
			var all []*int
			from, end := rapid.IntRange(0, 3000).Draw(t, "from"), rapid.IntRange(3000, 4000).Draw(t, "end")
			first := end
			for n := range 4000 {
				if want[n] == nil {
					continue
				}
				all = append(all, want[n])
				if from <= n && n < first {
					first = n
				}
			}
			require.Equal(t, all, slices.Collect(r.All()))
			require.Equal(t, first, r.First(from, end))
			require.Equal(t, len(want) == 0, r.pages == nil && r.first == nil)
		}
	})
	var r Roster[int]
	require.Nil(t, r.At(-1))
	far := 1_999_999
	require.LessOrEqual(t, testing.AllocsPerRun(1, func() {
		r.Add(far, &far)
		for n := range r.All() {
			r.Remove(*n)
		}
	}), 6.0)
}
