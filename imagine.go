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

// imagineAll imagines what is to come, and ends what cannot come true.
func (c *Core) imagineAll() *imagination {
	for {
		im, broken := c.imagine()
		if len(broken) == 0 {
			return im
		}
		im.forget()
		for _, w := range broken { // others may have counted on that
			if w.isReservation() || w.isMove() {
				c.endWindow(w)
			}
		}
	}
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

// bringBack undoes leaveOut for the one that was left out last.
func (im *imagination) bringBack() {
	last := len(im.gone) - 1
	im.core.recharge(im.gone[last])
	im.core.reappear(im.gone[last])
	im.gone = im.gone[:last]
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
			c.release(members[:i])
			return false
		}
	}
	return true
}

// release gives back what members hold.
func (c *Core) release(members []gang.Member) {
	for i := range members {
		must(c.fleet.Release(members[i].Hold))
	}
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

// discharge imagines that a replica is charged for nothing. What it has on nodes that take
// no more work is gone with it.
func (c *Core) discharge(rep *replica) {
	rep.eachHold(func(h *gang.Hold, n *node) {
		charge := chargeOf(h, n)
		must(c.quota.Discharge(rep.job.queue, charge))
		if n.cordoned {
			c.shiftCapacity(n, charge, -1)
		}
	})
}

// recharge undoes discharge.
func (c *Core) recharge(rep *replica) {
	rep.eachHold(func(h *gang.Hold, n *node) {
		charge := chargeOf(h, n)
		if n.cordoned {
			c.shiftCapacity(n, charge, 1)
		}
		must(c.quota.Charge(rep.job.queue, charge))
	})
}

// shiftCapacity has the quota tree see more of the fleet by what somebody has on a node, or
// less.
func (c *Core) shiftCapacity(n *node, charge quota.Charge, sign int64) {
	shift := func(r quota.Resource, amount int64) {
		if total, known := c.quota.Capacity(r); known && amount > 0 {
			must(c.quota.SetCapacity(r, max(0, total+sign*amount)))
		}
	}
	shift(quota.GPU, charge.GPUMilli)
	shift(quota.CPU, charge.CPUMilli)
	shift(quota.Memory, charge.MemoryMiB)
	if charge.GPUMilli > 0 {
		shift(quota.GPUOf(n.spec.GPUs[0].Product), charge.GPUMilli)
	}
}

// eachHold calls a function for everything that a replica holds.
func (rep *replica) eachHold(use func(*gang.Hold, *node)) {
	for flat := range rep.members {
		if m := &rep.members[flat]; m.state.holds() {
			use(&m.hold, m.node)
		}
	}
}
