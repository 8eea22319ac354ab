package berth

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// When work waits for capacity, a GPU of a pool that is not fixed may become another:
// divided otherwise, divided at all, or whole again. The core looks at what it could
// become, one GPU after the other from the cheapest, has the search try it, and orders
// what the search used. See Geometry for when that pays.

const (
	// maxReshapes bounds for how many waiting requests one pass looks at all GPUs,
	// maxOffers how many GPUs are tried for one.
	maxReshapes = 8
	maxOffers   = 64
	// reshapeEvery is how long a request waits at least to be looked at again when no GPU
	// would do, whatever changes.
	reshapeEvery = 15 * Second
)

// A pool is what the core remembers of a pool: when its GPUs were repartitioned, in the
// last hour, oldest first.
type pool struct{ changes []Time }

func (c *Core) pool(name string) *pool {
	p := c.pools[name]
	if p == nil {
		p = &pool{}
		c.pools[name] = p
	}
	return p
}

// forget drops the changes of an hour ago and more.
func (p *pool) forget(now Time) {
	first := 0
	for first < len(p.changes) && p.changes[first].Add(Hour) <= now {
		first++
	}
	p.changes = slices.Delete(p.changes, 0, first)
}

// note remembers a change.
func (p *pool) note(now Time) {
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
func (c *Core) changeable(n *node, gpu int) Time {
	at := Time(0)
	if s := &n.gpus[gpu]; s.changedAt > 0 {
		at = s.changedAt.Add(n.geometry.Interval)
	}
	if p := c.pools[n.spec.Pool]; p != nil {
		if over := len(p.changes) - n.geometry.PerHour; over >= 0 {
			at = max(at, p.changes[over].Add(Hour))
		}
	}
	return at
}

// An offer is what a GPU could become for members that wait.
type offer struct {
	node   *node
	gpu    int
	to     partitioning
	price  int64 // GPU-milliseconds, in thousandths
	serves int   // members
}

func (o offer) compare(p offer) int {
	return cmp.Or(
		cmp.Compare(o.price, p.price), cmp.Compare(p.serves, o.serves),
		compareNodes(o.node, p.node), cmp.Compare(o.gpu, p.gpu),
	)
}

// A wish is an entry that GPUs could be repartitioned for.
type wish struct {
	*entry
	request *gang.Request
	waited  int64 // milliseconds
	milli   int64 // of a GPU that one member claims
	members int   // without which it does not start
	many    int   // members that wait for the same
	soonest Time  // when a GPU may be changed that may not be now
}

// reshape looks for GPUs to repartition for what waits, in policy order.
func (c *Core) reshape() {
	if c.pliable == 0 || c.now < c.nextReshape {
		return
	}
	c.nextReshape = never
	done := false
	for looked, e := range c.wishes() {
		if looked == maxReshapes {
			c.nextReshape = c.now // the rest in the next pass
			break
		}
		if e.slot >= 0 && e.bucket.slot < 0 && e.bucket.quotaSlot < 0 {
			placed, next := c.reshapeFor(e)
			done = done || placed
			c.nextReshape = min(c.nextReshape, next)
		}
	}
	if done { // what was made beside it serves others
		c.lookAgain()
		c.wake()
		c.place()
	}
}

// wishes lists, of every blocked request, the first entry that GPUs may be repartitioned
// for now, in policy order.
func (c *Core) wishes() []*entry {
	var list []*entry
	for _, s := range c.blocked {
		if !s.claimsDevice() {
			continue
		}
		var first *entry
		for _, b := range s.buckets {
			e := b.entries.Min()
			if !e.grows && b.quotaSlot < 0 && (first == nil || compareEntries(e, first) < 0) {
				first = e
			}
		}
		switch {
		case first == nil:
		case c.lookAt(first.rep) > c.now:
			c.nextReshape = min(c.nextReshape, c.lookAt(first.rep))
		default:
			list = append(list, first)
		}
	}
	slices.SortFunc(list, compareEntries)
	return list
}

// lookAt is when to look for GPUs to change for a replica.
func (c *Core) lookAt(rep *replica) Time {
	if rep.looked == c.turns {
		return rep.payAt
	}
	return min(rep.payAt, rep.reshapeAt)
}

// claimsDevice reports whether any member of a shape claims GPUs or a part of one.
func (s *shape) claimsDevice() bool {
	return slices.ContainsFunc(s.spec.Groups, func(g Group) bool { return g.Claim.device() })
}

// reshapeFor repartitions GPUs for an entry, if that pays now; else it says when it may;
// never: when something changes.
func (c *Core) reshapeFor(e *entry) (placed bool, next Time) {
	s := e.bucket.shape
	c.compile(s)
	e.rep.reshapeAt, e.rep.payAt, e.rep.looked = c.now.Add(reshapeEvery), never, c.turns
	request, ok := c.affordable(e.bucket)
	if !ok {
		return false, never // its quota is in the way, and the next change wakes it
	}
	w := c.wishOf(e, request)
	if w.milli == 0 {
		return false, never
	}
	offers := c.offers(&w)
	if s.isSingle() {
		placed = c.tryOffers(&w, offers)
	} else {
		placed = c.tryTogether(&w, offers)
	}
	switch {
	case placed:
		c.totals.Reshaped++
		return true, never
	case s.isSingle() && c.drainFor(&w):
		return false, never
	}
	e.rep.payAt = w.soonest
	return false, w.soonest
}

func (c *Core) wishOf(e *entry, request *gang.Request) wish {
	s := e.bucket.shape
	w := wish{entry: e, request: request, waited: int64(c.now.Sub(e.rep.pendingSince)), soonest: never}
	for i := range s.minimum.Groups {
		if s.spec.Groups[i].Claim.device() {
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
func (w *wish) paysAt(price int64, members int) Time {
	each := w.milli * int64(max(1, min(members, w.many)))
	return w.rep.pendingSince.Add(Duration((price + each - 1) / each))
}

// later notes an instant at which looking again may pay.
func (w *wish) later(at Time) { w.soonest = min(w.soonest, at) }

// offers lists what GPUs could become for a wish, the cheapest first.
func (c *Core) offers(w *wish) []offer {
	var list []offer
	for _, n := range c.nodes {
		if n == nil || n.geometry.Kind == Fixed || n.table == nil || n.cordoned {
			continue
		}
		for i := range w.request.Groups {
			g := &w.request.Groups[i]
			if !w.bucket.shape.spec.Groups[i].Claim.device() || !c.qualifies(n, g) {
				continue
			}
			for gpu := range n.spec.GPUs {
				if c.untouchable(n, gpu) {
					continue
				}
				o, ok := c.offer(w, n, gpu, &g.Claim)
				if at := c.changeable(n, gpu); ok && at > c.now {
					w.later(at)
				} else if ok {
					list = append(list, o)
				}
			}
			break
		}
	}
	slices.SortFunc(list, offer.compare)
	return list
}

// qualifies reports whether members of a group may go to a node, and its host has room
// for one.
func (c *Core) qualifies(n *node, g *gang.Group) bool {
	cpu, memory := c.fleet.HostFree(n.index)
	return slices.Contains(g.Classes, n.class16()) && (g.Match == nil || g.Match(n.index)) &&
		g.Claim.CPUMilli <= max(cpu, 0) && g.Claim.MemoryMiB <= max(memory, 0)
}

// untouchable reports whether a GPU cannot be looked at as another now.
func (c *Core) untouchable(n *node, gpu int) bool {
	s := &n.gpus[gpu]
	return n.spec.GPUs[gpu].Failed || s.unknown || s.order != nil || s.drain != nil
}

// offer is what a GPU could become for members with a claim, and what that costs. The
// claim is for an instance, a whole GPU or a share.
func (c *Core) offer(w *wish, n *node, gpu int, claim *gang.Claim) (offer, bool) {
	o := offer{node: n, gpu: gpu, serves: 1}
	now := n.partitioning(gpu)
	_, exist, held := c.fleet.Divided(n.index, gpu)
	cost := int64(n.geometry.Cost)
	switch {
	case now.mode != ModeMIG && n.holds(gpu):
		return o, false
	case len(claim.Instances) == 0:
		o.price = cost * 1000
		if now.mode != ModeMIG || held != 0 {
			return o, false
		}
	case n.geometry.Kind == PerClaim:
		p, ok := profileOn(n, claim, func(p int) bool { return n.table.lattice.Fits(0, p) })
		if now.mode == ModeMIG || !ok {
			return o, false
		}
		o.to.mode, o.price, o.serves = ModeMIG, cost*1000, n.table.lattice.Free(0, p)
	default:
		touched, ok := c.layoutFor(w, n, exist, held, claim, &o)
		if !ok {
			return o, false
		}
		if o.price = cost * touched; now.mode != ModeMIG {
			o.price = cost * 1000
		}
	}
	if n.hasBase() && n.atBase(gpu) {
		o.price *= 2 // there and back
	}
	return o, true
}

// profileOn is the first profile of a claim on a node of which something holds.
func profileOn(n *node, claim *gang.Claim, holds func(p int) bool) (int, bool) {
	for _, profile := range claim.Instances {
		if profile.Class == n.class16() && holds(profile.Index) {
			return profile.Index, true
		}
	}
	return 0, false
}

// layoutFor finds the layout with instances for as many members as wait, and can be had,
// with the least destroyed. It returns the thousandths of the GPU that are touched
// for them.
func (c *Core) layoutFor(w *wish, n *node, exist, held mig.State, claim *gang.Claim, o *offer) (touched int64, ok bool) {
	l := n.table.lattice
	p, ok := profileOn(n, claim, func(p int) bool { return l.Fits(held, p) })
	if !ok {
		return 0, false
	}
	counts := make([]int, l.Profiles())
	counts[p] = min(w.many, l.Free(held, p))
	to, steps, ok := l.PlanFor(exist, held, counts)
	if !ok || len(steps) == 0 {
		return 0, false
	}
	for _, step := range steps {
		touched += n.table.milli(step.Placement)
	}
	o.serves = counts[p]
	o.to = partitioning{ModeMIG, l.Layout(n.table.filled(to, p))}
	return touched, true
}

// filled adds what is most in demand to a state until nothing fits, and of equals one
// profile before the others: what is repartitioned anyway should serve as many as it
// can.
func (t *table) filled(s mig.State, profile int) mig.State {
	for {
		best := -1
		for p := range t.weights {
			if t.lattice.Fits(s, p) && (best < 0 || t.weights[p] > t.weights[best] || t.weights[p] == t.weights[best] && p == profile) {
				best = p
			}
		}
		if best < 0 {
			return s
		}
		_, s, _ = t.lattice.Place(s, best)
	}
}

// tryOffers looks for the first offer that pays now and with which one member with a GPU
// or a part of one fits.
func (c *Core) tryOffers(w *wish, offers []offer) bool {
	tried := 0
	for i := range offers {
		o := &offers[i]
		if at := w.paysAt(o.price, o.serves); at > c.now {
			w.later(at)
			continue
		}
		if tried == maxOffers {
			w.later(c.now.Add(reshapeEvery))
			return false
		}
		tried++
		c.stage(o.node, o.gpu, o.to)
		if c.tryStaged(w, offers[i:i+1]) {
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
		if c.tryStaged(w, nil) {
			break
		}
	}
	placed := w.rep.state != Pending
	c.unstageRest(staged)
	return placed
}

// allowance is how many more GPUs of a node's pool may be repartitioned now.
func (c *Core) allowance(n *node) int {
	left := n.geometry.PerHour
	if p := c.pools[n.spec.Pool]; p != nil {
		for _, at := range p.changes {
			if at.Add(Hour) > c.now {
				left--
			}
		}
	}
	return left
}

// tryStaged searches with what is staged, and puts back those of a list that were not
// used.
func (c *Core) tryStaged(w *wish, staged []offer) bool {
	c.totals.Attempts++
	placed := c.try(w.entry, w.request) == fits
	c.unstageRest(staged)
	return placed
}

func (c *Core) unstageRest(staged []offer) {
	for i := range staged {
		if n, gpu := staged[i].node, staged[i].gpu; n.gpus[gpu].staged != nil {
			c.unstage(n, gpu)
		} else {
			c.freed(n) // for what else was made there
		}
	}
}

// hasBase reports whether GPUs of the node go back to a layout, and atBase whether one is
// in it.
func (n *node) hasBase() bool { return len(n.geometry.Layout) > 0 }

func (n *node) atBase(gpu int) bool {
	g := &n.spec.GPUs[gpu]
	return g.Mode == ModeMIG && slices.Equal(mig.Layout(g.Instances).Profiles(), n.base)
}

// noteLayout has the core remember a GPU that is not in its pool's layout.
func (c *Core) noteLayout(n *node, gpu int) {
	at := gpuAt{n, gpu}
	i := slices.Index(c.astray, at)
	switch away := n.hasBase() && n.gpus[gpu].changedAt > 0 && !n.atBase(gpu); {
	case away && i < 0:
		c.astray = append(c.astray, at)
	case !away && i >= 0:
		c.astray = slices.Delete(c.astray, i, i+1)
	}
}

// A gpuAt names a GPU.
type gpuAt struct {
	node *node
	gpu  int
}

// bringBack orders idle GPUs back to the layouts of their pools, where nobody waits for
// what they have.
func (c *Core) bringBack() {
	if len(c.astray) == 0 {
		return
	}
	slices.SortFunc(c.astray, func(a, b gpuAt) int { return cmp.Or(compareNodes(a.node, b.node), cmp.Compare(a.gpu, b.gpu)) })
	for _, at := range slices.Clone(c.astray) {
		n := at.node
		if back, ok := c.backAt(at); !ok || back > c.now {
			continue
		}
		if to, ok := n.table.arranged(n.base); ok {
			c.stage(n, at.gpu, partitioning{ModeMIG, to})
			c.repartition(nil, n, at.gpu, Cause{Code: CauseLayout})
			c.freed(n)
		}
	}
}

// backAt is when a GPU may go back to its pool's layout; false: not as things stand.
func (c *Core) backAt(at gpuAt) (Time, bool) {
	n := at.node
	if c.untouchable(n, at.gpu) || n.cordoned || n.holds(at.gpu) || c.wanted(n) {
		return 0, false
	}
	if _, ok := n.table.arranged(n.base); !ok {
		return 0, false
	}
	return c.changeable(n, at.gpu), true
}

// wanted reports whether anything waits that may use the node.
func (c *Core) wanted(n *node) bool {
	return slices.ContainsFunc(c.blocked, func(s *shape) bool {
		c.compile(s)
		return slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool { return slices.Contains(g.Classes, n.class16()) })
	})
}

// arranged is a layout of some profiles; false: there is none.
func (t *table) arranged(names []mig.ProfileName) ([]mig.Placement, bool) {
	counts := make([]int, t.lattice.Profiles())
	for _, name := range names {
		p, ok := t.lattice.ProfileIndex(name)
		if !ok {
			return nil, false
		}
		counts[p]++
	}
	s, ok := t.lattice.Arrange(0, counts)
	return t.lattice.Layout(s), ok
}

// leastMilli is what a claim for an instance is charged at least, of the profiles that serve.
func (c *Core) leastMilli(g *gang.Group) int64 {
	least := int64(1000)
	for _, profile := range g.Claim.Instances {
		least = min(least, int64(c.classes.list[profile.Class].table.lattice.Milli(profile.Index)))
	}
	return least
}
