package quota

import "fmt"

// A Past is what a tree remembers of past use, to be stored beside the queues, the
// capacities and the charges.
type Past struct {
	// Now is the instant of the last Advance, and HalfLife as Tree.HalfLife has it.
	Now      int64 `json:"now"`
	HalfLife int64 `json:"halfLifeMilliseconds,omitempty"`
	// Queues are those of which there is something to remember, by name, with the
	// root first under the empty name.
	Queues []PastUse `json:"queues,omitempty"`
}

// PastUse is what is remembered of one queue.
type PastUse struct {
	Queue QueueID `json:"queue"`
	// Average use when the step began, in 2^-16 of a thousandth of a GPU.
	Average int64 `json:"average,omitempty"`
	// High and Low are the two halves of a signed number of 128 bits: the integral
	// of what is used is that number plus use x time since the step began, in
	// thousandths of a GPU x milliseconds.
	High int64  `json:"high,omitempty"`
	Low  uint64 `json:"low,omitempty"`
	// Tilt of the weight in 1/4096, and the GPUs, in thousandths, it went by.
	Tilt     int32 `json:"tilt"`
	Entitled int64 `json:"entitled,omitempty"`
}

// Past returns what the tree remembers of past use. O(queues).
func (t *Tree) Past() Past {
	p := Past{Now: t.decay.now, HalfLife: t.HalfLife()}
	if p.HalfLife == 0 {
		return p
	}
	for _, name := range append([]QueueID{""}, t.Queues()...) {
		i, _ := t.lookupParent(name)
		if h := &t.nodes[i].history; *h != (history{tilt: fullTilt}) {
			p.Queues = append(p.Queues, PastUse{Queue: name, Average: h.average, High: h.atZero.high, Low: h.atZero.low, Tilt: h.tilt, Entitled: h.entitled})
		}
	}
	return p
}

// SetPast makes a tree remember what another did. The tree must have the queues of
// the other and its charges; then it goes on as the other would have. Its clock must
// not have been set. Refused (ErrInvalid, ErrUnknown) is what no tree with these
// charges can have said: nothing is changed then. O(queues).
func (t *Tree) SetPast(p Past) error {
	if err := t.checkPast(&p); err != nil {
		return err
	}
	t.decay.now = p.Now
	t.decay.width = p.HalfLife / stepsPerHalfLife
	t.decay.fill()
	for i := range t.nodes {
		if t.nodes[i].live {
			t.nodes[i].history = history{tilt: fullTilt}
		}
	}
	for _, u := range p.Queues {
		i, _ := t.lookupParent(u.Queue)
		t.nodes[i].history = history{average: u.Average, atZero: int128{u.High, u.Low}, tilt: u.Tilt, entitled: u.Entitled}
	}
	t.version++
	t.heapify()
	return nil
}

func (t *Tree) checkPast(p *Past) error {
	refuse := func(kind error, queue QueueID, field, reason string) error {
		return &Error{Queue: queue, Field: field, Reason: reason, Kind: kind}
	}
	switch {
	case t.decay.now != 0:
		return refuse(ErrInvalid, "", "now", fmt.Sprintf("the clock of the tree stands at %d already", t.decay.now))
	case p.Now < 0 || p.Now > MaxTime:
		return refuse(ErrInvalid, "", "now", fmt.Sprintf("%d is outside 0 to %d", p.Now, int64(MaxTime)))
	case p.HalfLife < 0 || p.HalfLife > MaxHalfLife || p.HalfLife%stepsPerHalfLife != 0:
		return refuse(ErrInvalid, "", "halfLife", fmt.Sprintf("%d is no multiple of %d within 0 to %d", p.HalfLife, stepsPerHalfLife, int64(MaxHalfLife)))
	case p.HalfLife == 0 && len(p.Queues) > 0:
		return refuse(ErrInvalid, "", "queues", "there is no past without a half-life")
	}
	before := QueueID("")
	for k := range p.Queues {
		u := &p.Queues[k]
		i, known := t.lookupParent(u.Queue)
		switch {
		case !known:
			return refuse(ErrUnknown, u.Queue, "", "no queue has this name")
		case k > 0 && u.Queue <= before:
			return refuse(ErrInvalid, u.Queue, "", "is out of order, or there twice")
		case u.Average < 0 || u.Average > maxAverage<<averageBits:
			return refuse(ErrInvalid, u.Queue, "average", fmt.Sprintf("%d is outside 0 to 2^60", u.Average))
		case u.Tilt < leastTilt || u.Tilt > fullTilt:
			return refuse(ErrInvalid, u.Queue, "tilt", fmt.Sprintf("%d is outside %d to %d", u.Tilt, leastTilt, fullTilt))
		case u.Entitled < 0 || u.Entitled > maxUsage:
			return refuse(ErrInvalid, u.Queue, "entitled", fmt.Sprintf("%d is outside 0 to 2^62", u.Entitled))
		}
		elapsed := p.Now % (p.HalfLife / stepsPerHalfLife)
		now := int128{u.High, u.Low}.plus(product128(t.nodes[i].host[gpuID].used, elapsed))
		if now.negative() || now.high > 1<<40 {
			return refuse(ErrInvalid, u.Queue, "high", "the integral of what was used is negative or beyond what can have been used")
		}
		before = u.Queue
	}
	return nil
}
