package berth

import (
	"maps"
	"slices"
)

// bind gives a Bind for the members that were just booked.
func (c *Core) bind(rep *replica, code CauseCode, detail string) {
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].bind = c.lastAction + 1
		}
	}
	rep.order = Bind{
		Order:   c.order(rep, c.config.Policy.BindTimeout, Cause{code, detail}),
		Members: c.placements(rep, memberBinding),
	}
	c.openOrder(rep)
	c.overrun(rep)
	c.totals.Binds++
}

// order fills in the header of the next order.
func (c *Core) order(rep *replica, timeout Duration, cause Cause) Order {
	c.lastAction++
	o := Order{
		ID: c.lastAction, At: c.now, Job: rep.job.spec.ID, Replica: rep.number,
		Incarnation: rep.incarnation, Cause: cause,
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
	c.timers.ReplaceOrInsert(timer{h.Deadline, timerDeadline, rep})
	c.out = append(c.out, rep.order)
}

// closeOrder ends the order that is out, if one is.
func (c *Core) closeOrder(rep *replica) {
	if rep.order == nil {
		return
	}
	h := rep.order.Header()
	delete(c.orders, h.ID)
	c.timers.Delete(timer{h.Deadline, timerDeadline, rep})
	rep.order = nil
}

// Outstanding returns the orders that are given and not reported, by ID. After a
// restart they are to be carried out again, unless they are known to be done.
func (c *Core) Outstanding() []Action {
	var list []Action
	for _, id := range slices.Sorted(maps.Keys(c.orders)) {
		list = append(list, c.orders[id].order)
	}
	return list
}
