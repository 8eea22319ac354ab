package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// lift is the request of an entry with the nodes that are set aside but that it may use all
// the same: its own, those of its queue, and those that it leaves in time. A gang that
// only grows has no claim to spares, even if it has to leave its node. False: there are none.
func (c *Core) lift(e *entry, r *gang.Request) (*gang.Request, bool) {
	end := c.endIfPlaced(e.rep)
	return c.liftWith(e.bucket.shape.spec.Groups, r, func(w *window) bool {
		return c.admits(w, e.rep, end) && !(e.grows && w.isSpares())
	})
}

// liftWith is lift to where windows are open.
func (c *Core) liftWith(groups []berth.Group, r *gang.Request, open func(*window) bool) (*gang.Request, bool) {
	lifted := c.widen(groups, r, open)
	for i := range lifted.Groups {
		if len(lifted.Groups[i].Classes) > len(r.Groups[i].Classes) {
			return lifted, true
		}
	}
	return r, false
}

// widen is a request with the nodes that are set aside by open windows alone.
func (c *Core) widen(groups []berth.Group, r *gang.Request, open func(*window) bool) *gang.Request {
	if !c.agenda.anySetAside() {
		return r
	}
	closed := func(w *window) bool { return !open(w) }
	lifted := *r
	lifted.Groups = slices.Clone(r.Groups)
	for i := range lifted.Groups {
		lifted.Groups[i].Classes = c.classes.matching(&groups[i], func(list []*window) bool {
			return !slices.ContainsFunc(list, closed)
		})
		lifted.Groups[i].Claim.Instances = c.classes.instances(&groups[i].Claim, lifted.Groups[i].Classes)
	}
	return &lifted
}

// backfill tries waiting work on the nodes that are set aside: what belongs there, and
// what leaves in time. It looks at what fits nowhere else, in policy order: after
// something has changed there at the first few of each bucket, else at newcomers
// alone, and at no more in all than the policy allows: the rest goes on in the next
// pass.
func (c *Core) backfill() {
	if c.agenda.backfillDue && len(c.windows) > 0 {
		for _, w := range c.windows {
			if w.isRoom() { // it need not be the first of its bucket
				c.freshen(w.rep.entries[0])
			}
		}
		c.freshenStruck(nil)
		free := c.openFree()
		for _, s := range c.blocked {
			if s.gpus() <= free {
				c.freshenShape(s)
			}
		}
	}
	list := slices.Clone(c.fresh)
	slices.SortFunc(list, compareEntries)
	for i, budget := 0, c.config.Policy.BackfillBudget; i < len(list) && budget > 0; i++ {
		c.unfresh(list[i])
		c.withoutEarmark(list[i].rep, func() {
			if c.backfillEntry(list[i]) {
				budget--
			}
		})
	}
	c.agenda.backfilled()
}

// freshenShape has the first few of each bucket of a shape tried on nodes that are set
// aside, where one of them may be placed there.
func (c *Core) freshenShape(s *shape) {
	for _, b := range s.buckets {
		if c.mayBackfill(b) {
			for _, e := range b.first(backfillDepth) {
				c.freshen(e)
			}
		}
	}
	c.freshenStruck(s)
}

// freshenStruck has those tried on spares that may use them and wait for a place of a shape;
// nil: of any.
func (c *Core) freshenStruck(s *shape) {
	c.struck.Ascend(func(rep *replica) bool {
		if e := rep.entries[0]; s == nil || e.bucket.shape == s {
			c.freshen(e)
		}
		return true
	})
}

// mayBackfill reports whether some entry of a bucket may be placed on nodes that are set
// aside, as far as it can be told without looking at all of them.
func (c *Core) mayBackfill(b *bucket) bool {
	first := b.entries.Min().rep
	if b.quotaSlot >= 0 {
		return false
	}
	if first.reserved != nil || b.entries.Min().grows {
		return true
	}
	soonest := c.now.Add(min(b.shortest, c.config.Policy.AssumedRuntime))
	owed := c.owed(first)
	return slices.ContainsFunc(c.windows, func(w *window) bool {
		if w.isKept() { // who may use spares is looked at besides
			return w.isBurnIn() && first.job.onOneNode()
		}
		if soonest <= w.From || w.queue != quota.None && c.below(b.queue.index, w.queue) {
			return true
		}
		// The first three tell most of those that do not outrank the gang.
		return w.isReservation() && (owed || w.rep.job.queue == first.job.queue || w.rep.job.spec.Class < first.job.spec.Class) &&
			c.outranks(first, w.rep)
	})
}

// backfillEntry tries one entry, and reports whether that took a search.
func (c *Core) backfillEntry(e *entry) bool {
	b := e.bucket
	if e.slot < 0 || b.slot >= 0 || b.quotaSlot >= 0 {
		return false // another group of the gang grew before it, say, or it is ready again
	}
	c.compile(b.shape)
	if _, some := c.lift(e, &b.shape.request); !some {
		return false // before anything is noted: mayBackfill need not have asked
	}
	request, ok := c.affordable(b)
	if !ok {
		c.quotaBlock(b)
		return false
	}
	if !e.grows && b.shape.isElastic() {
		request = &b.shape.minimum
	}
	lifted, _ := c.lift(e, request)
	c.totals.Attempts++
	switch c.try(e, lifted) {
	case fits:
		c.totals.Backfilled++
	case fitsNoLimit:
		c.quotaBlock(b)
	}
	return true
}

// fillsGap reports whether a replica stands on nodes that are reserved for another.
func (rep *replica) fillsGap() bool {
	return slices.ContainsFunc(rep.members, func(m member) bool {
		return m.state.holds() && slices.ContainsFunc(m.node.windows, func(w *window) bool { return w.isReservation() && w.rep != rep })
	})
}

// letIn reports whether a replica was let in on the nodes of a reservation, to make way when it
// comes true; nil: there is none.
func (w *window) letIn(rep *replica) bool {
	return w != nil && rep.retry.Backfilled && slices.ContainsFunc(rep.members, func(m member) bool {
		return m.state.holds() && slices.Contains(m.node.windows, w)
	})
}

// freshen notes that an entry has come to a bucket that is blocked, while nodes are set
// aside that it may yet use.
func (c *Core) freshen(e *entry) {
	if len(c.windows) > 0 && e.freshAt < 0 {
		e.freshAt = len(c.fresh)
		c.fresh = append(c.fresh, e)
		c.agenda.countFresh(1)
	}
}

func (c *Core) unfresh(e *entry) {
	if e.freshAt < 0 {
		return
	}
	c.fresh = unordered.Remove(c.fresh, e.freshAt, func(e *entry, at int) { e.freshAt = at })
	c.agenda.countFresh(-1)
	e.freshAt = -1
}

// backfillDepth is how many jobs of one bucket a change on nodes that are set aside has
// tried there.
const backfillDepth = 16

// first lists the first entries of a bucket in order.
func (b *bucket) first(n int) []*entry {
	var list []*entry
	for len(list) < n && b.entries.Len() > 0 {
		e := b.entries.Min()
		b.entries.Remove(e.slot)
		list = append(list, e)
	}
	for _, e := range list {
		b.entries.Push(e)
	}
	return list
}

// openFree sums the free GPUs, set aside or not.
func (c *Core) openFree() int {
	free := 0
	for i := range c.classes.list {
		if c.classes.list[i].nodes > 0 {
			free += c.fleet.Tree().FreeGPUs(topology.Root, topology.Class(i))
		}
	}
	return free
}
