package life

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// How a gang ends that has run for as long as its job may: it is asked for a checkpoint in time, if
// it writes any, then stopped, and does not come back.

// awaitLimit has the limit of a gang that has begun to run looked at in time.
func (l *Life) awaitLimit(rep *record.Replica) {
	at, limited := rep.RunsUntil()
	if !limited {
		return
	}
	if c := &rep.Job.Spec.Checkpoint; c.Supported {
		at = at.Add(-cmp.Or(c.Cost, l.state.GraceOf(rep)))
	}
	l.state.SetLimit(rep, max(at, 1)) // 0 is none
}

// LimitDue asks a gang for its last checkpoint, or stops it, as its time is over. One that has an
// order out, or members to stop, is asked once that is over, and stopped at the end in any case.
func (l *Life) LimitDue(rep *record.Replica) {
	by, _ := rep.RunsUntil()
	cause := berth.Cause{Code: berth.CauseMaxRuntime, Detail: "it may run for " + rep.Job.Spec.MaxRuntime.String()}
	switch {
	case !rep.MayMove() && rep.LimitAt < by: // what falls due before that comes first
		l.state.SetLimit(rep, by)
	case by <= l.state.Now:
		l.overrun(rep, cause)
	default:
		if drained, _ := rep.DrainedBy(); drained > l.state.Now {
			by = min(by, drained)
		}
		l.state.SetLimit(rep, 0)
		rep.Leaves = true
		l.Stop(rep, cause, by.Sub(l.state.Now))
	}
}

// overrun stops a gang whose time is over.
func (l *Life) overrun(rep *record.Replica, cause berth.Cause) {
	l.state.Totals.JobsOverrun++
	l.state.LearnFrom(rep)
	rep.Job.Cancelled = true
	l.TakeBack(rep, cause, true)
}

// limitNoted reports whether the limit of a replica is to be looked at if it is to have an end, and
// was not asked for its last checkpoint: not after that end, and at it if it writes no checkpoint.
func limitNoted(rep *record.Replica) bool {
	end, limited := rep.RunsUntil()
	if !limited || rep.Overruns() {
		return rep.LimitAt == 0 && (limited || !rep.Overruns())
	}
	return rep.LimitAt > 0 && (rep.LimitAt == end || rep.LimitAt < end && rep.Job.Spec.Checkpoint.Supported)
}
