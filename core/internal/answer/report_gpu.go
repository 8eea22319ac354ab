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
	for _, w := range an.backlog.Reservations {
		switch {
		case w.IsAdvance():
			advance = append(advance, w)
		case w.IsAwaited():
			gangs = append(gangs, w)
		case w.IsMove():
			moves = append(moves, w)
		}
	}
	slices.SortFunc(gangs, func(a, b *record.Reservation) int {
		return record.CompareEntries(an.backlog.EntryOf(a), an.backlog.EntryOf(b))
	})
	slices.SortFunc(moves, func(a, b *record.Reservation) int { return record.CompareReplicas(a.Rep, b.Rep) })
	var list []berth.ReservationReport
	for _, w := range slices.Concat(advance, gangs, moves) {
		list = append(list, an.reportReservation(w))
	}
	return list
}

func (an *Answers) reportReservation(w *record.Reservation) berth.ReservationReport {
	r := berth.ReservationReport{From: w.From, Until: w.Until, Nodes: w.NodeIDs(), Moving: w.IsMove(), Partial: w.IsPartial()}
	if w.IsAdvance() {
		r.ID = w.Advance.ID
	} else {
		r.Job, r.Replica = w.Rep.Job.Spec.ID, w.Rep.Number
		if w.IsAwaited() && w.Rep.State == berth.ReplicaRunning {
			r.Members = len(w.Plan.Where)
		}
	}
	for _, n := range w.Nodes {
		for _, m := range n.Members {
			if !an.backlog.Admits(w, m.Rep, an.state.ExpectedEnd(m.Rep)) {
				r.Conflicts = append(r.Conflicts, m.Rep.Job.Spec.ID)
			}
		}
	}
	slices.Sort(r.Conflicts)
	r.Conflicts = slices.Compact(r.Conflicts)
	return r
}
