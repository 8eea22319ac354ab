package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
)

// How a replica yields to another: asked for a checkpoint, if it writes any, then stopped.

// ask has a part of a replica yield to another.
func (c *Core) ask(p piece, rep *replica) {
	victim := p.rep
	cause := berth.Cause{Code: berth.CausePreempted, For: rep.ref()}
	if victim.job.queue != rep.job.queue {
		cause.Code = berth.CauseReclaimed
		cause.Detail = "queue " + string(rep.job.spec.Queue)
	}
	if !p.whole() {
		c.shrink(p, rep, cause)
		return
	}
	victim.yieldsTo = rep
	c.stop(victim, cause, c.graceOf(victim))
}

// stop stops a gang that runs: after it has written a checkpoint, or the time for that is
// over, if it writes any.
func (c *Core) stop(rep *replica, cause berth.Cause, grace berth.Duration) {
	c.noteLeaving(rep, true)
	c.agenda.relook(c.now) // what it leaves may be a place for others
	if !rep.job.spec.Checkpoint.Supported {
		c.evict(rep, cause)
		return
	}
	c.unawait(rep)
	rep.order = berth.RequestCheckpoint{Order: c.order(rep, grace, cause)}
	c.openOrder(rep)
	c.totals.CheckpointsAsked++
}

// shrink stops members of a gang for another; the rest of it goes on. One Release may stop
// some for several others: its cause is that of the first.
func (c *Core) shrink(p piece, rep *replica, cause berth.Cause) {
	victim := p.rep
	c.noteLeaving(victim, true)
	if !victim.has(memberStopping) {
		c.unawait(victim)
		victim.release.Cause, victim.release.Attempt = cause, 0
		c.noteTodo(victim, true)
		c.totals.Shrunk++
	}
	for _, flat := range p.flats {
		m := &victim.members[flat]
		m.state, m.yieldsTo = memberStopping, rep
	}
}

// describeStops fills in a Release whom it stops and, if the gang goes on, with how many, and
// for whom the others go.
func (c *Core) describeStops(rep *replica, r berth.Release) berth.Release {
	r.Members, r.Remaining, r.Yields = c.placements(rep, memberStopping), nil, nil
	if rep.State != berth.Running {
		return r
	}
	for g := range rep.job.spec.Groups {
		r.Remaining = append(r.Remaining, berth.GroupSize{Group: rep.job.spec.Groups[g].Name, Members: rep.count(g, memberRunning)})
	}
	for i := range r.Members {
		ref := r.Members[i].Ref()
		to := rep.members[rep.job.flat(ref)].yieldsTo
		if to == nil {
			continue
		}
		at := slices.IndexFunc(r.Yields, func(y berth.Yield) bool { return y.For == to.ref() })
		if at < 0 {
			at = len(r.Yields)
			r.Yields = append(r.Yields, berth.Yield{For: to.ref()})
		}
		r.Yields[at].Members = append(r.Yields[at].Members, ref)
	}
	slices.SortStableFunc(r.Yields, func(a, b berth.Yield) int { return compareBool(a.For != r.Cause.For, b.For != r.Cause.For) })
	return r
}

// evict stops a replica that has to go.
func (c *Core) evict(victim *replica, cause berth.Cause) {
	c.totals.Evicted++
	if victim.yieldsTo != nil {
		c.noteEviction(victim)
	}
	c.takeBack(victim, cause, false)
}

func (rep *replica) ref() berth.ReplicaRef {
	return berth.ReplicaRef{Job: rep.job.spec.ID, Replica: rep.Number}
}

// asked reports whether a checkpoint was requested of a replica.
func (rep *replica) asked() bool {
	_, asked := rep.order.(berth.RequestCheckpoint)
	return asked
}

// checkpointReported handles the answer of a replica that was asked for a checkpoint.
func (c *Core) checkpointReported(rep *replica, e *berth.ActionReported) *berth.Error {
	if e.Outcome != berth.Done && e.Outcome != berth.Failed || len(e.Members) > 0 {
		return refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("a checkpoint is done or has failed, as a whole; not %s with %d members", e.Outcome, len(e.Members)))
	}
	if e.Outcome == berth.Done {
		rep.yield.Checkpointed = c.now
	}
	cause := rep.order.Header().Cause
	if e.Outcome == berth.Failed {
		cause.Detail += separator(cause.Detail) + berth.Detail("it wrote no checkpoint", e.Reason)
	}
	c.closeOrder(rep)
	c.answered(rep, cause)
	return nil
}

// answered has a replica go that was asked for a checkpoint and need not be waited for any
// longer; or go on, if nobody needs its place by now.
func (c *Core) answered(rep *replica, cause berth.Cause) {
	if rep.yieldsTo != nil || rep.leaves {
		c.evict(rep, cause)
		return
	}
	c.noteTodo(rep, false)
	c.await(rep)
	c.agenda.relook(c.now) // it may have to leave a node that is being drained
}

// withdrawRequest tells a replica that it need not go.
func (c *Core) withdrawRequest(rep *replica) {
	request := rep.order.Header().ID
	c.closeOrder(rep)
	c.emit(berth.Withdraw{Order: c.order(rep, 0, berth.Cause{Code: berth.CauseNotNeeded}), Request: request})
	c.totals.Withdrawn++
	c.await(rep)
	c.agenda.relook(c.now) // it may have to leave a node that is being drained
}

// vacated notes that a replica holds nothing any more, or need not yield.
func (c *Core) vacated(rep *replica) {
	if beneficiary := rep.yieldsTo; beneficiary != nil {
		rep.yieldsTo = nil
		rep.yielded(beneficiary)
	}
	c.noteLeaving(rep, false)
}

// makesRoomFor is the replica for which a replica makes room, or the first of those for which
// members of it do; nil: there is none.
func (rep *replica) makesRoomFor() *replica {
	to := rep.yieldsTo
	for flat := range rep.members {
		if m := &rep.members[flat]; m.yieldsTo != nil && (to == nil || m.yieldsTo.ref() == rep.release.Cause.For) {
			to = m.yieldsTo
		}
	}
	return to
}

// yieldsFor reports whether a replica, or a part of it, yields to another.
func (rep *replica) yieldsFor(beneficiary *replica) bool {
	return rep.yieldsTo == beneficiary || slices.ContainsFunc(rep.members, func(m member) bool { return m.yieldsTo == beneficiary })
}
