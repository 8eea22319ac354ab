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
	res := &record.Reservation{Kind: kind, Home: home, Name: name, SpanPart: record.SpanPart{From: agenda.BeforeAll, Until: agenda.Never}, Queue: quota.NoQueue}
	*home = res
	bl.AddReservation(res)
}

// JoinNodeSet sets a node aside in a reservation of nodes that are kept.
func (bl *Backlog) JoinNodeSet(res *record.Reservation, n *record.Node) {
	if slices.Contains(res.Nodes, n) {
		return
	}
	res.Add(n)
	bl.books.Enclose(n, res)
	bl.agenda.SetAside()
}

// LeaveNodeSet takes a node out of such a reservation. What is free there is so for all others.
func (bl *Backlog) LeaveNodeSet(res *record.Reservation, n *record.Node) {
	res.Remove(n)
	bl.books.OpenUp(n, res)
	bl.agenda.Grew(bl.state.Now)
	bl.agenda.Changed(bl.state.Now)
	bl.DropEmpty([]*record.Reservation{res})
}

// DropEmpty ends those of some reservations that are of nodes that are kept, and have none.
func (bl *Backlog) DropEmpty(list []*record.Reservation) {
	for _, res := range list {
		if res.IsNodeSet() && len(res.Nodes) == 0 {
			bl.EndReservation(res)
		}
	}
}
