package state

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// Torn says which members of a gang stand in several domains of a level that they require to
// stand in one of: as a gang, as a group, as a segment; "": none do. What is balanced, spread or
// on aligned rails is not looked at: that depends on nodes which come and go, and on members
// that have ended. O(members x segments).
func (st *State) Torn(rep *record.Replica) string {
	if st.apart(rep.Members, rep.Job.Spec.Topology.Required) {
		return "its members stand in several domains of level " + rep.Job.Spec.Topology.Required
	}
	for g := range rep.Job.Spec.Groups {
		group := &rep.Job.Spec.Groups[g]
		own := rep.Members[rep.Job.Offsets[g]:rep.Job.Offsets[g+1]]
		if st.apart(own, group.Topology.Required) {
			return fmt.Sprintf("the members of group %q stand in several domains of level %s", group.Name, group.Topology.Required)
		}
		for _, s := range group.Topology.Segments {
			for i, members := range slices.Collect(slices.Chunk(own, s.Size)) {
				if st.apart(members, s.Level) {
					return fmt.Sprintf("segment %d of group %q stands in several domains of level %s", i, group.Name, s.Level)
				}
			}
		}
	}
	return ""
}

// apart reports whether members that are there stand in several domains of a level.
func (st *State) apart(members []record.Member, name string) bool {
	tree := st.Fleet.Tree()
	level, _ := tree.Level(name)
	first := slices.IndexFunc(members, record.Member.There)
	if level == 0 || first < 0 {
		return false
	}
	at := members[first].Hold.Node
	return slices.ContainsFunc(members[first:], func(m record.Member) bool {
		switch {
		case !m.There() || m.Hold.Node == at:
			return false
		case level == tree.NodeLevel():
			return true
		}
		return tree.DomainOf(m.Hold.Node, level) != tree.DomainOf(at, level)
	})
}

// CheckTopology checks that every gang stands as its job requires, but for what was observed.
func (st *State) CheckTopology() error {
	return st.EachReplica(func(rep *record.Replica) error {
		if torn := st.TornByOrder(rep); torn != "" {
			return fmt.Errorf("%s", torn)
		}
		return nil
	})
}

// TornByOrder is Torn for members that were placed by orders: the world may have begun a life
// anywhere.
func (st *State) TornByOrder(rep *record.Replica) string {
	observed := func(m record.Member) bool { return m.State == record.MemberRunning && m.Bind == 0 }
	if rep.State == berth.ReplicaPending || slices.ContainsFunc(rep.Members, observed) {
		return ""
	}
	return st.Torn(rep)
}
