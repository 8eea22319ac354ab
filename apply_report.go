package berth

import (
	"fmt"
	"slices"
)

// actionReported is the end of an order. Reports about orders that are not out
// are stale: they were reported before, have expired, or were overtaken.
func (c *Core) actionReported(e ActionReported) *Error {
	rep := c.orders[e.Action]
	if rep == nil {
		kind, reason := ErrStale, fmt.Sprintf("order %d is not out any more", e.Action)
		if e.Action == 0 || e.Action > c.lastAction {
			kind, reason = ErrUnknown, fmt.Sprintf("order %d was never given", e.Action)
		}
		return refuse(kind, "action", reason)
	}
	if err := checkText(e.Reason); err != nil {
		return err.in("reason")
	}
	_, binds := rep.order.(Bind)
	ordered := memberStopping
	if binds {
		ordered = memberBinding
	}
	failed, err := c.failedMembers(rep, &e, ordered)
	if err != nil {
		return err
	}
	if binds {
		c.closeOrder(rep)
		c.bindReported(rep, failed, e.Reason)
	} else {
		c.releaseReported(rep, failed)
	}
	return nil
}

// failedMembers resolves which members of the order the report says failed.
func (c *Core) failedMembers(rep *replica, e *ActionReported, ordered memberState) ([]int, *Error) {
	if (e.Outcome == Partial) != (len(e.Members) > 0) {
		return nil, refuse(ErrInvalid, "members", fmt.Sprintf("%d members with outcome %s: partial lists those that failed, the others none", len(e.Members), e.Outcome))
	}
	switch e.Outcome {
	case Done:
		return nil, nil
	case Failed:
		var all []int
		for flat := range rep.members {
			switch rep.members[flat].state {
			case ordered, memberFailed, memberLost:
				all = append(all, flat)
			}
		}
		return all, nil
	case Partial:
		return c.resolve(rep, e.Members, ordered, memberFailed, memberLost)
	default:
		return nil, refuse(ErrInvalid, "outcome", fmt.Sprintf("%d is out of range", e.Outcome))
	}
}

// resolve turns references into flat indexes of members in one of some states.
// Members that were lost meanwhile are left out.
func (c *Core) resolve(rep *replica, refs []MemberRef, in ...memberState) ([]int, *Error) {
	var flats []int
	seen := make(map[int]bool, len(refs))
	for i, ref := range refs {
		flat := rep.job.flat(ref)
		if flat < 0 || seen[flat] {
			return nil, refuse(ErrInvalid, index("members", i), fmt.Sprintf("%v is no member of the gang, or is doubled", ref))
		}
		seen[flat] = true
		switch state := rep.members[flat].state; {
		case slices.Contains(in, state):
			flats = append(flats, flat)
		case state == memberAbsent: // lost meanwhile, or stopped
		default:
			return nil, refuse(ErrInvalid, index("members", i), fmt.Sprintf("%v is not part of it", ref))
		}
	}
	return flats, nil
}

func (c *Core) bindReported(rep *replica, failed []int, reason string) {
	for _, flat := range failed {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].state = memberFailed
		}
	}
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].state = memberRunning
		}
	}
	if len(failed) > 0 {
		c.totals.BindsFailed++
		if rep.state == Running {
			c.backOff(rep)
		}
	} else {
		rep.attempts = 0
	}
	c.settle(rep, rep.bindCause(reason))
}

// bindCause says what became of the members that a Bind did not start: they
// failed to, or else were lost meanwhile for a cause that settle has noted.
func (rep *replica) bindCause(reason string) Cause {
	failed := 0
	for flat := range rep.members {
		if rep.members[flat].state == memberFailed {
			failed++
		}
	}
	if failed == 0 {
		return rep.cause
	}
	return Cause{CauseBindFailed, detail(fmt.Sprintf("%d members failed to start", failed), reason)}
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
		c.settle(rep, rep.cause)
	}
}

// memberFailed handles members that died on sound hardware.
func (c *Core) memberFailed(e MemberFailed) *Error {
	rep, err := c.knownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	if rep.state == Releasing {
		return refuse(ErrStale, "incarnation", "the gang is being released")
	}
	if len(e.Members) == 0 {
		return refuse(ErrInvalid, "members", "is empty")
	}
	if err := checkText(e.Reason); err != nil {
		return err.in("reason")
	}
	flats, err := c.resolve(rep, e.Members, memberRunning, memberBinding)
	if err != nil {
		return err
	}
	for _, flat := range flats {
		if rep.members[flat].state == memberBinding {
			// It is up to the report of the Bind, like a lost node; but the place
			// is not lost, so it is kept until then.
			rep.members[flat].state = memberFailed
		} else {
			c.unbook(rep, flat, memberAbsent)
		}
	}
	if rep.state == Running {
		// A gang that dies as soon as it starts must not do so at the speed of passes.
		if rep.backoff = !rep.enough(memberRunning); !rep.backoff {
			c.backOff(rep)
		}
	}
	c.settle(rep, Cause{CauseMemberFailed, detail(fmt.Sprintf("%d members died", len(flats)), e.Reason)})
	return nil
}

// jobFinished handles the end of a job by itself.
func (c *Core) jobFinished(e JobFinished) *Error {
	j, err := c.knownJob("job", e.Job)
	if err != nil {
		return err
	}
	if j.spec.Service != nil {
		return refuse(ErrInvalid, "job", "is a service, which ends by being cancelled")
	}
	rep, err := c.knownLife(e.Job, 0, e.Incarnation)
	if err != nil {
		return err
	}
	if err := checkText(e.Reason); err != nil {
		return err.in("reason")
	}
	c.withdraw(rep)
	c.unbookAll(rep, memberBinding, memberRunning, memberFailed, memberLost, memberStopping)
	c.totals.Finished++
	c.forget(rep)
	return nil
}

// knownLife finds the replica of a report about a life that is not over.
func (c *Core) knownLife(id JobID, number int, incarnation Incarnation) (*replica, *Error) {
	j, err := c.knownJob("job", id)
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= len(j.replicas) || j.replicas[number] == nil {
		return nil, refuse(ErrUnknown, "replica", fmt.Sprintf("job %q has no replica %d", id, number))
	}
	rep := j.replicas[number]
	switch {
	case incarnation > rep.incarnation:
		return nil, refuse(ErrUnknown, "incarnation", fmt.Sprintf("%d is yet to come", incarnation))
	case rep.incarnation == 0:
		return nil, refuse(ErrStale, "incarnation", "the replica was never bound")
	case incarnation < rep.incarnation || rep.state == Pending:
		return nil, refuse(ErrStale, "incarnation", fmt.Sprintf("life %d of the replica is over", incarnation))
	}
	return rep, nil
}
