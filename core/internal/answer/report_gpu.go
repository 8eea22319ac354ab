package answer

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// countDivided counts the divided GPUs of a node, and returns the thousandths that are free
// on one of them.
func (an *Answers) countDivided(n *record.Node, gpu int, tables map[string]*berth.PartitionedCount) (free int64) {
	l := n.Table.Lattice
	count := tables[n.Spec.MIGTable]
	if count == nil {
		count = &berth.PartitionedCount{MIGTable: n.Spec.MIGTable, Instances: make([]berth.InstanceCount, l.Profiles())}
		tables[count.MIGTable] = count
	}
	count.GPUs++
	division, exist, held := an.state.Fleet.Partitioning(n.Index, gpu)
	open := !n.Closed() && an.state.Fleet.Healthy(n.Index, gpu)
	for p := range count.Instances {
		profile, _ := l.Profile(p)
		i := &count.Instances[p]
		i.Profile = profile.Name.String()
		i.Held += l.Instances(held, p)
		switch {
		case !open:
		case division == gang.PartitioningPerClaim:
			i.Free += l.Free(held, p)
		default:
			i.Free += l.Instances(exist, p) - l.Instances(held, p)
		}
	}
	switch {
	case !open:
		return 0
	case division == gang.PartitioningPerClaim:
		return 1000 - n.Table.MilliOf(held)
	}
	return n.Table.MilliOf(exist) - n.Table.MilliOf(held)
}

func dividedCounts(tables map[string]*berth.PartitionedCount) []berth.PartitionedCount {
	var list []berth.PartitionedCount
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		list = append(list, *tables[name])
	}
	return list
}

// reportReservations lists the reservations that are reservations: those made in advance, then
// those of gangs in policy order.
func (an *Answers) reportReservations() []berth.ReservationReport {
	var advance, gangs, moves []*record.Reservation
	for _, res := range an.backlog.Reservations {
		switch {
		case res.IsAdvance():
			advance = append(advance, res)
		case res.IsAwaited():
			gangs = append(gangs, res)
		case res.IsMove():
			moves = append(moves, res)
		}
	}
	slices.SortFunc(gangs, func(a, b *record.Reservation) int {
		return record.CompareEntries(an.backlog.EntryOf(a), an.backlog.EntryOf(b))
	})
	slices.SortFunc(moves, func(a, b *record.Reservation) int { return record.CompareReplicas(a.Rep, b.Rep) })
	var list []berth.ReservationReport
	for _, res := range slices.Concat(advance, gangs, moves) {
		list = append(list, an.reportReservation(res))
	}
	return list
}

func (an *Answers) reportReservation(res *record.Reservation) berth.ReservationReport {
	r := berth.ReservationReport{From: res.From, Until: res.Until, Nodes: res.NodeIDs(), Moving: res.IsMove(), Partial: res.IsPartial()}
	if res.IsAdvance() {
		r.ID, r.Every, r.Clear = res.Advance.ID, res.Advance.Every, res.Advance.Clear
	} else {
		r.Job, r.Replica, r.Alternative = res.Rep.Job.Spec.ID, res.Rep.Number, res.Rep.Job.Alternative()
		if res.IsAwaited() && res.Rep.State == berth.ReplicaRunning {
			r.Members = len(res.Plan.Where)
		}
	}
	for _, n := range res.Nodes {
		for _, m := range n.Members {
			if !an.backlog.Admits(res, m.Rep, an.state.ExpectedEnd(m.Rep)) {
				r.Conflicts = append(r.Conflicts, m.Rep.Job.Spec.ID)
			}
		}
	}
	slices.Sort(r.Conflicts)
	r.Conflicts = slices.Compact(r.Conflicts)
	return r
}
