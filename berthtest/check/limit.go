package check

import (
	"github.com/berth-sched/berth"
)

// This file is about gangs that have run for as long as they may, as the comment of Job.MaxRuntime
// states: they are asked for a checkpoint in time, stopped at the end, and do not come back.

// beginLimit notes until when a gang may run that has just begun to.
func (c *Checker) beginLimit(rep *replica) {
	if limit := rep.job.spec.MaxRuntime; limit > 0 {
		rep.runsUntil = rep.started.Add(limit)
		rep.askedFrom = rep.runsUntil
		if k := &rep.job.spec.Checkpoint; k.Supported {
			most := k.Cost
			if most == 0 {
				most = limit / 2
			}
			rep.askedFrom = rep.askedFrom.Add(-min(most, c.grace(rep)))
		}
		c.timed.add(rep)
	}
}

// overruns reports whether a gang was asked for its last checkpoint before its time limit.
func (rep *replica) overruns() bool {
	return rep.asked() && rep.order.Header().Cause.Code == berth.CauseMaxRuntime
}

// ends reports whether a gang was asked for its last checkpoint.
func (rep *replica) ends() bool {
	return rep.overruns() || rep.asked() && rep.order.Header().Cause.Code == berth.CauseIdle
}

// mustEnd: a gang that is asked for its last checkpoint runs, and has just the time for that left.
func (c *Checker) mustEnd(rep *replica, h berth.OrderHeader) error {
	switch {
	case !c.timed.has(rep) || rep.has(stopping) || c.now < rep.askedFrom:
		return broken(PromiseS6, "order %d has %s end, which is %s and may run until %d", h.ID, rep, rep.state, rep.runsUntil)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	c.saw("asked for its last checkpoint")
	return nil
}

// left is how long a gang has for its last checkpoint.
func (c *Checker) left(rep *replica) berth.Duration {
	until := rep.runsUntil
	if by, _ := rep.drainedBy(); by > c.now {
		until = min(until, by)
	}
	return until.Sub(c.now)
}

// stop stops a gang that was told to go.
func (c *Checker) stop(rep *replica, cause berth.CauseCode) {
	switch cause {
	case berth.CauseMaxRuntime:
		c.saw("ran for as long as it may, and " + rep.doing())
		c.learn(rep)
		c.endsForGood(rep)
	case berth.CauseIdle:
		c.saw("was idle for too long, and " + rep.doing())
		c.endsForGood(rep)
	}
	c.takeBack(rep, cause, cause == berth.CauseMaxRuntime || cause == berth.CauseIdle)
}

// expireLimits stops the gangs at their time limit: those of which no order expires before, or all.
func (c *Checker) expireLimits(all bool) {
	for _, rep := range c.timed.sorted() {
		waits := rep.order != nil && rep.order.Header().Deadline < rep.runsUntil
		evicted := c.silent.has(rep) && !c.stray.has(rep) // before its time is over
		if rep.runsUntil > c.now || waits && !all || evicted || c.toldAnew(rep) != nil {
			continue
		}
		c.stop(rep, berth.CauseMaxRuntime)
	}
}

// keepsLimits: after a pass no gang runs for longer than it may, or is yet to be asked for its last
// checkpoint.
func (c *Checker) keepsLimits() error {
	for _, rep := range c.timed.sorted() {
		asked := rep.order != nil || rep.has(stopping)
		if rep.runsUntil <= c.now || rep.askedFrom <= c.now && !asked {
			return broken(PromiseTimeouts, "%s may run until %d, and was not told to end in time", rep, rep.runsUntil)
		}
	}
	return nil
}
