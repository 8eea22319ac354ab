package check

import "github.com/berth-sched/berth"

// This file is the life cycle of a replica, as the manual of package berth draws
// it.

// book places a member: it holds what its placement says.
func (c *Checker) book(n *node, m *member, at berth.MemberPlacement, state memberState) error {
	if share := m.claim().Share; share != nil && at.ShareMemoryMiB == 0 {
		at.ShareMemoryMiB = shareMemory(share, n)
	}
	if b := m.claim().Borrow; b != nil {
		c.borrowers.add(m.rep)
		if at.ShareMemoryMiB == 0 {
			at.ShareMemoryMiB = b.MemoryMiB
		}
	}
	m.at = at
	if err := c.hold(n, m); err != nil {
		return err
	}
	m.state, m.ran = state, state == running
	m.rep.job.queue.charge(c.cost(m), 1)
	c.bookTime(m, 1)
	return nil
}

// shareMemory is the device memory of a share: what it names, else in proportion.
func shareMemory(s *berth.Share, n *node) int64 {
	if s.MemoryMiB > 0 || len(n.spec.GPUs) == 0 {
		return s.MemoryMiB
	}
	return n.spec.GPUs[0].MemoryMiB * int64(s.GPUMilli) / 1000
}

// free ends what a member holds, if it holds anything.
func (c *Checker) free(m *member, state memberState) {
	if m.node != nil {
		m.rep.job.queue.charge(c.cost(m), -1)
		c.bookTime(m, -1)
		m.node.release(m)
	}
	m.leavePreemption()
	m.state = state
}

func (c *Checker) freeAll(rep *replica, states ...memberState) {
	for _, m := range rep.in(states...) {
		c.free(m, absent)
	}
}

// settle finds the state that a replica's members call for. The cause is that of
// a Release, should it come to one.
func (c *Checker) settle(rep *replica, cause berth.CauseCode) {
	c.touched.add(rep)
	switch rep.state {
	case berth.ReplicaRunning:
		if _, stops := rep.order.(berth.Release); stops && !rep.has(stopping) {
			c.close(rep) // the members that it was to stop are gone
		}
		switch {
		case rep.short(running) != "":
			c.takeBack(rep, cause, false)
		case rep.order == nil:
			c.run(rep)
		}
	case berth.ReplicaBinding, berth.ReplicaRepairing:
		switch {
		case rep.order != nil: // its report decides
			rep.cause = cause
		case rep.short(running) == "":
			c.run(rep)
		case rep.has(running):
			rep.state, rep.cause = berth.ReplicaRepairing, cause
			c.due.add(rep)
		default:
			c.freeAll(rep, broke, lost)
			c.comesBackFor(rep, cause)
			c.pend(rep, true)
			if rep.instead != nil {
				c.part(rep, cause)
				c.forget(rep)
			}
		}
	case berth.ReplicaReleasing:
		switch {
		case rep.has(stopping):
			if rep.order == nil {
				c.due.add(rep)
			}
		case rep.gone:
			c.forget(rep)
		default:
			c.comesBackFor(rep, rep.cause)
			c.pend(rep, rep.backoff)
		}
	}
}

// run makes a replica Running that has its minimum, or keeps it so.
func (c *Checker) run(rep *replica) {
	c.freeAll(rep, broke, lost)
	c.due.remove(rep)
	c.endPreemption(rep.key()) // what it lacks may be something else
	if rep.state != berth.ReplicaRunning {
		rep.state, rep.attempts, rep.started, rep.struck, rep.stood = berth.ReplicaRunning, 0, c.now, false, nil
		if !rep.resumes {
			rep.cameAt = c.now
		}
		rep.resumes = false
		c.beginLimit(rep)
		c.noteIdleness(rep)
	}
	if rep.has(stopping) {
		c.due.add(rep)
	}
	if rep.instead != nil {
		c.relieve(rep)
	}
}

// takeBack begins to stop all that a replica holds.
func (c *Checker) takeBack(rep *replica, cause berth.CauseCode, gone bool) {
	if gone = gone || rep.instead != nil; gone {
		c.part(rep, cause)
	}
	rep.gone = rep.gone || gone
	switch rep.state {
	case berth.ReplicaReleasing:
		return
	case berth.ReplicaPending:
		if c.preemptions[rep.key()] != nil {
			c.saw("room made for one that was " + string(cause))
		}
		if gone {
			c.forget(rep)
		}
		return
	}
	c.withdraw(rep)
	c.timed.remove(rep)
	c.endPreemption(rep.key())
	c.freeAll(rep, broke, lost)
	for _, m := range rep.in(binding, running) {
		m.state = stopping
	}
	if cause != berth.CauseMemberFailed {
		rep.stood = nil
	}
	if rep.state == berth.ReplicaRunning && !c.soon(rep) {
		rep.crashes = 0
	}
	rep.state, rep.cause, rep.released = berth.ReplicaReleasing, cause, 0
	c.noteIdleness(rep)
	rep.struck = rep.struck || cause == berth.CauseDrained
	c.settle(rep, cause)
}

// withdraw ends a replica's order and whatever else it waits for.
func (c *Checker) withdraw(rep *replica) {
	c.close(rep)
	rep.readyAt = 0
	c.waiting.remove(rep)
	c.due.remove(rep)
}

// pend makes a replica pending that holds nothing.
func (c *Checker) pend(rep *replica, backoff bool) {
	c.withdraw(rep)
	c.shareAgain(rep)
	rep.leavePreemption()
	if rep.left = ""; rep.state == berth.ReplicaReleasing && rep.comesBack() {
		rep.left = rep.cause
	}
	rep.state, rep.members, rep.pendingSince, rep.activeMilli = berth.ReplicaPending, nil, c.now, 0
	rep.quiet = quiet{}
	c.noteIdleness(rep)
	c.borrowers.remove(rep)
	rep.backoff, rep.observed, rep.resumes, rep.released = false, false, false, 0
	rep.vain, rep.nextStandIn, rep.shunned = 0, 0, nil
	if backoff {
		c.backOff(rep)
		rep.keptUntil = rep.readyAt.Add(c.policy.ReservationTimeout)
		if c.kept[rep.key()] != 0 {
			c.kept[rep.key()] = rep.keptUntil
		}
	}
	if rep.job.spec.GangTimeout > 0 && rep.job.gate == nil {
		c.limited.add(rep)
	}
}

// backOff makes a replica wait: longer each time, up to a bound.
func (c *Checker) backOff(rep *replica) {
	rep.readyAt = c.now.Add(c.delay(rep.attempts))
	rep.attempts++
	c.waiting.add(rep)
}

// delay is how long a start waits after so many that failed before the last one.
func (c *Checker) delay(attempts int) berth.Duration {
	delay := c.policy.RetryBackoff
	for range attempts {
		if delay >= c.policy.MaxRetryBackoff {
			break
		}
		delay *= 2
	}
	return min(delay, c.policy.MaxRetryBackoff)
}

// forget removes a replica that holds nothing, and its job with the last one.
func (c *Checker) forget(rep *replica) {
	if rep.standIn != nil {
		c.saw("a stand-in stays for one that is given up")
		rep.standIn.leaveSurge()
	}
	c.withdraw(rep)
	c.shareAgain(rep)
	c.limited.remove(rep)
	c.borrowers.remove(rep)
	c.quietOnes.remove(rep)
	c.touched.remove(rep)
	rep.leavePreemption()
	c.endPreemption(rep.key())
	delete(c.kept, rep.key())
	j := rep.job
	delete(j.replicas, rep.number)
	j.former = max(j.former, rep.incarnation)
	if len(j.replicas) == 0 && (j.cancelled || j.spec.Service == nil) {
		c.forgetJob(j)
	}
}

func (c *Checker) forgetJob(j *job) {
	j.queue.jobs--
	delete(c.jobs, j.spec.ID)
	c.endForOthers(j)
}

// open makes an order one that is out.
func (c *Checker) open(rep *replica, a berth.Order) {
	c.endPreemption(rep.key()) // it does not wait any more
	rep.order = a
	c.orders[a.Header().ID] = rep
}

// close ends the order that is out, if one is.
func (c *Checker) close(rep *replica) {
	if rep.order != nil {
		delete(c.orders, rep.order.Header().ID)
		rep.order = nil
	}
}
