package answer

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
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

// Report describes the fleet as it is now. Cost: O(nodes + members that hold something + queues +
// waiting work by queue and request). Of requests that differ it looks at those alone that no
// easier one stands for.
func (an *Answers) Report() berth.FleetReport {
	r := berth.FleetReport{Now: an.state.Now, Totals: *an.state.Totals}
	needs := &needs{answers: an, at: map[spot][]need{}}
	an.reportReplicas(&r, needs)
	products, tables := map[string]*berth.ProductCount{}, map[string]*berth.PartitionedCount{}
	var last *berth.ProductCount
	for _, n := range an.state.Nodes {
		if n == nil {
			continue
		}
		countNode(&r.Nodes, n)
		if len(n.Spec.GPUs) == 0 {
			continue
		}
		count, plain := an.countPlain(n)
		if !plain {
			count = an.countGPUs(n, tables)
			if worst := worstOn(n); worst != nil {
				r.WorstBlastRadius = worse(r.WorstBlastRadius, worst)
			}
		}
		if count.FreeMilli > 0 && needs.some && !needs.served(n) {
			count.StrandedMilli = count.FreeMilli
		}
		addCount(&r.GPUs, count)
		if name := an.state.Classes.List[n.Class].Key.Product; last == nil || last.Product != name {
			if products[name] == nil {
				products[name] = &berth.ProductCount{Product: name}
			}
			last = products[name]
		}
		addCount(&last.GPUCount, count)
		an.countFree(n, &r)
	}
	for _, name := range slices.Sorted(maps.Keys(products)) {
		r.Products = append(r.Products, *products[name])
	}
	r.Partitioned = dividedCounts(tables)
	for _, d := range an.state.Config.Resources {
		name := quota.Resource(d.Name)
		r.Resources = append(r.Resources, berth.ResourceCount{
			Name: d.Name, Unit: d.Unit, All: an.books.Capacities[name], Held: an.state.Quota.Used(quota.RootQueue, name),
		})
	}
	r.Reservations = an.reportReservations()
	r.HotSpares, r.Health, r.Fabric = an.reportHotSpares(), an.reportHealth(), an.upkeep.SaveFabric()
	r.Draining, r.Caps = an.reportDraining(), an.reportCaps()
	r.Budgets = an.reportBudgets()
	for _, name := range an.state.Quota.Queues() {
		r.Queues = append(r.Queues, an.reportQueue(name))
	}
	an.reportActivity(&r)
	return r
}

// Needs counts the requests that Report looks for on nodes: no more if more wait that are harder.
func (an *Answers) Needs() int {
	needs := &needs{answers: an, at: map[spot][]need{}}
	an.reportReplicas(new(berth.FleetReport), needs)
	return needs.many
}

// countPlain counts the GPUs of a node that takes work and of which each is free or held whole, as
// nearly all are: without a look at each of them. False: it is another.
func (an *Answers) countPlain(n *record.Node) (count berth.GPUCount, ok bool) {
	free, whole, ok := an.state.Fleet.Plain(n.Index)
	return berth.GPUCount{AllMilli: 1000 * int64(free+whole), HeldMilli: 1000 * int64(whole), FreeMilli: 1000 * int64(free)}, ok && !n.Closed()
}

// countGPUs counts the GPUs of one node.
func (an *Answers) countGPUs(n *record.Node, tables map[string]*berth.PartitionedCount) berth.GPUCount {
	count := berth.GPUCount{AllMilli: 1000 * int64(len(n.Spec.GPUs))}
	for _, at := range n.Members {
		count.HeldMilli += record.ChargeOf(&at.Rep.Members[at.Index].Hold, n).GPUMilli
	}
	for g := range n.Spec.GPUs {
		if n.GPUs[g].Get().Unknown() {
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
	lent, borrowed := an.books.LentGPUs(n)
	count.LendableMilli, count.BorrowedMilli = 1000*int64(lent), 1000*int64(borrowed)
	count.OutOfServiceMilli = count.AllMilli - count.HeldMilli - count.FreeMilli
	return count
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

// reportReplicas counts replicas by state and, of those that wait, by what they wait for; if
// several groups of one do, by the first. It enters what they need.
func (an *Answers) reportReplicas(r *berth.FleetReport, needs *needs) {
	states := an.life.States
	r.Replicas.Binding, r.Replicas.Running = states[berth.ReplicaBinding], states[berth.ReplicaRunning]
	r.Replicas.Repairing, r.Replicas.Releasing = states[berth.ReplicaRepairing], states[berth.ReplicaReleasing]
	r.Replicas.Pending = an.state.Replicas - r.Replicas.Binding - r.Replicas.Running - r.Replicas.Repairing - r.Replicas.Releasing
	r.Waiting.Backoff, r.Waiting.Gated = an.state.Backoffs, an.life.Gated
	for _, q := range an.books.Queues {
		if q == nil {
			continue
		}
		r.Waiting.Budget += an.backlog.CountHeldBack(q)
		for _, b := range q.List {
			needs.wait(b)
			switch many := b.Waiting() - int(b.Others); {
			case b.QuotaSlot >= 0:
				r.Waiting.Quota += many
			case b.Shape.BlockedAt >= 0:
				r.Waiting.Capacity += many
			default:
				r.Waiting.Ready += many
			}
		}
	}
}

func (an *Answers) reportQueue(name berth.QueueID) berth.QueueReport {
	i, _ := an.state.Quota.Lookup(name)
	q := berth.QueueReport{
		Queue: name, UsedMilli: an.state.Quota.Used(i, quota.GPUMilli),
		GuaranteedMilli: an.state.Quota.Guaranteed(i, quota.GPUMilli), WaitingReplicas: an.books.Queues[i].Waiting,
		OverLimitSince: an.books.Queues[i].OverLimitSince,
	}
	if limit, limited := an.state.Quota.LimitOf(i, quota.GPUMilli); limited {
		q.LimitMilli = &limit
	}
	q.Share = an.queueShare(i)
	return q
}

// queueShare is what a queue states for GPUs as shares; nil: nothing.
func (an *Answers) queueShare(i quota.QueueIndex) *berth.QueueShare {
	config, s := an.state.Quota.Config(i), berth.QueueShare{OfMilli: an.state.Quota.WholeOf(i, quota.GPUMilli)}
	if share, stated := config.GuaranteeShare[quota.GPUMilli]; stated {
		s.GuaranteeShare = &share
	}
	if share, stated := config.LimitShare[quota.GPUMilli]; stated {
		s.LimitShare = &share
	}
	if s.GuaranteeShare == nil && s.LimitShare == nil {
		return nil
	}
	return &s
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
	g.LendableMilli += h.LendableMilli
	g.BorrowedMilli += h.BorrowedMilli
}
