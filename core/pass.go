package core

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// maxRepairs bounds how often the members of one Bind are placed anew before
// the gang is taken back whole.
const maxRepairs = 3

// Schedule runs a pass at an instant and returns the orders it gives, in the
// order of their IDs. It refuses an instant before one that the core has seen.
//
// A pass first lets fall due what is due, then sees to the replicas that must be
// stopped or repaired, and then places pending work in policy order until
// nothing more fits or Policy.PassBudget attempts are spent; the rest goes on in
// the next pass. Its cost is proportional to what changed since the last one,
// not to what exists: after something became free, that is one search for each
// distinct request that waits and might fit there.
func (c *Core) Schedule(now berth.Time) ([]berth.Action, error) {
	if now < c.now {
		return nil, c.clockError("schedule", now)
	}
	c.now = now
	c.tick()
	c.expire()
	c.mend()
	c.tellCapacity() // less is in use on nodes that take no more work
	c.rank()
	c.relocate()
	c.earmark(true)
	c.tendDrains()
	c.tendSpares()
	c.serveReserved()
	c.wake()
	c.agenda.beginPlacing()
	c.place()
	c.reshape()
	c.bringBack()
	c.reserve()
	c.backfill()
	c.earmark(false)
	c.preempt()
	c.endRemnants()
	c.mend() // who is stopped at once, and who need not yield any more
	c.agenda.endPass()
	for _, n := range c.opened {
		c.reopened(n)
	}
	c.opened = c.opened[:0]
	return c.handOver(), nil
}

func (c *Core) clockError(what string, now berth.Time) *berth.Error {
	return &berth.Error{
		Event: what, Field: "now", Kind: berth.ErrClock,
		Reason: fmt.Sprintf("%d is before %d", now, c.now),
	}
}

// expire handles every timer that is due.
func (c *Core) expire() {
	c.endWindows()
	c.trustAgain()
	reasons := map[*shape]string{} // one answer for all that asked the same
	for {
		t, ok := c.dueTimer()
		if !ok {
			return
		}
		switch t.kind {
		case timerBackoff:
			t.rep.retry.ReadyAt = 0
			c.await(t.rep)
		case timerGang:
			c.giveUp(t.rep, reasons)
		case timerDeadline:
			c.expireOrder(t.rep)
		case timerRepartition:
			c.expireRepartition(t.repartition)
		}
	}
}

// giveUp drops a job that was pending for longer than its gang timeout.
func (c *Core) giveUp(rep *replica, reasons map[*shape]string) {
	waited := c.now.Sub(rep.PendingSince)
	why := "pending for " + waited.String()
	if rep.entries != nil {
		s := rep.job.shape
		if _, known := reasons[s]; !known {
			reasons[s] = c.reason(rep.entries[0]).Text
		}
		why += ": " + reasons[s]
	}
	c.emit(berth.Drop{Order: c.order(rep, 0, berth.Cause{Code: berth.CauseGangTimeout, Detail: why})})
	c.totals.Dropped++
	c.forget(rep)
}

// expireOrder handles an order that was not reported by its deadline.
func (c *Core) expireOrder(rep *replica) {
	expired := rep.order
	c.closeOrder(rep)
	c.totals.Expired++
	switch expired.(type) {
	case berth.Bind:
		if expired.Header().Cause.Code == berth.CauseRoomMade {
			c.failBid(rep)
		}
		cause := berth.Cause{Code: berth.CauseBindExpired, Detail: fmt.Sprintf("order %d was not reported", expired.Header().ID)}
		if rep.State == berth.Running {
			c.stopBinding(rep, cause)
		} else {
			rep.release.Backoff = true
			c.takeBack(rep, cause, false)
		}
	case berth.Release:
		c.releaseAgain(rep)
	case berth.RequestCheckpoint:
		cause := expired.Header().Cause
		cause.Detail += separator(cause.Detail) + "nothing was heard of its checkpoint"
		c.answered(rep, cause)
	}
}

// stopBinding takes the members of an expired growth back, and leaves the rest
// of the gang alone.
func (c *Core) stopBinding(rep *replica, cause berth.Cause) {
	rep.release.Cause, rep.release.Attempt = cause, 0
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].state = memberStopping
		}
	}
	c.noteLeaving(rep, true)
	c.backOff(rep)
	c.settle(rep, cause)
}

// releaseAgain has the next pass give a Release once more, or presumes its
// members dead when it was given often enough.
func (c *Core) releaseAgain(rep *replica) {
	if rep.release.Attempt >= c.config.Policy.ReleaseAttempts {
		c.totals.PresumedDead++
		c.unbookAll(rep, memberStopping)
	}
	c.settle(rep, rep.release.Cause)
}

// mend works through the replicas that need an order whatever else happens.
func (c *Core) mend() {
	for {
		rep, ok := c.nextTodo()
		if !ok {
			return
		}
		switch {
		case rep.State == berth.Repairing:
			c.repair(rep) // puts the replica back if it has to be released
			continue
		case rep.asked():
			c.withdrawRequest(rep)
			continue
		}
		rep.release.Attempt++
		rep.order = c.describeStops(rep, berth.Release{
			Order: c.order(rep, c.config.Policy.ReleaseTimeout, rep.release.Cause), Attempt: rep.release.Attempt,
		})
		c.openOrder(rep)
		c.totals.Releases++
	}
}

// repair places the members that failed while their gang was being bound
// somewhere else, or has the gang taken back.
func (c *Core) repair(rep *replica) {
	if rep.retry.Repairs < maxRepairs && c.rebind(rep) {
		rep.retry.Repairs++
		return
	}
	c.unbookAll(rep, memberBinding) // of the groups that did find a place
	rep.release.Backoff = true
	c.takeBack(rep, rep.release.Cause, false)
}

// rebind tries to place the failed members within the gang's topology, on other
// nodes than those that it avoids. What is spread, or on aligned rails, would have to
// be placed together with the rest.
func (c *Core) rebind(rep *replica) bool {
	c.unbookAll(rep, memberFailed, memberLost)
	for g := range rep.job.spec.Groups {
		t := &rep.job.spec.Groups[g].Topology
		if rep.count(g, memberAbsent) > 0 && (t.Spread != "" || t.RailAligned || !c.rebindGroup(rep, g)) {
			return false
		}
	}
	c.encloseExclusive(rep)
	rep.State = berth.Binding
	c.bind(rep, berth.Cause{Code: berth.CauseRepair, Detail: rep.release.Cause.Detail})
	return true
}

// rebindGroup holds places for the missing members of a group: all of them, or
// as few as the gang can do with.
func (c *Core) rebindGroup(rep *replica, g int) bool {
	for rep.count(g, memberAbsent) > 0 {
		spec := c.missing(rep, g)
		missing := &spec.Groups[0]
		least := least(&rep.job.spec.Groups[g]) - rep.count(g, memberRunning, memberBinding)
		if c.rebindSome(rep, g, &spec) {
			continue
		}
		if least >= missing.Replicas || len(missing.Topology.Segments) > 0 {
			return least <= 0
		}
		if least <= 0 {
			return true
		}
		missing.Replicas = least
		if !c.rebindSome(rep, g, &spec) {
			return false
		}
	}
	return true
}

// rebindSome holds places for what is asked for, all of it, first without what is set
// aside.
func (c *Core) rebindSome(rep *replica, g int, spec *shapeSpec) bool {
	spec.Groups[0].Min = spec.Groups[0].Replicas
	request := c.request(spec)
	elsewhere := c.avoiding(rep.retry.Avoid, &request)
	if c.placeRequest(rep, elsewhere, g) == fits {
		return true
	}
	end := c.endIfPlaced(rep)
	lifted, some := c.liftWith(spec.Groups, elsewhere, func(w *window) bool { return c.admits(w, rep, end) })
	return some && c.placeRequest(rep, lifted, g) == fits
}
