package books

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// OpenUp takes a reservation off a node.
func (bk *Books) OpenUp(n *record.Node, res *record.Reservation) {
	i := slices.Index(n.Reservations, res)
	n.Reservations = slices.Delete(slices.Clone(n.Reservations), i, i+1)
	bk.Reclass(n)
	bk.state.NoteOpened(n)
}

// Enclose adds a reservation to those of a node.
func (bk *Books) Enclose(n *record.Node, res *record.Reservation) {
	n.Reservations = record.WithReservation(n.Reservations, res)
	bk.Reclass(n)
}

// Reclass moves a node to the class that its description and its reservations put it in.
func (bk *Books) Reclass(n *record.Node) {
	old := n.Class
	n.Class = bk.state.Classes.Add(n.Key(), n.Table, n.Reservations)
	bk.state.DropClass(old)
	invariant.Must(bk.state.Fleet.SetClass(n.Index, topology.NodeClass(n.Class)))
}

// Rejoin puts a node that left for a moment back into a reservation, unless it is there by
// its name or place.
func (bk *Books) Rejoin(res *record.Reservation, n *record.Node) {
	if !slices.Contains(n.Reservations, res) {
		res.Add(n)
		bk.Enclose(n, res)
	}
}
