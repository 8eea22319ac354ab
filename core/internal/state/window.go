package state

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// OpenUp takes a window off a node.
func (st *State) OpenUp(n *record.Node, w *record.Window) {
	i := slices.Index(n.Windows, w)
	n.Windows = slices.Delete(slices.Clone(n.Windows), i, i+1)
	st.reclass(n)
	if st.agenda.Placing {
		st.Opened = append(st.Opened, n)
	} else {
		st.Reopened(n)
	}
}

// Enclose adds a window to those of a node.
func (st *State) Enclose(n *record.Node, w *record.Window) {
	n.Windows = record.WithWindow(n.Windows, w)
	st.reclass(n)
}

// reclass moves a node to the class that its windows put it in.
func (st *State) reclass(n *record.Node) {
	old := n.Class
	n.Class = st.Classes.Add(n.Key(), n.Table, n.Windows)
	st.Classes.Drop(old)
	invariant.Must(st.Fleet.SetClass(n.Index, topology.Class(n.Class)))
}

// Rejoin puts a node that left for a moment back into a window, unless it is there by
// its name or place.
func (st *State) Rejoin(w *record.Window, n *record.Node) {
	if !slices.Contains(n.Windows, w) {
		w.Add(n)
		st.Enclose(n, w)
	}
}

// NodesBelow lists the nodes at or below a domain, in order of name.
func (st *State) NodesBelow(d topology.Domain) []*record.Node {
	tree := st.Fleet.Tree()
	var list []*record.Node
	var walk func(topology.Domain)
	walk = func(d topology.Domain) {
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
