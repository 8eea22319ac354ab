package pq

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

type item struct{ key, id, position int }

func newHeap() Heap[*item] {
	return New(
		func(a, b *item) bool { return a.key < b.key || a.key == b.key && a.id < b.id },
		func(it *item, position int) { it.position = position },
	)
}

func TestHeapAgainstSorting(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		heap := newHeap()
		var in []*item
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch pick := rapid.IntRange(0, 20).Draw(t, "op"); {
			case pick <= 10 || len(in) == 0:
				it := &item{key: rapid.IntRange(0, 9).Draw(t, "key"), id: step}
				heap.Push(it)
				in = append(in, it)
			case pick == 20:
				heap.Clear()
				for _, it := range in {
					require.Equal(t, -1, it.position)
				}
				in = nil
			case pick <= 15:
				i := rapid.IntRange(0, len(in)-1).Draw(t, "victim")
				heap.Remove(in[i].position)
				require.Equal(t, -1, in[i].position)
				in = slices.Delete(in, i, i+1)
			default:
				it := in[rapid.IntRange(0, len(in)-1).Draw(t, "changed")]
				it.key = rapid.IntRange(0, 9).Draw(t, "new key")
				heap.Fix(it.position)
			}
			require.Equal(t, len(in), heap.Len())
			for i, it := range heap.Items() {
				require.Equal(t, i, it.position)
			}
			if len(in) > 0 {
				require.Same(t, slices.MinFunc(in, func(a, b *item) int {
					if a.key != b.key {
						return a.key - b.key
					}
					return a.id - b.id
				}), heap.Min())
			}
		}
	})
}

// A heap made of items gives them in order, with nobody to tell positions to.
func TestHeapOfItems(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 40).Draw(t, "items")
		heap := Of(slices.Clone(items), func(a, b int) bool { return a < b })
		var got []int
		for heap.Len() > 0 {
			got = append(got, heap.Pop())
		}
		slices.Sort(items)
		require.True(t, slices.Equal(items, got))
	})
}

// Items that leave in the reverse of the order in which they came have few others move, however
// many there are.
func TestRemovalInReverseMovesFew(t *testing.T) {
	for _, many := range []int{1000, 30_000} {
		moves := 0
		heap := New(func(a, b *item) bool { return a.key < b.key }, func(it *item, position int) {
			it.position = position
			moves++
		})
		var in []*item
		for i := range many {
			in = append(in, &item{key: i * 7919 % many})
			heap.Push(in[i])
		}
		moves = 0
		for _, it := range slices.Backward(in) {
			heap.Remove(it.position)
		}
		require.Less(t, moves, 5*many)
	}
}
