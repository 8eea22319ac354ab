package berth

import (
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// An imagination is the fleet and the quota tree as they will be: without those that are
// on their way out, and with those for whom room is being made. It is made on the fleet
// and the tree themselves; forgetting it leaves no trace.
type imagination struct {
	core *Core
	gone []*replica
	here []imagined
	// trials is how many searches may yet be made in it.
	trials int
}

// An imagined gang holds what it is planned to.
type imagined struct {
	queue   quota.Index
	members []gang.Member
}

// imagine leaves out what is going and puts in those for whom room is being made. It
// returns those for whom there will be none after all.
func (c *Core) imagine() (im *imagination, broken []*window) {
	im = &imagination{core: c}
	c.leaving.Ascend(func(rep *replica) bool {
		im.leaveOut(rep)
		return true
	})
	for _, w := range c.windows {
		if w.preemption != nil && !im.putIn(w.rep.job.queue, w.preemption.where) {
			broken = append(broken, w)
		}
	}
	return im, broken
}

// leaveOut imagines a replica gone, for good.
func (im *imagination) leaveOut(rep *replica) {
	im.core.vanish(rep)
	im.core.discharge(rep)
	im.gone = append(im.gone, rep)
}

// putIn imagines a gang where it is planned to be. It reports false if that is not free.
func (im *imagination) putIn(q quota.Index, members []gang.Member) bool {
	c := im.core
	if !c.hold(members) {
		return false
	}
	for i := range members {
		c.nodes[members[i].Hold.Node].planned++
		must(c.quota.Charge(q, chargeOf(&members[i].Hold, c.nodes[members[i].Hold.Node])))
	}
	im.here = append(im.here, imagined{q, members})
	return true
}

// forget brings back what is.
func (im *imagination) forget() {
	c := im.core
	for _, gang := range im.here {
		for i := range gang.members {
			h := &gang.members[i].Hold
			must(c.quota.Discharge(gang.queue, chargeOf(h, c.nodes[h.Node])))
			must(c.fleet.Release(*h))
			c.nodes[h.Node].planned--
		}
	}
	for _, rep := range im.gone {
		c.recharge(rep)
		c.reappear(rep)
	}
}

// hold holds what members are to have, all of it or nothing.
func (c *Core) hold(members []gang.Member) bool {
	for i := range members {
		if c.fleet.Hold(members[i].Hold) != nil {
			for _, held := range members[:i] {
				must(c.fleet.Release(held.Hold))
			}
			return false
		}
	}
	return true
}

// vanish imagines what a replica holds free.
func (c *Core) vanish(rep *replica) {
	rep.imagined = true
	rep.eachHold(func(h *gang.Hold, _ *node) { must(c.fleet.Release(*h)) })
}

// reappear undoes vanish.
func (c *Core) reappear(rep *replica) {
	rep.imagined = false
	rep.eachHold(func(h *gang.Hold, _ *node) { must(c.fleet.Adopt(*h)) })
}

// discharge imagines that a replica is charged for nothing.
func (c *Core) discharge(rep *replica) {
	rep.eachHold(func(h *gang.Hold, n *node) { must(c.quota.Discharge(rep.job.queue, chargeOf(h, n))) })
}

// recharge undoes discharge.
func (c *Core) recharge(rep *replica) {
	rep.eachHold(func(h *gang.Hold, n *node) { must(c.quota.Charge(rep.job.queue, chargeOf(h, n))) })
}

// eachHold calls a function for everything that a replica holds.
func (rep *replica) eachHold(use func(*gang.Hold, *node)) {
	for flat := range rep.members {
		if m := &rep.members[flat]; m.state.holds() {
			use(&m.hold, m.node)
		}
	}
}
