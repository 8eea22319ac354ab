package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// Against holds a report of the core against the checker's own counts: usage
// equals the sum of what is held, in every queue and in the fleet.
func (c *Checker) Against(r berth.FleetReport) error {
	if err := c.sumsUp(); err != nil {
		return err
	}
	if err := c.againstFleet(r); err != nil {
		return err
	}
	if err := c.againstQueues(r); err != nil {
		return err
	}
	return c.againstReservations(r.Reservations)
}

// sumsUp: usage is never negative, and a queue uses what its jobs hold and its
// children use. It is the checker's check of itself.
func (c *Checker) sumsUp() error {
	sums := map[string]quota.Amounts{}
	for _, n := range c.nodes {
		for _, m := range n.members {
			for q := m.rep.job.queue; q != nil; q = q.parent {
				if sums[q.spec.Name] == nil {
					sums[q.spec.Name] = quota.Amounts{}
				}
				for r, amount := range m.cost() {
					sums[q.spec.Name][r] += amount
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		for r, used := range c.queues[name].used {
			if used < 0 || used != sums[name][r] {
				return broken(S3, "queue %s uses %d %s; its members hold %d", name, used, r, sums[name][r])
			}
		}
	}
	return nil
}

func (c *Checker) againstFleet(r berth.FleetReport) error {
	nodes, gpus, free := berth.NodeCount{}, berth.GPUCount{}, []int{}
	products := map[string]berth.GPUCount{}
	for _, n := range c.nodes {
		nodes.All++
		if n.cordoned {
			nodes.Cordoned++
		}
		count, whole := n.count()
		gpus = sum(gpus, count)
		if len(n.gpus) == 0 {
			continue
		}
		products[n.spec.GPUs[0].Product] = sum(products[n.spec.GPUs[0].Product], count)
		if !n.cordoned {
			for len(free) <= whole {
				free = append(free, 0)
			}
			free[whole]++
		}
	}
	var listed []string
	for _, p := range r.Products {
		listed = append(listed, p.Product)
		if want := products[p.Product]; !same(p.GPUCount, want) {
			return broken(S3, "the report counts %+v GPUs of %s; there are %+v", p.GPUCount, p.Product, want)
		}
	}
	if want := slices.Sorted(maps.Keys(products)); !slices.Equal(listed, want) {
		return broken(S3, "the report lists the products %q; there are %q", listed, want)
	}
	return firstDifference("the report",
		[2]any{r.Nodes, nodes},
		[2]any{withoutStranded(r.GPUs), gpus},
		[2]any{fmt.Sprint(r.FreeNodes), fmt.Sprint(free)},
	)
}

// count counts the GPUs of a node, in thousandths, and those that are whole free.
func (n *node) count() (g berth.GPUCount, whole int) {
	for i := range n.gpus {
		held := n.gpus[i].heldMilli()
		g.All += 1000
		g.Held += held
		switch {
		case n.cordoned || n.failed.Has(i):
			g.Out += 1000 - held
		default:
			g.Free += 1000 - held
			if held == 0 {
				whole++
			}
		}
	}
	return g, whole
}

func (c *Checker) againstQueues(r berth.FleetReport) error {
	states, backoff, waiting := c.States(), 0, map[string]int{}
	total := 0
	for _, j := range c.jobs {
		for _, rep := range j.replicas {
			if rep.readyAt != 0 {
				backoff++
			}
			if rep.waits() {
				waiting[j.queue.spec.Name]++
				total++
			}
		}
	}
	var listed []string
	for _, q := range r.Queues {
		listed = append(listed, string(q.Queue))
		own := c.queues[string(q.Queue)]
		if own == nil {
			return broken(S3, "the report lists queue %s, which is not known", q.Queue)
		}
		if q.UsedMilli != own.used[quota.GPU] {
			return broken(S3, "the report has queue %s use %d milli-GPU; its members hold %d", q.Queue, q.UsedMilli, own.used[quota.GPU])
		}
		limit, limited := own.spec.Limit[quota.GPU]
		if limited != (q.Limit != nil) || limited && *q.Limit != limit {
			return broken(S3, "the report gives another limit of queue %s than it has: %d (%v)", q.Queue, limit, limited)
		}
		if q.Waiting != waiting[string(q.Queue)] {
			return broken(S3, "the report has %d replicas wait in queue %s; there are %d", q.Waiting, q.Queue, waiting[string(q.Queue)])
		}
	}
	if want := slices.Sorted(maps.Keys(c.queues)); !slices.Equal(listed, want) {
		return broken(S3, "the report lists the queues %q; there are %q", listed, want)
	}
	return firstDifference("the report",
		[2]any{r.Replicas, berth.ReplicaCount{
			Pending: states[berth.Pending], Binding: states[berth.Binding], Running: states[berth.Running],
			Repairing: states[berth.Repairing], Releasing: states[berth.Releasing],
		}},
		[2]any{r.Waiting.Ready + r.Waiting.Capacity + r.Waiting.Quota, total},
		[2]any{r.Waiting.Backoff, backoff},
	)
}

// firstDifference compares pairs of what is said and what is.
func firstDifference(who string, pairs ...[2]any) error {
	for _, p := range pairs {
		if p[0] != p[1] {
			return broken(S3, "%s says %T %+v; it is %+v", who, p[0], p[0], p[1])
		}
	}
	return nil
}

// Stranded capacity is a matter of what the core knows of the waiting work, which
// the checker does not judge.
func withoutStranded(g berth.GPUCount) berth.GPUCount {
	g.Stranded = 0
	return g
}

func same(a, b berth.GPUCount) bool { return withoutStranded(a) == withoutStranded(b) }

func sum(a, b berth.GPUCount) berth.GPUCount {
	return berth.GPUCount{All: a.All + b.All, Held: a.Held + b.Held, Free: a.Free + b.Free, Out: a.Out + b.Out}
}

// Outstanding holds the orders that the core has out against those that should
// be: given, and neither reported, nor expired, nor overtaken.
func (c *Checker) Outstanding(actions []berth.Action) error {
	want := slices.Sorted(maps.Keys(c.orders))
	var have []berth.ActionID
	for _, a := range actions {
		have = append(have, a.Header().ID)
	}
	if !slices.Equal(have, want) {
		return broken(Orders, "the orders %v are out; it should be %v", have, want)
	}
	return nil
}
