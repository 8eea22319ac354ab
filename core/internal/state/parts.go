package state

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// Around is the level inside one domain of which all members of a group have to be, as the gang, its
// part or the group requires it; of a group in several copies of a part, those of each copy.
func (st *State) Around(groups []berth.Group, t *berth.Topology, g *berth.Group) topology.Level {
	tree := st.Fleet.Tree()
	level := func(name string) topology.Level {
		l, _ := tree.Level(name)
		return l
	}
	around := max(level(t.Required), level(g.Topology.Required))
	if p := record.PartOf(t, g); p != nil {
		around = max(around, level(p.Required), level(t.Apart))
	}
	return around
}

// PartLevel names the level inside one domain of which each copy of a part has to be; empty: none.
func PartLevel(t *berth.Topology, p *berth.Part) string {
	if p.Required == "" {
		return t.Apart
	}
	return p.Required
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
