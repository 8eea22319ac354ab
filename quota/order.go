package quota

import (
	"math/bits"

	"github.com/berth-sched/berth/internal/pq"
)

// Activate says that leaf i has something to be served. What is no leaf stays
// as it is. O(depth x log children), without allocation once the heaps have grown.
func (t *Tree) Activate(i Index) {
	if !t.Leaf(i) || t.nodes[i].active {
		return
	}
	t.nodes[i].active = true
	// A queue enters its parent's heap when it gets something to serve; the parent
	// enters its own parent's only if it had nothing to serve before.
	for j := i; j != Root; j = t.nodes[j].parent {
		t.push(j)
		if t.nodes[t.nodes[j].parent].heap.Len() > 1 {
			return
		}
	}
}

// Deactivate says that leaf i has nothing to be served any more. What is not
// active stays as it is. O(depth x log children), without allocation.
func (t *Tree) Deactivate(i Index) {
	if !t.Active(i) {
		return
	}
	t.nodes[i].active = false
	for j := i; j != Root; j = t.nodes[j].parent {
		t.pop(j)
		if t.nodes[t.nodes[j].parent].heap.Len() > 0 {
			return
		}
	}
}

// Active reports whether i is a leaf that was activated and not deactivated since.
func (t *Tree) Active(i Index) bool { return t.live(i) && t.nodes[i].active }

// Next returns the active leaf to be served now, if there is one. From the root
// down it takes, among the queues with an active leaf at or below them, the first
// of this total order:
//
//  1. Queues that use less than their guarantee of GPUs come before the others.
//  2. Among those, the least usage for its guarantee (used / guarantee); among the
//     others, the least usage over its guarantee for its weight
//     ((used - guarantee) / weight). Fractions are compared exactly.
//  3. The name, in byte order.
//
// An absent guarantee counts as zero here. The leaf stays next until it is
// deactivated or usage or configuration changes. O(depth), without allocation.
//
// This is the progressive filling by which weighted max-min shares are reached:
// each step serves whoever has the least for its weight, one level at a time.
func (t *Tree) Next() (Index, bool) {
	i := Root
	for t.nodes[i].heap.Len() > 0 {
		i = t.nodes[i].heap.Min()
	}
	if i == Root {
		return None, false
	}
	return i, true
}

// before is the order of Next between two children of one queue. It depends on
// usage, configuration and names alone, never on indexes.
func (t *Tree) before(i, j Index) bool {
	a, b := &t.nodes[i], &t.nodes[j]
	overA, forA, owedA := a.standing()
	overB, forB, owedB := b.standing()
	if owedA != owedB {
		return owedA
	}
	if c := compareFractions(overA, forA, overB, forB); c != 0 {
		return c < 0
	}
	return a.config.Name < b.config.Name
}

// standing is where a queue stands in the order: the fraction used/per, and
// whether it is owed GPUs, being below its guarantee.
func (n *node) standing() (used, per uint64, owed bool) {
	a := &n.host[gpuID]
	guarantee := max(a.guarantee, 0)
	if a.used < guarantee {
		return uint64(a.used), uint64(guarantee), true
	}
	return uint64(a.used - guarantee), uint64(n.weight), false
}

// compareFractions compares a/b with c/d, where b and d are not zero, by their
// cross products in 128 bits.
func compareFractions(a, b, c, d uint64) int {
	high1, low1 := bits.Mul64(a, d)
	high2, low2 := bits.Mul64(c, b)
	switch {
	case high1 != high2 && high1 < high2, high1 == high2 && low1 < low2:
		return -1
	case high1 == high2 && low1 == low2:
		return 0
	}
	return 1
}

// newHeap returns the heap of the children to be served of one queue. Its items
// know their positions, so that a change of usage moves a queue without a search.
func (t *Tree) newHeap() pq.Heap[Index] {
	return pq.New(t.before, func(i Index, position int) { t.nodes[i].position = int32(position) })
}

// push puts i into its parent's heap.
func (t *Tree) push(i Index) { t.nodes[t.nodes[i].parent].heap.Push(i) }

// pop takes i out of its parent's heap.
func (t *Tree) pop(i Index) { t.nodes[t.nodes[i].parent].heap.Remove(int(t.nodes[i].position)) }

// reorder moves i to where it belongs in its parent's heap, if it is in it.
func (t *Tree) reorder(i Index) {
	if n := &t.nodes[i]; n.position >= 0 {
		t.nodes[n.parent].heap.Fix(int(n.position))
	}
}
