package search

import (
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Hold holds what members are to have, all of it or nothing.
func (se *Search) Hold(members []gang.Member) bool {
	for i := range members {
		if se.state.Fleet.Hold(members[i].Hold) != nil {
			se.release(members[:i])
			return false
		}
	}
	return true
}

// release gives back what members hold.
func (se *Search) release(members []gang.Member) {
	for i := range members {
		invariant.Must(se.state.Fleet.Release(members[i].Hold))
	}
}

// Vanish imagines what a part of a replica holds free.
func (se *Search) Vanish(p record.Piece) {
	p.Imagine(true)
	p.EachHold(func(h *gang.Hold, _ *record.Node) { invariant.Must(se.state.Fleet.Release(*h)) })
}

// Reappear undoes vanish.
func (se *Search) Reappear(p record.Piece) {
	p.Imagine(false)
	p.EachHold(func(h *gang.Hold, _ *record.Node) { invariant.Must(se.state.Fleet.Adopt(*h)) })
}
