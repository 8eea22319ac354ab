package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
)

const (
	// CostTolerance is by how many thousandths victims may cost more than the least.
	CostTolerance = 10
	// preemptEvery is how long an entry without possible victims waits at least until the next
	// look, whatever changes; twice as long each time, up to eight times.
	preemptEvery = 15 * berth.Second
)

// NodesFor lists the nodes that members are planned on and, of a gang that has its domains
// for itself, the others there.
func (st *State) NodesFor(rep *record.Replica, members []gang.Member) []*record.Node {
	level, exclusive := st.Fleet.Tree().Level(rep.Job.Spec.Topology.Exclusive)
	var list []*record.Node
	for i := range members {
		n := members[i].Hold.Node
		list = append(list, st.Nodes[n])
		if exclusive && level < st.Fleet.Tree().NodeLevel() {
			around := st.NodesBelow(st.Fleet.Tree().DomainOf(n, level))
			list = append(list, slices.DeleteFunc(around, func(n *record.Node) bool { return n.Closed() })...)
		}
	}
	slices.SortFunc(list, record.CompareNodes)
	return slices.Compact(list)
}

// UntilVictimsGone is the deadline of a preemption that begins now, if its victims have so long to
// write a checkpoint.
func (st *State) UntilVictimsGone(grace berth.Duration) berth.Time {
	p := &st.Config.Policy
	release := p.ReleaseTimeout * berth.Duration(min(int64(p.ReleaseAttempts), int64(limits.MaxSpan/p.ReleaseTimeout)))
	return st.Now.Add(grace).Add(release).Add(p.ReservationTimeout)
}
