package state

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// PlacedAsRequired reports whether a gang could have been placed where it stands, as far as Torn
// looks and by the labels that it shares.
func (st *State) PlacedAsRequired(rep *record.Replica) bool {
	return st.Torn(rep) == "" && !st.unlike(rep)
}

// Torn says which members of a gang stand in several domains of a level that they require to stand
// in one of: as a gang, as a part, as a group, as a segment, or have GPUs of several products; "":
// none do. What is balanced, spread or on aligned rails is not looked at: that depends on nodes
// which come and go, and on members that have ended. O(members x segments).
func (st *State) Torn(rep *record.Replica) string {
	if st.apart(rep.Members, rep.Job.Spec.Topology.Required) {
		return "its members stand in several domains of level " + rep.Job.Spec.Topology.Required
	}
	if torn := st.tornPart(rep); torn != "" {
		return torn
	}
	for g := range rep.Job.Spec.Groups {
		group := &rep.Job.Spec.Groups[g]
		own := rep.MembersOf(g)
		copied := slices.Chunk(own, max(1, group.Members/record.CopiesOf(&rep.Job.Spec.Topology, group)))
		if torn := func(members []record.Member) bool { return st.apart(members, group.Topology.Required) }; slices.ContainsFunc(slices.Collect(copied), torn) {
			return fmt.Sprintf("the members of group %q stand in several domains of level %s", group.Name, group.Topology.Required)
		}
		if SeveralProducts(group, own) {
			return fmt.Sprintf("the members of group %q have GPUs of several products", group.Name)
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

// tornPart is Torn for the parts of a gang.
func (st *State) tornPart(rep *record.Replica) string {
	t := &rep.Job.Spec.Topology
	apart, _ := st.Fleet.Tree().Level(t.Apart)
	var taken []topology.DomainIndex
	for i := range t.Parts {
		p := &t.Parts[i]
		for at := range record.Copies(p) {
			members := rep.CopyOf(p, at)
			if st.apart(members, PartLevel(t, p)) {
				return fmt.Sprintf("%s stands in several domains of level %s", copyName(p, at), PartLevel(t, p))
			}
			first := slices.IndexFunc(members, record.Member.There)
			if apart == topology.LevelFleet || first < 0 {
				continue
			}
			d := st.Fleet.Tree().DomainOf(members[first].Hold.Node, apart)
			if slices.Contains(taken, d) {
				return fmt.Sprintf("%s stands in a domain of level %s with another one", copyName(p, at), t.Apart)
			}
			taken = append(taken, d)
		}
	}
	return ""
}

// copyName names a part, or one of its copies.
func copyName(p *berth.Part, at int) string {
	if record.Copies(p) == 1 {
		return fmt.Sprintf("part %q", p.Name)
	}
	return fmt.Sprintf("copy %d of part %q", at, p.Name)
}

// SeveralProducts reports whether members of a group that are there have GPUs of several products,
// and may not.
func SeveralProducts(g *berth.Group, members []record.Member) bool {
	if g.MixProducts || !values.WantsDevice(&g.Claim) {
		return false
	}
	product := ""
	for i := range members {
		if m := &members[i]; m.There() {
			if name := m.Node.Spec.Product; product != "" && name != product {
				return true
			} else {
				product = name
			}
		}
	}
	return false
}

// unlike reports whether the nodes of the members of a gang that are there lack a label that is to
// have one value over the gang, or differ in one. Labels may change under a gang that runs.
func (st *State) unlike(rep *record.Replica) bool {
	labels := rep.Job.Spec.SameLabels
	var first *record.Node
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if len(labels) == 0 || !m.There() || !values.WantsDevice(&rep.Job.Spec.Groups[rep.Job.Group(flat)].Claim) {
			continue
		}
		if first == nil {
			first = m.Node
		}
		if !labelledLike(m.Node, first, labels) {
			return true
		}
	}
	return false
}

// labelledLike reports whether two nodes carry labels, and with the same values. Like itself, a
// node is labelled that carries them at all.
func labelledLike(n, m *record.Node, keys []string) bool {
	for _, key := range keys {
		v, ok := n.Spec.Labels[key]
		if w, also := m.Spec.Labels[key]; !ok || !also || v != w {
			return false
		}
	}
	return true
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

// TornAt is Torn for a gang that begins a life in places, which are listed by group: each is for
// the first member of its group that has none.
func (st *State) TornAt(j *record.Job, where []gang.Member) string {
	rep := &record.Replica{Job: j, Members: make([]record.Member, j.Members())}
	flat := 0
	for i := range where {
		if at := &where[i]; i == 0 || at.Group != where[i-1].Group {
			flat = j.Offset(at.Group)
		}
		hold := where[i].Hold
		rep.Members[flat] = record.ImaginedMember(hold, st.Nodes[hold.Node])
		flat++
	}
	return st.Torn(rep)
}

// TornByOrder is Torn for a life that an order has begun: the world may have begun one anywhere.
func (st *State) TornByOrder(rep *record.Replica) string {
	if rep.State == berth.ReplicaPending || rep.Observed {
		return ""
	}
	return st.Torn(rep)
}

// Closeness is the level of the narrowest domain, or the node, in which members are.
func (st *State) Closeness(members []gang.Member) topology.Level {
	tree := st.Fleet.Tree()
	first := members[0].Hold.Node
	level := tree.NodeLevel()
	for i := range members {
		n := members[i].Hold.Node
		if level == tree.NodeLevel() && n != first {
			level--
		}
		for level < tree.NodeLevel() && level > topology.LevelFleet && tree.DomainOf(n, level) != tree.DomainOf(first, level) {
			level--
		}
	}
	return level
}

// FreeOpen sums the free GPUs of the nodes that are not set aside.
func (st *State) FreeOpen() int {
	free := 0
	for _, class := range st.Classes.Open() {
		free += st.Fleet.Tree().FreeOfClass(topology.RootDomain, class)
	}
	return free
}
