package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// AgainstReport holds a report of the core against the checker's own counts: usage
// equals the sum of what is held, in every queue and in the fleet.
func (c *Checker) AgainstReport(r berth.FleetReport) error {
	if !c.ownPolicy {
		if err := c.adoptPicked(r.Reservations); err != nil {
			return err
		}
	}
	if err := c.sumsUp(); err != nil {
		return err
	}
	if err := c.againstFleet(r); err != nil {
		return err
	}
	if err := c.againstQueues(r); err != nil {
		return err
	}
	if c.ownPolicy {
		return nil // its reservations, and their gangs, are its own affair, and it need not listen to activity
	}
	if err := c.againstCaps(&r); err != nil {
		return err
	}
	if err := c.againstBudgets(&r); err != nil {
		return err
	}
	if err := c.againstActivity(&r); err != nil {
		return err
	}
	if err := c.againstDraining(r.Draining); err != nil {
		return err
	}
	if err := c.againstHealth(r.Health); err != nil {
		return err
	}
	if err := c.againstFabric(r.Fabric); err != nil {
		return err
	}
	if err := c.againstSpares(&r, c.passed); err != nil {
		return err
	}
	return c.againstReservations(r.Reservations)
}

// truth counts what is so.
func truth(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sumsUp: usage is never negative, and a queue uses what its jobs hold and its
// children use. It is the checker's check of itself.
func (c *Checker) sumsUp() error {
	sums := map[berth.QueueID]quota.Amounts{}
	for _, n := range c.nodes {
		for _, m := range n.members {
			for q := m.rep.job.queue; q != nil; q = q.parent {
				if sums[q.spec.Name] == nil {
					sums[q.spec.Name] = quota.Amounts{}
				}
				for r, amount := range c.cost(m) {
					sums[q.spec.Name][r] += amount
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.queues)) {
		for r, used := range c.queues[name].used {
			if used < 0 || used != sums[name][r] {
				return broken(PromiseS3, "queue %s uses %d %s; its members hold %d", name, used, r, sums[name][r])
			}
		}
	}
	return nil
}

func (c *Checker) againstFleet(r berth.FleetReport) error {
	nodes, gpus, free := berth.NodeCount{}, tally{}, []int{}
	products := map[string]tally{}
	for _, s := range r.HotSpares {
		nodes.HotSpares += s.Free
	}
	for _, n := range c.nodes {
		nodes.All++
		nodes.Cordoned += truth(n.cordoned)
		nodes.Quarantined += truth(n.quarantine != 0)
		nodes.InBurnIn += truth(n.burnIn != 0)
		count, whole := c.count(n)
		gpus = gpus.plus(count)
		if len(n.gpus) == 0 {
			continue
		}
		products[n.spec.GPUs[0].Product] = products[n.spec.GPUs[0].Product].plus(count)
		if !n.closed() {
			for len(free) <= whole {
				free = append(free, 0)
			}
			free[whole]++
		}
	}
	var listed []string
	for _, p := range r.Products {
		listed = append(listed, p.Product)
		if want := products[p.Product]; !want.agrees(p.GPUCount) {
			return broken(PromiseS3, "the report counts %+v GPUs of %s; there are %+v", p.GPUCount, p.Product, want)
		}
	}
	if want := slices.Sorted(maps.Keys(products)); !slices.Equal(listed, want) {
		return broken(PromiseS3, "the report lists the products %q; there are %q", listed, want)
	}
	if !gpus.agrees(r.GPUs) {
		return broken(PromiseS3, "the report counts %+v GPUs; there are %+v", r.GPUs, gpus)
	}
	if gpus.kept == 0 && fmt.Sprint(r.NodesByFreeGPUs) != fmt.Sprint(free) {
		return broken(PromiseS3, "the report counts nodes by whole free GPUs as %v; they are %v", r.NodesByFreeGPUs, free)
	}
	if err := c.againstLoans(r.GPUs); err != nil {
		return err
	}
	if err := c.againstDivided(r.Partitioned); err != nil {
		return err
	}
	return firstDifference("the report", [2]any{r.Nodes, nodes})
}

// A tally counts GPUs in thousandths. Of those that are free, kept are on GPUs that the
// core may keep for somebody, and so may count as out.
type tally struct {
	berth.GPUCount
	kept int64
}

func (t tally) plus(u tally) tally {
	return tally{berth.GPUCount{AllMilli: t.AllMilli + u.AllMilli, HeldMilli: t.HeldMilli + u.HeldMilli, FreeMilli: t.FreeMilli + u.FreeMilli, OutOfServiceMilli: t.OutOfServiceMilli + u.OutOfServiceMilli}, t.kept + u.kept}
}

// agrees reports whether a count can be right. Stranded capacity is a matter of what the
// core knows of the waiting work, which the checker does not judge.
func (t tally) agrees(g berth.GPUCount) bool {
	return g.AllMilli == t.AllMilli && g.HeldMilli == t.HeldMilli && g.FreeMilli <= t.FreeMilli && g.FreeMilli >= t.FreeMilli-t.kept && g.OutOfServiceMilli == g.AllMilli-g.HeldMilli-g.FreeMilli
}

// count counts the GPUs of a node, and those that are whole free.
func (c *Checker) count(n *node) (t tally, whole int) {
	for i := range n.gpus {
		held, free := c.heldMilli(n, i), c.freeMilli(n, i)
		t.AllMilli += 1000
		t.HeldMilli += held
		t.FreeMilli += free
		t.OutOfServiceMilli += 1000 - held - free
		if geometry := c.geometry(n); geometry.Kind != berth.GeometryFixed && geometry.HoldLimit != -1 {
			t.kept += free
		}
		if free == 1000 && n.gpus[i].ordered() != berth.GPUModeMIG {
			whole++
		}
	}
	return t, whole
}

// freeMilli is how much of a GPU new members could get: nothing of one of which nobody
// knows how it is, or that is on its way to whole use or shares for nobody, and of a
// divided one the instances.
func (c *Checker) freeMilli(n *node, i int) int64 {
	g := &n.gpus[i]
	onItsWay := g.change != nil && g.change.Mode != berth.GPUModeMIG && len(g.holders()) == 0
	switch {
	case n.closed() || n.failed.Has(i) || g.unknown || onItsWay || g.over != nil && g.whole == nil:
		return 0
	case g.ordered() != berth.GPUModeMIG || c.geometry(n).Kind == berth.GeometryPerClaim:
		return 1000 - c.heldMilli(n, i)
	}
	free := -c.heldMilli(n, i)
	for _, p := range g.layout() {
		free += instanceMilli(c.table(n), int(p.Size))
	}
	return free
}

// againstDivided holds what a report says of divided GPUs against what members hold, and
// what else there is on GPUs that certainly take members.
func (c *Checker) againstDivided(list []berth.PartitionedCount) error {
	gpus, unknown, kept := map[string]int{}, map[string]int{}, map[string]bool{}
	held, doubtful, free := map[[2]string]int{}, map[[2]string]int{}, map[[2]string]int{}
	for _, n := range c.nodes {
		geometry := c.geometry(n)
		for i := range n.gpus {
			g := &n.gpus[i]
			t := c.table(n)
			switch {
			case g.unknown && t != nil:
				unknown[t.Name]++ // it may be divided
			case g.ordered() == berth.GPUModeMIG:
				gpus[t.Name]++
			}
			if t == nil || g.ordered() != berth.GPUModeMIG && !g.unknown {
				continue
			}
			kept[t.Name] = kept[t.Name] || geometry.Kind != berth.GeometryFixed && geometry.HoldLimit != -1
			var taken []mig.Placement
			for _, m := range g.seats {
				key := [2]string{t.Name, m.at.Instance.Profile.String()}
				if g.unknown {
					doubtful[key]++
				} else {
					held[key]++
				}
				taken = append(taken, m.at.Instance)
			}
			if n.closed() || n.failed.Has(i) || g.unknown {
				continue
			}
			for k := range t.Profiles {
				p := &t.Profiles[k]
				key := [2]string{t.Name, p.Name.String()}
				if geometry.Kind == berth.GeometryPerClaim {
					free[key] += c.counts(t, taken)[p.Name]
					continue
				}
				for _, at := range g.layout() {
					if at.Profile == p.Name && !slices.Contains(taken, at) {
						free[key]++
					}
				}
			}
		}
	}
	for _, d := range list {
		if d.GPUs < gpus[d.MIGTable] || d.GPUs > gpus[d.MIGTable]+unknown[d.MIGTable] {
			return broken(PromiseS3, "the report counts %d divided GPUs that go by %s; there are %d", d.GPUs, d.MIGTable, gpus[d.MIGTable])
		}
		delete(gpus, d.MIGTable)
		for _, i := range d.Instances {
			key := [2]string{d.MIGTable, i.Profile}
			if i.Held < held[key] || i.Held > held[key]+doubtful[key] || i.Free > free[key] || i.Free < free[key] && !kept[d.MIGTable] {
				return broken(PromiseS3, "the report counts %d instances of %s of %s held and %d free; it is %d and %d", i.Held, i.Profile, d.MIGTable, i.Free, held[key], free[key])
			}
		}
	}
	if left := slices.Sorted(maps.Keys(gpus)); len(left) > 0 {
		return broken(PromiseS3, "the report leaves out the %d divided GPUs that go by %s", gpus[left[0]], left[0])
	}
	return nil
}

func (c *Checker) againstQueues(r berth.FleetReport) error {
	states, backoff, gated, waiting := c.States(), 0, 0, map[berth.QueueID]int{}
	total := 0
	for rep := range c.replicas() {
		if rep.readyAt != 0 {
			backoff++
		}
		if rep.job.gate != nil {
			gated++
		}
		if rep.waits() {
			waiting[rep.job.queue.spec.Name]++
			total++
		}
	}
	var listed []berth.QueueID
	for _, q := range r.Queues {
		listed = append(listed, q.Queue)
		own := c.queues[q.Queue]
		if own == nil {
			return broken(PromiseS3, "the report lists queue %s, which is not known", q.Queue)
		}
		if q.UsedMilli != own.used[quota.GPUMilli] {
			return broken(PromiseS3, "the report has queue %s use %d milli-GPU; its members hold %d", q.Queue, q.UsedMilli, own.used[quota.GPUMilli])
		}
		limit, limited := own.spec.Limit[quota.GPUMilli]
		if limited != (q.LimitMilli != nil) || limited && *q.LimitMilli != limit {
			return broken(PromiseS3, "the report gives another limit of queue %s than it has: %d (%v)", q.Queue, limit, limited)
		}
		if guarantee := own.spec.Guarantee[quota.GPUMilli]; q.GuaranteedMilli != guarantee {
			return broken(PromiseS3, "the report says that queue %s is guaranteed %d milli-GPU; it is %d", q.Queue, q.GuaranteedMilli, guarantee)
		}
		if q.WaitingReplicas != waiting[q.Queue] {
			return broken(PromiseS3, "the report has %d replicas wait in queue %s; there are %d", q.WaitingReplicas, q.Queue, waiting[q.Queue])
		}
	}
	if want := slices.Sorted(maps.Keys(c.queues)); !slices.Equal(listed, want) {
		return broken(PromiseS3, "the report lists the queues %q; there are %q", listed, want)
	}
	return firstDifference("the report",
		[2]any{r.Replicas, berth.ReplicaCount{
			Pending: states[berth.ReplicaPending], Binding: states[berth.ReplicaBinding], Running: states[berth.ReplicaRunning],
			Repairing: states[berth.ReplicaRepairing], Releasing: states[berth.ReplicaReleasing],
		}},
		[2]any{r.Waiting.Ready + r.Waiting.Capacity + r.Waiting.Quota, total},
		[2]any{r.Waiting.Backoff, backoff},
		[2]any{r.Waiting.Gated, gated},
	)
}

// firstDifference compares pairs of what is said and what is.
func firstDifference(key string, pairs ...[2]any) error {
	for _, p := range pairs {
		if p[0] != p[1] {
			return broken(PromiseS3, "%s says %T %+v; it is %+v", key, p[0], p[0], p[1])
		}
	}
	return nil
}

// Outstanding holds the orders that the core has out against those that should
// be: given, and neither reported, nor expired, nor overtaken. Binds start what is yet to start.
func (c *Checker) Outstanding(actions []berth.Order) error {
	want := slices.Sorted(maps.Keys(c.orders))
	want = slices.Sorted(slices.Values(slices.AppendSeq(want, maps.Keys(c.changes))))
	var have []berth.OrderID
	for _, a := range actions {
		have = append(have, a.Header().ID)
	}
	if !slices.Equal(have, want) {
		return broken(PromiseOrders, "the orders %v are out; it should be %v", have, want)
	}
	for _, a := range actions {
		if bind, starts := a.(berth.Bind); starts {
			if err := c.startsTheLiving(bind); err != nil {
				return err
			}
		}
	}
	return nil
}
