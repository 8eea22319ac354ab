package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/preempt"
)

// The part of preemption about bids that cannot pay. The gain of a bid is bounded by the wait of
// its job, and every victim in another queue has a cost. Where many queues are a little below their
// shares, nearly all bids are of that kind, and no search is needed to tell.

// A hurdle is the cost that the gain of a bid has to exceed.
type hurdle struct {
	evictable.Least
	scale preempt.Scale
	// known: a bid that outranks no job of its own queue pays only with a victim in a queue with
	// more than its share, and costs so much at the least. Nothing is known where something leaves
	// or a place is being made: a bid may come to its place without a victim then.
	known bool
}

// A gainBound bounds the gain of a bid, by the class of its job, its GPUs and the start of its
// wait.
type gainBound struct {
	class int
	milli int64
	since berth.Time
}

func (ev *Evict) hurdle(shares *books.AllShares) hurdle {
	p := &ev.state.Config.Policy
	if p.Preemption.Mode == berth.PreemptionOff || p.Preemption.Gain.IgnoreCost || ev.state.Config.Gain != nil ||
		p.Defragmentation.Mode == berth.DefragmentationOn || ev.state.Leaving.Len() > 0 ||
		slices.ContainsFunc(ev.backlog.Reservations, (*record.Reservation).IsPlanned) {
		return hurdle{}
	}
	return hurdle{Least: ev.victims.LeastLent(shares), scale: victim.ScaleOf(&p.Preemption.Gain), known: true}
}

// isBelow reports whether a bid with such a bound may pay at an instant.
func (h *hurdle) isBelow(o gainBound, at berth.Time) bool {
	cost := h.At(at)
	return cost == 0 || h.scale.Gain(&preempt.Beneficiary{Class: o.class, GPUMilli: o.milli, Waited: int64(at.Sub(o.since))}) > cost
}

// clearedBy is the first instant, from now on and before a given one, at which a bid with such a
// bound may pay; else the given one. Gains grow at a steady rate and the hurdle at one that falls,
// so a bid that may pay at some instant may pay from then on.
func (h *hurdle) clearedBy(o gainBound, now, before berth.Time) berth.Time {
	if h.isBelow(o, now) {
		return now
	}
	last := min(before-1, now.Add(limits.MaxSpan))
	if last <= now || !h.isBelow(o, last) {
		return before
	}
	for last-now > 1 {
		if middle := now + (last-now)/2; h.isBelow(o, middle) {
			last = middle
		} else {
			now = middle
		}
	}
	return last
}

// gainBoundOf is that of an entry.
func gainBoundOf(e *record.Entry) gainBound {
	return gainBound{int(e.Rep.Job.Spec.Class), e.Bucket.Shape.Least.GPUMilli, e.Rep.PendingSince}
}

// gainBoundOfAll is the highest bound of all that bids in a queue and asks for no more than an
// amount.
func (h *hurdle) gainBoundOfAll(o *due.Outline, milli int64) gainBound {
	best := gainBound{0, milli, o.Since}
	for class := range h.scale.ClassGain {
		if class <= int(o.Class) && h.scale.ClassGain[class] > h.scale.ClassGain[best.class] {
			best.class = class
		}
	}
	return best
}
