package core

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// The pending index answers "what is to be tried next?" without looking at what
// cannot have become possible.
//
// Replicas that ask for the same thing have one shape. Those of one shape in one
// queue form a bucket, in the order in which they are to be served. A bucket is
// ready unless its shape is blocked (the search said no, and nothing has changed
// since that could turn it into a yes) or the bucket is blocked by quota. A pass
// looks at ready buckets alone, so 100,000 pending replicas that cannot start
// cost it nothing.

// An entry is a replica that waits for a place: for its whole gang, or for
// further members (grows).
type entry struct {
	rep    *replica
	bucket *bucket
	slot   int // position in the bucket
	grows  bool
	group  int // which group grows; 0 for a whole gang
	// freshAt is the position in Core.fresh, or -1.
	freshAt int
}

// A bucket holds the entries of one shape in one queue.
type bucket struct {
	queue   *queue
	shape   *shape
	entries pq.Heap[*entry]
	at      int // position in queue.list
	slot    int // position in queue.ready, or -1
	// quotaSlot is the position in Core.quotaBlocked, or -1.
	quotaSlot int
	// shortest is the shortest run time stated in the bucket, by so many entries.
	shortest berth.Duration
	shorts   int
}

// A queue is what the core keeps of a leaf of the quota tree.
type queue struct {
	index   quota.Index
	buckets map[*shape]*bucket // looked up, never ranged over
	list    []*bucket          // all of them, in no order that matters
	ready   pq.Heap[*bucket]
	waiting int // replicas with entries
	// running has the replicas of the queue that run, those first that yield first.
	running *btree.BTreeG[*replica]
	// waitingMilli is what its entries wait for, of GPUs; over: it uses more than it is
	// guaranteed; keeps: it does not lend all of that; touched: it is in Core.touched.
	waitingMilli         int64
	over, keeps, touched bool
	// evictions that it suffered.
	evictions meter
}

func (c *Core) ensureQueue(i quota.Index) {
	for int(i) >= len(c.queues) {
		c.queues = append(c.queues, nil)
	}
	if c.queues[i] == nil {
		c.queues[i] = &queue{
			index:   i,
			buckets: map[*shape]*bucket{},
			running: btree.NewG(16, func(a, b *replica) bool { return compareYield(a, b) < 0 }),
			ready: pq.New(
				func(a, b *bucket) bool { return lessEntry(a.entries.Min(), b.entries.Min()) },
				func(b *bucket, slot int) { b.slot = slot },
			),
		}
	}
}

// lessEntry is the order of service within a queue: class, priority, whole gangs
// before growth, age, job, replica, group.
func lessEntry(a, b *entry) bool { return compareEntries(a, b) < 0 }

func compareEntries(a, b *entry) int {
	return cmp.Or(
		compareRank(b.rep, a.rep),
		compareBool(a.grows, b.grows),
		cmp.Compare(a.rep.Created, b.rep.Created),
		compareReplicas(a.rep, b.rep),
		cmp.Compare(a.group, b.group),
	)
}

// compareRank compares two replicas of one queue by class and priority.
func compareRank(a, b *replica) int {
	x, y := &a.job.spec, &b.job.spec
	return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Priority, y.Priority))
}

// await enters a replica into the pending index if it is pending, or if it runs
// short and has nothing else going on; unless it is backing off or stands there
// already.
func (c *Core) await(rep *replica) {
	switch {
	case rep.entries != nil || rep.retry.ReadyAt != 0:
		return
	case rep.State == berth.Pending:
		c.enqueue(&entry{rep: rep, freshAt: -1}, rep.job.shape)
		c.arrive(rep)
	case rep.mayGrow():
		for g := range rep.job.spec.Groups {
			if rep.count(g, memberAbsent) > 0 {
				s := c.growthShape(rep, g)
				s.users++
				c.enqueue(&entry{rep: rep, grows: true, group: g, freshAt: -1}, s)
			}
		}
	}
	if rep.entries != nil {
		c.queues[rep.job.queue].waiting++
		if rep.retry.Struck && rep.State == berth.Pending {
			c.struck.ReplaceOrInsert(rep)
		}
	}
}

// mayGrow reports whether a running replica has nothing else going on, so that
// it may get the members that it is short of.
func (rep *replica) mayGrow() bool {
	return rep.State == berth.Running && rep.order == nil && !rep.has(memberStopping)
}

// enqueue puts an entry into the bucket of its shape.
func (c *Core) enqueue(e *entry, s *shape) {
	e.rep.entries = append(e.rep.entries, e)
	q := c.queues[e.rep.job.queue]
	b := q.buckets[s]
	if b == nil {
		b = &bucket{queue: q, shape: s, slot: -1, quotaSlot: -1, shortest: limits.MaxSpan, entries: pq.New(
			lessEntry, func(e *entry, slot int) { e.slot = slot },
		)}
		q.buckets[s] = b
		b.at = len(q.list)
		q.list = append(q.list, b)
		s.buckets = append(s.buckets, b)
	}
	e.bucket = b
	b.entries.Push(e)
	c.countDemand(b, 1)
	c.demandWhole(e, 1)
	b.noteRuntime(e)
	if b.slot >= 0 {
		q.ready.Fix(b.slot)
		c.tellNext(q)
	} else if s.blockedAt < 0 && b.quotaSlot < 0 {
		c.makeReady(b)
	} else {
		c.noteDue(e)
		c.freshen(e)
		c.agenda.waits(c.now)
	}
}

// noteRuntime counts the run time that an entry states.
func (b *bucket) noteRuntime(e *entry) {
	switch stated := e.rep.job.spec.ExpectedRuntime; {
	case stated > 0 && stated < b.shortest:
		b.shortest, b.shorts = stated, 1
	case stated == b.shortest:
		b.shorts++
	}
}

// forgetRuntime counts it no longer.
func (b *bucket) forgetRuntime(e *entry) {
	if e.rep.job.spec.ExpectedRuntime != b.shortest {
		return
	}
	if b.shorts--; b.shorts == 0 {
		b.shortest = limits.MaxSpan
		for _, other := range b.entries.Items() {
			b.noteRuntime(other)
		}
	}
}

// demandWhole tells the search of one gang more, or one less, that waits for room in one
// domain of some levels: it breaks fewer whole domains there.
func (c *Core) demandWhole(e *entry, change int) {
	if e.grows {
		return
	}
	for _, level := range e.bucket.shape.levels {
		c.demand[level] += change
		c.fleet.SetDemand(level, c.demand[level])
	}
}

// unawait takes a replica out of the pending index.
func (c *Core) unawait(rep *replica) {
	if rep.entries == nil {
		return
	}
	for _, e := range rep.entries {
		c.dequeue(e)
	}
	rep.entries = nil
	c.struck.Delete(rep)
	if rep.reserved != nil {
		c.endWindow(rep.reserved)
	}
	if rep.drain != nil {
		c.endDrain(rep.drain)
	}
	rep.look, rep.bid = lookPart{}, bidPart{}
	c.queues[rep.job.queue].waiting--
}

// dequeue takes an entry out of its bucket, and the bucket away if it was the
// last.
func (c *Core) dequeue(e *entry) {
	b := e.bucket
	b.entries.Remove(e.slot)
	c.countDemand(b, -1)
	b.forgetRuntime(e)
	c.demandWhole(e, -1)
	c.unfresh(e)
	switch {
	case b.entries.Len() == 0:
		c.unready(b)
		c.quotaUnblock(b)
		delete(b.queue.buckets, b.shape)
		b.queue.leave(b)
		i := slices.Index(b.shape.buckets, b)
		b.shape.buckets = slices.Delete(b.shape.buckets, i, i+1)
		if len(b.shape.buckets) == 0 && b.shape.blockedAt >= 0 {
			c.unblock(b.shape) // nobody is left to remember it for
		}
	case b.slot >= 0:
		b.queue.ready.Fix(b.slot)
		c.tellNext(b.queue)
	default:
		c.noteDue(b.entries.Min())
	}
	if e.grows {
		c.dropShape(b.shape)
	}
}

func (c *Core) makeReady(b *bucket) {
	if b.slot < 0 {
		b.queue.ready.Push(b)
		c.tellNext(b.queue)
	}
}

// tellNext tells the quota tree what a queue would be served next, which decides whether
// that is its own, and so when.
func (c *Core) tellNext(q *queue) {
	s := q.ready.Min().shape
	c.compile(s)
	must(c.quota.SetNext(q.index, s.least))
}

// tellAllNext does so for all queues with something ready, when nodes have come or gone
// that divide otherwise: what an instance is charged depends on them.
func (c *Core) tellAllNext() {
	if c.agenda.dividing == 0 || c.toldNext == c.classes.version {
		return
	}
	c.toldNext = c.classes.version
	for _, q := range c.queues {
		if q != nil && q.ready.Len() > 0 {
			c.tellNext(q)
		}
	}
}

func (c *Core) unready(b *bucket) {
	if b.slot >= 0 {
		b.queue.ready.Remove(b.slot)
		if b.queue.ready.Len() == 0 {
			c.quota.Deactivate(b.queue.index)
		} else {
			c.tellNext(b.queue)
		}
	}
}

// block remembers that a shape does not fit.
func (c *Core) block(s *shape) {
	if s.blockedAt < 0 {
		s.blockedAt = len(c.blocked)
		c.blocked = append(c.blocked, s)
		for _, b := range s.buckets {
			c.unready(b)
			c.noteDue(b.entries.Min())
		}
		c.agenda.block(s.looksAround, c.now)
	}
}

// unblock makes the buckets of a shape ready again.
func (c *Core) unblock(s *shape) {
	c.blocked = unordered.Remove(c.blocked, s.blockedAt, func(s *shape, at int) { s.blockedAt = at })
	c.agenda.unblock(s.looksAround)
	s.blockedAt = -1
	for _, b := range s.buckets {
		if b.quotaSlot < 0 {
			c.makeReady(b)
		}
	}
}

// quotaBlock remembers that a bucket does not fit its quota.
func (c *Core) quotaBlock(b *bucket) {
	c.unready(b)
	b.quotaSlot = len(c.quotaBlocked)
	c.quotaBlocked = append(c.quotaBlocked, b)
	c.agenda.limit(c.now)
}

// quotaUnblock forgets it, without making the bucket ready.
func (c *Core) quotaUnblock(b *bucket) {
	if b.quotaSlot < 0 {
		return
	}
	c.quotaBlocked = unordered.Remove(c.quotaBlocked, b.quotaSlot, func(b *bucket, at int) { b.quotaSlot = at })
	c.agenda.unlimit()
	b.quotaSlot = -1
}

// freed notes that something became free on a node, for the next pass.
func (c *Core) freed(n *node) {
	c.reopened(n)
	c.agenda.changed(c.now)
}

// reopened is freed for what was free before, but set aside for a gang.
func (c *Core) reopened(n *node) {
	c.offersSpare(n)
	c.agenda.reopened(!n.Freed, c.now)
	if !n.Freed {
		n.Freed = true
		c.freedNodes = append(c.freedNodes, n)
	}
}

// wake makes ready what could have become possible since it was last called.
//
// Of the blocked shapes, those are unblocked that the search finds a place for
// now. It is asked only for those of which some member fits on a node where
// something became free, and for which the classes they may use have enough free
// GPUs in all: both are necessary for a yes to which that node contributes. Asking
// first costs less than making ready, and blocking again, a bucket in every queue.
// Of the buckets blocked by quota, those that fit it now. O(blocked x freed).
func (c *Core) wake() {
	for i := len(c.blocked) - 1; i >= 0 && c.agenda.waking(); i-- {
		s := c.blocked[i]
		c.compile(s)
		helps := func(n *node) bool { return c.helps(n, s) }
		if c.freeFor(s) >= s.gpus() && (s.looksAround || slices.ContainsFunc(c.freedNodes, helps)) && c.find(&s.minimum) {
			must(c.fleet.ReleaseAll(&c.placement))
			c.unblock(s)
		}
	}
	if c.agenda.quotaFreed {
		c.wakeLimited()
	}
	c.clearFreed()
}

// wakeLimited makes the buckets ready that quota holds back and that fit it now:
// those for which usage fell, and those of which only one product is limited.
func (c *Core) wakeLimited() {
	for i := len(c.quotaBlocked) - 1; i >= 0; i-- {
		b := c.quotaBlocked[i]
		c.compile(b.shape)
		ok := false
		c.withoutEarmark(b.entries.Min().rep, func() { ok = c.affords(b.queue.index, b.shape.least) })
		if ok {
			c.quotaUnblock(b)
			if b.shape.blockedAt < 0 {
				c.makeReady(b)
			} else {
				c.noteDue(b.entries.Min())
				c.agenda.backfillAnew()
			}
		}
	}
}

func (c *Core) clearFreed() {
	for _, n := range c.freedNodes {
		n.Freed = false
	}
	clear(c.freedNodes)
	c.freedNodes = c.freedNodes[:0]
	c.agenda.woken()
}

// helps reports whether some member of a shape fits on a node now.
func (c *Core) helps(n *node, s *shape) bool {
	return slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool { return c.takes(n, &g) })
}

// takes reports whether a member of a group fits on a node now.
func (c *Core) takes(n *node, g *gang.Group) bool {
	return n.suits(g) && c.fleet.Fits(n.index, &g.Claim) > 0
}

// suits reports whether members of a group may be placed on a node, if it has room.
func (n *node) suits(g *gang.Group) bool {
	return slices.Contains(g.Classes, topology.Class(n.class)) && (g.Match == nil || g.Match(n.index))
}

// gpus is the least number of whole GPUs that a shape can start with.
func (s *shape) gpus() int {
	need := 0
	for i := range s.minimum.Groups {
		need += s.minimum.Groups[i].Count * s.minimum.Groups[i].Claim.GPUs
	}
	return need
}

// freeFor sums the free GPUs of the classes that a shape may use.
func (c *Core) freeFor(s *shape) int {
	free := 0
	for i := range c.classes.list {
		class := topology.Class(i)
		if c.classes.list[i].nodes > 0 && slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool {
			return slices.Contains(g.Classes, class)
		}) {
			free += c.fleet.Tree().FreeGPUs(topology.Root, class)
		}
	}
	return free
}
