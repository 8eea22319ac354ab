package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// maxAvoid bounds the nodes that a replica avoids because members failed there.
const maxAvoid = 16

// place serves the ready buckets in policy order. Elastic gangs get their minimum at first,
// so that nobody's extras come before another's minimum; what is left is theirs then.
func (c *Core) place() {
	c.tellAllNext()
	c.placeMinimums()
	for _, u := range c.unbound {
		if u.rep.State == berth.Binding && u.rep.job.shape.isElastic() {
			c.enlarge(u.rep)
		}
		c.bind(u.rep, u.cause)
	}
	clear(c.unbound)
	c.unbound = c.unbound[:0]
}

// placeMinimums serves the ready buckets until nothing fits or the budget is spent.
func (c *Core) placeMinimums() {
	c.minimums = true
	defer func() { c.minimums = false }()
	for range c.config.Policy.PassBudget {
		i, ok := c.quota.Next()
		if !ok && c.agenda.tookSome() {
			// What was taken since may have moved the search off a product whose limit
			// is reached.
			c.wakeLimited()
			i, ok = c.quota.Next()
		}
		if !ok {
			return
		}
		b := c.queues[i].ready.Min()
		c.withoutEarmark(b.entries.Min().rep, func() { c.attempt(b) })
	}
}

// attempt tries to place the first replica of a ready bucket. Afterwards that
// replica is bound, or the bucket is not ready any more.
func (c *Core) attempt(b *bucket) {
	s, e := b.shape, b.entries.Min()
	c.compile(s)
	c.totals.Attempts++
	request, ok := c.affordable(b)
	if !ok {
		c.quotaBlock(b)
		return
	}
	if !e.grows && s.isElastic() {
		request = &s.minimum
	}
	outcome := c.try(e, request)
	if outcome == fits {
		return
	}
	if lifted, some := c.lift(e, request); some {
		switch c.try(e, lifted) {
		case fits:
			return
		case fitsNoLimit:
			outcome = fitsNoLimit
		}
	}
	switch outcome {
	case fitsNowhere:
		c.block(s)
		if len(c.windows) > 0 { // the first alone was tried on nodes that are set aside
			c.freshenShape(s)
		}
	case fitsNoLimit:
		c.quotaBlock(b)
	}
}

// try searches a place for an entry, and gives the Bind if there is one.
func (c *Core) try(e *entry, request *gang.Request) fit {
	if !e.grows {
		e.rep.members = make([]member, e.rep.job.members())
	}
	outcome := c.search(e, request)
	if outcome == fits {
		c.placed(e, berth.Cause{Code: berth.CauseFits})
	} else if !e.grows {
		e.rep.members = nil
	}
	return outcome
}

// affordable is the request of a bucket, or as much of it as the limits on its
// queue leave. Of a gang of several groups that is all or the minimum.
func (c *Core) affordable(b *bucket) (*gang.Request, bool) {
	return c.affordableFor(b.shape, b.queue.index)
}

func (c *Core) affordableFor(s *shape, q quota.Index) (*gang.Request, bool) {
	if c.affords(q, s.charge) {
		return &s.request, true
	}
	if !c.affords(q, s.least) {
		return nil, false
	}
	unit := unitOf(&s.spec.Groups[0])
	fewest, most := s.minimum.Groups[0].Count/unit, s.request.Groups[0].Count/unit
	if len(s.request.Groups) > 1 || most-fewest <= 1 {
		return &s.minimum, true
	}
	each := quota.Charge{
		GPUMilli: s.least.GPUMilli / int64(fewest), Host: s.least.Host.Over(int64(fewest)), Product: s.least.Product,
	}
	for most-fewest > 1 { // fewest units are affordable, most are not
		middle := fewest + (most-fewest)/2
		if c.affords(q, each.Times(int64(middle))) {
			fewest = middle
		} else {
			most = middle
		}
	}
	cut := s.request
	cut.Groups = slices.Clone(s.request.Groups)
	cut.Groups[0].Count = fewest * unit
	return &cut, true
}

// search looks for a place, and books it if there is one: first without the nodes
// that the replica avoids, and with the minimum alone if limits on products leave
// no more.
func (c *Core) search(e *entry, request *gang.Request) fit {
	if len(e.rep.retry.Avoid) > 0 && c.placeRequest(e.rep, c.avoiding(e.rep.retry.Avoid, request), e.group) == fits {
		return fits
	}
	outcome := c.placeRequest(e.rep, request, e.group)
	if outcome != fitsNoLimit {
		return outcome
	}
	least := *request
	least.Groups = slices.Clone(request.Groups)
	for i := range least.Groups {
		least.Groups[i].Count = e.bucket.shape.minimum.Groups[i].Count
	}
	if c.placeRequest(e.rep, &least, e.group) == fits {
		return fits
	}
	return outcome
}

// placed gives the Bind for an entry that search has just booked places for.
func (c *Core) placed(e *entry, cause berth.Cause) {
	rep, grows := e.rep, e.grows
	c.unawait(rep)
	c.encloseExclusive(rep)
	if grows {
		cause = berth.Cause{Code: berth.CauseGrows}
	} else {
		c.leavePending(rep)
		c.setEnd(rep, c.endIfPlaced(rep))
		rep.State, rep.retry.Backfilled = berth.Binding, rep.fillsGap()
		rep.Incarnation++
	}
	if c.minimums {
		c.unbound = append(c.unbound, unbound{rep, cause})
	} else {
		c.bind(rep, cause)
	}
}

// An unbound replica has a place, and no Bind yet.
type unbound struct {
	rep   *replica
	cause berth.Cause
}

// isElastic reports whether a gang of a shape may start with less than all of it.
func (s *shape) isElastic() bool {
	return slices.ContainsFunc(s.request.Groups, func(g gang.Group) bool { return g.Count > g.Min })
}

// enlarge places a gang that has its minimum anew with as much as there is room for now: in
// one piece with the minimum, as if it had been placed so at first. What has domains for
// itself, or is spread, keeps what it has, and grows when it runs.
func (c *Core) enlarge(rep *replica) {
	s := rep.job.shape
	c.compile(s)
	if s.looksAround {
		return
	}
	var held []gang.Hold
	var flats []int
	for flat := range rep.members {
		if rep.members[flat].state == memberBinding {
			held, flats = append(held, rep.members[flat].hold), append(flats, flat)
			c.yield(rep, flat, memberAbsent)
		}
	}
	// What is set aside it leaves to others: it may be there with its minimum alone.
	if request, ok := c.affordableFor(s, rep.job.queue); ok {
		if c.placeRequest(rep, c.avoiding(rep.retry.Avoid, request), 0) == fits {
			c.leftBehind(rep, held)
			return
		}
	}
	for i, flat := range flats { // it keeps what it had
		must(c.fleet.Hold(held[i]))
		c.book(rep, flat, held[i], memberBinding)
	}
}

// leftBehind opens the nodes on which a replica has not got again what it held for a moment:
// others were refused because of that.
func (c *Core) leftBehind(rep *replica, held []gang.Hold) {
	for _, h := range held {
		n := c.nodes[h.Node]
		if !slices.ContainsFunc(n.members, func(m memberAt) bool { return m.rep == rep && rep.members[m.index].hold == h }) {
			c.opened = append(c.opened, n)
		}
	}
}

// avoiding is a request without some nodes.
func (c *Core) avoiding(avoid []berth.NodeID, r *gang.Request) *gang.Request {
	if len(avoid) == 0 {
		return r
	}
	out := *r
	out.Groups = slices.Clone(r.Groups)
	for i := range out.Groups {
		match := out.Groups[i].Match
		out.Groups[i].Match = func(n topology.Node) bool {
			return !slices.Contains(avoid, c.nodes[n].spec.ID) && (match == nil || match(n))
		}
	}
	return &out
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
// replica's group with index base.
func (c *Core) placeRequest(rep *replica, r *gang.Request, base int) fit {
	return c.findAllowed(r, func() (string, bool) { return c.bookPlacement(rep, base) })
}

// findAllowed finds and takes places for a request. Only a limit on one product can then
// still be in the way, of a job that takes several: take names it, holds nothing, and it
// is searched for again without that product. (A gang that only a mixture of products
// within their limits could hold is not found so.)
func (c *Core) findAllowed(r *gang.Request, take func() (limited string, ok bool)) fit {
	for without := *r; ; {
		if !c.find(&without) {
			if len(without.Groups) > 0 && &without.Groups[0] != &r.Groups[0] {
				return fitsNoLimit
			}
			return fitsNowhere
		}
		limited, ok := take()
		if ok {
			return fits
		}
		groups, cut := c.withoutProduct(without.Groups, limited)
		if !cut {
			return fitsNoLimit
		}
		without.Groups = groups
	}
}

// withoutProduct copies groups and leaves out the classes of one product, for
// those that are charged for it. It reports whether that left anything out.
func (c *Core) withoutProduct(groups []gang.Group, product string) (rest []gang.Group, cut bool) {
	rest = slices.Clone(groups)
	for i := range rest {
		g := &rest[i]
		if g.Claim.GPUs == 0 && g.Claim.Share.Milli == 0 && len(g.Claim.Instances) == 0 {
			continue
		}
		of := func(class topology.Class) bool { return c.classes.list[class].key.product == product }
		g.Classes = slices.DeleteFunc(slices.Clone(g.Classes), of)
		g.Claim.Instances = slices.DeleteFunc(slices.Clone(g.Claim.Instances), func(p gang.Profile) bool { return of(p.Class) })
		cut = cut || len(g.Classes) < len(groups[i].Classes)
	}
	return rest, cut
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
		if !c.affords(rep.job.queue, chargeOf(&members[i].Hold, n)) {
			c.unplace(rep, members[i:])
			return c.classes.list[n.class].key.product, false
		}
		c.book(rep, flat, members[i].Hold, memberBinding)
		c.booked = append(c.booked, flat)
	}
	c.agenda.take()
	return "", true
}

// unplace undoes a placement of which the first members were booked already.
func (c *Core) unplace(rep *replica, held []gang.Member) {
	c.release(held)
	for _, flat := range c.booked {
		c.yield(rep, flat, memberAbsent)
	}
}
