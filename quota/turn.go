package quota

import "math/bits"

// A turn is the job that a queue would serve if the choice of Next fell on it, as it
// stands to the queue's account. It is kept in the node: it may change when usage,
// configuration or the heap of the queue does, and then the queue is put in its place
// anew.
type turn struct {
	asks    int64 // GPUs in thousandths; 0 where the job was not told
	covered int64 // how many of them would be under guarantees
	within  bool  // all of them would be
}

// turnOf works out the turn of a queue from that of the first of its children. A
// queue that states no guarantee has it as it is. A job that was not told counts as
// one of the least size where it is to be within the guarantee.
func (t *Tree) turnOf(n *node) turn {
	first := turn{asks: n.asks}
	if n.heap.Len() > 0 {
		first = t.nodes[n.heap.Min()].turn
	}
	a := &n.host[gpuID]
	if a.guarantee == unset {
		return first
	}
	room := max(0, a.guarantee-a.used)
	return turn{asks: first.asks, covered: min(first.asks, room), within: max(first.asks, 1) <= room}
}

// share is the fraction used/per by which a queue stands among those to which their
// jobs are owed as its own is, or is not.
func (n *node) share() (used, per uint64) {
	a := &n.host[gpuID]
	covered := a.covered() + n.turn.covered
	if n.turn.within {
		return uint64(covered), uint64(a.promised())
	}
	return uint64(a.used + n.turn.asks - covered), uint64(n.weight) * uint64(n.history.tilt)
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
