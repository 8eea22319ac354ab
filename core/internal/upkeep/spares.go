package upkeep

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// SetSpares does what a policy says of spares from now on.
func (u *Upkeep) SetSpares(list []berth.Spares) {
	for _, p := range u.state.Spares {
		for p.Window != nil {
			u.leaveSpares(p.Window.Nodes[0])
		}
	}
	u.state.Spares = nil
	for _, s := range list {
		if s.Milli > 0 {
			u.state.Spares = append(u.state.Spares, &record.SparePool{Pool: s.Pool, Milli: s.Milli})
		}
	}
	slices.SortFunc(u.state.Spares, func(a, b *record.SparePool) int { return cmp.Compare(a.Pool, b.Pool) })
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

// leaveSpares has a node be no spare.
func (u *Upkeep) leaveSpares(n *record.Node) {
	if n.Trust.Spare {
		n.Trust.Spare = false
		u.agenda.WantSpares()
		u.backlog.LetOut(u.state.SparesOf(n.Spec.Pool).Window, n)
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
	if p.Window == nil {
		return
	}
	for _, n := range slices.Clone(p.Window.Nodes) {
		if len(n.Members) > 0 {
			u.state.Totals.SparesUsed++
			n.Trust.StandsIn = true
		}
		if len(n.Members) > 0 || !n.Sound() || slices.ContainsFunc(n.Windows, func(w *record.Window) bool { return w.IsAdvance() || w.IsExclusive() }) {
			u.leaveSpares(n)
		}
	}
	for p.Free() > p.Wanted() {
		u.leaveSpares(p.Window.Nodes[p.Free()-1])
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
		if n == nil || !u.backlog.RoomToSetAside([]*record.Node{n}) { // else the fleet has thousands of kinds of nodes
			return
		}
		u.keepSpare(n)
		s.Note(n)
	}
}

// keepSpare makes a node a spare.
func (u *Upkeep) keepSpare(n *record.Node) {
	p := u.state.SparesOf(n.Spec.Pool)
	if p.Window == nil {
		u.backlog.NewKept(&p.Window, record.KindSpares, record.SparesName(p.Pool))
	}
	n.Trust.Spare, n.Trust.StandsIn = true, false
	u.backlog.Spoil(n)
	u.backlog.KeepIn(p.Window, n)
}
