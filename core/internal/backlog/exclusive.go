package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

func exclusiveReservation(rep *record.Replica) *record.Reservation {
	return &record.Reservation{Kind: record.KindExclusive, Name: record.GangName("exclusive", rep), SpanPart: record.SpanPart{From: agenda.BeforeAll, Until: agenda.Never}, Rep: rep, Queue: quota.NoQueue}
}

// EncloseExclusive sets the domains of a gang with exclusive topology aside for it, from now
// on or wider than before.
func (bl *Backlog) EncloseExclusive(rep *record.Replica) {
	name := rep.Job.Spec.Topology.Exclusive
	if name == "" {
		return
	}
	tree := bl.state.Fleet.Tree()
	level, _ := tree.Level(name)
	w := exclusiveReservation(rep)
	if rep.Exclusive != nil {
		w.Domains = slices.Clone(rep.Exclusive.Domains)
		bl.EndReservation(rep.Exclusive)
	}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		path := tree.DomainPath(tree.DomainOf(m.Hold.Node, level))
		if level == tree.NodeLevel() {
			path = append(path, string(m.Node.Spec.ID))
		}
		if !slices.ContainsFunc(w.Domains, func(p []string) bool { return slices.Equal(p, path) }) {
			w.Domains = append(w.Domains, path)
		}
	}
	slices.SortFunc(w.Domains, slices.Compare[[]string])
	w.Nodes = bl.nodesOf(w.Domains)
	if bl.MaySetAside(w.Nodes) { // else the fleet has thousands of kinds of nodes
		rep.Exclusive = w
		bl.AddReservation(w)
	}
}
