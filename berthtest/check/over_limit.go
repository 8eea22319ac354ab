package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about what runs beyond a limit of its queue, as the comment of berth.OverLimit
// states it. All sums are made anew from what members hold.

// ceiling is the most that a queue may use of a resource; false: it is not limited.
func (q *queue) ceiling(r quota.Resource) (int64, bool) {
	most, limited := q.spec.Limit[r]
	if borrowing, stated := q.spec.BorrowingLimit[r]; stated {
		if promised := q.promised(r); !limited || promised+borrowing < most {
			most, limited = promised+borrowing, true
		}
	}
	return most, limited
}

// exceeded lists the resources of which a queue uses more than it may. What follows from shares is
// no cause to stop anything.
func (q *queue) exceeded() (list []quota.Resource) {
	for _, r := range slices.Sorted(maps.Keys(q.used)) {
		if most, limited := q.ceiling(r); limited && q.used[r] > most && !q.moves(r) {
			list = append(list, r)
		}
	}
	return list
}

// inOrderOfName lists the queues.
func (c *Checker) inOrderOfName() (list []*queue) {
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		list = append(list, c.queues[name])
	}
	return list
}

// noteOverLimit notes which queues use more than they may, and which gangs need not go for that any
// more: the last victims first.
func (c *Checker) noteOverLimit() {
	for _, q := range c.queues {
		switch over := c.policy.OverLimit.Stop && len(q.exceeded()) > 0; {
		case !over:
			q.overSince = 0
		case q.overSince == 0:
			q.overSince = max(c.now, 1)
		}
	}
	var asked []*replica
	for _, rep := range c.orders {
		if rep.isOverLimit() && !rep.stays {
			asked = append(asked, rep)
		}
	}
	slices.SortFunc(asked, func(a, b *replica) int {
		return cmp.Or(compareRank(b, a), cmp.Compare(a.cameAt, b.cameAt), byName(a, b))
	})
	for _, rep := range asked {
		if !c.hasToGo(rep) {
			rep.stays = true
			c.spareLate(rep)
			c.saw("within its limit before it was stopped")
		}
	}
}

// isOverLimit reports whether a gang was asked for a checkpoint because of a limit.
func (rep *replica) isOverLimit() bool {
	return rep.asked() && rep.order.Header().Cause.Code == berth.CauseOverLimit
}

// standsNow reports whether a gang runs and goes on to. Some of it may be on its way.
func (rep *replica) standsNow() bool {
	return rep.state == berth.ReplicaRunning && (!rep.asked() && rep.preemption == nil || rep.asked() && rep.needless())
}

// amountOf is what a gang holds of a resource; stays: without the members that are being stopped.
func (c *Checker) amountOf(rep *replica, r quota.Resource, stays bool) (sum int64) {
	for _, m := range rep.members {
		if m.node != nil && !(stays && m.state == stopping) {
			sum += c.cost(m)[r]
		}
	}
	return sum
}

// isSettled reports whether a gang runs and has nothing else going on.
func (rep *replica) isSettled() bool {
	return rep.standsNow() && rep.order == nil && !rep.has(stopping)
}

// standingOf is what the gangs below a queue hold of a resource that stand, and count by another
// rule.
func (c *Checker) standingOf(q *queue, r quota.Resource, counts func(*replica) bool) (sum int64) {
	for rep := range c.replicas() {
		if rep.job.queue.below(q.spec.Name) && rep.standsNow() && counts(rep) {
			sum += c.amountOf(rep, r, true)
		}
	}
	return sum
}

func anyReplica(*replica) bool { return true }

// hasToGo reports whether a queue would be over a limit if a gang stood.
func (c *Checker) hasToGo(rep *replica) bool {
	for q := rep.job.queue; q != nil; q = q.parent {
		if q.overSince == 0 {
			continue
		}
		for _, r := range q.exceeded() {
			most, _ := q.ceiling(r)
			if takes := c.amountOf(rep, r, false); takes > 0 && takes+c.standingOf(q, r, anyReplica) > most {
				return true
			}
		}
	}
	return false
}

// overForLong reports whether a queue has used more than it may for as long as it may.
func (c *Checker) overForLong(q *queue) bool {
	after := c.policy.OverLimit.After
	return q.overSince != 0 && (after <= 0 || q.overSince.Add(after) <= c.now)
}

// stoppable reports whether a gang may be stopped because of a limit.
func (rep *replica) stoppable() bool {
	return !rep.job.spec.NonPreemptible && !isBorrower(&rep.job.spec)
}

// comesWithin: a gang that is told to go because of a limit runs and may be stopped, holds
// something of what a queue uses too much, and that queue has done so for as long as it may.
func (c *Checker) comesWithin(rep *replica, h berth.OrderHeader) error {
	long := false
	for q := rep.job.queue; q != nil && !long; q = q.parent {
		long = c.overForLong(q) &&
			slices.ContainsFunc(q.exceeded(), func(r quota.Resource) bool { return c.amountOf(rep, r, false) > 0 })
	}
	switch {
	case !long:
		return broken(PromiseS6, "order %d stops %s because of a limit, and its queues are within theirs, or not beyond them for long enough", h.ID, rep)
	case !rep.stoppable():
		return broken(PromiseS6, "order %d stops %s because of a limit, which is not stopped for that", h.ID, rep)
	case rep.state != berth.ReplicaRunning || rep.has(stopping) || rep.order != nil:
		return broken(PromiseS6, "order %d stops %s because of a limit, which is %s", h.ID, rep, rep.doing())
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	rep.preemption, rep.stays = nil, false
	c.brought = append(c.brought, rep)
	return nil
}

// isLeft reports whether a gang may be stopped because of a limit now: no order is out about it.
func (rep *replica) isLeft() bool { return rep.stoppable() && rep.isSettled() }

// shrinksWithin: members that go because of a limit while the rest of the gang goes on are whole
// widest segments and above the minimum.
func (c *Checker) shrinksWithin(rep *replica, r *berth.Release) error {
	if err := c.comesWithin(rep, r.OrderHeader); err != nil {
		return err
	}
	if err := rep.letGo(r); err != nil {
		return err
	}
	c.shrunk(rep, berth.Cause{Code: r.Cause.Code})
	c.saw("shrinks within a limit")
	return nil
}

// drainedNow reports whether some gang was told to leave a node just now.
func (c *Checker) drainedNow() bool {
	for _, rep := range c.orders {
		if rep.order != nil && rep.order.Header().At == c.now && rep.order.Header().Cause.Code == berth.CauseDrained {
			return true
		}
	}
	return false
}

// broughtWithin: after a pass no queue that has used more than it may for as long as it may has a
// gang that stands and could be stopped for that; and of those that were told to go in the pass
// none could be left out, nor does a whole one go where others have a surplus. Where others go for
// other causes in the same pass, or go on, that is judged with the next.
func (c *Checker) broughtWithin() error {
	told := c.brought
	c.brought = nil
	c.noteOverLimit()
	if !c.policy.OverLimit.Stop || len(c.told) > 0 || len(c.opened)+len(c.departed) > 0 || c.drainedNow() {
		return nil
	}
	for _, q := range c.inOrderOfName() {
		if !c.overForLong(q) {
			continue
		}
		for _, r := range q.exceeded() {
			most, _ := q.ceiling(r)
			if left := c.standingOf(q, r, (*replica).isLeft); left > 0 && c.standingOf(q, r, (*replica).isSettled) > most {
				return broken(PromiseLimits, "queue %s uses %d of %d %s since %d, and gangs with %d of it go on", q.spec.Name, q.used[r], most, r, q.overSince, left)
			}
		}
		c.saw("over a limit, and nothing that may be stopped is left to be told")
	}
	for _, rep := range told {
		if rep.state == berth.ReplicaRunning && !rep.asked() { // some of it
			continue
		}
		if !c.hasToGo(rep) {
			return broken(PromiseS7, "%s is stopped because of a limit, which is kept without", rep)
		}
		c.saw("stopped because of a limit")
	}
	return nil
}
