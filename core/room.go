package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A preemption is room that is being made for a replica that waits, its beneficiary: who
// has to go for it, and what it will hold then. Until then the nodes are set aside for it,
// as a reservation is, so that nobody slips in between. It ends when the beneficiary
// starts, there or elsewhere, or waits no more; when one of the nodes goes or changes, or
// somebody that ranks above it takes its place; and when it has taken too long. Who was
// asked for a checkpoint and not stopped yet then goes on. The way of a victim is drawn in
// the documentation of the package.
type preemption struct {
	// where has the members of the beneficiary as planned.
	where []gang.Member
	// charges are what its queue will be charged, in all, by product.
	charges []quota.Charge
	// victims have yet to go, or a part of them has, by job and number.
	victims []*replica
}

// newPreemption plans room for a gang.
func (c *Core) newPreemption(where []gang.Member) *preemption {
	p := &preemption{where: where}
	for i := range where {
		charge := chargeOf(&where[i].Hold, c.nodes[where[i].Hold.Node])
		at := slices.IndexFunc(p.charges, func(sum quota.Charge) bool { return sum.Product == charge.Product })
		if at < 0 {
			at = len(p.charges)
			p.charges = append(p.charges, quota.Charge{Product: charge.Product})
		}
		p.charges[at] = p.charges[at].Plus(charge)
	}
	return p
}

// awaits notes one more victim; they come in order.
func (p *preemption) awaits(victim *replica) { p.victims = append(p.victims, victim) }

// takePlace starts the beneficiary of a preemption where it was planned, if all of that is
// free by now. Where a group is spread depends on nodes that it is not on, so that it is
// searched for anew.
func (c *Core) takePlace(e *entry, p *preemption, cause berth.CauseCode) bool {
	spec := &e.bucket.shape.spec
	if slices.ContainsFunc(spec.Groups, func(g berth.Group) bool { return g.Topology.Spread != "" }) {
		return false
	}
	if idle := c.idle(spec); idle != nil && slices.ContainsFunc(p.where, func(m gang.Member) bool { return !idle(c.nodes[m.Hold.Node]) }) {
		return false
	}
	if c.inTheWay(e.rep, p) || !c.hold(p.where) {
		return false
	}
	c.placement.Members = append(c.placement.Members[:0], p.where...)
	e.rep.members = make([]member, e.rep.job.members())
	if _, ok := c.bookPlacement(e.rep, 0); !ok {
		e.rep.members = nil
		return false
	}
	e.rep.Resumed = cause == berth.CauseResumed
	c.placed(e, berth.Cause{Code: cause})
	return true
}

// inTheWay reports whether a node on which a beneficiary is planned has come to be set aside
// for somebody who does not have it there.
func (c *Core) inTheWay(rep *replica, p *preemption) bool {
	end := c.endIfPlaced(rep)
	return slices.ContainsFunc(p.where, func(m gang.Member) bool {
		return slices.ContainsFunc(c.nodes[m.Hold.Node].windows, func(w *window) bool {
			return !w.isPlanned() && !c.admits(w, rep, end)
		})
	})
}

// serveBeneficiary starts a replica for which room is being made, there or elsewhere, as
// soon as it fits. What cannot come true any more is given up.
func (c *Core) serveBeneficiary(e *entry) {
	w := e.rep.reserved
	p := w.preemption
	if c.takePlace(e, p, w.kind.cause()) {
		return
	}
	c.tryReserved(e)
	if e.rep.reserved != w || len(p.victims) > 0 || c.leavingFrom(w) {
		return
	}
	if c.leaving.Len() > 0 && c.hold(p.where) { // it is quota that it waits for, which others hold yet
		c.release(p.where)
		return
	}
	c.failBid(e.rep)
	c.endWindow(w)
}

// failBid notes that room was made for a replica in vain: it waits before that is tried
// again, longer each time, so that nobody is stopped for it over and over.
func (c *Core) failBid(rep *replica) {
	rep.bid.Turn, rep.bid.RipeAt = 0, 0
	c.deferBid(rep, 8)
}

// deferBid has a replica wait before the next look for whom it may take from, twice as long
// each time, up to so many times.
func (c *Core) deferBid(rep *replica, doublings int) {
	rep.bid.At = c.now.Add(preemptEvery << min(rep.failedBids, doublings))
	rep.failedBids = min(rep.failedBids+1, limits.MaxAttempts)
}

// callOff ends the preemptions that the policy does not allow any more. Who is stopped already
// is not to be held up.
func (c *Core) callOff() {
	mode := c.config.Policy.Preemption.Mode
	for _, w := range slices.Clone(c.windows) {
		if w.isRoom() && (mode == berth.PreemptNever || mode == berth.PreemptReclaim && w.preemption.within(w.rep)) {
			c.endWindow(w)
		}
	}
}

// within reports whether those who go are of the beneficiary's own queue.
func (p *preemption) within(rep *replica) bool {
	return slices.ContainsFunc(p.victims, func(victim *replica) bool { return victim.job.queue == rep.job.queue })
}

// intrude ends the preemptions and moves that planned with what somebody has come to hold, as
// the world told.
func (c *Core) intrude(n *node, h *gang.Hold) {
	for _, w := range slices.Clone(n.windows) {
		if w.isPlanned() && slices.ContainsFunc(w.preemption.where, func(m gang.Member) bool {
			return m.Hold.Node == h.Node && m.Hold.GPUs&h.GPUs != 0
		}) {
			c.endWindow(w)
		}
	}
}

// renumber notes that a node has got another index.
func (w *window) renumber(before, now topology.Node) {
	if !w.isPlanned() {
		return
	}
	for i := range w.preemption.where {
		if h := &w.preemption.where[i].Hold; h.Node == before {
			h.Node = now
		}
	}
}

// leavingFrom reports whether something that is to go holds something on the nodes of a
// window.
func (c *Core) leavingFrom(w *window) bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.members, c.goes)
	})
}
