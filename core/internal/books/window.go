package books

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// OpenUp takes a window off a node.
func (bk *Books) OpenUp(n *record.Node, w *record.Window) {
	i := slices.Index(n.Windows, w)
	n.Windows = slices.Delete(slices.Clone(n.Windows), i, i+1)
	bk.reclass(n)
	bk.state.NoteOpened(n)
}

// Enclose adds a window to those of a node.
func (bk *Books) Enclose(n *record.Node, w *record.Window) {
	n.Windows = record.WithWindow(n.Windows, w)
	bk.reclass(n)
}

// reclass moves a node to the class that its windows put it in.
func (bk *Books) reclass(n *record.Node) {
	old := n.Class
	n.Class = bk.state.Classes.Add(n.Key(), n.Table, n.Windows)
	bk.state.Classes.Drop(old)
	invariant.Must(bk.state.Fleet.SetClass(n.Index, topology.Class(n.Class)))
}

// Rejoin puts a node that left for a moment back into a window, unless it is there by
// its name or place.
func (bk *Books) Rejoin(w *record.Window, n *record.Node) {
	if !slices.Contains(n.Windows, w) {
		w.Add(n)
		bk.Enclose(n, w)
	}
}
