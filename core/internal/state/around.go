package state

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// Around is the level inside one domain of which all members of a group have to be, as the gang,
// its part or the group requires it; of a group in several copies of a part, those of each copy.
func (st *State) Around(t *berth.Topology, g *berth.Group) topology.Level {
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
