package core

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
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
	return kind + "/" + string(rep.job.spec.ID) + "#" + strconv.Itoa(rep.Number)
}

func gangWindow(kind reservationKind, rep *replica) *window {
	return &window{kind: kind, name: gangName("gang", rep), rep: rep, queue: quota.None}
}

// dueAt is when an entry may get a reservation. False: it gets none, since it cannot lose
// to smaller work, has one, or would not be helped by one.
func (c *Core) dueAt(e *entry) (berth.Time, bool) {
	b := e.bucket
	if e.grows || e.rep.reserved != nil || b.quotaSlot >= 0 || b.shape.isSingle() || c.stalled(e.rep) || c.hopeless(e.rep) {
		return 0, false
	}
	return max(e.rep.PendingSince.Add(c.config.Policy.ReserveAfter), e.rep.reserve.At), true
}

// noteDue has a pass look for gangs to reserve for in time for an entry of a bucket that
// is blocked.
func (c *Core) noteDue(e *entry) {
	if at, ok := c.dueAt(e); ok {
		c.agenda.reserveBy(at)
	}
}

// reserve makes reservations for the first gangs in policy order, as far as the policy
// allows, at instants at which one more may be due.
func (c *Core) reserve() {
	most := c.config.Policy.ReservedGangs
	if !c.agenda.reserveDue(c.now) {
		return
	}
	if _, ready := c.quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	c.agenda.beginReserve()
	if most <= 0 {
		return
	}
	large, small := c.reservedGangs()
	plans := 2 * most
	order := c.dueEntries(2 * most)
	for _, e := range order {
		if at, ok := c.dueAt(e); !ok || at > c.now {
			continue // it has a reservation, or had room made for it until just now
		}
		count := &small
		if c.spansNodes(e.bucket.shape) {
			count = &large
		}
		var instead *replica
		if *count >= most {
			instead = c.lastReserved(e, order)
		}
		switch {
		case e.slot < 0, *count >= most && instead == nil:
		case plans == 0:
			c.agenda.reserveNow(c.now) // the rest goes on in the next pass
			return
		case !c.withinQuota(e.bucket):
			c.postpone(e.rep)
		default:
			plans--
			if c.reserveFor(e, instead) {
				large, small = c.reservedGangs()
			} else if !c.hopeless(e.rep) {
				e.rep.reserve.HopelessAt = c.agenda.despair()
			}
		}
	}
}

// lastReserved is the last gang in an order that has a reservation of the kind of an entry,
// if that ranks above it; else nil. Those that are not in the order are behind it.
func (c *Core) lastReserved(e *entry, order []*entry) *replica {
	large := c.spansNodes(e.bucket.shape)
	var last *entry
	for _, w := range c.windows {
		if !w.givesWay() || c.spansNodes(w.rep.job.shape) != large {
			continue
		}
		if other := w.rep.entries[0]; last == nil || compareIn(order, last, other) < 0 {
			last = other
		}
	}
	if last == nil || compareIn(order, last, e) < 0 || !c.outranks(e.rep, last.rep) {
		return nil
	}
	return last.rep
}

// compareIn compares two entries by where they stand in a list, if they do.
func compareIn(order []*entry, a, b *entry) int {
	i, j := slices.Index(order, a), slices.Index(order, b)
	switch {
	case i < 0 && j < 0:
		return compareEntries(a, b)
	case i < 0:
		return 1
	case j < 0:
		return -1
	}
	return cmp.Compare(i, j)
}

// isSingle reports whether a shape is one member with no more than a GPU, which cannot
// lose to smaller work.
func (s *shape) isSingle() bool {
	return len(s.minimum.Groups) == 1 && s.minimum.Groups[0].Count == 1 && s.gpus() < 2
}

// dueEntries lists the first so many entries that may get a reservation now, among those
// that have one, in policy order. O(buckets) as long as so many are few.
func (c *Core) dueEntries(most int) []*entry {
	var heads []*entry
	for _, s := range c.blocked {
		if s.isSingle() {
			continue
		}
		for _, b := range s.buckets {
			e := b.entries.Min()
			switch at, ok := c.dueAt(e); {
			case ok && at > c.now:
				c.agenda.reserveBy(at)
			case ok, e.rep.reserved != nil && b.quotaSlot < 0: // those behind it may be due
				c.compile(s)
				heads = append(heads, e)
			}
		}
	}
	r := c.newRota(heads)
	defer r.end()
	var order []*entry
	for due := 0; due < most; {
		e := r.next()
		if e == nil {
			break
		}
		r.charge(e)
		order = append(order, e)
		if e.rep.reserved == nil {
			due++
		}
		if e == e.bucket.entries.Min() {
			c.addBehind(r, e.bucket, most)
		}
		r.drop(e.rep.job.queue, func(other *entry) bool { return other == e })
	}
	return order
}

// addBehind adds those of a bucket to a rota that come after the first one.
func (c *Core) addBehind(r *rota, b *bucket, most int) {
	for _, e := range b.first(most)[1:] {
		switch at, ok := c.dueAt(e); {
		case ok && at > c.now:
			c.agenda.reserveBy(at)
		case ok, e.rep.reserved != nil:
			r.add(e)
		}
	}
}

// spansNodes reports whether a shape needs more GPUs than any node for it has.
func (c *Core) spansNodes(s *shape) bool {
	most := 0
	for i := range c.classes.list {
		class := &c.classes.list[i]
		if class.nodes > 0 && slices.ContainsFunc(s.spec.Groups, func(g berth.Group) bool { return class.key.admits(&g) }) {
			most = max(most, class.key.gpus)
		}
	}
	return s.gpus() > most
}

// postpone has the core not think about a reservation for a replica for a while, and not
// before something has become free.
func (c *Core) postpone(rep *replica) {
	rep.reserve.At = c.now.Add(max(c.config.Policy.ReserveAfter, berth.Second))
	if !c.stalled(rep) {
		rep.reserve.StalledAt = c.agenda.stall()
	}
}

// stalled reports whether a reservation was no help to a replica, and nothing became free since.
func (c *Core) stalled(rep *replica) bool { return rep.reserve.StalledAt == c.agenda.freedTurn }

// hopeless reports whether a replica would not fit if all that is expected to end had ended, and
// there is no more to plan with since.
func (c *Core) hopeless(rep *replica) bool { return rep.reserve.HopelessAt == c.agenda.grownTurn }

func (c *Core) withinQuota(b *bucket) bool {
	c.compile(b.shape)
	return c.affords(b.queue.index, b.shape.least)
}

// reservedGangs counts the gangs with a reservation: those of several nodes, and those
// that fit on one.
func (c *Core) reservedGangs() (large, small int) {
	for _, w := range c.windows {
		switch {
		case !w.givesWay():
		case c.spansNodes(w.rep.job.shape):
			large++
		default:
			small++
		}
	}
	return large, small
}

// reserveFor sets nodes aside for a gang, if it is expected ever to fit, and ends the
// reservation in whose stead that is; nil: none.
func (c *Core) reserveFor(e *entry, instead *replica) bool {
	c.compile(e.bucket.shape)
	at, nodes, ok := c.planAround(e)
	if !ok || !c.roomToSetAside(nodes) {
		return false
	}
	if instead != nil {
		c.endWindow(instead.reserved)
	}
	w := gangWindow(kindPending, e.rep)
	w.From, w.Until, w.nodes = at, at.Add(c.config.Policy.ReservationTimeout), nodes
	for _, n := range w.nodes {
		c.spoil(n) // whose it was plans anew, around this one
	}
	e.rep.reserved = w
	c.addWindow(w)
	c.totals.Reservations++
	return true
}

// planAround plans for an entry around what is set aside for others: at first on nodes that
// are to be left only after the gang has ended, and without these if that comes out too
// late.
func (c *Core) planAround(e *entry) (at berth.Time, nodes []*node, ok bool) {
	length, ends := c.runtime(e.rep.job)
	for _, until := range [...]berth.Time{c.endIfPlaced(e.rep), never} {
		at, where, ok := c.plan(c.wherever(e, until))
		if !ok {
			continue
		}
		nodes = nodes[:0]
		for i := range where {
			nodes = append(nodes, c.nodes[where[i].Hold.Node])
		}
		slices.SortFunc(nodes, compareNodes)
		nodes = slices.Compact(nodes)
		intime := true
		for _, n := range nodes {
			for _, w := range n.windows {
				switch {
				case w.isExclusive() && w.rep != e.rep: // it is over when its gang is
					at = max(at, c.expectedEnd(w.rep))
				case !c.admits(w, e.rep, never) && !w.isReservation():
					intime = intime && ends && at.Add(length) <= w.From
				}
			}
		}
		if intime {
			return at, nodes, true
		}
	}
	return 0, nil, false
}

// wherever is the request of an entry on all nodes that a reservation for it may be on:
// not on those that are reserved for others, unless it may end that. Domains of a gang that
// is expected to end are open too, and nodes that are to be left no sooner than at an
// instant.
func (c *Core) wherever(e *entry, until berth.Time) *gang.Request {
	s := e.bucket.shape
	return c.widen(s.spec.Groups, &s.minimum, func(w *window) bool {
		if w.isReservation() && w.rep != e.rep {
			return !w.isPlanned() && c.mayEnd(e.rep, w.rep)
		}
		return c.admits(w, e.rep, never) || w.isExclusive() && w.rep.endsAt != 0 || w.isAdvance() && until <= w.From
	})
}

// mayEnd reports whether a reservation for a replica may end that of another: if it ranks
// above it or, for one that needs several nodes, if the other fits on one and does not rank
// above it. There is no circle, so that a fleet at rest comes to rest: whoever ends another's
// is owed more, or of a higher class, or as much and as high and needs more nodes, or is
// of the same queue and of a higher priority.
func (c *Core) mayEnd(rep, other *replica) bool {
	large, largeOther := c.spansNodes(rep.job.shape), c.spansNodes(other.job.shape)
	if large && !largeOther {
		return !c.outranks(other, rep) && (c.owed(rep) || !c.owed(other)) && rep.job.spec.Class >= other.job.spec.Class
	}
	level := c.owed(rep) == c.owed(other) && rep.job.spec.Class == other.job.spec.Class
	return c.outranks(rep, other) && (large == largeOther || !level)
}

// serveReserved starts the gangs whose reservation has come true, or that fit
// elsewhere by now, the first in policy order first.
func (c *Core) serveReserved() {
	if !c.agenda.reservedDue() {
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
		switch w := e.rep.reserved; {
		case w == nil: // one that was placed before took its nodes
		case w.isPlanned():
			c.withoutEarmark(e.rep, func() { c.serveBeneficiary(e) })
		default:
			c.tryReserved(e)
		}
		w := e.rep.reserved
		if w != nil && !w.isPlanned() && slices.ContainsFunc(w.nodes, func(n *node) bool { return n.Freed }) {
			w.From = min(w.From, c.estimate(w))
		}
	}
}

// tryReserved places a gang that has a reservation, if it fits. Its shape may be blocked,
// for others.
func (c *Core) tryReserved(e *entry) {
	b := e.bucket
	c.compile(b.shape)
	request, ok := c.affordable(b)
	if !ok {
		if b.quotaSlot < 0 {
			c.quotaBlock(b)
		}
		return
	}
	c.totals.Attempts++
	request, _ = c.lift(e, request)
	c.try(e, request)
}
