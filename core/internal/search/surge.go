package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// Surge starts stand-ins for replicas that have to leave a node, as far as there is room for them,
// by rank. One pass looks for so many; it reports whether that leaves some over. O(replicas of a
// job + one search) for each.
func (se *Search) Surge() (left bool) {
	if se.agenda.Draining == 0 {
		return false
	}
	list := slices.DeleteFunc(se.drained(), func(rep *record.Replica) bool {
		return !se.surges(rep) || rep.Relocation.Get().SoughtAt == se.agenda.MoveTurn
	})
	if len(list) == 0 {
		return false
	}
	slices.SortFunc(list, compareUprooted)
	se.backlog.Earmark(true)
	defer se.backlog.Earmark(false)
	searches := 0
	for _, rep := range list {
		surge := rep.Relocation.Get()
		switch {
		case surge.StandIn != nil || !rep.Job.MayStart() || se.state.Replicas >= se.state.Config.Limits.Replicas || se.books.IsOutOfBudget(rep):
		case surge.At > se.state.Now:
			se.agenda.MoveBy(surge.At)
		case searches == se.state.Bounds.Moves:
			left = true
			continue
		default:
			searches++
			se.startStandIn(rep)
		}
		rep.Relocation.Note().SoughtAt = se.agenda.MoveTurn
		se.agenda.MoveBy(se.latestToLeave(rep))
	}
	return left
}

// startStandIn starts a stand-in for a replica, where there is room.
func (se *Search) startStandIn(of *record.Replica) {
	rep := se.life.NewStandIn(of)
	if !se.placeStandIn(rep) {
		rep.Members = nil
		se.life.DropStandIn(rep)
		return
	}
	se.backlog.EncloseExclusive(rep)
	se.life.StandIn(rep)
	se.Bind(rep, berth.Cause{Code: berth.CauseSurge, Detail: life.DrainCause(se.state.DrainOf(of)).Detail})
}

// placeStandIn finds a place for a stand-in: as large as the limits on its queue leave it, or with
// its minimum, first without what is set aside.
func (se *Search) placeStandIn(rep *record.Replica) bool {
	s := rep.Job.Shape()
	se.state.Compile(s)
	most, ok := se.affordableFor(s, rep.Job.Queue)
	if !ok {
		return false
	}
	end := se.state.EndIfPlaced(rep)
	for _, request := range []*gang.Request{most, &s.Minimum} {
		se.state.Totals.PlacementAttempts++
		if se.placeRather(rep, request, 0) == Fits {
			return true
		}
		wider, some := se.WithReservedNodesWhere(&s.Spec, request, func(res *record.Reservation) bool { return se.backlog.Admits(res, rep, end) })
		if some && se.PlaceRequest(rep, wider, 0) == Fits {
			return true
		}
		if !s.IsElastic() {
			break
		}
	}
	return false
}
