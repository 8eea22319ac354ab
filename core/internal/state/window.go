package state

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// NodesBelow lists the nodes at or below a domain, in order of name.
func (st *State) NodesBelow(d topology.DomainIndex) []*record.Node {
	tree := st.Fleet.Tree()
	var list []*record.Node
	var walk func(topology.DomainIndex)
	walk = func(d topology.DomainIndex) {
		for _, i := range tree.Nodes(d) {
			list = append(list, st.Nodes[i])
		}
		for _, child := range tree.Children(d) {
			walk(child)
		}
	}
	walk(d)
	slices.SortFunc(list, record.CompareNodes)
	return list
}
