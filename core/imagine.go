package core

import (
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/quota"
)

// An imagination is the fleet and the quota tree as they will be: without those that are
// on their way out, and with those for whom room is being made. It is made on the fleet
// and the tree themselves; forgetting it leaves no trace.
type imagination struct {
	core *Core
	gone []piece
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
			if w.countsOnNodes() {
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
		im.leaveOut(rep.going())
		return true
	})
	for _, w := range c.windows {
		if w.isPlanned() && !im.putIn(w.rep.job.queue, w.preemption.where) {
			broken = append(broken, w)
		}
	}
	return im, broken
}

// leaveOut imagines a part of a replica gone, for good.
func (im *imagination) leaveOut(p piece) {
	im.core.vanish(p)
	im.core.discharge(p)
	im.gone = append(im.gone, p)
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

// takeOut undoes putIn for the gang that was put in last.
func (im *imagination) takeOut() {
	c, last := im.core, len(im.here)-1
	gang := im.here[last]
	im.here = im.here[:last]
	for i := range gang.members {
		h := &gang.members[i].Hold
		must(c.quota.Discharge(gang.queue, chargeOf(h, c.nodes[h.Node])))
		must(c.fleet.Release(*h))
		c.nodes[h.Node].planned--
	}
}

// forget brings back what is.
func (im *imagination) forget() { im.backTo(extent{}) }

// An extent is how much was imagined at some moment.
type extent struct{ gone, here int }

func (im *imagination) extent() extent { return extent{len(im.gone), len(im.here)} }

// backTo undoes what was imagined since.
func (im *imagination) backTo(e extent) {
	for len(im.here) > e.here {
		im.takeOut()
	}
	for len(im.gone) > e.gone {
		im.bringBack()
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

// vanish imagines what a part of a replica holds free.
func (c *Core) vanish(p piece) {
	p.imagine(true)
	p.eachHold(func(h *gang.Hold, _ *node) { must(c.fleet.Release(*h)) })
}

// reappear undoes vanish.
func (c *Core) reappear(p piece) {
	p.imagine(false)
	p.eachHold(func(h *gang.Hold, _ *node) { must(c.fleet.Adopt(*h)) })
}

// imagine notes whether a part is imagined gone.
func (p piece) imagine(gone bool) {
	if p.whole() {
		p.rep.imagined = gone
	}
	for _, flat := range p.flats {
		p.rep.members[flat].imagined = gone
	}
}

// discharge imagines that a part of a replica is charged for nothing. What it has on nodes
// that take no more work is gone with it.
func (c *Core) discharge(p piece) {
	p.eachHold(func(h *gang.Hold, n *node) {
		charge := chargeOf(h, n)
		must(c.quota.Discharge(p.rep.job.queue, charge))
		if n.closed() {
			c.shiftCapacity(n, charge, -1)
		}
	})
}

// recharge undoes discharge.
func (c *Core) recharge(p piece) {
	p.eachHold(func(h *gang.Hold, n *node) {
		charge := chargeOf(h, n)
		if n.closed() {
			c.shiftCapacity(n, charge, 1)
		}
		must(c.quota.Charge(p.rep.job.queue, charge))
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
	for r, amount := range charge.Host {
		shift(quota.HostOf(host.Resource(r)), amount)
	}
	if charge.GPUMilli > 0 {
		shift(quota.GPUOf(n.spec.GPUs[0].Product), charge.GPUMilli)
	}
}

// eachHold calls a function for everything that a replica holds, but for the members that
// are imagined gone.
func (rep *replica) eachHold(use func(*gang.Hold, *node)) {
	for flat := range rep.members {
		if m := &rep.members[flat]; m.state.holds() && !m.imagined {
			use(&m.hold, m.node)
		}
	}
}
