package quota

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
)

func mustNext(t require.TestingT, tree *Tree, i QueueIndex, n int64) {
	require.NoError(t, tree.SetNext(i, gpus(n)))
}

// first is the name of the leaf to be served.
func first(t require.TestingT, tree *Tree) string {
	i, ok := tree.Next()
	require.True(t, ok)
	return string(tree.Name(i))
}

// A queue below its guarantee whose next job goes beyond it borrows for that job: one
// that stays within its own with its job comes first, and that without a job that
// asks for GPUs would be the other way round.
func TestOwedWithTheNextJob(t *testing.T) {
	tree := NewTree()
	over := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 2}, Priority: 1})
	within := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: 2}})
	require.NoError(t, tree.Charge(over, gpus(1)))
	require.NoError(t, tree.Charge(within, gpus(1)))
	tree.activateUnknown(over)
	tree.activateUnknown(within)
	require.Equal(t, "a", first(t, tree))

	mustNext(t, tree, over, 2)
	mustNext(t, tree, within, 1)
	require.Equal(t, "b", first(t, tree))
	require.Equal(t, []Position{{
		Queue: over, Position: 2, Siblings: 2, Next: 2, NextCovered: 1, Priority: 1,
		Used: 1, Covered: 1, Guaranteed: 2, Weight: 1, Tilt: fullTilt,
	}}, tree.Positions(nil, over))
	require.Equal(t, []Position{{
		Queue: within, Position: 1, Siblings: 2, Next: 1, NextCovered: 1, WithinGuarantee: true,
		Used: 1, Covered: 1, Guaranteed: 2, Weight: 1, Tilt: fullTilt,
	}}, tree.Positions(nil, within))

	mustNext(t, tree, over, 1)
	require.Equal(t, "a", first(t, tree), "a smaller job of it is owed, and it has the priority")
	tree.activateUnknown(over)
	require.Equal(t, int64(1), tree.Positions(nil, over)[0].Next, "what was told stays")
	tree.Deactivate(over)
	require.Zero(t, tree.Positions(nil, over)[0].Next)
}

// Shares are compared as they would be with the next jobs, and where they are the
// same the smaller job goes first.
func TestSharesCountTheNextJob(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 4}})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: 2}})
	c := mustSet(t, tree, Queue{Name: "c"})
	d := mustSet(t, tree, Queue{Name: "d", Weight: 2})
	require.NoError(t, tree.Charge(a, gpus(2)))
	require.NoError(t, tree.Charge(b, gpus(1)))
	mustNext(t, tree, a, 2)
	mustNext(t, tree, b, 1)
	mustNext(t, tree, c, 3)
	mustNext(t, tree, d, 5)
	require.Equal(t, "b", first(t, tree), "4 of 4 against 2 of 2")
	mustNext(t, tree, a, 1)
	require.Equal(t, "a", first(t, tree), "3 of 4 against 2 of 2")
	tree.Deactivate(a)
	tree.Deactivate(b)
	require.Equal(t, "d", first(t, tree), "5/2 against 3/1")
	mustNext(t, tree, d, 6)
	require.Equal(t, "c", first(t, tree), "6/2 against 3/1: the smaller job")
	mustNext(t, tree, d, 7)
	mustNext(t, tree, a, 4)
	require.Equal(t, "a", first(t, tree), "two of its four would be borrowed, against three")
	require.NoError(t, tree.Check())
}

// A queue stands for the job that it would serve itself, and for no other: neither
// for one that is owed to it, behind one that is not, nor for what its children are
// owed beyond what it is promised itself.
func TestAQueueStandsForItsFirstJob(t *testing.T) {
	tree := NewTree()
	mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPUMilli: 10}})
	large := mustSet(t, tree, Queue{Name: "large", Parent: "org", Guarantee: Amounts{GPUMilli: 4}})
	small := mustSet(t, tree, Queue{Name: "small", Parent: "org", Weight: 2})
	other := mustSet(t, tree, Queue{Name: "other", Priority: 1})
	require.NoError(t, tree.Charge(small, gpus(8)))
	mustNext(t, tree, large, 3)
	mustNext(t, tree, small, 1)
	mustNext(t, tree, other, 1)
	require.Equal(t, "other", first(t, tree), "the job of three is owed to large, but would bring org to 11 of 10")
	mustNext(t, tree, large, 2)
	require.Equal(t, "large", first(t, tree), "to 10 of 10")
	tree.Deactivate(large)
	require.Equal(t, "small", first(t, tree), "what it borrows is of its organisation's own")
	require.NoError(t, tree.Charge(small, gpus(1)))
	mustNext(t, tree, large, 5)
	require.Equal(t, "other", first(t, tree), "large comes before small, as one of five is borrowed, and org stands for it")
	require.NoError(t, tree.Check())
}

func TestSetNextRefuses(t *testing.T) {
	tree := NewTree()
	org := mustSet(t, tree, Queue{Name: "org"})
	leaf := mustSet(t, tree, Queue{Name: "leaf", Parent: "org"})
	require.ErrorIs(t, tree.SetNext(org, gpus(1)), ErrInvalid)
	require.ErrorIs(t, tree.SetNext(RootQueue, gpus(1)), ErrInvalid)
	require.ErrorIs(t, tree.SetNext(NoQueue, gpus(1)), ErrUnknown)
	require.ErrorIs(t, tree.SetNext(leaf, gpus(-1)), ErrInvalid)
	require.ErrorIs(t, tree.SetNext(leaf, Charge{Host: countable.Amounts{countable.MemoryMiB: MaxAmount + 1}}), ErrInvalid)
	require.False(t, tree.Active(leaf))
	require.NoError(t, tree.SetNext(leaf, Charge{GPUMilli: MaxAmount, Product: 99}), "products do not count")
	require.NoError(t, tree.Check())
}

// TestNobodyWaitsForEver: queues of random weights and sizes of jobs borrow and never
// give back. While one of them waits, each other goes ahead only as long as it has
// borrowed no more for its weight than the one that waits would have with its job. So
// a job of sixty-four among jobs of one is served after a bounded amount.
func TestNobodyWaitsForEver(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		var queues []QueueIndex
		sizes, weights := map[QueueIndex]int64{}, map[QueueIndex]int64{}
		for k := range rapid.IntRange(2, 6).Draw(t, "queues") {
			w := rapid.Int64Range(1, 5).Draw(t, "weight")
			i := mustSet(t, tree, Queue{Name: QueueID(fmt.Sprint(k)), Weight: w})
			sizes[i], weights[i] = rapid.SampledFrom([]int64{1, 1, 2, 8, 64}).Draw(t, "size"), w
			queues = append(queues, i)
			mustNext(t, tree, i, sizes[i])
		}
		since := map[QueueIndex]int64{} // what others got while a queue waited
		for range 300 {
			i, _ := tree.Next()
			require.NoError(t, tree.Charge(i, gpus(sizes[i])))
			since[i] = 0
			for _, j := range queues {
				if j == i {
					continue
				}
				since[j] += sizes[i]
				with := tree.Used(j, GPUMilli) + sizes[j]
				require.LessOrEqual(t, tree.Used(i, GPUMilli)*weights[j], with*weights[i], "%d before %d", i, j)
				// When it was served last, the others had what it has for its weight,
				// but for a job of their own. Now they have no more than what it would
				// have with one more.
				bound := int64(0)
				for _, k := range queues {
					if k != j {
						bound += sizes[j]*weights[k]/weights[j] + sizes[k] + 1
					}
				}
				require.LessOrEqual(t, since[j], bound)
			}
		}
	})
}

// Once all leaves are deactivated nothing is left to be served, and the tree is as if each had been
// deactivated by itself.
func TestDeactivateAll(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree, _ := drawShares(t, true)
		var active []QueueIndex
		for _, name := range tree.Queues() {
			if i, _ := tree.Lookup(name); tree.Leaf(i) && rapid.Bool().Draw(t, "active") {
				mustNext(t, tree, i, rapid.Int64Range(0, 9).Draw(t, "next"))
				active = append(active, i)
			}
		}
		tree.DeactivateAll()
		require.NoError(t, tree.Check())
		_, some := tree.Next()
		require.False(t, some)
		for _, i := range active {
			require.False(t, tree.Active(i))
			require.Zero(t, tree.nodes[i].asks)
			mustNext(t, tree, i, 1) // it can be activated again
		}
		require.NoError(t, tree.Check())
	})
}
