package quota

// A Position is where a queue stands among its siblings in the order of Next, with
// the numbers that decide it: those that are owed what they would serve come first,
// then those of the higher Priority. Then comes the least of what the queue would
// use with it: (Covered + NextCovered) / Guaranteed where it is owed, otherwise
// (Used + Next - Covered - NextCovered) / (Weight x Tilt); and then the least Next.
type Position struct {
	Queue QueueIndex
	// Position among the siblings that have something to serve, from 1, and how many
	// these are; zero where the queue itself has nothing to serve.
	Position, Siblings int
	// Next is how many GPUs the job asks for that the queue would serve now, in
	// thousandths; zero where it was not told (SetNext). NextCovered of them would be
	// under guarantees, the rest borrowed. WithinGuarantee: all of them would be.
	Next, NextCovered int64
	WithinGuarantee   bool
	// Priority of the queue.
	Priority int32
	// Used GPUs, Covered of them by guarantees, and Guaranteed to it, in thousandths.
	Used, Covered, Guaranteed int64
	// Weight of the queue, of which Tilt/4096 counts.
	Weight int64
	Tilt   int32
	// Average use of late and what the queue is entitled to, by which it is tilted;
	// zero without a half-life. In thousandths of a GPU.
	Average, Entitled int64
}

// Positions tells how the order of Next comes about for queue i: one element for the
// queue and each above it but the root, from the top down, in the buffer if that is
// large enough. At the first whose position is not 1 another queue comes before it.
// O(depth + active siblings on the path), for explanations.
func (t *Tree) Positions(buffer []Position, i QueueIndex) []Position {
	buffer = buffer[:0]
	if !t.live(i) {
		return buffer
	}
	for range t.depth(i) {
		buffer = append(buffer, Position{})
	}
	for at := len(buffer) - 1; at >= 0; at-- {
		buffer[at] = t.positionOf(i)
		i = t.nodes[i].parent
	}
	return buffer
}

func (t *Tree) positionOf(i QueueIndex) Position {
	n := &t.nodes[i]
	a, turn := &n.host[gpuID], t.turnOf(n)
	s := Position{
		Queue: i, Next: turn.asks, NextCovered: turn.covered, WithinGuarantee: turn.within, Priority: n.config.Priority, Used: a.used, Covered: a.covered(), Guaranteed: a.promised(),
		Weight: n.weight, Tilt: n.history.tilt,
		Average: n.history.average >> averageBits, Entitled: n.history.entitled,
	}
	if n.position >= 0 {
		siblings := t.nodes[n.parent].heap.Items()
		s.Position, s.Siblings = 1, len(siblings)
		for _, j := range siblings {
			if j != i && t.before(j, i) {
				s.Position++
			}
		}
	}
	return s
}
