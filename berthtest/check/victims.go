package check

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// This file is about victims: their requests, their answers, and what comes of them.

// evictions is what is known of victims.
type evictions struct {
	// preemptions under way, by their beneficiaries; opened are those of the latest pass.
	preemptions map[gangKey]*preemption
	opened      []*preemption
	// stray replicas were asked for a checkpoint, and are no victims any more, when the pass
	// began; silent ones have not answered by the deadline.
	stray, silent set
	// told replicas were told in this pass that they are no victims any more.
	told set
	// planned is the latest replica that was started on the nodes of its victims.
	planned *replica
	// taken has the requests that were withdrawn.
	taken map[berth.OrderID]bool
	// progress of all victims, until they hold something again; strayed is what is wrong with
	// them.
	progress map[*replica]*progress
	strayed  error
}

func newEvictions() evictions {
	return evictions{
		preemptions: map[gangKey]*preemption{}, stray: set{}, silent: set{}, told: set{}, taken: map[berth.OrderID]bool{},
		progress: map[*replica]*progress{},
	}
}

// beginEvictions notes the replicas that the pass has to tell that they are no victims any more.
func (c *Checker) beginEvictions() {
	c.opened, c.planned, c.victimsNow, c.departed, c.fixed = nil, nil, nil, nil, nil
	clear(c.told)
	for _, rep := range c.orders {
		if rep.asked() && rep.needless() {
			c.stray.add(rep)
		}
	}
}

// evicts reports whether a cause is that of a victim.
func evicts(code berth.CauseCode) bool {
	return code == berth.CausePreempted || code == berth.CauseReclaimed
}

// hasBeneficiary reports whether a cause is that of a replica that goes for another: as a victim,
// or to move.
func hasBeneficiary(code berth.CauseCode) bool { return evicts(code) || code == berth.CauseMoved }

// ownCauses are those of a gang that is told to go on its own account.
var ownCauses = []berth.CauseCode{berth.CauseDrained, berth.CauseMaxRuntime, berth.CauseIdle, berth.CauseGivenBack, berth.CauseOverLimit, berth.CauseBudget}

// asked reports whether a checkpoint was requested of a replica.
func (rep *replica) asked() bool {
	_, asked := rep.order.(berth.RequestCheckpoint)
	return asked
}

// doing says what a replica does.
func (rep *replica) doing() string {
	if rep.asked() {
		return "asked"
	}
	return rep.state.String()
}

// request: a checkpoint is asked of a replica that can write one and is evicted, or has to leave.
func (c *Checker) request(rep *replica, r berth.RequestCheckpoint) error {
	grace, told := c.grace(rep), c.toldTo(r.Cause.Code)
	switch r.Cause.Code {
	case berth.CauseDrained, berth.CauseIdle, berth.CauseOverLimit, berth.CauseBudget:
		grace = c.graceOf(rep)
	case berth.CauseMaxRuntime:
		grace = c.left(rep)
	case berth.CauseGivenBack:
		grace = c.leftToGiveBack(rep)
	}
	if err := c.dueBy(r.OrderHeader, grace); err != nil {
		return err
	}
	if !rep.job.spec.Checkpoint.Supported {
		return broken(PromiseS6, "order %d asks %s for a checkpoint, which writes none", r.ID, rep)
	}
	if err := c.toldAnew(rep); err != nil {
		return err
	}
	if err := told(rep, r.OrderHeader); err != nil {
		return err
	}
	if err := namesAll(rep, r.ID, r.Members, running, PromiseOrders); err != nil {
		return err
	}
	c.saw("checkpoint requested")
	c.open(rep, r)
	rep.hastened = false
	if !rep.ends() { // it is no victim
		c.signal(rep, protocol.SignalAsk)
	}
	return nil
}

// toldTo is what has to hold of a replica that is told to go for a cause.
func (c *Checker) toldTo(cause berth.CauseCode) func(*replica, berth.OrderHeader) error {
	switch cause {
	case berth.CauseDrained:
		return c.mustLeave
	case berth.CauseMoved:
		return c.mustMove
	case berth.CauseMaxRuntime:
		return c.mustEnd
	case berth.CauseIdle:
		return c.mustEndIdle
	case berth.CauseGivenBack:
		return c.mustGiveBack
	case berth.CauseOverLimit:
		return c.comesWithin
	case berth.CauseBudget:
		return c.stopsInTurn
	}
	return c.mayBeEvicted
}

// withdrawn: a request is taken back while it is out, if nobody needs it any more.
func (c *Checker) withdrawn(w berth.Withdraw) error {
	rep, err := c.named(w.OrderHeader)
	switch {
	case err != nil:
		return err
	case !rep.asked() || rep.order.Header().ID != w.Request:
		return broken(PromiseOrders, "order %d withdraws order %d from %s, which is no request that is out", w.ID, w.Request, rep)
	case w.Deadline != 0:
		return broken(PromiseDeadlines, "order %d is a withdrawal, and is due by %d", w.ID, w.Deadline)
	case w.Cause.Code != berth.CauseNotNeeded:
		return broken(PromiseCauses, "order %d withdraws a request because of %q", w.ID, w.Cause.Code)
	case w.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", w.ID, w.Incarnation, rep, rep.incarnation)
	}
	if rep.isOverLimit() {
		c.noteOverLimit() // others may have been told to go since the pass began
	}
	if err := c.mayGoOn(rep, broken(PromiseS7, "order %d withdraws the request of %s, whose place %s still needs", w.ID, rep, rep.reasonToGo())); err != nil {
		return err
	}
	if rep.preemption == nil {
		c.saw("need not leave any more")
	}
	c.saw("request withdrawn")
	c.taken[w.Request] = true
	c.told.add(rep)
	c.spareLate(rep)
	c.signal(rep, protocol.SignalWithdraw)
	c.goesOn(rep)
	return nil
}

// goesOn: a replica that was asked for a checkpoint is no victim any more.
func (c *Checker) goesOn(rep *replica) {
	c.close(rep)
	rep.leavePreemption()
	c.touched.add(rep)
}

// checkpointReported: a victim that has answered is stopped, unless no gang needs its place by now.
func (c *Checker) checkpointReported(rep *replica, e berth.OrderReported) error {
	if e.Outcome != berth.OutcomeDone && e.Outcome != berth.OutcomeFailed || len(e.Members) > 0 {
		return broken(PromiseEvents, "the report of order %d was accepted, a request for a checkpoint: %s with %d members", e.Order, e.Outcome, len(e.Members))
	}
	answer := protocol.SignalFailed
	if e.Outcome == berth.OutcomeDone {
		rep.checkpointed, answer = c.now, protocol.SignalDone
	}
	c.signal(rep, answer)
	if rep.needless() {
		c.saw("request answered in vain")
		c.goesOn(rep)
		return nil
	}
	c.saw("request " + e.Outcome.String())
	if rep.preemption != nil {
		c.evictedNow(rep, rep.order.Header().Cause.Code)
	}
	c.stop(rep, rep.order.Header().Cause.Code)
	return nil
}

// requestExpired: a victim that has not answered by the deadline is stopped by this pass, unless
// no gang needs its place by now.
func (c *Checker) requestExpired(rep *replica) {
	c.saw("request expired")
	c.silent.add(rep)
	c.touched.add(rep)
}

// evict brings a victim into the state in which its Release finds it: it
// did not answer in time, or writes no checkpoints. All others are so already.
func (c *Checker) evict(rep *replica, r *berth.Release) error {
	if len(r.SurplusEvictions) > 0 {
		if err := c.toldAnew(rep); err != nil {
			return err
		}
	}
	switch {
	case !hasBeneficiary(r.Cause.Code) && !slices.Contains(ownCauses, r.Cause.Code):
		return nil
	case c.silent.has(rep) && c.stray.has(rep):
		return broken(PromiseS6, "order %d stops %s, whose place %s needs no longer", r.ID, rep, rep.reasonToGo())
	case c.silent.has(rep):
		c.silent.remove(rep)
		c.signal(rep, protocol.SignalDeadline)
	case rep.state == berth.ReplicaReleasing, rep.has(stopping):
		return nil // it was reported, or stays
	case len(r.SurplusEvictions) > 0:
		return c.shrink(rep, r)
	case r.Cause.Code == berth.CauseOverLimit && len(r.Remaining) > 0:
		return c.shrinksWithin(rep, r)
	case rep.job.spec.Checkpoint.Supported && !c.hasNoTime(rep, r.Cause.Code):
		return broken(PromiseS6, "order %d stops %s because of %q, which was not asked for a checkpoint", r.ID, rep, r.Cause.Code)
	default:
		if err := c.toldTo(r.Cause.Code)(rep, r.OrderHeader); err != nil {
			return err
		}
		c.saw("stopped without a checkpoint")
		c.signal(rep, protocol.SignalStop)
	}
	if rep.preemption != nil {
		c.evictedNow(rep, r.Cause.Code)
	}
	c.stop(rep, r.Cause.Code)
	return nil
}

// afterSilence: no victim that did not answer is left to go on while its place is needed.
func (c *Checker) afterSilence() error {
	for _, rep := range c.silent.sorted() {
		if err := c.wentOn(rep); err != nil {
			return err
		}
	}
	clear(c.silent)
	return nil
}

// toldAnew: a victim that did not answer, and is asked for another beneficiary in the same pass,
// went on in between.
func (c *Checker) toldAnew(rep *replica) error {
	if !c.silent.has(rep) {
		return nil
	}
	c.silent.remove(rep)
	c.stray.remove(rep)
	return c.wentOn(rep)
}

// wentOn: a victim that did not answer goes on, as no gang needs its place.
func (c *Checker) wentOn(rep *replica) error {
	err := broken(PromiseS7, "%s did not answer a request for a checkpoint in time, goes on, and %s needs its place", rep, rep.reasonToGo())
	if rep.preemption == nil && !rep.needless() {
		return err
	}
	c.unlessEnded(rep.preemption, err)
	c.spareLate(rep)
	c.signal(rep, protocol.SignalDeadline)
	rep.leavePreemption()
	c.saw("request expired in vain")
	return nil
}
