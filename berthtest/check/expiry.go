package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
)

// expire lets the clock do its work before a pass: orders that were not reported
// are void, backoffs end.
func (c *Checker) expire() {
	c.trustAgain()
	c.followFleet()
	c.beginTimes()
	for id, r := range c.booked {
		if r.spec.Until <= c.now && r.recur(c.now) {
			c.saw("advance reservation came back")
		} else if r.spec.Until <= c.now {
			c.saw("advance reservation ended by itself")
			delete(c.booked, id)
		}
	}
	for _, r := range c.booked {
		c.beginClearing(r)
	}
	c.noteClearing()
	c.expireLimits(false)
	for _, id := range c.overdue() {
		if ch := c.changes[id]; ch != nil {
			c.expireChange(ch)
			continue
		}
		rep := c.orders[id]
		if rep == nil {
			continue
		}
		_, bind := rep.order.(berth.Bind)
		if by := rep.quiet.noted; bind && rep.quiet.by != 0 && by < rep.order.Header().Deadline {
			continue // it has had to give back before
		}
		asked := rep.asked()
		c.close(rep)
		switch {
		case asked:
			c.requestExpired(rep)
		case !bind:
			c.saw("release expired")
			c.releaseAgain(rep)
		case rep.state == berth.ReplicaRunning:
			c.saw("growth expired")
			c.stopGrowth(rep)
		default:
			c.saw("bind expired")
			rep.backoff = true
			c.takeBack(rep, berth.CauseBindExpired, false)
		}
	}
	c.expireLimits(true)
	for _, rep := range c.waiting.sorted() {
		if rep.readyAt <= c.now {
			rep.keptAnew = rep.readyAt.Add(c.policy.ReservationTimeout)
			rep.readyAt, rep.retriedIn = 0, c.passes
			c.waiting.remove(rep)
			if rep.state == berth.ReplicaRunning {
				rep.stood = nil
			}
		}
	}
}

// overdue lists the orders that were not reported by their deadlines, in the order of
// these; of one instant, those about GPUs come first.
func (c *Checker) overdue() []berth.OrderID {
	due := map[berth.OrderID]berth.Time{}
	for id, rep := range c.orders {
		due[id] = rep.order.Header().Deadline
	}
	for id, ch := range c.changes {
		due[id] = ch.Deadline
	}
	maps.DeleteFunc(due, func(_ berth.OrderID, at berth.Time) bool { return at > c.now })
	of := func(id berth.OrderID) int { return truth(c.changes[id] == nil) }
	return slices.SortedFunc(maps.Keys(due), func(a, b berth.OrderID) int {
		return cmp.Or(cmp.Compare(due[a], due[b]), cmp.Compare(of(a), of(b)), cmp.Compare(a, b))
	})
}

// stopGrowth has the members of an expired growth stopped. The rest goes on.
func (c *Checker) stopGrowth(rep *replica) {
	for _, m := range rep.in(binding) {
		m.state = stopping
	}
	rep.cause, rep.released = berth.CauseBindExpired, 0
	c.backOff(rep)
	c.settle(rep, berth.CauseBindExpired)
}

// releaseAgain has a Release given once more, or presumes its members dead when it
// was given often enough.
func (c *Checker) releaseAgain(rep *replica) {
	if rep.released >= c.policy.ReleaseAttempts {
		c.saw("presumed dead")
		c.signal(rep, protocol.SignalPresumeDead)
		c.freeAll(rep, stopping)
	} else {
		c.signal(rep, protocol.SignalDeadline)
	}
	c.settle(rep, rep.cause)
}

// afterPass asserts what holds after every batch of orders.
func (c *Checker) afterPass() error {
	for _, check := range []func() error{c.allBound, c.afterSilence, c.keepsRates, c.strays, c.keepsLimits, c.keepsIdle, c.givenBack, c.broughtWithin, c.allStopped, c.noneBroken} {
		if err := check(); err != nil {
			return err
		}
	}
	if due := c.due.sorted(); len(due) > 0 {
		rep := due[0]
		if rep.state == berth.ReplicaRepairing {
			return broken(PromiseS2, "%s lost members while it was bound, and the pass neither repaired it nor took it back", rep)
		}
		return broken(PromiseOrders, "%s has %d members to stop, and the pass gave no Release", rep, len(rep.in(stopping)))
	}
	for _, rep := range c.touched.sorted() {
		if err := rep.wholeOrNothing(); err != nil {
			return err
		}
	}
	clear(c.touched)
	for _, rep := range c.limited.sorted() {
		if rep.overCap() {
			return broken(PromiseTimeouts, "%s came back to the queue more often than it may, and was not dropped", rep)
		}
		if c.now >= rep.pendingSince.Add(rep.job.spec.GangTimeout) {
			return broken(PromiseTimeouts, "%s is pending since %d, longer than its gang timeout of %s, and was not dropped", rep, rep.pendingSince, rep.job.spec.GangTimeout)
		}
	}
	return nil
}

// wholeOrNothing: no gang is placed in part, below its minimum. Members that were
// lost under a Bind count until it is reported.
func (rep *replica) wholeOrNothing() error {
	switch rep.state {
	case berth.ReplicaBinding:
		if short := rep.short(binding, running, broke, lost); short != "" {
			return broken(PromiseS2, "%s is placed with %s", rep, short)
		}
	case berth.ReplicaRunning:
		if short := rep.short(running); short != "" {
			return broken(PromiseS2, "%s runs with %s", rep, short)
		}
	}
	return nil
}
