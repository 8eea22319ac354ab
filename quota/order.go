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
	// A queue enters its parent's heap when it gets something to serve. One that is
	// there already may move: see owed.
	for j := i; j != Root; j = t.nodes[j].parent {
		if t.nodes[j].position < 0 {
			t.push(j)
		} else {
			t.reorder(j)
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
	t.pop(i)
	for j := t.nodes[i].parent; j != Root; j = t.nodes[j].parent {
		if t.nodes[j].heap.Len() == 0 {
			t.pop(j)
		} else {
			t.reorder(j)
		}
	}
}

// Active reports whether i is a leaf that was activated and not deactivated since.
func (t *Tree) Active(i Index) bool { return t.live(i) && t.nodes[i].active }

// Next returns the active leaf to be served now, if there is one. From the root
// down it takes, among the queues with an active leaf at or below them, the first
// of this total order:
//
//  1. Queues that use less than their guarantee of GPUs come before the others. A
//     queue that states no guarantee does if the one of its children that would be
//     served does: a promise to a project is no less one for a silent team above it.
//  2. The higher priority.
//  3. Among those below their guarantee, the least use for it (used / guarantee);
//     among the others, the least borrowed for the weight (borrowed / weight), the
//     weight being tilted by what was borrowed of late: see Advance. Fractions are
//     compared exactly.
//  4. The name, in byte order.
//
// Only GPUs count. They are what a fleet is short of; host CPU and memory come in
// proportion to them, and a queue that the dominant of all resources put last for
// its memory would be kept from GPUs that nobody else can use.
//
// The leaf stays next until it is deactivated, or usage, configuration or the
// clock (Advance) change. O(depth), without allocation.
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
	if a.owed != b.owed {
		return a.owed
	}
	if a.config.Priority != b.config.Priority {
		return a.config.Priority > b.config.Priority
	}
	usedA, forA := a.share()
	usedB, forB := b.share()
	if c := compareFractions(usedA, forA, usedB, forB); c != 0 {
		return c < 0
	}
	return a.config.Name < b.config.Name
}

// isOwed works out whether a queue that wants to be served is owed GPUs, being
// below its guarantee. Where it states none, the first of its children says so.
// The answer is kept in the node: it may change when usage, configuration or the
// heap of the queue does, and then the queue is put in its place anew.
func (t *Tree) isOwed(n *node) bool {
	switch a := &n.host[gpuID]; {
	case a.guarantee != unset:
		return a.used < a.guarantee
	case n.heap.Len() > 0:
		return t.nodes[n.heap.Min()].owed
	}
	return false
}

// share is the fraction used/per by which a queue stands among those that are owed
// as it is, or are not.
func (n *node) share() (used, per uint64) {
	a := &n.host[gpuID]
	if n.owed {
		return uint64(a.covered()), uint64(a.promised())
	}
	return uint64(a.used - a.covered()), uint64(n.weight) * uint64(n.history.tilt)
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
func (t *Tree) push(i Index) {
	n := &t.nodes[i]
	n.owed = t.isOwed(n)
	t.nodes[n.parent].heap.Push(i)
}

// pop takes i out of its parent's heap.
func (t *Tree) pop(i Index) { t.nodes[t.nodes[i].parent].heap.Remove(int(t.nodes[i].position)) }

// reorder moves i to where it belongs in its parent's heap, if it is in it.
func (t *Tree) reorder(i Index) {
	if n := &t.nodes[i]; n.position >= 0 {
		n.owed = t.isOwed(n)
		t.nodes[n.parent].heap.Fix(int(n.position))
	}
}

// reorderFrom does so for i and all above it.
func (t *Tree) reorderFrom(i Index) {
	for ; i != None; i = t.nodes[i].parent {
		t.reorder(i)
	}
}
