package check

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// orderReported: a report about an order that is over changes nothing, so it is
// never accepted.
func (c *Checker) orderReported(e berth.OrderReported) error {
	if e.Outcome == berth.OutcomeUnset {
		return broken(PromiseEvents, "a report about order %d was accepted that does not say how it ended", e.Order)
	}
	if ch := c.changes[e.Order]; ch != nil {
		return c.repartitionReported(ch, e)
	}
	rep := c.orders[e.Order]
	if rep == nil {
		return broken(PromiseS9, "a report about order %d was accepted, which is not out", e.Order)
	}
	if rep.asked() {
		return c.checkpointReported(rep, e)
	}
	_, bind := rep.order.(berth.Bind)
	failed := map[int]bool{}
	for _, ref := range e.Members {
		failed[rep.job.flat(ref)] = true
	}
	all := e.Outcome == berth.OutcomeFailed
	if bind {
		c.close(rep)
		c.bindReported(rep, e.Outcome, func(m *member) bool { return all || failed[m.flat] })
	} else {
		c.releaseReported(rep, e.Outcome, func(m *member) bool { return all || failed[m.flat] })
	}
	return nil
}

func (c *Checker) bindReported(rep *replica, outcome berth.Outcome, failed func(*member) bool) {
	before, any := rep.state, false
	for _, m := range rep.in(binding) {
		m.state, m.ran = running, true
		if failed(m) {
			m.state, m.ran, any = broke, false, true
			rep.avoid(m)
		} else {
			c.proves(m)
		}
	}
	// Members that were lost or died meanwhile failed as well, if the report says so.
	for _, m := range rep.in(broke, lost) {
		any = any || failed(m)
	}
	switch {
	case any && before == berth.ReplicaRunning:
		c.backOff(rep)
	case !any && !rep.has(broke) && !rep.has(lost):
		rep.attempts = 0
	}
	cause := rep.cause // of what was noted meanwhile
	if rep.has(broke) {
		cause = berth.CauseBindFailed
	}
	c.settle(rep, cause)
	c.saw(fmt.Sprintf("bind %s: %s to %s", outcome, before, rep.state))
}

func (c *Checker) releaseReported(rep *replica, outcome berth.Outcome, failed func(*member) bool) {
	c.saw("release " + outcome.String())
	any := false
	for _, m := range rep.in(stopping) {
		if failed(m) {
			any = true
		} else {
			c.free(m, absent)
		}
	}
	c.signal(rep, answer(outcome, any))
	if !any { // else the order stays out for those that are left
		c.close(rep)
		c.settle(rep, rep.cause)
	}
}

// answer is what the report of a Release comes to: it may name members that were stopped by
// then.
func answer(outcome berth.Outcome, left bool) protocol.Signal {
	switch {
	case !left:
		return protocol.SignalDone
	case outcome == berth.OutcomeFailed:
		return protocol.SignalFailed
	}
	return protocol.SignalPartial
}

// life finds the replica of a report about a life. A report about one that is
// over is never accepted.
func (c *Checker) life(what string, id berth.JobID, number int, incarnation berth.Incarnation) (*replica, error) {
	rep := c.find(gangKey{id, number})
	if rep == nil {
		return nil, broken(PromiseS9, "%s of %s/%d was accepted, which is not known", what, id, number)
	}
	if rep.state == berth.ReplicaPending || rep.incarnation != incarnation {
		return nil, broken(PromiseS9, "%s of incarnation %d of %s was accepted, which is %s, its last incarnation %d", what, incarnation, rep, rep.state, rep.incarnation)
	}
	return rep, nil
}

func (c *Checker) memberFailed(e berth.MemberFailed) error {
	rep, err := c.life("a member's failure", e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if rep.state == berth.ReplicaReleasing {
		return broken(PromiseS9, "a member's failure of %s was accepted, which is being released", rep)
	}
	c.saw("memberFailed while " + rep.doing())
	hit := false
	dies := map[*member]bool{}
	for _, ref := range e.Members {
		if flat := rep.job.flat(ref); flat >= 0 && (e.Bind == 0 || e.Bind == rep.members[flat].bind) {
			dies[rep.members[flat]] = true
		}
	}
	left := slices.DeleteFunc(rep.in(running), func(m *member) bool { return dies[m] })
	rep.noteStood(func(m *member) bool { return dies[m] || !rep.enough(left) })
	for _, ref := range e.Members {
		flat := rep.job.flat(ref)
		if flat < 0 {
			return broken(PromiseEvents, "the failure of %v of %s was accepted, which is no member", ref, rep)
		}
		m := rep.members[flat]
		if e.Bind != 0 && e.Bind != m.bind || m.state != binding && m.state != running {
			continue // it is about one that is gone, or on its way
		}
		hit = true
		if e.Fault == berth.FaultNode {
			c.saw("members died, and their nodes are at fault")
			rep.avoid(m)
		}
		switch {
		case m.state == binding:
			m.state = broke // the report of the Bind decides
		case rep.state != berth.ReplicaRunning:
			c.free(m, lost) // the same
		default:
			c.free(m, absent)
		}
	}
	if !hit {
		return broken(PromiseS9, "a member's failure of %s was accepted that is about none that runs", rep)
	}
	if rep.state == berth.ReplicaRunning {
		if rep.short(running) != "" {
			c.failed(rep, e.Fault)
		} else {
			c.backOff(rep)
		}
	}
	c.settle(rep, berth.CauseMemberFailed)
	c.signalLoss(rep)
	return nil
}

func (c *Checker) jobFinished(e berth.JobFinished) error {
	rep, err := c.life("the end", e.Job, 0, e.Incarnation)
	if err != nil {
		return err
	}
	if rep.job.spec.Service != nil {
		return broken(PromiseEvents, "the end of job %s was accepted, which is a service", e.Job)
	}
	if rep.gone {
		return broken(PromiseS9, "the end of %s was accepted, which is on its way out already", rep)
	}
	c.saw("finished while " + rep.doing())
	if !e.Failed {
		c.learn(rep)
	}
	rep.job.cancelled, rep.job.completed = true, !e.Failed
	c.signal(rep, protocol.SignalFinish)
	if rep.state == berth.ReplicaReleasing {
		rep.gone = true
		return nil
	}
	// Members that are being started or stopped may come up yet: they are released.
	c.freeAll(rep, running, broke, lost)
	c.takeBack(rep, berth.CauseFinished, true)
	return nil
}
