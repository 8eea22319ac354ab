package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// bind gives a Bind for the members that were just booked.
func (c *Core) bind(rep *replica, cause berth.Cause) {
	after := c.prepare(rep)
	timeout := c.config.Policy.BindTimeout
	if len(after) > 0 {
		timeout += c.config.Policy.RepartitionTimeout
	}
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].Bind = c.lastAction + 1
		}
	}
	rep.order = berth.Bind{
		Order:   c.order(rep, timeout, cause),
		Members: c.placements(rep, memberBinding),
		After:   after,
	}
	c.openOrder(rep)
	if cause.Code != berth.CauseRoomMade && cause.Code != berth.CauseResumed { // those were planned beside what others have set aside there
		c.overrun(rep)
	}
	c.totals.Binds++
}

// order fills in the header of the next order; nil: it is for nobody.
func (c *Core) order(rep *replica, timeout berth.Duration, cause berth.Cause) berth.Order {
	c.lastAction++
	o := berth.Order{ID: c.lastAction, At: c.now, Cause: cause}
	if rep != nil {
		o.Job, o.Replica, o.Incarnation = rep.job.spec.ID, rep.Number, rep.Incarnation
	}
	if timeout > 0 {
		o.Deadline = c.now.Add(timeout)
	}
	return o
}

// openOrder makes the replica's order one that is out.
func (c *Core) openOrder(rep *replica) {
	h := rep.order.Header()
	c.orders[h.ID] = rep
	c.setTimer(timer{at: h.Deadline, kind: timerDeadline, rep: rep})
	c.emit(rep.order)
}

// closeOrder ends the order that is out, if one is.
func (c *Core) closeOrder(rep *replica) {
	if rep.order == nil {
		return
	}
	h := rep.order.Header()
	delete(c.orders, h.ID)
	c.stopTimer(timer{at: h.Deadline, kind: timerDeadline, rep: rep})
	rep.order = nil
}

// Outstanding returns the orders that are given and not reported, by ID. After a
// restart they are to be carried out again, unless they are known to be done.
func (c *Core) Outstanding() []berth.Action {
	var list []berth.Action
	for _, id := range slices.Sorted(maps.Keys(c.orders)) {
		list = append(list, c.orders[id].order)
	}
	for _, id := range slices.Sorted(maps.Keys(c.repartitions)) {
		list = append(list, c.repartitions[id].order)
	}
	slices.SortFunc(list, func(a, b berth.Action) int { return cmp.Compare(a.Header().ID, b.Header().ID) })
	return list
}
