package core

import (
	"github.com/berth-sched/berth"
)

// The life of a replica: from its placement over whatever befalls it to the end, or to the next
// life.

// settle brings a replica that is not Pending into the state that its members
// call for, after any of them changed. It is the one place where that is
// decided. The cause is that of the Release, should it come to one.
func (c *Core) settle(rep *replica, cause berth.Cause) {
	switch rep.State {
	case berth.Running:
		if _, stops := rep.order.(berth.Release); stops && !rep.has(memberStopping) {
			c.closeOrder(rep) // whom it was to stop is gone
		}
		if !rep.has(memberStopping) && rep.yieldsTo == nil && !rep.leaves {
			c.noteLeaving(rep, false)
		}
		if !rep.enough(memberRunning) {
			c.takeBack(rep, cause, false)
		} else if rep.order == nil {
			c.unbookAll(rep, memberFailed, memberLost)
			c.run(rep, c.now)
		} else {
			c.mayStay(rep) // those may be gone that had to leave
		}
	case berth.Binding, berth.Repairing:
		switch {
		case rep.order != nil: // its report decides
			rep.release.Cause = cause
		case rep.enough(memberRunning):
			c.unbookAll(rep, memberFailed, memberLost)
			c.run(rep, c.now)
		case rep.has(memberRunning):
			rep.State, rep.release.Cause = berth.Repairing, cause
			c.noteTodo(rep, true)
		default: // nobody is left to repair around
			c.unbookAll(rep, memberFailed, memberLost)
			c.requeue(rep, true)
		}
	case berth.Releasing:
		if !rep.has(memberStopping) {
			c.finishRelease(rep)
		} else if rep.order == nil {
			c.noteTodo(rep, true)
		}
	}
}

// run makes a replica Running, or keeps it so, and sees to what it is short of. If it has
// just begun to run, that was at an instant.
func (c *Core) run(rep *replica, since berth.Time) {
	if rep.State != berth.Running {
		if rep.Resumed {
			rep.Resumed = false
		} else {
			rep.CameAt = since
		}
		rep.State, rep.Started, rep.retry.Struck = berth.Running, since, false
		rep.retry.Attempts, rep.retry.Repairs, rep.retry.Avoid, rep.failedBids = 0, 0, nil, 0
		c.setEnd(rep, c.endIfPlaced(rep))
		c.noteRunning(rep, true)
		c.totals.Started++
		c.agenda.stir(c.now)
	}
	c.agenda.relook(c.now) // it may have to leave a node that is being drained
	switch {
	case rep.has(memberStopping):
		c.noteTodo(rep, true)
	default:
		c.noteTodo(rep, false) // those it was to stop may be gone
		c.unawait(rep)         // what it is short of may have changed
		c.await(rep)
	}
}

// noteRunning enters a replica among those of its queue that run, or takes it out.
func (c *Core) noteRunning(rep *replica, runs bool) {
	change := 1
	if running := c.queues[rep.job.queue].running; runs {
		running.ReplaceOrInsert(rep)
	} else {
		running.Delete(rep)
		change = -1
	}
	if rep.job.isElastic() {
		c.stretching += change
	}
}

// takeBack starts to stop everything that a replica still holds. gone says that
// it shall not come back.
func (c *Core) takeBack(rep *replica, cause berth.Cause, gone bool) {
	rep.release.Gone = rep.release.Gone || gone
	if rep.release.Gone {
		c.endMove(rep)
	}
	switch rep.State {
	case berth.Releasing:
		return // its Release goes on; only the end of it may have changed
	case berth.Pending:
		if gone {
			c.forget(rep)
		}
		return
	}
	c.withdraw(rep)
	rep.release.Cause, rep.release.Attempt = cause, 0
	c.unbookAll(rep, memberFailed, memberLost)
	for flat := range rep.members {
		if rep.members[flat].state.holds() {
			rep.members[flat].state = memberStopping
		}
	}
	if rep.State == berth.Running {
		c.noteRunning(rep, false)
	}
	rep.State, rep.leaves = berth.Releasing, false
	rep.retry.Struck = rep.retry.Struck || cause.Code == berth.CauseDrained
	c.noteLeaving(rep, true)
	c.agenda.relook(c.now) // what it leaves may be a place for others
	c.setEnd(rep, c.now.Add(c.config.Policy.ReleaseTimeout))
	c.settle(rep, cause)
	if rep.resumes() { // somebody is left to be stopped first
		c.agenda.moveBy(c.now)
	}
}

// withdraw ends the order that is out, and the wait for a place, without
// touching the members.
func (c *Core) withdraw(rep *replica) {
	c.closeOrder(rep)
	c.unawait(rep)
	c.endBackoff(rep)
	c.noteTodo(rep, false)
}

// leavePending ends what is due only while the replica is pending.
func (c *Core) leavePending(rep *replica) {
	if at, limited := rep.dropAt(); limited && rep.State == berth.Pending {
		c.stopTimer(timer{at: at, kind: timerGang, rep: rep})
	}
}

// finishRelease ends a Release: nothing is held any more.
func (c *Core) finishRelease(rep *replica) {
	c.withdraw(rep)
	if rep.release.Gone {
		c.forget(rep)
		return
	}
	c.requeue(rep, rep.release.Backoff)
}

// requeue makes a replica that holds nothing Pending again.
func (c *Core) requeue(rep *replica, backoff bool) {
	c.withdraw(rep)
	c.holdsNothing(rep)
	rep.members, rep.retry.Repairs, rep.Resumed = nil, 0, false
	rep.release = releasePart{}
	if backoff {
		c.backOff(rep)
		if rep.moving != nil && rep.moving.isPart() {
			c.endMove(rep) // not for as long as that
		}
	}
	c.pend(rep)
}

// pend makes a replica Pending as of now.
func (c *Core) pend(rep *replica) {
	rep.State, rep.PendingSince = berth.Pending, c.now
	if at, limited := rep.dropAt(); limited {
		c.setTimer(timer{at: at, kind: timerGang, rep: rep})
	}
	c.await(rep)
}

// dropAt is the instant at which a pending replica is given up.
func (rep *replica) dropAt() (berth.Time, bool) {
	timeout := rep.job.spec.GangTimeout
	return rep.PendingSince.Add(timeout), timeout > 0
}

// holdsNothing ends what a replica has while it holds something.
func (c *Core) holdsNothing(rep *replica) {
	if rep.endsAt == 0 && rep.State != berth.Pending {
		c.agenda.grew(c.now) // no plan has imagined that
	}
	c.setEnd(rep, never)
	c.vacated(rep)
	rep.activeMilli, rep.retry.Backfilled = 0, false
	if c.stalled(rep) {
		rep.reserve.StalledAt = 0
		c.agenda.endStall()
	}
	if c.hopeless(rep) {
		rep.reserve.HopelessAt = 0
		c.agenda.endDespair()
	}
	if rep.exclusive != nil {
		c.endWindow(rep.exclusive)
	}
}

// backOff makes a replica wait after a failed Bind, longer each time.
func (c *Core) backOff(rep *replica) {
	c.endBackoff(rep)
	p := &c.config.Policy
	delay := p.MaxRetryBackoff
	if doublings := min(rep.retry.Attempts, 40); p.RetryBackoff<<doublings>>doublings == p.RetryBackoff {
		delay = min(delay, p.RetryBackoff<<doublings)
	}
	rep.retry.Attempts++
	rep.retry.ReadyAt = c.now.Add(delay)
	c.setTimer(timer{at: rep.retry.ReadyAt, kind: timerBackoff, rep: rep})
}

// endBackoff ends a backoff, if there is one.
func (c *Core) endBackoff(rep *replica) {
	if rep.retry.ReadyAt != 0 {
		c.stopTimer(timer{at: rep.retry.ReadyAt, kind: timerBackoff, rep: rep})
		rep.retry.ReadyAt = 0
	}
}

// forget removes a replica that holds nothing, and its job with the last one.
func (c *Core) forget(rep *replica) {
	c.withdraw(rep)
	c.holdsNothing(rep)
	c.endMove(rep)
	c.leavePending(rep)
	j := rep.job
	j.replicas[rep.Number] = nil
	j.Former = max(j.Former, rep.Incarnation)
	j.vacant = min(j.vacant, rep.Number)
	j.live--
	c.replicas--
	for len(j.replicas) > 0 && j.replicas[len(j.replicas)-1] == nil {
		j.replicas = j.replicas[:len(j.replicas)-1]
	}
	if j.live == 0 && (j.Cancelled || j.spec.Service == nil) {
		c.forgetJob(j)
	}
}

// forgetJob removes a job without replicas.
func (c *Core) forgetJob(j *job) {
	c.dropShape(j.shape)
	must(c.quota.Unretain(j.queue))
	delete(c.jobs, j.spec.ID)
}
