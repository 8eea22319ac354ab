package core

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// When work waits for capacity, a GPU of a pool that is not fixed may become another:
// divided otherwise, divided at all, or whole again. The core looks at what it could
// become, one GPU after the other from the cheapest, has the search try it, and orders
// what the search used. See Geometry for when that pays.

const (
	// maxReshapes bounds for how many waiting requests one pass looks at all GPUs,
	// maxSingles for how many members that ask for the same, maxOffers how many GPUs are
	// tried, or changed, for one, and in how many domains.
	maxReshapes = 8
	maxSingles  = 256
	maxOffers   = 1024
	// reshapeEvery is how long a request waits at least to be looked at again when no GPU
	// would do, whatever changes.
	reshapeEvery = 15 * berth.Second
)

// A pool is what the core remembers of a pool: when its GPUs were repartitioned, in the
// last hour, oldest first.
type pool struct{ changes []berth.Time }

func (c *Core) pool(name string) *pool {
	p := c.pools[name]
	if p == nil {
		p = &pool{}
		c.pools[name] = p
	}
	return p
}

// forget drops the changes of an hour ago and more.
func (p *pool) forget(now berth.Time) {
	first := 0
	for first < len(p.changes) && p.changes[first].Add(berth.Hour) <= now {
		first++
	}
	p.changes = slices.Delete(p.changes, 0, first)
}

// note remembers a change.
func (p *pool) note(now berth.Time) {
	p.forget(now)
	p.changes = append(p.changes, now)
}

// forgetChanges drops what no rate looks at any more.
func (c *Core) forgetChanges() {
	if len(c.pools) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		if c.pools[name].forget(c.now); len(c.pools[name].changes) == 0 {
			delete(c.pools, name)
		}
	}
}

// changeable is when a GPU may be repartitioned, as far as the rates say.
func (c *Core) changeable(n *node, gpu int) berth.Time {
	at := berth.Time(0)
	if s := &n.gpus[gpu]; s.ChangedAt > 0 {
		at = s.ChangedAt.Add(n.geometry.Interval)
	}
	if p := c.pools[n.spec.Pool]; p != nil {
		if over := len(p.changes) - n.geometry.PerHour; over >= 0 {
			at = max(at, p.changes[over].Add(berth.Hour))
		}
	}
	return at
}

// A wish is an entry that GPUs could be repartitioned for.
type wish struct {
	*entry
	request *gang.Request
	milli   int64      // of a GPU that one member claims
	members int        // without which it does not start
	many    int        // members that wait for the same
	soonest berth.Time // when a GPU may be changed that may not be now
}

// reshape looks for GPUs to repartition for what waits, in policy order.
func (c *Core) reshape() {
	if !c.agenda.beginReshape(c.now) {
		return
	}
	done := false
	for looked, e := range c.wishes() {
		if looked == maxReshapes {
			c.agenda.reshapeBy(c.now) // the rest in the next pass
			break
		}
		if e.slot >= 0 && e.bucket.slot < 0 && e.bucket.quotaSlot < 0 {
			placed, next := c.reshapeFor(e)
			done = done || placed
			c.agenda.reshapeBy(next)
		}
	}
	if done { // what was made beside it serves others
		c.agenda.lookAgain(c.now)
		c.wake()
		c.place()
	}
}

// wishes lists, of every blocked request, the first entry that GPUs may be repartitioned
// for now, in policy order.
func (c *Core) wishes() []*entry {
	var list []*entry
	for _, s := range c.blocked {
		if c.compile(s); !s.claimsDevice() || slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool { return len(g.Classes) == 0 }) {
			continue
		}
		first := s.firstWish()
		switch {
		case first == nil:
		case c.lookAt(first.rep) > c.now:
			c.agenda.reshapeBy(c.lookAt(first.rep))
		default:
			list = append(list, first)
		}
	}
	slices.SortFunc(list, compareEntries)
	return list
}

// firstWish is the first entry of a shape that GPUs may be repartitioned for; nil: none.
func (s *shape) firstWish() *entry {
	var first *entry
	for _, b := range s.buckets {
		e := b.entries.Min()
		if !e.grows && b.quotaSlot < 0 && (first == nil || compareEntries(e, first) < 0) {
			first = e
		}
	}
	return first
}

// lookAt is when to look for GPUs to change for a replica.
func (c *Core) lookAt(rep *replica) berth.Time {
	if rep.look.Turn == c.agenda.reshapeTurn {
		return rep.look.PayAt
	}
	return min(rep.look.PayAt, rep.look.ReshapeAt)
}

// claimsDevice reports whether any member of a shape claims GPUs or a part of one.
func (s *shape) claimsDevice() bool {
	return slices.ContainsFunc(s.spec.Groups, func(g berth.Group) bool { return g.Claim.Device() })
}

// reshapeFor repartitions GPUs for an entry, if that pays now; else it says when it may;
// never: when something changes.
func (c *Core) reshapeFor(e *entry) (placed bool, next berth.Time) {
	s := e.bucket.shape
	c.compile(s)
	e.rep.look.ReshapeAt, e.rep.look.PayAt, e.rep.look.Turn = c.now.Add(reshapeEvery), never, c.agenda.reshapeTurn
	request, ok := c.affordable(e.bucket)
	if !ok {
		return false, never // its quota is in the way, and the next change wakes it
	}
	placed, next = c.reshapeWith(e, request)
	if lifted, some := c.lift(e, request); !placed && some {
		var also berth.Time // on nodes that are set aside, where it may be all the same
		placed, also = c.reshapeWith(e, lifted)
		next = min(next, also)
	}
	return placed, next
}

// reshapeWith is reshapeFor on the nodes that a request names.
func (c *Core) reshapeWith(e *entry, request *gang.Request) (placed bool, next berth.Time) {
	w := c.wishOf(e, request)
	if w.milli == 0 {
		return false, never
	}
	if e.bucket.shape.isSingle() {
		return c.reshapeSingles(w)
	}
	if c.tryDomains(&w, c.offers(&w)) {
		c.totals.Reshaped++
		return true, never
	}
	e.rep.look.PayAt = min(e.rep.look.PayAt, w.soonest)
	return false, w.soonest
}

// reshapeSingles is reshapeFor for members with a GPU or a part of one, as many as wait for
// the same and for which it pays.
func (c *Core) reshapeSingles(w wish) (placed bool, next berth.Time) {
	offers := c.offers(&w)
	for range maxSingles {
		if !c.tryOffers(&w, offers) {
			break
		}
		placed = true
		c.totals.Reshaped++
		c.wake() // what was made beside it serves others
		c.place()
		e := w.bucket.shape.firstWish()
		if e == nil || e.bucket.slot >= 0 {
			return true, never
		}
		request, ok := c.affordable(e.bucket)
		if !ok {
			return true, c.now
		}
		w = c.wishOf(e, request)
		e.rep.look.ReshapeAt, e.rep.look.PayAt, e.rep.look.Turn = c.now.Add(reshapeEvery), never, c.agenda.reshapeTurn
		if w.milli == 0 {
			return true, never // all nodes for it were set aside since
		}
	}
	if c.drainFor(&w) {
		return placed, never
	}
	w.rep.look.PayAt = min(w.rep.look.PayAt, w.soonest)
	return placed, w.soonest
}

func (c *Core) wishOf(e *entry, request *gang.Request) wish {
	s := e.bucket.shape
	w := wish{entry: e, request: request, soonest: never}
	for i := range s.minimum.Groups {
		if s.spec.Groups[i].Claim.Device() {
			w.members += s.minimum.Groups[i].Count
		}
	}
	w.many = w.members
	if w.members == 1 {
		for _, b := range s.buckets {
			w.many += b.entries.Len()
		}
		w.many--
	}
	if w.members > 0 {
		w.milli = s.least.GPUMilli / int64(w.members)
	}
	return w
}

// paysAt is when a price is met by what so many members have waited.
func (w *wish) paysAt(price int64, members int) berth.Time {
	each := w.milli * int64(max(1, min(members, w.many)))
	return w.rep.PendingSince.Add(berth.Duration((price + each - 1) / each))
}

// later notes an instant at which looking again may pay.
func (w *wish) later(at berth.Time) { w.soonest = min(w.soonest, at) }

// tryOffers looks for the first offer that pays now and with which one member with a GPU
// or a part of one fits.
func (c *Core) tryOffers(w *wish, offers []offer) bool {
	tried := 0
	var limited []quota.ProductIndex // of which no more is allowed
	for i := range offers {
		o := &offers[i]
		if c.untouchable(o.node, o.gpu) || slices.Contains(limited, o.node.product) {
			continue
		}
		now, ok := c.offer(w, o.node, o.gpu, &w.request.Groups[0].Claim)
		if !ok {
			continue // somebody was placed there since the list was made
		}
		*o = now
		if at := max(w.paysAt(o.price, o.serves), c.changeable(o.node, o.gpu)); at > c.now {
			w.later(at)
			continue
		}
		if tried == maxOffers {
			w.later(c.now.Add(reshapeEvery))
			return false
		}
		tried++
		c.stage(o.node, o.gpu, o.to)
		outcome := c.tryStaged(w)
		c.unstageRest(offers[i : i+1])
		switch outcome {
		case fits:
			return true
		case fitsNoLimit:
			limited = append(limited, o.node.product)
		}
	}
	return false
}

// tryDomains is tryTogether in one domain of the level that a gang requires after the
// other, from the one with the cheapest GPU.
func (c *Core) tryDomains(w *wish, offers []offer) bool {
	level := w.request.Required
	if len(w.request.Groups) == 1 {
		level = max(level, w.request.Groups[0].Required)
	}
	domainOf := func(o *offer) int {
		if level >= c.fleet.Tree().NodeLevel() {
			return int(o.node.index)
		}
		return int(c.fleet.Tree().DomainOf(o.node.index, level))
	}
	var order []int
	byDomain := map[int][]offer{}
	for i := range offers {
		d := domainOf(&offers[i])
		if byDomain[d] == nil {
			order = append(order, d)
		}
		byDomain[d] = append(byDomain[d], offers[i])
	}
	for i, d := range order {
		if i == maxOffers {
			w.later(c.now.Add(reshapeEvery))
			break
		}
		if c.tryTogether(w, byDomain[d]) {
			return true
		}
	}
	return false
}

// tryTogether takes one offer after the other, as long as they pay together and the pools
// allow, until a gang that needs several GPUs fits.
func (c *Core) tryTogether(w *wish, offers []offer) bool {
	total, taken := int64(0), map[string]int{}
	var staged []offer
	placed := false
	for i := range offers {
		o := &offers[i]
		pool := o.node.spec.Pool
		if c.allowance(o.node)-taken[pool] <= 0 || len(staged) == maxOffers {
			continue
		}
		if at := w.paysAt(total+o.price, w.members); at > c.now {
			w.later(at)
			break
		}
		total += o.price
		taken[pool]++
		c.stage(o.node, o.gpu, o.to)
		staged = append(staged, *o)
		if placed = c.tryStaged(w) == fits; placed {
			break
		}
	}
	c.unstageRest(staged)
	return placed
}

// allowance is how many more GPUs of a node's pool may be repartitioned now.
func (c *Core) allowance(n *node) int {
	left := n.geometry.PerHour
	if p := c.pools[n.spec.Pool]; p != nil {
		for _, at := range p.changes {
			if at.Add(berth.Hour) > c.now {
				left--
			}
		}
	}
	return left
}

// tryStaged searches with what is staged.
func (c *Core) tryStaged(w *wish) fit {
	c.totals.Attempts++
	return c.try(w.entry, w.request)
}

// unstageRest puts back those offers of a list that the search did not use.
func (c *Core) unstageRest(staged []offer) {
	for i := range staged {
		if n, gpu := staged[i].node, staged[i].gpu; n.gpus[gpu].staged != nil {
			c.unstage(n, gpu)
		} else {
			c.freed(n) // for what else was made there
		}
	}
}
