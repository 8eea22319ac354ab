package berth

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// What waits and may take from others has room made for it, if there is a way. The pass
// comes to this last, when all that fits has been placed.

const (
	// maxBids bounds for how many entries one pass looks for victims, and maxTrials how many
	// searches that takes in all; maxVictims among how many replicas it looks for one.
	maxBids    = 64
	maxVictims = 4096
	maxTrials  = 2048
	// preemptEvery is how long an entry waits at least until it is looked at again when
	// nobody could yield for it, whatever changes; twice as long each time, up to eight times.
	preemptEvery = 15 * Second
)

// stir notes that something has changed on which it depends who may take what from whom.
func (c *Core) stir() {
	c.stirs++
	c.contend()
}

// contend has a pass look for whom to take from, if somebody waits.
func (c *Core) contend() {
	if len(c.blocked)+len(c.quotaBlocked) > 0 {
		c.nextPreempt = min(c.nextPreempt, c.now)
	}
}

// preempt makes room for what waits, in policy order.
func (c *Core) preempt() {
	if c.now < c.nextPreempt || c.config.Policy.Preemption.Mode == PreemptNever {
		return
	}
	if _, ready := c.quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	c.nextPreempt = never
	list := c.contenders()
	if len(list) == 0 {
		return
	}
	im, broken := c.imagine()
	bids := c.bidAll(im, list)
	im.forget()
	for _, w := range broken {
		if w.isReservation() {
			c.endWindow(w)
		}
	}
	for _, b := range bids {
		if !c.grant(b) {
			break // those after it may count on its victims
		}
	}
}

// contested reports whether somebody may take from others, as far as it can be told without
// looking for whom.
func (c *Core) contested() bool {
	return c.config.Policy.Preemption.Mode != PreemptNever && len(c.contenders()) > 0
}

// contenders lists the entries that may take from others, as far as it can be told
// without looking for whom.
func (c *Core) contenders() []*entry {
	c.demands()
	var list []*entry
	add := func(b *bucket) {
		for _, e := range c.bidders(b) {
			if c.mayBid(e) {
				list = append(list, e)
			}
		}
	}
	for _, s := range c.blocked {
		for _, b := range s.buckets {
			add(b)
		}
	}
	for _, b := range c.quotaBlocked {
		if b.shape.blockedAt < 0 { // else it was there
			add(b)
		}
	}
	return list
}

// bidders lists the first entries of a bucket for which no room is being made yet, if it
// is time to look at the first of them: what holds for it holds for the others.
func (c *Core) bidders(b *bucket) []*entry {
	first := b.entries.Min()
	if first.grows {
		return nil
	}
	if first.rep.reserved == nil || first.rep.reserved.preemption == nil {
		if !c.dueToBid(first) || !c.mayBid(first) {
			return nil
		}
	}
	list := slices.DeleteFunc(b.first(maxBids), func(e *entry) bool {
		return e.rep.reserved != nil && e.rep.reserved.preemption != nil
	})
	if len(list) == 0 || !c.dueToBid(list[0]) {
		return nil
	}
	return list
}

// dueToBid reports whether it is time to look for whom an entry may take from: something
// has changed since it was looked at last, and that is not just now.
func (c *Core) dueToBid(e *entry) bool {
	switch {
	case e.rep.bidTurn == c.stirs:
		return false
	case e.rep.bidAt > c.now:
		c.nextPreempt = min(c.nextPreempt, e.rep.bidAt)
		return false
	}
	return true
}

// mayBid reports whether an entry may take from somebody, as far as its queue tells: it is
// within its fair share, or above something that runs there.
func (c *Core) mayBid(e *entry) bool {
	b := e.bucket
	c.compile(b.shape)
	q := b.queue
	if c.config.Policy.Preemption.Mode == PreemptAndReclaim {
		if least, some := q.running.Min(); some && mayPreempt(e.rep, least) {
			return true
		}
	}
	asked := b.shape.least.GPUMilli
	if !c.lent {
		return false
	}
	used := c.quota.Used(q.index, quota.GPU)
	return asked > 0 && used+asked <= max(c.shares.Of(q.index), c.shares.Guaranteed(q.index))
}

// mayPreempt reports whether a replica may take the place of another of its queue.
func mayPreempt(rep, victim *replica) bool {
	x, y := &rep.job.spec, &victim.job.spec
	return y.Class != LatencyCritical && cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Priority, y.Priority)) > 0
}

// compareYield orders what runs in one queue by who is to yield first: the lower class,
// the lower priority, who came last.
func compareYield(a, b *replica) int {
	x, y := &a.job.spec, &b.job.spec
	return cmp.Or(
		cmp.Compare(x.Class, y.Class), cmp.Compare(x.Priority, y.Priority),
		cmp.Compare(b.started, a.started), compareReplicas(b, a),
	)
}

// demands tells the fair shares what each queue wants: what it uses and what waits. Then it
// is known whether any of them uses more than it is guaranteed.
func (c *Core) demands() {
	waiting := make([]int64, len(c.queues))
	add := func(b *bucket) {
		c.compile(b.shape)
		waiting[b.queue.index] += b.shape.charge.GPUMilli * int64(b.entries.Len())
	}
	for _, s := range c.blocked {
		for _, b := range s.buckets {
			add(b)
		}
	}
	for _, b := range c.quotaBlocked {
		if b.shape.blockedAt < 0 {
			add(b)
		}
	}
	for i, q := range c.queues {
		if q != nil && c.quota.Leaf(q.index) {
			for _, b := range q.ready.Items() {
				add(b)
			}
			must(c.shares.SetDemand(q.index, min(c.quota.Used(q.index, quota.GPU)+waiting[i], quota.MaxAmount)))
		}
	}
	c.lent = slices.ContainsFunc(c.queues, func(q *queue) bool {
		return q != nil && q.running.Len() > 0 && c.quota.Used(q.index, quota.GPU) > c.shares.Guaranteed(q.index)
	})
}

// bidAll looks for victims for the entries of a list, the queues in the order in which
// they are served.
func (c *Core) bidAll(im *imagination, list []*entry) []*bid {
	r := c.newRota(list)
	defer r.end()
	var bids []*bid
	im.trials = maxTrials
	for bid := 0; bid < maxBids && im.trials > 0; bid++ {
		e := r.next()
		if e == nil {
			return bids
		}
		b := c.bid(im, e)
		r.drop(e.rep.job.queue, func(other *entry) bool { return other == e || b == nil && other.bucket == e.bucket })
		if b != nil && len(b.victims) > 0 {
			bids = append(bids, b)
		}
	}
	c.nextPreempt = c.now // the rest in the next pass
	return bids
}

// A bid is an entry that has found whom to take from, and what it will hold then.
type bid struct {
	*entry
	victims []*replica
	where   []gang.Member
}

// bid looks for the least harmful victims for an entry, and imagines the exchange; nil: there
// are none. If it needs none, those who are going anyway will do.
func (c *Core) bid(im *imagination, e *entry) *bid {
	t := c.trial(e)
	t.gather()
	choice, err := c.chooser.Choose(t.candidates, t.fits, t.options(im.trials))
	must(err)
	im.trials -= choice.Calls + 1
	found := choice.Outcome == preempt.NotNeeded || choice.Outcome == preempt.Chosen
	if !found || !t.fits(choice.Victims) {
		t.setBack()
		e.rep.bidTurn, e.rep.bidAt = c.stirs, c.now.Add(preemptEvery<<min(e.rep.failedBids, 3))
		e.rep.failedBids = min(e.rep.failedBids+1, maxAttempts)
		if t.spared > c.now {
			e.rep.bidTurn, e.rep.bidAt = 0, max(t.spared, e.rep.bidAt)
			c.nextPreempt = min(c.nextPreempt, e.rep.bidAt)
		}
		return nil
	}
	b := &bid{entry: e}
	for _, i := range choice.Victims {
		b.victims = append(b.victims, t.reps[i])
	}
	slices.SortFunc(b.victims, compareReplicas)
	t.setBack()
	for _, victim := range b.victims {
		im.leaveOut(victim)
	}
	if !t.find() { // it did a moment ago
		panic("berth: broken invariant: equal fleets, different answers")
	}
	b.where = slices.Clone(c.placement.Members)
	must(c.fleet.ReleaseAll(&c.placement))
	if !im.putIn(t.queue, b.where) {
		panic("berth: broken invariant: what was found is not free")
	}
	return b
}

// nodesFor lists the nodes that members are planned on and, of a gang that has its domains
// for itself, the others there.
func (c *Core) nodesFor(rep *replica, members []gang.Member) []*node {
	level, exclusive := c.fleet.Tree().Level(rep.job.spec.Topology.Exclusive)
	var list []*node
	for i := range members {
		if n := members[i].Hold.Node; exclusive && level < c.fleet.Tree().NodeLevel() {
			list = append(list, c.nodesBelow(c.fleet.Tree().DomainOf(n, level))...)
		} else {
			list = append(list, c.nodes[n])
		}
	}
	slices.SortFunc(list, compareNodes)
	return slices.Compact(list)
}

// grant sets aside what a bid found, and asks those to yield who have to.
func (c *Core) grant(b *bid) bool {
	rep := b.rep
	if rep.reserved != nil {
		c.endWindow(rep.reserved)
	}
	w := gangWindow(rep)
	w.nodes = c.nodesFor(rep, b.where)
	for _, n := range w.nodes {
		for _, other := range slices.Clone(n.windows) {
			if other.isReservation() && other.preemption == nil {
				c.endWindow(other) // of somebody that ranks below
			}
		}
	}
	if !c.roomToSetAside(w.nodes) {
		return false
	}
	p := &c.config.Policy
	grace := p.Preemption.CheckpointTimeout + Duration(p.ReleaseAttempts)*p.ReleaseTimeout + p.ReservationTimeout
	w.from, w.until = c.now, c.now.Add(grace)
	w.preemption = &preemption{where: b.where, victims: b.victims}
	rep.reserved = w
	c.addWindow(w)
	c.totals.Preemptions++
	for _, victim := range slices.Clone(b.victims) {
		c.ask(victim, rep)
	}
	return true
}
