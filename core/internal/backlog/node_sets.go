package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// Nodes in burn-in, and hot spares, are set aside by reservations that are for no gang and have no
// end: the nodes come and go one by one. There is one reservation for all nodes in burn-in and one
// for the hot spares of each pool, so that they make few classes, however many nodes there are in
// them.

// NewNodeSet makes an empty reservation of this kind for the owner of its home.
func (bl *Backlog) NewNodeSet(home **record.Reservation, kind record.ReservationKind, name string) {
	w := &record.Reservation{Kind: kind, Home: home, Name: name, SpanPart: record.SpanPart{From: agenda.BeforeAll, Until: agenda.Never}, Queue: quota.NoQueue}
	*home = w
	bl.AddReservation(w)
}

// JoinNodeSet sets a node aside in a reservation of nodes that are kept.
func (bl *Backlog) JoinNodeSet(w *record.Reservation, n *record.Node) {
	if slices.Contains(w.Nodes, n) {
		return
	}
	w.Add(n)
	bl.books.Enclose(n, w)
	bl.agenda.SetAside()
}

// LeaveNodeSet takes a node out of such a reservation. What is free there is so for all others.
func (bl *Backlog) LeaveNodeSet(w *record.Reservation, n *record.Node) {
	w.Remove(n)
	bl.books.OpenUp(n, w)
	bl.agenda.Grew(bl.state.Now)
	bl.agenda.Changed(bl.state.Now)
	bl.DropEmpty([]*record.Reservation{w})
}

// DropEmpty ends those of some reservations that are of nodes that are kept, and have none.
func (bl *Backlog) DropEmpty(list []*record.Reservation) {
	for _, w := range list {
		if w.IsNodeSet() && len(w.Nodes) == 0 {
			bl.EndReservation(w)
		}
	}
}
