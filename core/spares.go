package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology"
)

// A sparePool keeps the spares of one pool.
type sparePool struct {
	pool  string
	milli int
	// sound counts the nodes of which spares are a part.
	sound int
	// window has the spares; nil: there are none.
	window *window
}

// wanted is how many spares the pool is to have.
func (p *sparePool) wanted() int { return (p.sound*p.milli + 999) / 1000 }

// free is how many it has.
func (p *sparePool) free() int {
	if p.window == nil {
		return 0
	}
	return len(p.window.nodes)
}

// sparesOf is what keeps the spares of a pool; nil: it has none.
func (c *Core) sparesOf(pool string) *sparePool {
	i, found := slices.BinarySearchFunc(c.spares, pool, func(p *sparePool, pool string) int { return cmp.Compare(p.pool, pool) })
	if !found {
		return nil
	}
	return c.spares[i]
}

// maySpare reports whether a replica may be placed on a spare: hardware was taken from it,
// and it does not run, or it has to leave a node that is being drained. It is the one place
// where that is decided.
func (c *Core) maySpare(rep *replica) bool {
	if rep.State != berth.Running {
		return rep.retry.Struck
	}
	_, drains := rep.drainedBy()
	return drains != nil
}

// strike notes that a replica has lost hardware, and has to stop for it.
func (rep *replica) strike() {
	rep.retry.Struck = rep.retry.Struck || rep.State != berth.Releasing && rep.State != berth.Pending
}

// setSpares does what a policy says of spares from now on.
func (c *Core) setSpares(list []berth.Spares) {
	for _, p := range c.spares {
		for p.window != nil {
			c.leaveSpares(p.window.nodes[0])
		}
	}
	c.spares = nil
	for _, s := range list {
		if s.Milli > 0 {
			c.spares = append(c.spares, &sparePool{pool: s.Pool, milli: s.Milli})
		}
	}
	slices.SortFunc(c.spares, func(a, b *sparePool) int { return cmp.Compare(a.pool, b.pool) })
	for _, n := range c.nodes {
		if n != nil {
			n.counted = false
			c.countSound(n)
		}
	}
	if c.agenda.sparesTended(); len(c.spares) > 0 {
		c.agenda.wantSpares()
	}
}

// sound reports whether a node is one of those of which spares are a part.
func (n *node) sound() bool {
	return len(n.spec.GPUs) > 0 && !n.closed() && !slices.ContainsFunc(n.spec.GPUs, func(g berth.GPU) bool { return g.Failed })
}

// countSound counts a node that has become sound, or no longer one that is not.
func (c *Core) countSound(n *node) { c.countAs(n, n.sound()) }

func (c *Core) countAs(n *node, sound bool) {
	if p := c.sparesOf(n.spec.Pool); p != nil && sound != n.counted {
		count(&p.sound, &n.counted, sound)
		c.agenda.wantSpares()
	}
}

// mayStandBy reports whether a node can become a spare: it is idle, trusted, and set aside for
// nobody, but for gangs that only wait for their turn and could not use a spare. Those plan
// anew; else there would be no spares for as long as somebody has a reservation where the next
// node becomes free.
func (c *Core) mayStandBy(n *node) bool {
	return len(n.members) == 0 && n.sound() &&
		!slices.ContainsFunc(n.windows, func(w *window) bool { return !w.givesWay() || c.maySpare(w.rep) }) &&
		!slices.ContainsFunc(n.gpus, func(g gpuState) bool { return g.Unknown || g.order != nil || g.drain != nil })
}

// offersSpare has the next pass look whether a node that has become free is to be a spare.
func (c *Core) offersSpare(n *node) {
	if len(c.spares) == 0 || len(n.members) > 0 {
		return
	}
	if p := c.sparesOf(n.spec.Pool); p != nil && p.free() < p.wanted() {
		c.agenda.wantSpares()
	}
}

// leaveSpares has a node be no spare.
func (c *Core) leaveSpares(n *node) {
	if n.trust.Spare {
		n.trust.Spare = false
		c.agenda.wantSpares()
		c.letOut(c.sparesOf(n.spec.Pool).window, n)
	}
}

// tendSpares lets go of the spares that are used, unsound, set aside for others, or too many,
// and finds others. O(nodes) if something has changed that matters.
func (c *Core) tendSpares() {
	if !c.agenda.sparesDue {
		return
	}
	for _, p := range c.spares {
		c.releaseSpares(p)
		c.findSpares(p)
	}
	c.agenda.sparesTended()
}

// releaseSpares lets go of the spares of a pool that are none any more.
func (c *Core) releaseSpares(p *sparePool) {
	if p.window == nil {
		return
	}
	for _, n := range slices.Clone(p.window.nodes) {
		if len(n.members) > 0 {
			c.totals.SparesUsed++
			n.trust.StandsIn = true
		}
		if len(n.members) > 0 || !n.sound() || slices.ContainsFunc(n.windows, func(w *window) bool { return w.isAdvance() || w.isExclusive() }) {
			c.leaveSpares(n)
		}
	}
	for p.free() > p.wanted() {
		c.leaveSpares(p.window.nodes[p.free()-1])
	}
}

// findSpares chooses new spares for a pool that is short of them.
func (c *Core) findSpares(p *sparePool) {
	if p.free() >= p.wanted() {
		return
	}
	s := c.newSpread(p)
	for p.free() < p.wanted() {
		n := s.next()
		if n == nil || !c.roomToSetAside([]*node{n}) { // else the fleet has thousands of kinds of nodes
			return
		}
		c.keepSpare(n)
		s.note(n)
	}
}

// keepSpare makes a node a spare.
func (c *Core) keepSpare(n *node) {
	p := c.sparesOf(n.spec.Pool)
	if p.window == nil {
		c.newKept(&p.window, kindSpares, sparesName(p.pool))
	}
	n.trust.Spare, n.trust.StandsIn = true, false
	c.spoil(n)
	c.keepIn(p.window, n)
}

// sparesName names the window of the spares of a pool.
func sparesName(pool string) string { return "spares/" + pool }

// A spread chooses the nodes of a pool that are to be spares, one after the other. Nodes of one
// narrowest domain differ by what does not change, so that it looks at one of each.
// O(narrowest domains x levels) for each.
type spread struct {
	core   *Core
	levels int
	// count is how many spares each domain has, at all levels.
	count map[topology.Domain]int
	// places has the candidates of each narrowest domain, in order.
	places [][]*node
}

func (c *Core) newSpread(p *sparePool) *spread {
	s := &spread{core: c, levels: len(c.config.Levels), count: map[topology.Domain]int{}}
	if p.window != nil {
		for _, n := range p.window.nodes {
			s.note(n)
		}
	}
	var list []*node
	for _, n := range c.nodes {
		if n != nil && n.spec.Pool == p.pool && c.mayStandBy(n) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, compareReadiness)
	at := map[topology.Domain]int{}
	for _, n := range list {
		d := s.domain(n, s.levels)
		i, known := at[d]
		if !known {
			i = len(s.places)
			at[d] = i
			s.places = append(s.places, nil)
		}
		s.places[i] = append(s.places[i], n)
	}
	return s
}

// domain is that of a node at a level, from 1, the widest; 0 is the fleet.
func (s *spread) domain(n *node, level int) topology.Domain {
	return s.core.fleet.Tree().DomainOf(n.index, topology.Level(level))
}

// note counts a spare more in the domains of a node.
func (s *spread) note(n *node) {
	for level := 1; level <= s.levels; level++ {
		s.count[s.domain(n, level)]++
	}
}

// next is the node that comes first, and no candidate from then on; nil: there is none.
func (s *spread) next() *node {
	best := -1
	for i, place := range s.places {
		if len(place) > 0 && (best < 0 || s.compare(place[0], s.places[best][0]) < 0) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	n := s.places[best][0]
	s.places[best] = s.places[best][1:]
	return n
}

// compare orders candidates: the fewest spares in the widest domain first, then in the
// narrower ones, then those that nobody has a reservation on, then the smaller name.
func (s *spread) compare(a, b *node) int {
	for level := 1; level <= s.levels; level++ {
		if d := cmp.Compare(s.count[s.domain(a, level)], s.count[s.domain(b, level)]); d != 0 {
			return d
		}
	}
	return compareReadiness(a, b)
}

// compareReadiness orders candidates that are equally far from other spares.
func compareReadiness(a, b *node) int {
	return cmp.Or(compareBool(len(a.windows) > 0, len(b.windows) > 0), compareNodes(a, b))
}

// reportSpares lists the pools that have spares, in order of name.
func (c *Core) reportSpares() []berth.SparesReport {
	var list []berth.SparesReport
	for _, p := range c.spares {
		r := berth.SparesReport{Pool: p.pool, Wanted: p.wanted(), Free: p.free()}
		if p.window != nil {
			r.Nodes = p.window.nodeIDs()
		}
		for _, n := range c.nodes {
			if n != nil && n.trust.StandsIn && n.spec.Pool == p.pool {
				r.InUse++
			}
		}
		list = append(list, r)
	}
	return list
}

// reportHealth lists the nodes that are not trusted yet, in order of name.
func (c *Core) reportHealth() []berth.HealthReport {
	var list []berth.HealthReport
	for _, n := range c.watched {
		list = append(list, berth.HealthReport{Node: n.spec.ID, Probation: n.trust.Probation, Trial: n.trust.Trial})
	}
	return list
}
