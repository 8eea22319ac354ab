package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// Nodes that are on trial, and those that are kept as spares, are set aside by windows that
// are for no gang and have no end: the nodes come and go one by one. There is one window for
// all nodes on trial and one for the spares of each pool, so that they make few classes,
// however many nodes there are in them.

// NewKept makes a window of nodes that are kept, without any, for whoever has its home.
func (bl *Backlog) NewKept(home **record.Window, kind record.ReservationKind, name string) {
	w := &record.Window{Kind: kind, Home: home, Name: name, SpanPart: record.SpanPart{From: agenda.BeforeAll, Until: agenda.Never}, Queue: quota.None}
	*home = w
	bl.AddWindow(w)
}

// KeepIn sets a node aside in a window of nodes that are kept.
func (bl *Backlog) KeepIn(w *record.Window, n *record.Node) {
	if slices.Contains(w.Nodes, n) {
		return
	}
	w.Add(n)
	bl.books.Enclose(n, w)
	bl.agenda.SetAside()
}

// LetOut takes a node out of such a window. What is free there is so for all others.
func (bl *Backlog) LetOut(w *record.Window, n *record.Node) {
	w.Remove(n)
	bl.books.OpenUp(n, w)
	bl.agenda.Grew(bl.state.Now)
	bl.agenda.Changed(bl.state.Now)
	bl.DropEmpty([]*record.Window{w})
}

// DropEmpty ends those of some windows that are of nodes that are kept, and have none.
func (bl *Backlog) DropEmpty(list []*record.Window) {
	for _, w := range list {
		if w.IsKept() && len(w.Nodes) == 0 {
			bl.EndWindow(w)
		}
	}
}
