package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
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
	// priceTolerance is by how many thousandths victims may cost more than the least.
	priceTolerance = 10
	// preemptEvery is how long an entry waits at least until it is looked at again when
	// nobody could yield for it, whatever changes; twice as long each time, up to eight times.
	preemptEvery = 15 * berth.Second
)

// nobodyYields reports whether no room is made for anything.
func nobodyYields(p *berth.Policy) bool {
	return p.Preemption.Mode == berth.PreemptNever && p.Moves.Mode != berth.MovesOrdered
}

// preempt makes room for what waits, in policy order.
func (c *Core) preempt() {
	if c.now < c.agenda.nextPreempt || nobodyYields(&c.config.Policy) {
		return
	}
	if ready := c.evictionsReady(); ready > c.now && c.stretching == 0 {
		c.agenda.preemptAt(ready)
		return
	}
	if _, ready := c.quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	list, next := c.contenders()
	if c.agenda.preemptAt(next); len(list) == 0 {
		return
	}
	windows := len(c.windows)
	im := c.imagineAll()
	if len(c.windows) < windows {
		list, _ = c.contenders() // some for whom room was being made
	}
	bids := c.bidAll(im, list)
	im.forget()
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
		if ready := c.evictionsReady(); ready > c.now && c.stretching == 0 { // whoever comes first is first then
			c.agenda.preemptAt(ready)
			return bids
		}
		b := c.bid(im, e)
		if b != nil && !behind[e.bucket] {
			behind[e.bucket] = true
			for _, other := range e.bucket.first(maxBids) {
				if other != e && other.bids() && c.looksFor(other.rep) <= c.now {
					r.add(other)
				}
			}
		}
		r.drop(e.rep.job.queue, func(other *entry) bool { return other == e || b == nil && other.bucket == e.bucket })
		if b != nil && len(b.victims) > 0 {
			bids = append(bids, b)
			if e.rep.job.spec.Topology.Exclusive != "" {
				break // only what is set aside for it keeps others out of its domains
			}
		}
	}
	c.agenda.preemptAt(c.now) // the rest in the next pass
	return bids
}

// A bid is an entry that has found whom to take from, and what it will hold then.
type bid struct {
	*entry
	victims []piece
	where   []gang.Member
	// moves says where the victims are to go, if they are only moved, at what price and for
	// what gain.
	moves       []relocation
	price, gain preempt.GPUMilliseconds
}

// bid looks for gangs to move, or for the least harmful victims, for an entry, and imagines
// the exchange; nil: there are none. If it needs none, those who are going anyway will do.
func (c *Core) bid(im *imagination, e *entry) *bid {
	ready := c.evictionsReady()
	if c.config.Policy.Moves.Mode == berth.MovesOrdered && c.inPieces(e) && ready <= c.now {
		before := im.extent()
		if b := im.bidForMoves(e); b != nil && b.pays() && c.meterVictims(wholes(b.victims)) <= c.now {
			return b
		}
		im.backTo(before)
	}
	if c.config.Policy.Preemption.Mode == berth.PreemptNever {
		c.bidInVain(e)
		return nil
	}
	return c.bidForVictims(im, e, ready)
}

// bidInVain notes that there is no room to be made for an entry, as things are.
func (c *Core) bidInVain(e *entry) {
	e.rep.bid.Turn, e.rep.bid.RipeAt = c.agenda.preemptTurn, 0
	c.deferBid(e.rep, 3)
}

// pays reports whether moves are worth more than they cost.
func (b *bid) pays() bool { return b.gain > b.price }

// bidForVictims looks for the least harmful victims. Before the rate lets somebody yield, those
// are parts of elastic gangs alone.
func (c *Core) bidForVictims(im *imagination, e *entry, ready berth.Time) *bid {
	how := seeking{mode: c.config.Policy.Preemption.Mode, avoid: e.rep.retry.Avoid, partsOnly: ready > c.now, chooser: &c.chooser}
	t, victims, ok := c.seek(e, how, &im.trials)
	if !ok && len(how.avoid) > 0 && im.trials > 0 {
		how.avoid = nil
		t, victims, ok = c.seek(e, how, &im.trials)
	}
	switch {
	case t.waits: // until that is over
		e.rep.bid.Turn, e.rep.bid.RipeAt = c.agenda.preemptTurn, 0
		return nil
	case !ok && how.partsOnly:
		e.rep.bid.Turn, e.rep.bid.RipeAt = c.agenda.preemptTurn, ready
		c.agenda.preemptBy(ready)
		return nil
	case !ok:
		c.bidInVain(e)
		e.rep.bid.RipeAt = t.ripeAt(e.rep.bid.At)
		c.agenda.preemptBy(c.looksFor(e.rep))
		return nil
	}
	if len(victims) == 0 {
		e.rep.bid.Turn, e.rep.bid.RipeAt = c.agenda.preemptTurn, 0 // until something changes
	} else if at := c.meterVictims(wholes(victims)); at > c.now {
		e.rep.bid.Turn, e.rep.bid.RipeAt = c.agenda.preemptTurn, at
		c.agenda.preemptBy(at)
		return nil
	}
	for _, victim := range victims {
		im.leaveOut(victim)
	}
	if !t.find() { // it did a moment ago
		panic("berth: broken invariant: equal fleets, different answers")
	}
	b := &bid{entry: e, victims: victims, where: slices.Clone(c.placement.Members)}
	must(c.fleet.ReleaseAll(&c.placement))
	if !im.putIn(t.queue, b.where) {
		panic("berth: broken invariant: what was found is not free")
	}
	return b
}

// seek looks for the victims of an entry: among those who have to give back what was lent
// to them or else, where the mode allows it, among those of its own queue. It is never
// both: who goes for a job of its own queue would make it possible to take from others
// what the queue may not have when it comes back. The trials that it took are subtracted.
func (c *Core) seek(e *entry, s seeking, trials *int) (t *trial, victims []piece, ok bool) {
	look := func(gather func(*trial)) {
		among := c.trial(e, s.avoid)
		if t != nil {
			among.spared, among.limited = t.spared, t.limited
		}
		t = among
		t.partsOnly = s.partsOnly
		gather(t)
		victims, ok = t.choose(s.chooser, trials)
	}
	if look((*trial).gatherLent); !ok && !t.waits && t.elastic() && *trials > 0 {
		look((*trial).gatherLentWhole)
	}
	if ok && t.weighing == nil || t.waits || s.mode != berth.PreemptAndReclaim || *trials <= 0 {
		return t, victims, ok && t.weighing == nil
	}
	lent, others := t, victims
	if look((*trial).gatherOwn); !ok && t.weighing == nil && lent.weighing != nil {
		t.weighing, victims = lent.weighing, others
	}
	return t, victims, ok && t.weighing == nil
}

// A seeking says how victims are looked for.
type seeking struct {
	mode berth.PreemptionMode
	// avoid lists nodes that are avoided.
	avoid []berth.NodeID
	// partsOnly: no whole gang may have to yield just now.
	partsOnly bool
	chooser   *preempt.Chooser
}

// ripeAt is when to look again for those who may yield even if nothing changes: when those who
// would do are worth it or, after a while, when one more may yield; 0: never.
func (t *trial) ripeAt(after berth.Time) berth.Time {
	at := t.limited
	if t.spared != 0 {
		at = earlier(at, max(t.spared, after))
	}
	if t.weighing != nil {
		at = earlier(at, t.weighing.From)
	}
	return at
}

// looksFor is when to look again for whom a replica may take from; never: when something
// changes.
func (c *Core) looksFor(rep *replica) berth.Time {
	at := never
	if rep.bid.Turn != c.agenda.preemptTurn {
		at = rep.bid.At
	}
	if rep.bid.RipeAt != 0 {
		at = min(at, rep.bid.RipeAt)
	}
	return at
}

// nodesFor lists the nodes that members are planned on and, of a gang that has its domains
// for itself, the others there.
func (c *Core) nodesFor(rep *replica, members []gang.Member) []*node {
	level, exclusive := c.fleet.Tree().Level(rep.job.spec.Topology.Exclusive)
	var list []*node
	for i := range members {
		n := members[i].Hold.Node
		list = append(list, c.nodes[n])
		if exclusive && level < c.fleet.Tree().NodeLevel() {
			around := c.nodesBelow(c.fleet.Tree().DomainOf(n, level))
			list = append(list, slices.DeleteFunc(around, func(n *node) bool { return n.closed() })...)
		}
	}
	slices.SortFunc(list, compareNodes)
	return slices.Compact(list)
}

// grant sets aside what a bid found, and asks those to yield who have to.
func (c *Core) grant(b *bid) bool {
	if c.makeRoom(b) == nil {
		return false
	}
	c.totals.Preemptions++
	if b.moves != nil {
		return c.move(b)
	}
	for _, victim := range b.victims {
		b.rep.reserved.preemption.awaits(victim.rep)
		c.ask(victim, b.rep)
	}
	return true
}

// makeRoom sets aside what a bid found; nil: the fleet has too many kinds of nodes.
func (c *Core) makeRoom(b *bid) *window {
	rep := b.rep
	if rep.reserved != nil {
		c.endWindow(rep.reserved)
	}
	grace := berth.Duration(0)
	for _, victim := range wholes(b.victims) {
		grace = max(grace, c.graceOf(victim))
	}
	w := c.roomOn(c.nodesFor(rep, b.where), kindRoom, rep, grace)
	if w == nil {
		return nil
	}
	w.preemption = c.newPreemption(b.where)
	rep.reserved, rep.bid.RipeAt = w, 0
	c.addWindow(w)
	return w
}

// roomOn prepares a window on some nodes for a gang, from now on and for as long as it may take
// until they are free, if those who go have so long to write a checkpoint; nil: the fleet has
// too many kinds of nodes.
func (c *Core) roomOn(nodes []*node, kind reservationKind, rep *replica, grace berth.Duration) *window {
	if !c.roomToSetAside(nodes) {
		return nil
	}
	c.clearReservations(nodes)
	w := gangWindow(kind, rep)
	w.From, w.Until, w.nodes = c.now, c.untilRoomMade(grace), nodes
	return w
}

// clearReservations ends the reservations on some nodes: of gangs that rank below the one for
// whom they are set aside now.
func (c *Core) clearReservations(nodes []*node) {
	for _, n := range nodes {
		for _, w := range slices.Clone(n.windows) {
			if w.givesWay() {
				c.endWindow(w)
			}
		}
	}
}

// untilRoomMade is when room that is made from now on has to be there, if those who go have so
// long to write a checkpoint.
func (c *Core) untilRoomMade(grace berth.Duration) berth.Time {
	p := &c.config.Policy
	release := p.ReleaseTimeout * berth.Duration(min(int64(p.ReleaseAttempts), int64(limits.MaxSpan/p.ReleaseTimeout)))
	return c.now.Add(grace).Add(release).Add(p.ReservationTimeout)
}
