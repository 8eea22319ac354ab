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
	res := exclusiveReservation(rep)
	if rep.Exclusive != nil {
		res.Domains = slices.Clone(rep.Exclusive.Domains)
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
		if !slices.ContainsFunc(res.Domains, func(p []string) bool { return slices.Equal(p, path) }) {
			res.Domains = append(res.Domains, path)
		}
	}
	slices.SortFunc(res.Domains, slices.Compare[[]string])
	res.Nodes = bl.nodesOf(res.Domains)
	if bl.MaySetAside(res.Nodes) { // else the fleet has thousands of kinds of nodes
		rep.Exclusive = res
		bl.AddReservation(res)
	}
}
