package berth

import (
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
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

// bidAll looks for victims for the entries of a list, the queues in the order in which
// they are served.
func (c *Core) bidAll(im *imagination, list []*entry) []*bid {
	r := c.newRota(list)
	defer r.end()
	var bids []*bid
	behind := map[*bucket]bool{} // those behind the first one are in the rota
	im.trials = maxTrials
	for bid := 0; bid < maxBids && im.trials > 0; bid++ {
		e := r.next()
		if e == nil {
			return bids
		}
		b := c.bid(im, e)
		if b != nil && !behind[e.bucket] {
			behind[e.bucket] = true
			for _, other := range e.bucket.first(maxBids) {
				if other != e && other.bids() && c.dueToBid(other) {
					r.add(other)
				}
			}
		}
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
