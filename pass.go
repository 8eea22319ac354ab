package berth

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// maxRepairs bounds how often the members of one Bind are placed anew before
// the gang is taken back whole.
const maxRepairs = 3

// maxAvoid bounds the nodes that a replica avoids because members failed there.
const maxAvoid = 16

// Schedule runs a pass at an instant and returns the orders it gives, in the
// order of their IDs. It refuses an instant before one that the core has seen.
//
// A pass first lets fall due what is due, then sees to the replicas that must be
// stopped or repaired, and then places pending work in policy order until
// nothing more fits or Policy.PassBudget attempts are spent; the rest goes on in
// the next pass. Its cost is proportional to what changed since the last one,
// not to what exists: after something became free, that is one search for each
// distinct request that waits and might fit there.
func (c *Core) Schedule(now Time) ([]Action, error) {
	if now < c.now {
		return nil, c.clockError("schedule", now)
	}
	c.now = now
	c.expire()
	c.mend()
	c.wake()
	c.place()
	// Whatever placing freed, it had taken itself: that helps nobody.
	c.clearFreed()
	out := c.out
	c.out = nil
	return out, nil
}

func (c *Core) clockError(what string, now Time) *Error {
	return &Error{
		Event: what, Field: "now", Kind: ErrClock,
		Reason: fmt.Sprintf("%d is before %d", now, c.now),
	}
}

// expire handles every timer that is due.
func (c *Core) expire() {
	for {
		t, ok := c.timers.Min()
		if !ok || t.at > c.now {
			return
		}
		c.timers.Delete(t)
		switch t.kind {
		case timerBackoff:
			t.rep.readyAt = 0
			c.await(t.rep)
		case timerGang:
			c.giveUp(t.rep)
		case timerDeadline:
			c.expireOrder(t.rep)
		}
	}
}

// giveUp drops a job that was pending for longer than its gang timeout.
func (c *Core) giveUp(rep *replica) {
	waited := c.now.Sub(rep.pendingSince)
	c.out = append(c.out, Drop{Order: c.order(rep, 0, Cause{CauseGangTimeout, "pending for " + waited.String()})})
	c.totals.Dropped++
	c.forget(rep)
}

// expireOrder handles an order that was not reported by its deadline.
func (c *Core) expireOrder(rep *replica) {
	expired := rep.order
	c.closeOrder(rep)
	c.totals.Expired++
	switch expired.(type) {
	case Bind:
		cause := Cause{CauseBindExpired, fmt.Sprintf("order %d was not reported", expired.Header().ID)}
		if rep.state == Running {
			c.stopBinding(rep, cause)
		} else {
			rep.backoff = true
			c.takeBack(rep, cause, false)
		}
	case Release:
		c.releaseAgain(rep)
	}
}

// stopBinding takes the members of an expired growth back, and leaves the rest
// of the gang alone.
func (c *Core) stopBinding(rep *replica, cause Cause) {
	rep.cause, rep.attempt = cause, 0
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			rep.members[flat].state = memberStopping
		}
	}
	c.backOff(rep)
	c.settle(rep, cause)
}

// releaseAgain has the next pass give a Release once more, or presumes its
// members dead when it was given often enough.
func (c *Core) releaseAgain(rep *replica) {
	if rep.attempt >= c.config.Policy.ReleaseAttempts {
		c.totals.PresumedDead++
		c.unbookAll(rep, memberStopping)
	}
	c.settle(rep, rep.cause)
}

// mend works through the replicas that need an order whatever else happens.
func (c *Core) mend() {
	for {
		rep, ok := c.todo.DeleteMin()
		if !ok {
			return
		}
		if rep.state == Repairing {
			c.repair(rep) // puts the replica back if it has to be released
			continue
		}
		rep.attempt++
		rep.order = Release{
			Order:   c.order(rep, c.config.Policy.ReleaseTimeout, rep.cause),
			Members: c.placements(rep, memberStopping),
			Attempt: rep.attempt,
		}
		c.openOrder(rep)
		c.totals.Releases++
	}
}

// repair places the members that failed while their gang was being bound
// somewhere else, or has the gang taken back.
func (c *Core) repair(rep *replica) {
	if rep.repairs < maxRepairs && c.rebind(rep) {
		rep.repairs++
		return
	}
	c.unbookAll(rep, memberBinding) // of the groups that did find a place
	rep.backoff = true
	c.takeBack(rep, rep.cause, false)
}

// rebind tries to place the failed members within the gang's topology, on other
// nodes than those that it avoids.
func (c *Core) rebind(rep *replica) bool {
	c.unbookAll(rep, memberFailed, memberLost)
	for g := range rep.job.spec.Groups {
		if rep.job.spec.Groups[g].Topology.Segment > 0 {
			return false // a segment cannot be told from its rest yet
		}
		if missing := rep.count(g, memberAbsent); missing > 0 && !c.rebindGroup(rep, g, missing) {
			return false
		}
	}
	rep.state = Binding
	c.bind(rep, CauseRepair, rep.cause.Detail)
	return true
}

// rebindGroup holds places for the missing members of a group: all of them, or
// as few as the gang can do with.
func (c *Core) rebindGroup(rep *replica, g, missing int) bool {
	within, only := c.domainOf(rep, g)
	spec := shapeSpec{Groups: []Group{rep.job.spec.Groups[g]}, Within: within, Tenant: rep.job.spec.Tenant}
	if only != nil {
		spec.Only = only.spec.ID
	}
	if rep.count(g, memberRunning) > 0 {
		spec.Groups[0].Topology = Topology{} // within and only say it
	}
	least := rep.job.spec.Groups[g].min() - rep.count(g, memberRunning, memberBinding)
	spec.Groups[0].Replicas, spec.Groups[0].Min = missing, max(1, least)
	request := c.request(&spec)
	request = c.avoiding(rep, &request)
	if c.placeRequest(rep, &request, g) == fits || least <= 0 {
		return true
	}
	request.Groups[0].Count = least
	return c.placeRequest(rep, &request, g) == fits
}

// place serves the ready buckets in policy order.
func (c *Core) place() {
	for range c.config.Policy.PassBudget {
		i, ok := c.quota.Next()
		if !ok {
			return
		}
		c.attempt(c.queues[i].ready.Min())
	}
}

// attempt tries to place the first replica of a ready bucket. Afterwards that
// replica is bound, or the bucket is not ready any more.
func (c *Core) attempt(b *bucket) {
	s, e := b.shape, b.entries.Min()
	c.compile(s)
	c.totals.Attempts++
	request := &s.request
	if _, ok := c.quota.Fits(b.queue.index, s.charge); !ok {
		if _, ok := c.quota.Fits(b.queue.index, s.least); !ok {
			c.quotaBlock(b)
			return
		}
		request = &s.minimum
	}
	rep := e.rep
	if !e.grows {
		rep.members = make([]member, rep.job.members())
	}
	outcome := fitsNowhere
	if len(rep.avoid) > 0 {
		elsewhere := c.avoiding(rep, request)
		outcome = c.placeRequest(rep, &elsewhere, e.group)
	}
	if outcome != fits {
		outcome = c.placeRequest(rep, request, e.group)
	}
	if outcome == fitsNoLimit && request != &s.minimum {
		outcome = c.placeRequest(rep, &s.minimum, e.group)
	}
	switch outcome {
	case fitsNowhere:
		c.block(s)
	case fitsNoLimit:
		c.quotaBlock(b)
	case fits:
		grows := e.grows
		c.unawait(rep)
		if grows {
			c.bind(rep, CauseGrows, "")
			return
		}
		c.leavePending(rep)
		rep.state = Binding
		rep.incarnation++
		c.bind(rep, CauseFits, "")
		return
	}
	if !e.grows {
		rep.members = nil
	}
}

// avoiding is a request without the nodes that the replica avoids.
func (c *Core) avoiding(rep *replica, r *gang.Request) gang.Request {
	out := *r
	out.Groups = slices.Clone(r.Groups)
	for i := range out.Groups {
		match := out.Groups[i].Match
		out.Groups[i].Match = func(n topology.Node) bool {
			return !slices.Contains(rep.avoid, c.nodes[n].spec.ID) && (match == nil || match(n))
		}
	}
	return out
}

// A fit is how a search for a place ended.
type fit uint8

const (
	fits fit = iota
	fitsNowhere
	// fitsNoLimit: there is room, but on products whose limits are reached.
	fitsNoLimit
)

// placeRequest finds and books places for a request whose first group is the
// replica's group with index base. Only a limit on one product can then still be
// in the way, of a job that takes several: it is searched for again without that
// product. (A gang that only a mixture of products within their limits could
// hold is not found so.)
func (c *Core) placeRequest(rep *replica, r *gang.Request, base int) fit {
	for without := *r; ; {
		if !c.find(&without) {
			if len(without.Groups) > 0 && &without.Groups[0] != &r.Groups[0] {
				return fitsNoLimit
			}
			return fitsNowhere
		}
		limited, ok := c.bookPlacement(rep, base)
		if ok {
			return fits
		}
		without.Groups = c.withoutProduct(without.Groups, limited)
	}
}

// withoutProduct copies groups and leaves out the classes of one product.
func (c *Core) withoutProduct(groups []gang.Group, product string) []gang.Group {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Classes = slices.DeleteFunc(slices.Clone(groups[i].Classes), func(class topology.Class) bool {
			return c.classes.list[class].key.product == product
		})
	}
	return groups
}

// find searches a place and holds it.
func (c *Core) find(r *gang.Request) bool {
	for i := range r.Groups {
		if len(r.Groups[i].Classes) == 0 {
			return false
		}
	}
	return c.fleet.Place(r, &c.placement)
}

// bookPlacement books what the search has just held for absent members; the
// first group of the request is the one with index base. If a limit of the quota
// tree forbids it, nothing stays held, and the product in question is returned.
func (c *Core) bookPlacement(rep *replica, base int) (limited string, ok bool) {
	members := c.placement.Members
	c.booked = c.booked[:0]
	flat := 0
	for i := range members {
		if group := base + members[i].Group; i == 0 || members[i].Group != members[i-1].Group {
			flat = rep.job.offsets[group]
		}
		for rep.members[flat].state != memberAbsent {
			flat++ // the search placed no more than are absent
		}
		n := c.nodes[members[i].Hold.Node]
		if _, ok := c.quota.Fits(rep.job.queue, chargeOf(&members[i].Hold, n)); !ok {
			c.unplace(rep, members[i:])
			return c.classes.list[n.class].key.product, false
		}
		c.book(rep, flat, members[i].Hold, memberBinding)
		c.booked = append(c.booked, flat)
	}
	return "", true
}

// unplace undoes a placement of which the first members were booked already.
func (c *Core) unplace(rep *replica, held []gang.Member) {
	for i := range held {
		must(c.fleet.Release(held[i].Hold))
	}
	for _, flat := range c.booked {
		c.unbook(rep, flat, memberAbsent)
	}
}

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
