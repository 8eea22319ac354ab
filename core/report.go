package core

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// countNode counts a node.
func countNode(count *berth.NodeCount, n *node) {
	for _, is := range []struct {
		so bool
		of *int
	}{{true, &count.All}, {n.Cordoned, &count.Cordoned}, {n.trust.Probation != 0, &count.Probation}, {n.trust.Trial != 0, &count.Trial}, {n.trust.Spare, &count.Spares}} {
		if is.so {
			*is.of++
		}
	}
}

// Report describes the fleet as it is now. Cost: O(nodes x shapes of waiting
// work + queues + replicas).
func (c *Core) Report() berth.FleetReport {
	r := berth.FleetReport{Now: c.now, Totals: *c.totals}
	c.reportReplicas(&r)
	products, tables := map[string]*berth.ProductCount{}, map[string]*berth.DividedCount{}
	waiting := c.waitingShapes()
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		countNode(&r.Nodes, n)
		if len(n.spec.GPUs) == 0 {
			continue
		}
		count := c.countGPUs(n, waiting, tables)
		if worst := n.worstOn(); worst != nil {
			r.WorstFault = worse(r.WorstFault, worst)
		}
		r.GPUs.Add(count)
		name := n.spec.GPUs[0].Product
		if products[name] == nil {
			products[name] = &berth.ProductCount{Product: name}
		}
		products[name].Add(count)
		c.countFree(n, &r)
	}
	for _, name := range slices.Sorted(maps.Keys(products)) {
		r.Products = append(r.Products, *products[name])
	}
	r.Divided = dividedCounts(tables)
	r.Reservations = c.reportReservations()
	r.Spares, r.Health = c.reportSpares(), c.reportHealth()
	r.Draining = c.reportDraining()
	for _, name := range c.quota.Queues() {
		r.Queues = append(r.Queues, c.reportQueue(name))
	}
	return r
}

// countGPUs counts the GPUs of one node.
func (c *Core) countGPUs(n *node, waiting []*shape, tables map[string]*berth.DividedCount) berth.GPUCount {
	count := berth.GPUCount{All: 1000 * int64(len(n.spec.GPUs))}
	for _, at := range n.members {
		count.Held += chargeOf(&at.rep.members[at.index].hold, n).GPUMilli
	}
	for g := range n.spec.GPUs {
		if n.gpus[g].Unknown {
			continue
		}
		if n.spec.GPUs[g].Mode == berth.ModeMIG {
			count.Free += c.countDivided(n, g, tables)
			continue
		}
		if left, _ := c.fleet.ShareLeft(n.index, g); !n.closed() && !n.spec.GPUs[g].Failed {
			count.Free += int64(left)
		}
	}
	count.Out = count.All - count.Held - count.Free
	if len(waiting) > 0 && !slices.ContainsFunc(waiting, func(s *shape) bool { return c.serves(n, s) }) {
		count.Stranded = count.Free
	}
	return count
}

// serves reports whether some member of a shape that claims GPUs fits on a node
// now.
func (c *Core) serves(n *node, s *shape) bool {
	c.compile(s)
	return slices.ContainsFunc(s.minimum.Groups, func(g gang.Group) bool {
		return (g.Claim.GPUs > 0 || g.Claim.Share.Milli > 0 || len(g.Claim.Instances) > 0) && c.takes(n, &g)
	})
}

func (c *Core) countFree(n *node, r *berth.FleetReport) {
	if n.closed() {
		return
	}
	k := bits.OnesCount64(c.fleet.FreeMask(n.index))
	for len(r.FreeNodes) <= k {
		r.FreeNodes = append(r.FreeNodes, 0)
	}
	r.FreeNodes[k]++
}

// waitingShapes lists the shapes that somebody waits for and that claim GPUs.
func (c *Core) waitingShapes() []*shape {
	var list []*shape
	for _, key := range slices.Sorted(maps.Keys(c.shapes)) {
		if s := c.shapes[key]; len(s.buckets) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (c *Core) reportReplicas(r *berth.FleetReport) {
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		for _, rep := range c.jobs[id].replicas {
			if rep == nil {
				continue
			}
			switch rep.State {
			case berth.Pending:
				r.Replicas.Pending++
			case berth.Binding:
				r.Replicas.Binding++
			case berth.Running:
				r.Replicas.Running++
			case berth.Repairing:
				r.Replicas.Repairing++
			case berth.Releasing:
				r.Replicas.Releasing++
			}
			countWaiting(&r.Waiting, rep)
		}
	}
}

// countWaiting counts a replica if it waits; if several groups of it do, the first.
func countWaiting(w *berth.WaitingCount, rep *replica) {
	switch {
	case rep.retry.ReadyAt != 0:
		w.Backoff++
	case rep.entries == nil:
	case rep.entries[0].bucket.quotaSlot >= 0:
		w.Quota++
	case rep.entries[0].bucket.shape.blockedAt >= 0:
		w.Capacity++
	default:
		w.Ready++
	}
}

func (c *Core) reportQueue(name string) berth.QueueReport {
	i, _ := c.quota.Lookup(name)
	q := berth.QueueReport{
		Queue: berth.QueueID(name), UsedMilli: c.quota.Used(i, quota.GPU),
		Guaranteed: c.quota.Guaranteed(i, quota.GPU), Waiting: c.queues[i].waiting,
	}
	if limit, limited := c.quota.LimitOf(i, quota.GPU); limited {
		q.Limit = &limit
	}
	return q
}
