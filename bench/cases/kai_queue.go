package cases

import (
	"fmt"
	"math"

	"github.com/berth-sched/berth/quota"
)

// Queues of KAI become queues of package quota:
//
//   - quota is the guarantee of GPUs. A queue may state more than the one above it: then
//     KAI still counts what goes to the parent by the parent's quota, so the guarantees of
//     its children are cut to fit into the parent's, in proportion. An unlimited quota
//     (-1) is all GPUs of the fleet.
//   - overQuotaWeight is the weight, times a million. With 0 a queue has no fair share,
//     but may have what is idle: it has the weight 1, and a priority just below that of
//     siblings that have a weight.
//   - priority, 100 where it is absent, is the priority.
//   - limit is the limit, and -1 is none.
//   - what is not preemptible may not borrow: its members also take host CPU, one
//     thousandth of a core for each thousandth of a GPU, which nodes have plenty of and
//     of which the limit of a queue, and of each above it, is its quota.
//   - siblings are named in the order of the file, which is that of their age, as the
//     name breaks ties here.
const weightUnit = 1_000_000

// quotas translates the queues, parents first as in the file.
func (c *kaiCase) quotas() []quota.Queue {
	guarantees := c.guarantees()
	list := make([]quota.Queue, len(c.Queues))
	for i := range c.Queues {
		q := &c.Queues[i]
		out := quota.Queue{Name: c.queueName(i), Weight: 1, Limit: quota.Amounts{}}
		if q.Priority != nil {
			out.Priority = 2 * (*q.Priority - 100)
		}
		if q.Parent != "" {
			out.Parent = c.queueName(c.queue(q.Parent))
		}
		switch {
		case q.Weight > 0:
			out.Weight = max(1, int64(math.Round(q.Weight*weightUnit)))
		case q.Weight < 0:
			out.Weight = weightUnit
		default:
			out.Priority--
		}
		out.Guarantee = quota.Amounts{quota.GPUMilli: guarantees[i]}
		if q.Limit >= 0 {
			out.Limit[quota.GPUMilli] = milli(q.Limit)
		}
		if q.Quota >= 0 {
			out.Limit[quota.CPUMilli] = milli(q.Quota)
		}
		list[i] = out
	}
	return list
}

func (c *kaiCase) queueName(i int) quota.QueueID {
	return quota.QueueID(fmt.Sprintf("%03d %s", i, c.Queues[i].Name))
}

func milli(gpus float64) int64 { return int64(math.Round(gpus * 1000)) }

// guarantees fits the quotas into each other.
func (c *kaiCase) guarantees() []int64 {
	wanted := make([]int64, len(c.Queues))
	fleet := c.fleetMilli()
	below := make([]int64, len(c.Queues)) // what the children want together
	for i := len(c.Queues) - 1; i >= 0; i-- {
		q := &c.Queues[i]
		wanted[i] = milli(q.Quota)
		if q.Quota < 0 {
			wanted[i] = max(fleet, below[i])
		}
		if q.Limit >= 0 {
			wanted[i] = min(wanted[i], milli(q.Limit))
		}
		if q.Parent != "" {
			below[c.queue(q.Parent)] += wanted[i]
		}
	}
	for i := range c.Queues { // parents first
		if q := &c.Queues[i]; q.Parent != "" {
			p := c.queue(q.Parent)
			if all := below[p]; all > wanted[p] { // what its children want is not its own yet
				wanted[i] = int64(float64(wanted[p]) * (float64(wanted[i]) / float64(all)))
			}
		}
	}
	return wanted
}

// fleetMilli is the capacity of the fleet; an instance counts as one GPU.
func (c *kaiCase) fleetMilli() int64 {
	total := int64(0)
	for i := range c.Nodes {
		total += 1000 * int64(c.Nodes[i].GPUs)
		for _, n := range c.Nodes[i].MIG {
			total += 1000 * int64(n)
		}
	}
	return total
}
