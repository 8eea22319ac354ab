package berth

import (
	"fmt"
	"slices"
)

// How a replica yields to another: asked for a checkpoint, if it writes any, then stopped.

// ask has a replica yield to another.
func (c *Core) ask(victim, rep *replica) {
	victim.yieldsTo = rep
	cause := Cause{Code: CausePreempted, For: rep.ref()}
	if victim.job.queue != rep.job.queue {
		cause.Code = CauseReclaimed
		cause.Detail = "queue " + string(rep.job.spec.Queue)
	}
	c.stop(victim, cause, c.graceOf(victim))
}

// stop stops a gang that runs: after it has written a checkpoint, or the time for that is
// over, if it writes any.
func (c *Core) stop(rep *replica, cause Cause, grace Duration) {
	c.leaving.ReplaceOrInsert(rep)
	c.relook() // what it leaves may be a place for others
	if !rep.job.spec.Checkpoint.Supported {
		c.evict(rep, cause)
		return
	}
	c.unawait(rep)
	rep.order = RequestCheckpoint{Order: c.order(rep, grace, cause)}
	c.openOrder(rep)
	c.totals.CheckpointsAsked++
}

// evict stops a replica that has to go.
func (c *Core) evict(victim *replica, cause Cause) {
	c.totals.Evicted++
	if victim.yieldsTo != nil {
		c.noteEviction(victim)
	}
	c.takeBack(victim, cause, false)
}

func (rep *replica) ref() ReplicaRef { return ReplicaRef{rep.job.spec.ID, rep.number} }

// asked reports whether a checkpoint was requested of a replica.
func (rep *replica) asked() bool {
	_, asked := rep.order.(RequestCheckpoint)
	return asked
}

// stray reports whether a checkpoint was requested of a replica that need not go any more.
func (rep *replica) stray() bool { return rep.yieldsTo == nil && !rep.leaves && rep.asked() }

// checkpointReported handles the answer of a replica that was asked for a checkpoint.
func (c *Core) checkpointReported(rep *replica, e *ActionReported) *Error {
	if e.Outcome != Done && e.Outcome != Failed || len(e.Members) > 0 {
		return refuse(ErrInvalid, "outcome", fmt.Sprintf("a checkpoint is done or has failed, as a whole; not %s with %d members", e.Outcome, len(e.Members)))
	}
	if e.Outcome == Done {
		rep.checkpointed = c.now
	}
	cause := rep.order.Header().Cause
	if e.Outcome == Failed {
		cause.Detail += separator(cause.Detail) + detail("it wrote no checkpoint", e.Reason)
	}
	c.closeOrder(rep)
	c.answered(rep, cause)
	return nil
}

// answered has a replica go that was asked for a checkpoint and need not be waited for any
// longer; or go on, if nobody needs its place by now.
func (c *Core) answered(rep *replica, cause Cause) {
	if rep.yieldsTo != nil || rep.leaves {
		c.evict(rep, cause)
		return
	}
	c.todo.Delete(rep)
	c.await(rep)
}

// withdrawRequest tells a replica that it need not go.
func (c *Core) withdrawRequest(rep *replica) {
	request := rep.order.Header().ID
	c.closeOrder(rep)
	c.out = append(c.out, Withdraw{Order: c.order(rep, 0, Cause{Code: CauseNotNeeded}), Request: request})
	c.totals.Withdrawn++
	c.await(rep)
}

// vacated notes that a replica holds nothing any more, or need not yield.
func (c *Core) vacated(rep *replica) {
	if beneficiary := rep.yieldsTo; beneficiary != nil {
		rep.yieldsTo = nil
		p := beneficiary.reserved.preemption
		i := slices.Index(p.victims, rep)
		p.victims = slices.Delete(p.victims, i, i+1)
	}
	c.leaving.Delete(rep)
}
