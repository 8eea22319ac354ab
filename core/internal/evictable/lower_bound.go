package evictable

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// A lowerBound is what a thousandth of a GPU of a replica costs at the least if it is stopped, in
// milliseconds: where time does not change it and, at time 0, where it grows with time; none is the
// largest number. Unlike the least of a place, it is never more than the cost.
type lowerBound struct{ fixed, grows int64 }

// with is the lower bound of one more replica, which costs as costOf says.
func (b lowerBound) with(rep *record.Replica, each int64, grows bool) lowerBound {
	c := &rep.Job.Spec.Checkpoint
	switch {
	case grows:
		b.grows = min(b.grows, each)
	case rep.Job.IsElastic() || c.Supported:
		b.fixed = min(b.fixed, each)
	default: // it may have written a checkpoint just now
		b.fixed = min(b.fixed, int64(c.RestartCost))
	}
	return b
}

// at is the lower bound at an instant.
func (b lowerBound) at(now berth.Time) int64 {
	if b.grows == none {
		return b.fixed
	}
	return min(b.fixed, b.grows+int64(now))
}
