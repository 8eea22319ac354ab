package upkeep

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// SetSpares does what a policy says of spares from now on.
func (u *Upkeep) SetSpares(list []berth.HotSpares) {
	for _, p := range u.state.Spares {
		for p.Reservation != nil {
			u.leaveSpares(p.Reservation.Nodes[0], record.SpareLetGo)
		}
	}
	var pools []*record.SparePool
	for _, s := range list {
		if s.NodesMilli > 0 {
			pools = append(pools, &record.SparePool{Pool: s.Pool, NodesMilli: s.NodesMilli})
		}
	}
	slices.SortFunc(pools, func(a, b *record.SparePool) int { return cmp.Compare(a.Pool, b.Pool) })
	u.state.SetSpares(pools)
	for _, n := range u.state.Nodes {
		if n != nil {
			n.Counted = false
			u.CountSound(n)
		}
	}
	if u.agenda.SparesTended(); len(u.state.Spares) > 0 {
		u.agenda.WantSpares()
	}
}

// CountSound counts a node that has become sound, or no longer one that is not.
func (u *Upkeep) CountSound(n *record.Node) { u.state.CountAs(n, n.Sound()) }

// leaveSpares has a node be no spare, on a signal.
func (u *Upkeep) leaveSpares(n *record.Node, on record.TrustSignal) {
	if n.Trust.HotSpare {
		n.Trust.Become(on, 0)
		u.agenda.WantSpares()
		u.backlog.LeaveNodeSet(u.state.SparesOf(n.Spec.Pool).Reservation, n)
	}
}

// TendSpares lets go of the spares that are used, unsound, set aside for others, or too many,
// and finds others. O(nodes) if something has changed that matters.
func (u *Upkeep) TendSpares() {
	if !u.agenda.SparesDue {
		return
	}
	for _, p := range u.state.Spares {
		u.releaseSpares(p)
		u.findSpares(p)
	}
	u.agenda.SparesTended()
}

// releaseSpares lets go of the spares of a pool that are none any more.
func (u *Upkeep) releaseSpares(p *record.SparePool) {
	if p.Reservation == nil {
		return
	}
	for _, n := range slices.Clone(p.Reservation.Nodes) {
		if len(n.Members) > 0 {
			u.state.Totals.HotSparesUsed++
			u.leaveSpares(n, record.SpareUsed)
		} else if !n.Sound() || slices.ContainsFunc(n.Reservations, func(res *record.Reservation) bool { return res.IsAdvance() || res.IsExclusive() }) {
			u.leaveSpares(n, record.SpareLetGo)
		}
	}
	for p.Free() > p.Wanted() {
		u.leaveSpares(p.Reservation.Nodes[p.Free()-1], record.SpareLetGo)
	}
}

// findSpares chooses new spares for a pool that is short of them.
func (u *Upkeep) findSpares(p *record.SparePool) {
	if p.Free() >= p.Wanted() {
		return
	}
	s := u.state.NewSpread(p)
	for p.Free() < p.Wanted() {
		n := s.Next()
		if n == nil || !u.mayKeep(n) {
			return
		}
		u.keepSpare(n)
		s.Note(n)
	}
}

// mayKeep reports whether a node may be set aside: the fleet may have thousands of kinds of nodes.
// Once it has fewer, spares are looked for again.
func (u *Upkeep) mayKeep(n *record.Node) bool { return u.backlog.MaySetAside([]*record.Node{n}) }

// keepSpare makes a node a spare.
func (u *Upkeep) keepSpare(n *record.Node) {
	p := u.state.SparesOf(n.Spec.Pool)
	if p.Reservation == nil {
		u.backlog.NewNodeSet(&p.Reservation, record.KindSpares, record.SparesName(p.Pool))
	}
	n.Trust.Become(record.SpareChosen, 0)
	u.backlog.EndGangReservationsOn(n)
	u.backlog.JoinNodeSet(p.Reservation, n)
}
