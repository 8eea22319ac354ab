package quota

import (
	"fmt"
	"math/bits"
)

// How past use tilts the order.
//
// For every queue the tree knows the average of the GPUs that it used, in which
// what was used one half-life ago counts half as much as what is used now:
//
//	average(t) = ln 2 / halfLife x integral of used(s) x 2^-((t-s)/halfLife) ds
//
// Time is cut into steps of 1/64 half-life, at multiples of that since the
// embedder's zero. Within a step the exact integral of what is used is kept as a
// value at the step's beginning and a rate, so that a charge is O(1) and one that
// is taken back at the same instant leaves no trace. Advance closes the steps that
// are over: with m the mean of one, average' = m + (average - m) x 2^(-1/64), and n
// steps without a change take one multiplication by 2^(-n/64). Nothing has to tick.
//
// Averages, and the tilts that follow from them, change at the ends of steps alone.
// That is on purpose: within a step the order moves only by what is charged, which
// keeps reclaim from running in circles (see reclaim.go).

const (
	stepsPerHalfLife = 64
	// averageBits are the bits of an average behind the point.
	averageBits = 16
	// maxAverage is the most GPUs, in thousandths, that an average counts.
	maxAverage = 1 << 44
	// fullTilt is the factor of a weight, in units of 1/fullTilt, that nothing was
	// borrowed on; leastTilt what is left of it at the least.
	fullTilt  = 1 << 12
	leastTilt = fullTilt / 16
	// MaxHalfLife is the longest half-life, and MaxTime the last instant, in
	// milliseconds.
	MaxHalfLife = 1 << 42
	MaxTime     = 1 << 60
)

// decay is the clock of a tree.
type decay struct {
	now   int64                    // of the last Advance
	width int64                    // of a step in milliseconds; 0 while there is no half-life
	table [stepsPerHalfLife]uint64 // 2^(-i/64), in units of 2^-63
}

// A history is what one queue used of late.
type history struct {
	average  int64  // at the beginning of the step, with averageBits behind the point
	atZero   int128 // of the integral within the step, which is atZero + used x elapsed
	tilt     int32  // the queue's weight counts tilt/fullTilt of itself
	entitled int64  // GPUs in thousandths that the tilt went by; for the explanation
}

// change notes that what is used has changed by so much.
func (h *history) change(used, elapsed int64) {
	h.atZero = h.atZero.minus(product128(used, elapsed))
}

// elapsed is the time since the step began.
func (t *Tree) elapsed() int64 {
	if t.decay.width == 0 {
		return 0
	}
	return t.decay.now % t.decay.width
}

// SetHalfLife says after how many milliseconds what a queue has used counts half;
// it is rounded up to a multiple of 64 of them. Zero, the beginning, lets nothing
// of the past count. Averages stay, what was used since the last end of a step does
// not count. It refuses what is outside 0 to MaxHalfLife (ErrInvalid). O(queues).
func (t *Tree) SetHalfLife(milliseconds int64) error {
	if milliseconds < 0 || milliseconds > MaxHalfLife {
		return &Error{Field: "halfLife", Reason: fmt.Sprintf("%d is outside 0 to %d", milliseconds, int64(MaxHalfLife)), Kind: ErrInvalid}
	}
	width := (milliseconds + stepsPerHalfLife - 1) / stepsPerHalfLife
	if width == t.decay.width {
		return nil
	}
	t.decay.width = width
	t.decay.fill()
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case !n.live: // a queue that was removed has no past
			continue
		case width == 0:
			n.history = history{tilt: fullTilt}
			continue
		}
		n.history.atZero = int128{}
		n.history.change(n.host[gpuID].used, t.elapsed())
	}
	t.tilt()
	return nil
}

// HalfLife returns the half-life in milliseconds, as it was rounded.
func (t *Tree) HalfLife() int64 { return t.decay.width * stepsPerHalfLife }

// fill makes the table. Its second entry is 2^(-1/64), rounded, and each of the
// others the product of the one before it with that: none is off by more than 2^-56.
func (d *decay) fill() {
	const root = 9124017994966720698 // 2^63 x 2^(-1/64), rounded
	d.table[0] = 1 << 63
	for i := 1; i < len(d.table); i++ {
		high, low := bits.Mul64(d.table[i-1], root)
		d.table[i] = high<<1 | low>>63
	}
}

// Now returns the instant of the last Advance.
func (t *Tree) Now() int64 { return t.decay.now }

// Advance sets the clock of the tree, in milliseconds since an instant of the
// embedder's choice: charges and discharges that follow happen then. It refuses an
// instant before the last one or outside 0 to MaxTime (ErrInvalid). Without a
// half-life it does no more.
//
// With one, it brings the averages of past use up to date where a step of 1/64
// half-life has ended, and by them the tilts: a queue's weight counts
//
//	1 / (1 + over / entitled), at least 1/16
//
// of itself in the order of Next and in shares, in units of 1/4096. Over is how
// much its average use is over its guarantee, entitled what it would have if all
// queues wanted all they could get: its guarantee and, by weight, its part of what
// the queue above it is entitled to over all the guarantees. At the top that is the
// capacity (SetCapacity) or, where that is unknown, the average use of the fleet.
// So a tenant that had all of an idle fleet shared with one of the same weight,
// for long, begins with a third of its weight when the other returns; no queue falls
// to nothing, and none is behind for the use of its guarantee.
//
// An average that is not beyond 2^44 thousandths of a GPU is exact to 0.0015 of a
// thousandth: each step rounds by less than 2^-16, and what was rounded away
// decays like the rest. O(1) within a step, O(queues) when one has ended, however
// many have.
func (t *Tree) Advance(now int64) error {
	if now < t.decay.now || now > MaxTime {
		return &Error{Field: "now", Reason: fmt.Sprintf("%d is outside %d to %d", now, t.decay.now, int64(MaxTime)), Kind: ErrInvalid}
	}
	width := t.decay.width
	if width == 0 {
		t.decay.now = now
		return nil
	}
	steps := now/width - t.decay.now/width
	t.decay.now = now
	if steps == 0 {
		return nil
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.live {
			n.history.fold(&t.decay, n.host[gpuID].used, steps)
			n.history.atZero = int128{} // what is used now was used since the step began
		}
	}
	t.tilt()
	return nil
}

// fold closes steps: in the first of them use may have changed, in the others it
// did not.
func (h *history) fold(d *decay, used, steps int64) {
	if h.average == 0 && used == 0 && h.atZero == (int128{}) {
		return
	}
	integral := h.atZero.plus(product128(used, d.width))
	if integral.negative() { // not by what Charge and Discharge do; an import may be wrong
		integral = int128{}
	}
	h.average = d.toward(h.average, integral.mean(d.width), 1)
	h.average = d.toward(h.average, min(used, maxAverage)<<averageBits, steps-1)
}

// mean is the mean of an integral over a step, as an average has it.
func (w int128) mean(width int64) int64 {
	if w.high>>(62-averageBits) != 0 {
		return maxAverage << averageBits
	}
	shifted := int128{high: w.high<<averageBits | int64(w.low>>(64-averageBits)), low: w.low << averageBits}
	return shifted.over(uint64(width), maxAverage<<averageBits)
}

// toward moves an average to another value for some steps. The distance is rounded
// down, so that it ends at nothing.
func (d *decay) toward(average, value, steps int64) int64 {
	halves := steps / stepsPerHalfLife
	if halves >= 64 {
		return value
	}
	factor := d.table[steps%stepsPerHalfLife]
	if average >= value {
		high, low := bits.Mul64(uint64(average-value), factor)
		return value + int64((high<<1|low>>63)>>uint(halves))
	}
	high, low := bits.Mul64(uint64(value-average), factor)
	return value - int64((high<<1|low>>63)>>uint(halves))
}

// tilt works out the tilts of all queues and puts them in order anew. Parents come
// first: what they are entitled to is divided among their children.
func (t *Tree) tilt() {
	t.version++
	if t.decay.width != 0 {
		root := &t.nodes[RootQueue]
		capacity, known := t.Capacity(GPUMilli)
		if !known {
			capacity = root.history.average >> averageBits
		}
		root.history.entitled = capacity
		for _, i := range t.topDown() {
			t.tiltBelow(&t.nodes[i])
		}
	}
	t.heapify()
}

// tiltBelow gives the children of a queue their tilts.
func (t *Tree) tiltBelow(n *node) {
	weights, room := uint64(0), max(0, n.history.entitled-n.host[gpuID].below)
	for _, j := range n.below {
		weights += uint64(t.nodes[j].weight)
	}
	for _, j := range n.below {
		child := &t.nodes[j]
		promised := child.host[gpuID].promised()
		part, _ := scale(uint64(room), uint64(child.weight), weights)
		child.history.entitled = promised + int64(part)
		over := uint64(max(0, child.history.average>>averageBits-promised))
		child.history.tilt = tiltFor(over, uint64(child.history.entitled))
	}
}

// tiltFor is fullTilt / (1 + over/entitled), at least leastTilt.
func tiltFor(over, entitled uint64) int32 {
	if over == 0 {
		return fullTilt
	}
	tilt, _ := scale(fullTilt, entitled, over+entitled)
	return int32(max(tilt, leastTilt))
}

// topDown returns all queues, each before those below it. The slice is the tree's,
// and good until a queue is added or removed.
func (t *Tree) topDown() []QueueIndex {
	if len(t.order) == 0 {
		t.order = append(t.order, RootQueue)
		for at := 0; at < len(t.order); at++ {
			t.order = append(t.order, t.nodes[t.order[at]].below...)
		}
	}
	return t.order
}

// heapify puts all queues in order anew, deepest first, as the place of a queue may
// follow from those below it.
func (t *Tree) heapify() {
	order := t.topDown()
	for at := len(order) - 1; at >= 0; at-- {
		heap := &t.nodes[order[at]].heap
		t.scratch = append(t.scratch[:0], heap.Items()...)
		for heap.Len() > 0 {
			heap.Remove(heap.Len() - 1)
		}
		for _, i := range t.scratch {
			t.push(i)
		}
	}
}
