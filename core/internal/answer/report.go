package answer

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// countNode counts a node.
func countNode(count *berth.NodeCount, n *record.Node) {
	for _, is := range []struct {
		so bool
		of *int
	}{{true, &count.All}, {n.Cordoned, &count.Cordoned}, {n.Trust.QuarantineUntil != 0, &count.Quarantined}, {n.Trust.BurnInUntil != 0, &count.InBurnIn}, {n.Trust.HotSpare, &count.HotSpares}} {
		if is.so {
			*is.of++
		}
	}
}

// Report describes the fleet as it is now. Cost: O(nodes x shapes of waiting
// work + queues + replicas).
func (an *Answers) Report() berth.FleetReport {
	r := berth.FleetReport{Now: an.state.Now, Totals: *an.state.Totals}
	an.reportReplicas(&r)
	products, tables := map[string]*berth.ProductCount{}, map[string]*berth.PartitionedCount{}
	waiting := an.waitingShapes()
	for _, n := range an.state.Nodes {
		if n == nil {
			continue
		}
		countNode(&r.Nodes, n)
		if len(n.Spec.GPUs) == 0 {
			continue
		}
		count := an.countGPUs(n, waiting, tables)
		if worst := worstOn(n); worst != nil {
			r.WorstBlastRadius = record.Worse(r.WorstBlastRadius, worst)
		}
		addCount(&r.GPUs, count)
		name := n.Spec.GPUs[0].Product
		if products[name] == nil {
			products[name] = &berth.ProductCount{Product: name}
		}
		addCount(&products[name].GPUCount, count)
		an.countFree(n, &r)
	}
	for _, name := range slices.Sorted(maps.Keys(products)) {
		r.Products = append(r.Products, *products[name])
	}
	r.Partitioned = dividedCounts(tables)
	r.Reservations = an.reportReservations()
	r.HotSpares, r.Health = an.reportHotSpares(), an.reportHealth()
	r.Draining = an.reportDraining()
	for _, name := range an.state.Quota.Queues() {
		r.Queues = append(r.Queues, an.reportQueue(name))
	}
	return r
}

// countGPUs counts the GPUs of one node.
func (an *Answers) countGPUs(n *record.Node, waiting []*record.Shape, tables map[string]*berth.PartitionedCount) berth.GPUCount {
	count := berth.GPUCount{AllMilli: 1000 * int64(len(n.Spec.GPUs))}
	for _, at := range n.Members {
		count.HeldMilli += record.ChargeOf(&at.Rep.Members[at.Index].Hold, n).GPUMilli
	}
	for g := range n.Spec.GPUs {
		if n.GPUs[g].Unknown {
			continue
		}
		if n.Spec.GPUs[g].Mode == berth.GPUModeMIG {
			count.FreeMilli += an.countDivided(n, g, tables)
			continue
		}
		if left, _ := an.state.Fleet.ShareLeft(n.Index, g); !n.Closed() && !n.Spec.GPUs[g].Failed {
			count.FreeMilli += int64(left)
		}
	}
	count.OutOfServiceMilli = count.AllMilli - count.HeldMilli - count.FreeMilli
	if len(waiting) > 0 && !slices.ContainsFunc(waiting, func(s *record.Shape) bool { return an.serves(n, s) }) {
		count.StrandedMilli = count.FreeMilli
	}
	return count
}

// serves reports whether some member of a shape that claims GPUs fits on a node
// now.
func (an *Answers) serves(n *record.Node, s *record.Shape) bool {
	an.state.Compile(s)
	return slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool {
		return (g.Claim.GPUs > 0 || g.Claim.Share.GPUMilli > 0 || len(g.Claim.Instances) > 0) && an.backlog.Fits(n, &g)
	})
}

func (an *Answers) countFree(n *record.Node, r *berth.FleetReport) {
	if n.Closed() {
		return
	}
	k := bits.OnesCount64(an.state.Fleet.FreeMask(n.Index))
	for len(r.NodesByFreeGPUs) <= k {
		r.NodesByFreeGPUs = append(r.NodesByFreeGPUs, 0)
	}
	r.NodesByFreeGPUs[k]++
}

// waitingShapes lists the shapes that somebody waits for and that claim GPUs.
func (an *Answers) waitingShapes() []*record.Shape {
	var list []*record.Shape
	for _, key := range slices.Sorted(maps.Keys(an.state.Shapes)) {
		if s := an.state.Shapes[key]; len(s.Buckets) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func (an *Answers) reportReplicas(r *berth.FleetReport) {
	for _, id := range slices.Sorted(maps.Keys(an.state.Jobs)) {
		for rep := range an.state.Jobs[id].Replicas.All() {
			switch rep.State {
			case berth.ReplicaPending:
				r.Replicas.Pending++
			case berth.ReplicaBinding:
				r.Replicas.Binding++
			case berth.ReplicaRunning:
				r.Replicas.Running++
			case berth.ReplicaRepairing:
				r.Replicas.Repairing++
			case berth.ReplicaReleasing:
				r.Replicas.Releasing++
			}
			countWaiting(&r.Waiting, rep, 1)
		}
		for _, t := range an.state.Jobs[id].Batches {
			r.Replicas.Pending += t.Len()
			countWaiting(&r.Waiting, t.Like(t.Next), t.Len())
		}
	}
}

// countWaiting counts as many as are like a replica if it waits; if several groups of it do, the
// first.
func countWaiting(w *berth.WaitingCount, rep *record.Replica, many int) {
	switch {
	case rep.Retry.ReadyAt != 0:
		w.Backoff += many
	case rep.Entries == nil:
	case rep.Entries[0].Bucket.QuotaSlot >= 0:
		w.Quota += many
	case rep.Entries[0].Bucket.Shape.BlockedAt >= 0:
		w.Capacity += many
	default:
		w.Ready += many
	}
}

func (an *Answers) reportQueue(name string) berth.QueueReport {
	i, _ := an.state.Quota.Lookup(name)
	q := berth.QueueReport{
		Queue: berth.QueueID(name), UsedMilli: an.state.Quota.Used(i, quota.GPUMilli),
		GuaranteedMilli: an.state.Quota.Guaranteed(i, quota.GPUMilli), WaitingReplicas: an.books.Queues[i].Waiting,
	}
	if limit, limited := an.state.Quota.LimitOf(i, quota.GPUMilli); limited {
		q.LimitMilli = &limit
	}
	return q
}

// reportHotSpares lists the pools that have spares, in order of name.
func (an *Answers) reportHotSpares() []berth.HotSparesReport {
	var list []berth.HotSparesReport
	for _, p := range an.state.Spares {
		r := berth.HotSparesReport{Pool: p.Pool, Wanted: p.Wanted(), Free: p.Free()}
		if p.Reservation != nil {
			r.Nodes = p.Reservation.NodeIDs()
		}
		for _, n := range an.state.Nodes {
			if n != nil && n.Trust.SpareInUse && n.Spec.Pool == p.Pool {
				r.InUse++
			}
		}
		list = append(list, r)
	}
	return list
}

// reportHealth lists the nodes that are not trusted yet, in order of name.
func (an *Answers) reportHealth() []berth.HealthReport {
	var list []berth.HealthReport
	for _, n := range an.upkeep.Watched {
		list = append(list, berth.HealthReport{Node: n.Spec.ID, QuarantineUntil: n.Trust.QuarantineUntil, BurnInUntil: n.Trust.BurnInUntil})
	}
	return list
}

// addCount adds another count to one, field by field.
func addCount(g *berth.GPUCount, h berth.GPUCount) {
	g.AllMilli += h.AllMilli
	g.HeldMilli += h.HeldMilli
	g.FreeMilli += h.FreeMilli
	g.OutOfServiceMilli += h.OutOfServiceMilli
	g.StrandedMilli += h.StrandedMilli
}
