package core

import (
	"slices"

	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/quota"
)

// What the fleet has is what queues lend and borrow: the sound GPUs, and the hosts, of
// nodes that take work, and what is in use on the others.

// A capacity is what a node adds to the fleet.
type capacity struct {
	product  string
	gpuMilli int64
	host     host.Amounts
}

func (n *node) capacityNow() capacity {
	if n.closed() {
		return n.inUse()
	}
	sum := capacity{host: n.spec.Host()}
	for g := range n.spec.GPUs {
		sum.product = n.spec.GPUs[g].Product
		if !n.spec.GPUs[g].Failed {
			sum.gpuMilli += 1000
		}
	}
	return sum
}

// inUse is what members hold on a node: so much of it the fleet still has when it takes no
// more work.
func (n *node) inUse() capacity {
	var sum capacity
	for _, at := range n.members {
		charge := chargeOf(&at.rep.members[at.index].hold, n)
		sum.host = sum.host.Plus(charge.Host)
		if charge.GPUMilli > 0 {
			sum.product = n.spec.GPUs[0].Product
			sum.gpuMilli += charge.GPUMilli
		}
	}
	return sum
}

// recountUse is recount after a change of what is in use, where that counts.
func (c *Core) recountUse(n *node) {
	if n.closed() {
		c.recount(n, n.capacityNow())
	}
}

// recount tells the quota tree what a node adds to the fleet now.
func (c *Core) recount(n *node, now capacity) {
	before := n.capacity
	if before == now {
		return
	}
	n.capacity = now
	c.addCapacity(quota.GPU, now.gpuMilli-before.gpuMilli)
	for r, change := range now.host.Minus(before.host) {
		c.addCapacity(quota.HostOf(host.Resource(r)), change)
	}
	if before.product != "" {
		c.addCapacity(quota.GPUOf(before.product), -before.gpuMilli)
	}
	if now.product != "" {
		c.addCapacity(quota.GPUOf(now.product), now.gpuMilli)
	}
}

// addCapacity changes what there is of a resource. The quota tree is told before it is
// asked next; of a product that is gone at once, so that it forgets the name.
func (c *Core) addCapacity(r quota.Resource, change int64) {
	if change == 0 {
		return
	}
	c.capacities[r] += change
	c.agenda.stir(c.now)
	if !slices.Contains(c.untold, r) {
		c.untold = append(c.untold, r)
	}
	if c.capacities[r] == 0 {
		delete(c.capacities, r)
		c.tellCapacity()
	}
}

// tellCapacity tells the quota tree what has changed of what the fleet has. Of what there
// is none, nothing is known.
func (c *Core) tellCapacity() {
	slices.Sort(c.untold)
	for _, r := range c.untold {
		total, some := c.capacities[r]
		if total = min(total, quota.MaxAmount); !some {
			total = quota.UnknownCapacity
		}
		if told, known := c.quota.Capacity(r); known != some || told != total && known {
			must(c.quota.SetCapacity(r, total))
		}
	}
	c.untold = c.untold[:0]
}

// tick sets the clocks of the quota tree and of the ledger.
func (c *Core) tick() {
	if c.restoring {
		return // what it remembers comes at the end
	}
	if len(c.untold) > 0 {
		c.tellCapacity()
	}
	now := min(int64(c.now), quota.MaxTime)
	if c.quota.Now() != now {
		must(c.quota.Advance(now))
	}
	c.tickLedger()
}
