package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file asserts that the victims of a pass are the right ones. It looks at the world as it
// will be: without departing gangs, and with beneficiaries, which hold their minimum.
//
// Of every preemption it asserts, in thousandths of GPUs:
//
//   - All victims are of the beneficiary's queue, or none.
//   - None holds more than Preemption.MaxRatio lets it for what is asked, unless it is of a
//     lower class, or what is asked is within what the beneficiary's queue is guaranteed, and it
//     has waited for Preemption.GuaranteeWithin. Until then none of another queue goes that writes
//     no checkpoints, unless the policy says so.
//   - No queue on the way down to the beneficiary has, with it, both more than it states as
//     its guarantee and more than its fair share, or than its part of what is guaranteed
//     above it. Those shares are what quota.Shares makes of the checker's own capacity,
//     use and demand, and are not looked at where the past counts or somebody asks for
//     instances, whose size is the core's choice.
//   - Where counting is exact, the beneficiary fits on the nodes that it has reserved once the
//     victims are gone: gangs of one group with whole GPUs and no topology, in fleets of no
//     more than 64 nodes that are not partitioned, where no other preemption is under way on
//     those nodes and no limit speaks of products.
//   - There, if it is the only preemption, no other gang departs, and the paths to all victims
//     part from the beneficiary's at one queue and leave all queues their guarantees in use, no
//     victim could have been left out. Elsewhere one may have to go so that others may be taken.
//
// What is left of guarantees is asserted in running.go.
//
// Rooms that are made in one pass are made one after the other, in an order that no order
// tells: there must be one in which each is right. Of more than three nothing is asserted. Nor does
// an order tell whether a gang that is released had its new place by then: one of the two is right.

// exchanges judges the preemptions of the latest pass, by the reservations after it.
func (c *Checker) exchanges(gangs map[gangKey]berth.ReservationReport) error {
	opened := slices.DeleteFunc(slices.Clone(c.opened), func(r *preemption) bool { return r.ended })
	if len(opened) == 0 || len(opened) > 3 {
		return nil
	}
	var first error
	for _, placed := range []bool{false, true} {
		w := c.imagine(opened, nil, gangs)
		if placed {
			w.placeReleased()
		}
		var err error
		if w.known {
			err = w.anyOrder(opened)
		}
		if w.forget(); err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// placeReleased charges gangs that are released, and have a new place since this pass. It may have
// been found before the victims or after them: no order tells.
func (w *world) placeReleased() {
	for key, r := range w.gangs {
		rep := w.find(key)
		if r.Moving && w.kept[key] == 0 && rep != nil && rep.state == berth.ReplicaReleasing && rep.cause != berth.CauseMemberFailed && rep.comesBack() {
			w.preemptions++
			w.chargePlace(rep)
		}
	}
}

// A world is what will be. It is made on the checker's own, and undone by forget.
type world struct {
	*Checker
	gone []ghost
	here earmarks
	// preemptions is the number of those under way; known: it is known for all of them
	// what they are for.
	preemptions int
	known       bool
	// left: a gang departs that is no victim; waiting are then the gangs that the core may count
	// on.
	left bool
	// withinGuarantee: what is asked for now is guaranteed to the queue that asks.
	withinGuarantee bool
	waiting         queues
	gangs           map[gangKey]berth.ReservationReport
	// fair are the shares; nil: they are not known.
	fair *quota.Shares
	tree *quota.Tree
}

// A ghost is a member that is imagined gone, and where it is.
type ghost struct {
	m *member
	n *node
}

// A planned gang is charged for what it will hold.
type planned struct {
	queue *queue
	asked quota.Amounts
}

// earmarks are the gangs that are charged so, until that is undone.
type earmarks []planned

func (e *earmarks) charge(q *queue, asked quota.Amounts) {
	q.charge(asked, 1)
	*e = append(*e, planned{q, asked})
}

// undo takes back all but the first so many.
func (e *earmarks) undo(but int) {
	for _, p := range (*e)[but:] {
		p.queue.charge(p.asked, -1)
	}
	*e = (*e)[:but]
}

// imagine leaves out departing gangs, but for the victims of new preemptions, and puts in the other
// beneficiaries and the gangs with a reserved place, but for one of them. Where a place is not
// reserved any more after the pass, no order tells what was done before it was given up.
func (c *Checker) imagine(opened []*preemption, but *replica, gangs map[gangKey]berth.ReservationReport) *world {
	w := &world{Checker: c, gangs: gangs, known: true, preemptions: len(c.preemptions) + len(c.kept)}
	w.share(opened)
	var drained []*replica
	for rep := range c.replicas() {
		asked := rep.asked() && !rep.needless()
		leaves := rep.state == berth.ReplicaReleasing || asked
		if asked && rep.preemption == nil {
			drained = append(drained, rep)
		}
		w.vanish(slices.DeleteFunc(slices.Clone(rep.members), func(m *member) bool {
			return !leaves && m.state != stopping || rep.preemption != nil && slices.Contains(opened, rep.preemption) || m.preemption != nil && slices.Contains(opened, m.preemption)
		}))
	}
	if w.left = len(w.gone) > 0; w.left {
		w.waiting = c.inQueues()
	}
	for _, r := range c.preemptions {
		if !slices.Contains(opened, r) {
			w.putIn(r)
		}
	}
	for key, r := range gangs {
		if rep := c.find(key); r.Moving && c.kept[key] == 0 && rep != nil && rep != but && (rep.state == berth.ReplicaPending || slices.Contains(drained, rep)) {
			w.preemptions++ // its place is kept since this pass: it held nothing before, or has to leave a node that is drained
			w.chargePlace(rep)
		}
	}
	for key, until := range c.kept {
		rep := c.find(key)
		hasVictims := slices.ContainsFunc(opened, func(p *preemption) bool { return p.beneficiary == key })
		if rep == nil || rep == but || hasVictims { // for victims it has given up its place
			continue
		}
		w.chargePlace(rep)
		r, reserved := gangs[key]
		w.known = w.known && reserved && (r.Moving || r.Until == until) // else it may have another one since
	}
	return w
}

func (w *world) vanish(members []*member) {
	for _, m := range members {
		if m.node != nil {
			w.gone = append(w.gone, ghost{m, m.node})
			m.vacates(m.node, true)
			m.rep.job.queue.charge(w.cost(m), -1)
			m.node.release(m)
		}
	}
}

// back undoes what was imagined since there were so many ghosts and gangs.
func (w *world) back(gone, here int) {
	for _, g := range slices.Backward(w.gone[gone:]) {
		g.m.vacates(g.n, false)
		if err := w.hold(g.n, g.m); err != nil {
			panic("check: what was held a moment ago is not free: " + err.Error())
		}
		g.m.rep.job.queue.charge(w.cost(g.m), 1)
	}
	w.here.undo(here)
	w.gone = w.gone[:gone]
}

func (w *world) forget() { w.back(0, 0) }

// putIn charges a beneficiary for its minimum.
func (w *world) putIn(r *preemption) {
	rep := w.find(r.beneficiary)
	low, high := w.asks(rep)
	if low != high {
		w.known = false
		return
	}
	w.charge(rep, low)
}

// chargePlace charges a gang for the place that is kept for it. Unless it is rigid, no order tells
// how much it is to have there.
func (w *world) chargePlace(rep *replica) {
	w.charge(rep, w.costs(rep)[quota.GPUMilli])
	w.known = w.known && rep.isRigid()
}

// charge imagines that a gang has so much of GPUs, in thousandths.
func (w *world) charge(rep *replica, milli int64) {
	w.here.charge(rep.job.queue, quota.Amounts{quota.GPUMilli: milli})
}

// anyOrder looks for an order of the preemptions in which each is right. It returns what is
// wrong about the first that it tries.
func (w *world) anyOrder(left []*preemption) error {
	var first error
	for i, r := range left {
		gone, here := len(w.gone), len(w.here)
		err := w.judge(r)
		if err == nil && len(left) > 1 {
			for _, victim := range r.victims {
				w.vanish(victim.all())
				if victim.moves {
					w.charge(victim.replica, w.costs(victim.replica)[quota.GPUMilli])
				}
			}
			if w.putIn(r); !w.known {
				w.back(gone, here)
				return nil
			}
			err = w.anyOrder(slices.Concat(left[:i], left[i+1:]))
		}
		w.back(gone, here)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// judge asserts that the victims of one beneficiary are right.
func (w *world) judge(r *preemption) error {
	rep := w.find(r.beneficiary)
	asked, high := w.asks(rep)
	if asked != high {
		return nil
	}
	gone, whole := len(w.gone), false
	w.withinGuarantee = w.owes(rep, asked)
	here := len(w.here)
	defer func() { w.back(gone, here) }()
	for _, victim := range r.victims {
		w.vanish(victim.all())
	}
	victims, known, err := w.moves(rep, asked, r)
	switch {
	case err != nil:
		return err
	case len(victims) == 0, !known:
		return w.needsMoves(rep, r, gone, here)
	}
	own := victims[0].job.queue == rep.job.queue
	for _, victim := range victims {
		if (victim.job.queue == rep.job.queue) != own {
			return broken(PromiseS4, "%s and %s are evicted for %s, and one of them is of its queue", victims[0], victim, rep)
		}
		for _, unit := range victim.units() {
			if held := w.held(unit.all()); w.tooLarge(rep, asked, victim, held) {
				return broken(PromiseS7, "%s is evicted for %s, which asks for %d thousandths of GPUs, and holds %d", victim, rep, asked, held)
			}
		}
		if own {
			continue
		}
		if err := w.mayTake(rep, asked, victim); err != nil {
			return err
		}
		if w.spares(rep, victim, r.from) {
			return broken(PromiseGain, "%s is evicted for %s of another queue, and writes no checkpoints", victim, rep)
		}
		whole = w.cutsInto(rep, victim) || whole
		if w.fair != nil && !w.withinGuarantee && victim.whole() && victim.cooling {
			return broken(PromiseS6, "%s is evicted for %s, and was evicted before, too short a time ago", victim, rep)
		}
	}
	if err := w.isWorthIt(rep, asked, r); err != nil {
		return err
	}
	if r.moved() > 0 {
		return w.needsMoves(rep, r, gone, here)
	}
	if err := w.hasRoom(rep, r); err != nil {
		return err
	}
	if own && w.now < rep.restsUntil {
		if err := w.staysWithin(rep, asked, victims, w.gone[:gone]); err != nil {
			return err
		}
	}
	if !w.countable(rep, w.gangs[r.beneficiary].Nodes) {
		return nil
	}
	if w.preemptions > 1 || w.left || whole || !alike(rep, victims) {
		return nil
	}
	if err := w.noneSpared(rep, r, gone); err != nil {
		return err
	}
	return w.partsFirst(rep, r, gone)
}

// staysWithin: where a gang that was reclaimed, and rests, takes the place of others of its queue,
// each of its queues uses no more than it is guaranteed with it, or no more than its fair share
// while its jobs fill as much of the guarantee as before.
func (w *world) staysWithin(rep *replica, asked int64, victims []victim, before []ghost) error {
	for q := rep.job.queue; q != nil && w.fair != nil; q = q.parent {
		guaranteed := max(q.spec.Guarantee[quota.GPUMilli], w.fair.Guaranteed(w.index(q)))
		with, fair := w.hasWith(q, rep, asked), max(guaranteed, w.fair.Of(w.index(q)))
		if with > fair {
			return broken(PromiseS4, "%s is evicted for %s of its queue, which was reclaimed: queue %s has %d with it, and its fair share is %d",
				victims[0], rep, q.spec.Name, with, fair)
		}
		if with <= guaranteed || len(q.all(w.waiting)) > 0 {
			continue
		}
		if most, now, known := w.fills(q, guaranteed, asked, victims, before); known && now < most {
			return broken(PromiseS4, "%s is evicted for %s of its queue, which was reclaimed: the jobs of queue %s filled %d of %d guaranteed, and fill %d with it",
				victims[0], rep, q.spec.Name, most, guaranteed, now)
		}
	}
	w.saw("reclaimed, and within the shares in the place of its victims")
	return nil
}

// moves judges the victims that only move, where others are evicted beside them or the policy lets
// gangs move for guarantees alone, charges them where they go, and returns the others. Not
// known: of a gang that may be smaller there nothing tells what it is charged.
func (w *world) moves(rep *replica, asked int64, r *preemption) (evicted []victim, known bool, err error) {
	evicted, known = r.evicted(), true
	if r.moved() == 0 {
		return evicted, true, nil
	}
	if owed := w.withinGuarantee || w.fair == nil; !owed && (len(evicted) > 0 || w.policy.Defragmentation.Mode != berth.DefragmentationOn) {
		return nil, true, broken(PromiseS6, "%d move for %s, which asks for %d beyond the guarantee of its queue", r.moved(), rep, asked)
	}
	for _, v := range r.victims {
		if v.moves {
			known = known && v.isRigid()
			w.charge(v.replica, w.held(v.all()))
		}
	}
	if len(evicted) > 0 {
		w.saw("moved beside victims")
	}
	return evicted, known, nil
}

// needsMoves asserts that a beneficiary has room, and would not fit if all that move for it
// stayed and the others were gone. Before the victims so many members were gone, and so many
// gangs planned.
func (w *world) needsMoves(rep *replica, r *preemption, gone, here int) error {
	if err := w.hasRoom(rep, r); err != nil || w.preemptions > 1 || w.left || !w.countable(rep, w.gangs[r.beneficiary].Nodes) {
		return err
	}
	w.back(gone, here)
	for _, v := range r.evicted() {
		w.vanish(v.all())
	}
	if w.couldStartOn(rep, w.openTo(rep)) {
		return broken(PromiseS7, "%d move for %s, which would fit beside them", r.moved(), rep)
	}
	w.saw("none of the moves was in vain")
	return nil
}

// hasRoom asserts that a gang fits on its reserved nodes once departing gangs are gone, as far as
// counting tells: of one that was observed, and grows, it does not.
func (w *world) hasRoom(rep *replica, r *preemption) error {
	nodes := w.gangs[r.beneficiary].Nodes
	if rep.observed || !w.countable(rep, nodes) {
		return nil
	}
	if !w.couldStartOn(rep, func(n *node) bool { return slices.Contains(nodes, n.spec.ID) }) {
		return broken(PromiseS7, "%d have to go for %s, which would not fit on %v without them", len(r.victims), rep, nodes)
	}
	w.saw("room is enough")
	return nil
}

// tooLarge reports whether a victim, or a unit of it, that is imagined gone certainly held too
// much to be evicted for what is asked.
func (w *world) tooLarge(rep *replica, asked int64, victim victim, held int64) bool {
	ratio := int64(w.policy.Preemption.MaxRatio)
	if ratio < 0 || held/ratio <= max(asked, 1000) || rep.job.spec.Class > victim.job.spec.Class {
		return false
	}
	leaf := rep.job.queue
	return victim.job.queue == leaf || w.fair != nil && (leaf.used[quota.GPUMilli]+asked > w.fair.Guaranteed(w.index(leaf)) || !w.collects(rep, w.now))
}

// noneSpared asserts that a beneficiary would not fit if one of its victims stayed, or one unit
// of those that go on. Before the victims so many members were gone.
func (w *world) noneSpared(rep *replica, r *preemption, before int) error {
	var units []victim
	for _, v := range r.victims {
		units = append(units, v.units()...)
	}
	for spared := range units {
		w.back(before, len(w.here))
		for i := range units {
			if i != spared {
				w.vanish(units[i].all())
			}
		}
		if w.couldStartOn(rep, w.openTo(rep)) {
			return broken(PromiseS7, "%s is evicted for %s, which would fit beside it", units[spared], rep)
		}
	}
	w.saw("none of the victims could be spared")
	return nil
}

// openTo says on which nodes a beneficiary could have started: those that were not set aside for
// others, and have not been since by the reservation of a gang, which is made, or said to come true
// earlier, before anybody is evicted. What has come open in the pass goes to others first.
func (w *world) openTo(rep *replica) func(*node) bool {
	late := w.cameOpen()
	return func(n *node) bool {
		if late[n] {
			return false
		}
		for key, r := range w.gangs {
			before := w.Checker.gangs[key]
			sooner := !slices.Contains(before.Nodes, n.spec.ID) || r.From < before.From && !w.surelyPasses(rep, key)
			if sooner && key != rep.key() && slices.Contains(r.Nodes, n.spec.ID) {
				return false
			}
		}
		return w.setAside(n, rep) == 0
	}
}

// cameOpen are the nodes that may have come open in the latest pass: by the end of a reservation,
// or of the place of a gang that has just failed, which no report has.
func (w *world) cameOpen() map[*node]bool {
	open := map[*node]bool{}
	for key, r := range w.Checker.gangs {
		for _, id := range r.Nodes {
			if !slices.Contains(w.gangs[key].Nodes, id) {
				open[w.nodes[id]] = true
			}
		}
	}
	for _, rep := range w.justFailed() {
		for _, s := range rep.stood {
			open[s.node] = true
		}
	}
	return open
}

// alike reports whether all victims stand at one distance from the beneficiary.
func alike(rep *replica, victims []victim) bool {
	first, _ := parting(rep.job.queue, victims[0].job.queue)
	return !slices.ContainsFunc(victims, func(v victim) bool {
		own, _ := parting(rep.job.queue, v.job.queue)
		return len(own) != len(first)
	})
}

// parting lists the queues on the way down to each of two, from where their paths part.
func parting(a, b *queue) (below, other []*queue) {
	up := func(q, from *queue) (list []*queue) {
		for ; q != nil; q = q.parent {
			if from.below(q.spec.Name) {
				return list
			}
			list = append(list, q)
		}
		return list
	}
	return up(a, b), up(b, a)
}

// has is what a queue uses and what is kept free for those below it, that others cannot use.
func (q *queue) has() int64 { return q.used[quota.GPUMilli] + keptFor(q.children, quota.GPUMilli) }

// mayTake: no queue of the beneficiary has more than its guarantee and its fair share with
// it.
func (w *world) mayTake(rep *replica, asked int64, victim victim) error {
	if w.fair == nil {
		return nil
	}
	own, _ := parting(rep.job.queue, victim.job.queue)
	for _, q := range own {
		// Where the fleet has less than all guarantees, its part of one above it may be more.
		fair := max(w.fair.Of(w.index(q)), w.fair.Guaranteed(w.index(q)))
		if rep.state == berth.ReplicaRunning { // it grows for a guarantee alone
			fair = w.fair.Guaranteed(w.index(q))
		}
		if with := w.hasWith(q, rep, asked); with > q.spec.Guarantee[quota.GPUMilli] && with > fair {
			return broken(PromiseS4, "%s of queue %s is evicted for %s, with which queue %s has %d of %d guaranteed, and its fair share is %d",
				victim, victim.job.queue.spec.Name, rep, q.spec.Name, with, q.spec.Guarantee[quota.GPUMilli], fair)
		}
	}
	w.saw("what is taken back is for a queue within its share")
	return nil
}

// hasWith is what a queue of a gang has with what the gang asks for.
func (w *world) hasWith(q *queue, rep *replica, asked int64) int64 {
	p := quota.Amounts{quota.GPUMilli: asked}
	rep.job.queue.charge(p, 1)
	defer rep.job.queue.charge(p, -1)
	return q.has()
}

// cutsInto reports whether a queue of a victim has less than its guarantee without the victims.
func (w *world) cutsInto(rep *replica, victim victim) bool {
	_, others := parting(rep.job.queue, victim.job.queue)
	return slices.ContainsFunc(others, func(q *queue) bool {
		guarantee, stated := q.spec.Guarantee[quota.GPUMilli]
		return stated && q.has() < guarantee && len(q.all(w.waiting)) == 0
	})
}

// held is what members hold of GPUs, or held before they were imagined gone.
func (w *world) held(members []*member) int64 {
	sum := int64(0)
	for _, m := range members {
		if m.node != nil {
			sum += w.cost(m)[quota.GPUMilli]
		}
	}
	for _, g := range w.gone {
		if slices.Contains(members, g.m) {
			g.m.node = g.n
			sum += w.cost(g.m)[quota.GPUMilli]
			g.m.node = nil
		}
	}
	return sum
}

// countable reports whether it can be told by counting whether a gang fits on nodes that are
// set aside for it.
func (w *world) countable(rep *replica, nodes []berth.NodeID) bool {
	spec := &rep.job.spec
	plain := func(t *berth.Topology) bool {
		return t.Required == "" && t.Spread == "" && t.Balance == "" && t.Exclusive == "" && len(t.Segments)+len(t.Parts) == 0 && !t.RailAligned
	}
	if len(spec.Groups) != 1 || spec.Groups[0].Claim.GPUs == 0 || !plain(&spec.Topology) || !plain(&spec.Groups[0].Topology) {
		return false
	}
	if len(w.nodes) > 64 || w.policy.BackfillBudget != 0 || w.byProduct(rep.job.queue) || len(rep.avoided) > 0 {
		return false
	}
	for _, n := range w.nodes {
		divides := slices.ContainsFunc(n.gpus, func(g gpu) bool { return g.unknown || g.ordered() != berth.GPUModeWhole })
		if divides || w.geometry(n).Kind != berth.GeometryFixed {
			return false
		}
	}
	for key, other := range w.gangs {
		shared := func(id berth.NodeID) bool { return slices.Contains(nodes, id) }
		if key != rep.key() && (w.Checker.preemptions[key] != nil || w.kept[key] != 0 || other.Moving) && slices.ContainsFunc(other.Nodes, shared) {
			return false
		}
	}
	return true
}
