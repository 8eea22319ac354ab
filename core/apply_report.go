package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// actionReported is the end of an order. Reports about orders that are not out
// are stale: they were reported before, have expired, or were overtaken.
func (c *Core) actionReported(e berth.ActionReported) *berth.Error {
	if p := c.repartitions[e.Action]; p != nil {
		if err := refusal.Text(e.Reason); err != nil {
			return refusal.In(err, "reason")
		}
		return c.repartitionReported(p, &e)
	}
	rep := c.orders[e.Action]
	if rep == nil {
		kind, reason := berth.ErrStale, fmt.Sprintf("order %d is not out any more", e.Action)
		if e.Action == 0 || e.Action > c.lastAction {
			kind, reason = berth.ErrUnknown, fmt.Sprintf("order %d was never given", e.Action)
		}
		return refusal.Of(kind, "action", reason)
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if rep.asked() {
		return c.checkpointReported(rep, &e)
	}
	_, binds := rep.order.(berth.Bind)
	ordered := memberStopping
	if binds {
		ordered = memberBinding
	}
	failed, err := c.failedMembers(rep, &e, ordered)
	if err != nil {
		return err
	}
	if binds {
		if len(failed) > 0 && rep.order.Header().Cause.Code == berth.CauseRoomMade {
			c.failBid(rep)
		}
		c.closeOrder(rep)
		c.bindReported(rep, failed, e.Reason)
	} else {
		c.releaseReported(rep, failed)
	}
	return nil
}

// failedMembers resolves which members of the order the report says failed.
func (c *Core) failedMembers(rep *replica, e *berth.ActionReported, ordered memberState) ([]int, *berth.Error) {
	if (e.Outcome == berth.Partial) != (len(e.Members) > 0) {
		return nil, refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("%d members with outcome %s: partial lists those that failed, the others none", len(e.Members), e.Outcome))
	}
	switch e.Outcome {
	case berth.Done:
		return nil, nil
	case berth.Failed:
		var all []int
		for flat := range rep.members {
			switch rep.members[flat].state {
			case ordered, memberFailed, memberLost:
				all = append(all, flat)
			}
		}
		return all, nil
	case berth.Partial:
		for i, ref := range e.Members {
			if flat := rep.job.flat(ref); flat >= 0 && rep.members[flat].state == memberRunning {
				return nil, refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%v runs, and is no part of the order", ref))
			}
		}
		return rep.resolve(e.Members, func(m *member) bool {
			return m.state == ordered || m.state == memberFailed || m.state == memberLost
		})
	default:
		return nil, refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("%d is out of range", e.Outcome))
	}
}

// resolve turns references into the flat indexes of those members that are meant:
// the others are gone or on their way. References that name no member of the gang,
// or one twice, are refused.
func (rep *replica) resolve(refs []berth.MemberRef, meant func(*member) bool) ([]int, *berth.Error) {
	var flats []int
	seen := make(map[int]bool, len(refs))
	for i, ref := range refs {
		flat := rep.job.flat(ref)
		if flat < 0 || seen[flat] {
			return nil, refusal.Of(berth.ErrInvalid, errtext.Index("members", i), fmt.Sprintf("%v is no member of the gang, or is doubled", ref))
		}
		seen[flat] = true
		if meant(&rep.members[flat]) {
			flats = append(flats, flat)
		}
	}
	return flats, nil
}

func (c *Core) bindReported(rep *replica, failed []int, reason string) {
	for _, flat := range failed {
		if m := &rep.members[flat]; m.state == memberBinding {
			m.state = memberFailed
			rep.shun(m.node.spec.ID)
		}
	}
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].state, rep.members[flat].Ran = memberRunning, true
		}
	}
	if len(failed) > 0 {
		c.totals.BindsFailed++
		if rep.State == berth.Running {
			c.backOff(rep)
		}
	} else if !rep.has(memberFailed, memberLost) {
		rep.retry.Attempts, rep.retry.Avoid = 0, nil
	}
	c.settle(rep, rep.bindCause(reason))
}

// shun has the replica avoid a node on which a member did not start.
func (rep *replica) shun(id berth.NodeID) {
	if slices.Contains(rep.retry.Avoid, id) {
		return
	}
	if len(rep.retry.Avoid) == maxAvoid {
		rep.retry.Avoid = slices.Delete(rep.retry.Avoid, 0, 1)
	}
	rep.retry.Avoid = append(rep.retry.Avoid, id)
}

// bindCause says what became of the members that a Bind did not start: they
// failed to, or else were lost meanwhile for a cause that settle has noted.
func (rep *replica) bindCause(reason string) berth.Cause {
	failed := 0
	for flat := range rep.members {
		if rep.members[flat].state == memberFailed {
			failed++
		}
	}
	if failed == 0 {
		return rep.release.Cause
	}
	return berth.Cause{Code: berth.CauseBindFailed, Detail: berth.Detail(fmt.Sprintf("%d members failed to start", failed), reason)}
}

// releaseReported frees the members that are gone. For the others the order
// stays out: it may be reported again, and is given again at its deadline, so that
// an executor that fails fast does not use up the attempts in no time.
func (c *Core) releaseReported(rep *replica, failed []int) {
	still := make(map[int]bool, len(failed))
	for _, flat := range failed {
		still[flat] = rep.members[flat].state == memberStopping
	}
	left := false
	for flat := range rep.members {
		switch {
		case still[flat]:
			left = true
		case rep.members[flat].state == memberStopping:
			c.unbook(rep, flat, memberAbsent)
		}
	}
	if !left {
		c.closeOrder(rep)
		c.settle(rep, rep.release.Cause)
		return
	}
	rep.order = c.describeStops(rep, rep.order.(berth.Release))
}

// memberFailed handles members that died on sound hardware.
func (c *Core) memberFailed(e berth.MemberFailed) *berth.Error {
	rep, err := c.knownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if rep.State == berth.Releasing {
		return refusal.Of(berth.ErrStale, "incarnation", "the gang is being released")
	}
	if len(e.Members) == 0 {
		return refusal.Of(berth.ErrInvalid, "members", "is empty")
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	flats, err := rep.resolve(e.Members, func(m *member) bool {
		return (m.state == memberRunning || m.state == memberBinding) && (e.Bind == 0 || e.Bind == m.Bind)
	})
	if err != nil {
		return err
	}
	if len(flats) == 0 {
		return refusal.Of(berth.ErrStale, "members", "none of them runs any more")
	}
	for _, flat := range flats {
		switch {
		case rep.members[flat].state == memberBinding:
			rep.members[flat].state = memberFailed // it keeps its place until the Bind is reported
		case rep.State == berth.Running:
			c.unbook(rep, flat, memberAbsent)
		default: // it counts as placed until then
			c.unbook(rep, flat, memberLost)
		}
	}
	if rep.State == berth.Running {
		// A gang that dies as soon as it starts must not do so at the speed of passes.
		if rep.release.Backoff = !rep.enough(memberRunning); !rep.release.Backoff {
			c.backOff(rep)
		}
	}
	c.settle(rep, berth.Cause{Code: berth.CauseMemberFailed, Detail: berth.Detail(fmt.Sprintf("%d members died", len(flats)), e.Reason)})
	return nil
}

// jobFinished handles the end of a job by itself.
func (c *Core) jobFinished(e berth.JobFinished) *berth.Error {
	j, err := c.knownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.spec.Service != nil {
		return refusal.Of(berth.ErrInvalid, "job", "is a service, which ends by being cancelled")
	}
	rep, err := c.knownLife(e.Job, 0, e.Incarnation)
	if err != nil {
		return err
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	if rep.release.Gone {
		return refusal.Of(berth.ErrStale, "incarnation", "the job is on its way out already")
	}
	c.totals.Finished++
	j.Cancelled = true
	if rep.State == berth.Releasing {
		rep.release.Gone = true // its Release goes on
		c.endMove(rep)
		return nil
	}
	// Members that are being started, or stopped, may come up yet: they are released.
	c.unbookAll(rep, memberRunning, memberFailed, memberLost)
	c.takeBack(rep, berth.Cause{Code: berth.CauseFinished, Detail: e.Reason}, true)
	return nil
}

// knownLife finds the replica of a report about a life that is not over.
func (c *Core) knownLife(id berth.JobID, number int, incarnation berth.Incarnation) (*replica, *berth.Error) {
	j, err := c.knownJob("job", id)
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= len(j.replicas) || j.replicas[number] == nil {
		return nil, refusal.Of(berth.ErrUnknown, "replica", fmt.Sprintf("job %q has no replica %d", id, number))
	}
	rep := j.replicas[number]
	switch {
	case incarnation > rep.Incarnation:
		return nil, refusal.Of(berth.ErrUnknown, "incarnation", fmt.Sprintf("%d is yet to come", incarnation))
	case rep.Incarnation == 0:
		return nil, refusal.Of(berth.ErrStale, "incarnation", "the replica was never bound")
	case incarnation < rep.Incarnation || rep.State == berth.Pending:
		return nil, refusal.Of(berth.ErrStale, "incarnation", fmt.Sprintf("life %d of the replica is over", incarnation))
	}
	return rep, nil
}
