package berth

import (
	"math/bits"
	"slices"
	"strconv"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// A gang that keeps losing to smaller work gets a reservation: the nodes on which it
// is expected to fit first, set aside from now on. What is placed there meanwhile is
// expected to end before it starts. So the first gangs in policy order cannot be
// delayed (conservative backfill), and all others are backfilled around them without
// a reservation of their own (EASY backfill; D. Lifka, "The ANL/IBM SP scheduling
// system", 1995; A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001). See backfill.go.

// gangName names the window of a gang.
func gangName(kind string, rep *replica) string {
	return kind + "/" + string(rep.job.spec.ID) + "#" + strconv.Itoa(rep.number)
}

func gangWindow(rep *replica) *window {
	return &window{name: gangName("gang", rep), rep: rep, queue: quota.None}
}

// dueAt is when an entry may get a reservation. False: it gets none, since it cannot lose
// to smaller work, has one, or would not be helped by one.
func (c *Core) dueAt(e *entry) (Time, bool) {
	b := e.bucket
	if e.grows || e.rep.reserved != nil || b.quotaSlot >= 0 || b.shape.gpus() < 2 || e.rep.stalled {
		return 0, false
	}
	return max(e.rep.pendingSince.Add(c.config.Policy.ReserveAfter), e.rep.reserveAt), true
}

// noteDue has a pass look for gangs to reserve for in time for an entry of a bucket that
// is blocked.
func (c *Core) noteDue(e *entry) {
	if at, ok := c.dueAt(e); ok {
		c.nextReserve = min(c.nextReserve, at)
	}
}

// reserve makes reservations for the first gangs in policy order, as far as the policy
// allows, at instants at which one more may be due.
func (c *Core) reserve() {
	most := c.config.Policy.ReservedGangs
	if c.now < c.nextReserve {
		return
	}
	c.nextReserve = never
	large, small := c.reservedGangs()
	if large >= most && small >= most {
		return // the end of a reservation calls again
	}
	for _, e := range c.dueEntries(2 * most) {
		count := &small
		if c.spansNodes(e.bucket.shape) {
			count = &large
		}
		switch {
		case *count >= most || e.slot < 0:
		case c.withinQuota(e.bucket) && c.reserveFor(e):
			*count++
		default:
			c.postpone(e.rep)
		}
	}
}

// dueEntries lists the entries that may get a reservation now, in policy order: those
// among the first so many of the buckets of which the first entries come first.
func (c *Core) dueEntries(most int) []*entry {
	var heads []*bucket
	for _, s := range c.blocked {
		heads = append(heads, s.buckets...)
	}
	slices.SortFunc(heads, func(a, b *bucket) int { return compareEntries(a.entries.Min(), b.entries.Min()) })
	var due []*entry
	for i, b := range heads {
		depth := 1
		if i < most {
			depth = most
		}
		for _, e := range b.first(depth) {
			if at, ok := c.dueAt(e); ok && at <= c.now {
				due = append(due, e)
			} else if ok {
				c.nextReserve = min(c.nextReserve, at)
			}
		}
	}
	slices.SortFunc(due, compareEntries)
	return due
}

// spansNodes reports whether a shape needs more GPUs than any node for it has.
func (c *Core) spansNodes(s *shape) bool {
	most := 0
	for i := range c.classes.list {
		class := &c.classes.list[i]
		if class.nodes > 0 && slices.ContainsFunc(s.spec.Groups, func(g Group) bool { return class.key.admits(&g) }) {
			most = max(most, class.key.gpus)
		}
	}
	return s.gpus() > most
}

// postpone has the core not think about a reservation for a replica for a while, and not
// before something has become free.
func (c *Core) postpone(rep *replica) {
	rep.reserveAt = c.now.Add(max(c.config.Policy.ReserveAfter, Second))
	if !rep.stalled {
		rep.stalled = true
		c.stalled = append(c.stalled, rep)
	}
}

// changed notes that something became free, for gangs to which a reservation was no
// help.
func (c *Core) changed() {
	for _, rep := range c.stalled {
		rep.stalled = false
		c.nextReserve = c.now
	}
	clear(c.stalled)
	c.stalled = c.stalled[:0]
}

func (c *Core) withinQuota(b *bucket) bool {
	c.compile(b.shape)
	_, ok := c.quota.Fits(b.queue.index, b.shape.least)
	return ok
}

// reservedGangs counts the gangs with a reservation: those of several nodes, and those
// that fit on one.
func (c *Core) reservedGangs() (large, small int) {
	for _, w := range c.windows {
		switch {
		case !w.isReservation():
		case c.spansNodes(w.rep.job.shape):
			large++
		default:
			small++
		}
	}
	return large, small
}

// reserveFor sets nodes aside for a gang, if it is expected ever to fit.
func (c *Core) reserveFor(e *entry) bool {
	c.compile(e.bucket.shape)
	at, where, ok := c.plan(c.wherever(e))
	if !ok {
		return false
	}
	w := gangWindow(e.rep)
	w.from, w.until = at, at.Add(c.config.Policy.ReservationTimeout)
	slices.SortFunc(where, func(a, b gang.Member) int { return compareNodes(c.nodes[a.Hold.Node], c.nodes[b.Hold.Node]) })
	for i := range where {
		n := c.nodes[where[i].Hold.Node]
		if len(w.nodes) == 0 || w.nodes[len(w.nodes)-1] != n {
			w.nodes, w.needs = append(w.nodes, n), append(w.needs, 0)
		}
		w.needs[len(w.needs)-1] += bits.OnesCount64(where[i].Hold.GPUs)
	}
	if !c.roomToSetAside(w.nodes) {
		return false
	}
	for _, n := range w.nodes {
		c.spoil(n) // whose it was plans anew, around this one
	}
	e.rep.reserved = w
	c.addWindow(w)
	c.totals.Reservations++
	return true
}

// wherever is the request of an entry on all nodes that a reservation for it may be on:
// not on those that are reserved for others, but for what ranks below it or, if it
// needs several nodes, fits on one and does not rank above it. Of two gangs at most one
// may so end the other's reservation, and there is no circle: a fleet at rest comes to
// rest.
func (c *Core) wherever(e *entry) *gang.Request {
	s := e.bucket.shape
	large := c.spansNodes(s)
	return c.widen(s.spec.Groups, &s.minimum, func(w *window) bool {
		return c.admits(w, e.rep, never) ||
			large && w.isReservation() && !c.spansNodes(w.rep.job.shape) && !outranks(w.rep, e.rep)
	})
}

// serveReserved starts the gangs whose reservation has come true, or that fit
// elsewhere by now, the first in policy order first.
func (c *Core) serveReserved() {
	if len(c.windows) == 0 || len(c.freedNodes) == 0 {
		return
	}
	var list []*entry
	for _, w := range c.windows {
		if w.isReservation() {
			list = append(list, w.rep.entries[0])
		}
	}
	slices.SortFunc(list, compareEntries)
	for _, e := range list {
		// One that was placed before may have taken its nodes.
		if w := e.rep.reserved; w != nil && !c.tryReserved(e) {
			w.from = min(w.from, c.estimate(w))
		}
	}
}

// tryReserved places a gang that has a reservation. Its shape may be blocked, for
// others.
func (c *Core) tryReserved(e *entry) bool {
	b := e.bucket
	c.compile(b.shape)
	request, ok := c.affordable(b)
	if !ok {
		if b.quotaSlot < 0 {
			c.quotaBlock(b)
		}
		return false
	}
	c.totals.Attempts++
	request, _ = c.lift(e.rep, b.shape.spec.Groups, request)
	return c.try(e, request) == fits
}

// estimate is when a gang's reservation is expected to start, as things stand: when on
// each of its nodes as many GPUs will be free as it needs there.
func (c *Core) estimate(w *window) Time {
	at := c.now
	for i, n := range w.nodes {
		at = max(at, c.freeAt(n, w.needs[i]))
	}
	return at
}

// freeAt is when so many GPUs of a node are expected to be free. What holds none of
// them counts as well, since it may hold what else the gang needs.
func (c *Core) freeAt(n *node, gpus int) Time {
	free := bits.OnesCount64(c.fleet.FreeMask(n.index))
	ends := make([]ending, 0, len(n.members))
	for _, m := range n.members {
		ends = append(ends, ending{c.expectedEnd(m.rep), m.rep})
	}
	slices.SortFunc(ends, func(a, b ending) int { return compareBool(b.less(a), a.less(b)) })
	at := c.now
	for _, e := range ends {
		if free >= gpus {
			break
		}
		at = e.at
		for flat := range e.rep.members {
			if m := &e.rep.members[flat]; m.node == n && m.state.holds() && m.hold.Share.Milli == 0 {
				free += bits.OnesCount64(m.hold.GPUs)
			}
		}
	}
	return at
}
