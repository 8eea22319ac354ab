package quota

import "github.com/berth-sched/berth/internal/pq"

// SetNext says that leaf i has something to be served, and what it would be charged
// for the first of it: of an elastic gang, for as little as it starts with. It is to
// be told again whenever another job becomes the first. Only the GPUs count; see Next.
// It refuses what is no leaf (ErrInvalid) or unknown (ErrUnknown), and amounts outside
// 0 to MaxAmount (ErrInvalid).
//
// O(depth x log children), without allocation once the heaps have grown.
func (t *Tree) SetNext(i QueueIndex, next Charge) error {
	if err := t.checkLeaf(i); err != nil {
		return err
	}
	var buffer [maxParts]part
	parts := next.split(&buffer)
	if err := t.checkAmounts(i, parts); err != nil {
		return err
	}
	t.nodes[i].asks = next.GPUMilli
	if t.nodes[i].active {
		t.rise(i)
	} else {
		t.activate(i)
	}
	return nil
}

func (t *Tree) activate(i QueueIndex) {
	t.nodes[i].active = true
	for ; i != RootQueue && t.nodes[i].position < 0; i = t.nodes[i].parent {
		t.push(i)
	}
	t.rise(i) // what is served first there may be another
}

// Deactivate says that leaf i has nothing to be served any more. What is not
// active stays as it is. O(depth x log children), without allocation.
func (t *Tree) Deactivate(i QueueIndex) {
	if !t.Active(i) {
		return
	}
	t.nodes[i].active, t.nodes[i].asks = false, 0
	for ; i != RootQueue && t.nodes[i].heap.Len() == 0; i = t.nodes[i].parent {
		t.pop(i)
	}
	t.rise(i)
}

// DeactivateAll deactivates all leaves. O(active queues), without allocation.
func (t *Tree) DeactivateAll() { t.quieten(RootQueue) }

// quieten deactivates the leaves below a queue. Their order need not hold meanwhile.
func (t *Tree) quieten(i QueueIndex) {
	n := &t.nodes[i]
	for _, j := range n.heap.Items() {
		below := &t.nodes[j]
		below.active, below.asks = false, 0
		t.quieten(j)
	}
	n.heap.Clear()
}

// Active reports whether i is a leaf that was activated and not deactivated since.
func (t *Tree) Active(i QueueIndex) bool { return t.live(i) && t.nodes[i].active }

// Asks returns the GPUs, in thousandths, of what SetNext said that a leaf would be served next; 0
// where it is not active.
func (t *Tree) Asks(i QueueIndex) int64 {
	if !t.live(i) {
		return 0
	}
	return t.nodes[i].asks
}

// Next returns the active leaf to be served now, if there is one. From the root
// down it takes, among the queues with an active leaf at or below them, the first
// of this total order:
//
//  1. Queues to which their next job is owed come before the others: those that
//     would be within their guarantee of GPUs with it. A job that takes part of its
//     GPUs from the guarantee, and borrows the rest, is not owed. To a queue that
//     states no guarantee a job is owed if it is to the one of its children that has
//     it: a promise to a project is no less one for a silent team above it.
//  2. The higher priority.
//  3. Of queues to which their job is owed, the one that would use least of what it is
//     promised (covered use / guarantee); of the others, the one that would have
//     borrowed least for its weight (borrowed / weight), the weight being tilted by
//     what was borrowed of late: see Advance. Both are as they would be with the next
//     job. Fractions are compared exactly.
//  4. The job with fewer GPUs.
//  5. The name, in byte order.
//
// The next job of a leaf is that of SetNext; where none was told, one that is too
// small to count but asks for something. That of another queue is the one which it
// would serve if the choice fell on it: the first among the children of a queue is
// settled among them alone, and the queue stands for that job in its own turn, even
// where the job of another child would be owed to it and this one is not. Otherwise,
// at a queue that is about to use up its guarantee, the large jobs of one child would
// wait for all the small ones of another.
//
// So wherever the paths of two leaves part, a job that is owed comes before one that
// would be borrowed for. Among those that borrow this is progressive filling, by
// which weighted max-min shares are reached: each step serves the queue that will have the
// least for its weight, one level at a time. As the job counts, nobody gets ahead
// by asking for much at once, and nobody waits for ever because of it: while a queue
// waits, another of the same priority goes first only as long as it has borrowed no
// more for its weight than the one that waits would have (packet schedulers know this
// as the order of finish tags: Demers, Keshav and Shenker, 1989).
//
// Only GPUs count. They are what a fleet is short of; host CPU and memory come in
// proportion to them, and a queue that the dominant of all resources put last for
// its memory would be kept from GPUs that nobody else can use.
//
// The leaf stays next until it is deactivated, or usage, the next jobs, configuration
// or the clock (Advance) change. O(depth), without allocation.
func (t *Tree) Next() (QueueIndex, bool) {
	i := RootQueue
	for t.nodes[i].heap.Len() > 0 {
		i = t.nodes[i].heap.Min()
	}
	if i == RootQueue {
		return NoQueue, false
	}
	return i, true
}

// before is the order of Next between two children of one queue. It depends on
// usage, jobs, configuration and names alone, never on indexes.
func (t *Tree) before(i, j QueueIndex) bool {
	a, b := &t.nodes[i], &t.nodes[j]
	if a.turn.within != b.turn.within {
		return a.turn.within
	}
	if a.config.Priority != b.config.Priority {
		return a.config.Priority > b.config.Priority
	}
	usedA, forA := a.share()
	usedB, forB := b.share()
	if c := compareFractions(usedA, forA, usedB, forB); c != 0 {
		return c < 0
	}
	if a.turn.asks != b.turn.asks {
		return a.turn.asks < b.turn.asks
	}
	return a.config.Name < b.config.Name
}

// newHeap returns the heap of the children to be served of one queue. Its items
// know their positions, so that a change of usage moves a queue without a search.
func (t *Tree) newHeap() pq.Heap[QueueIndex] {
	return pq.New(t.before, func(i QueueIndex, position int) { t.nodes[i].position = int32(position) })
}

// push puts i into its parent's heap.
func (t *Tree) push(i QueueIndex) {
	n := &t.nodes[i]
	n.turn = t.turnOf(n)
	t.nodes[n.parent].heap.Push(i)
}

// pop takes i out of its parent's heap.
func (t *Tree) pop(i QueueIndex) { t.nodes[t.nodes[i].parent].heap.Remove(int(t.nodes[i].position)) }

// reorder moves i to where it belongs in its parent's heap, if it is in it.
func (t *Tree) reorder(i QueueIndex) {
	if n := &t.nodes[i]; n.position >= 0 {
		n.turn = t.turnOf(n)
		t.nodes[n.parent].heap.Fix(int(n.position))
	}
}

// reorderFrom does so for i and all above it.
func (t *Tree) reorderFrom(i QueueIndex) {
	for ; i != NoQueue; i = t.nodes[i].parent {
		t.reorder(i)
	}
}

// rise does so from i, which is in its parent's heap or the root, as far up as it
// makes a difference where usage and configuration are what they were.
func (t *Tree) rise(i QueueIndex) {
	for ; i != RootQueue && t.turnOf(&t.nodes[i]) != t.nodes[i].turn; i = t.nodes[i].parent {
		t.reorder(i)
	}
}
