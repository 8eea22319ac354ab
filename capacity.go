package berth

import (
	"github.com/berth-sched/berth/quota"
)

// What the fleet has is what queues lend and borrow: the sound GPUs, and the hosts, of
// nodes that take work.

// A capacity is what a node adds to the fleet.
type capacity struct {
	product               string
	gpuMilli, cpu, memory int64
}

func (n *node) capacityNow() capacity {
	if n.cordoned {
		return capacity{}
	}
	sum := capacity{cpu: n.spec.CPUMilli, memory: n.spec.MemoryMiB}
	for g := range n.spec.GPUs {
		sum.product = n.spec.GPUs[g].Product
		if !n.spec.GPUs[g].Failed {
			sum.gpuMilli += 1000
		}
	}
	return sum
}

// recount tells the quota tree what a node adds to the fleet now.
func (c *Core) recount(n *node, now capacity) {
	before := n.capacity
	if before == now {
		return
	}
	n.capacity = now
	c.addCapacity(quota.GPU, now.gpuMilli-before.gpuMilli)
	c.addCapacity(quota.CPU, now.cpu-before.cpu)
	c.addCapacity(quota.Memory, now.memory-before.memory)
	if before.product != "" {
		c.addCapacity(quota.GPUOf(before.product), -before.gpuMilli)
	}
	if now.product != "" {
		c.addCapacity(quota.GPUOf(now.product), now.gpuMilli)
	}
}

// addCapacity changes what there is of a resource. Of what there is none, nothing is
// known, so that the tree forgets a product with its last GPU.
func (c *Core) addCapacity(r quota.Resource, change int64) {
	if change == 0 {
		return
	}
	total, known := c.quota.Capacity(r)
	if !known {
		total = 0
	}
	if total += change; total == 0 {
		total = quota.UnknownCapacity
	}
	must(c.quota.SetCapacity(r, total))
}

// tick sets the clocks of the quota tree and of the ledger.
func (c *Core) tick() {
	if c.restoring {
		return // what it remembers comes at the end
	}
	now := min(int64(c.now), quota.MaxTime)
	if c.quota.Now() != now {
		must(c.quota.Advance(now))
	}
	if c.ledger != nil && c.ledger.Now() != now {
		must(c.ledger.Advance(now))
	}
}
