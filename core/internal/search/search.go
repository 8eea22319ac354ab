// Package search finds places: for what waits, in policy order; on nodes that are set aside; on
// GPUs that would have to be divided anew; and, in the future, for a reservation. It evicts
// nothing.
package search

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// A Search places what waits.
//
// Its invariants:
//
//  1. What it imagines on the fleet and the quota tree is taken back before it returns, and a
//     layout of a GPU that it stages is ordered or put back.
//  2. Scratch is empty between two passes.
//  3. A gang is given all of its minimum or nothing; and none its surplus, within a pass, before
//     all that fit have their minimum.
//  4. What backfill starts on nodes that are reserved for a gang is expected to end before that
//     begins, unless it may take the place of the gang (Backlog.Admits).
//  5. The instant of a reservation moves to be earlier, and to be later only once it has come and
//     gone.
//  6. A GPU is changed for what waits only once the wait comes to what the change costs, and as
//     often as the rates of its pool allow.
type Search struct {
	catalogue *catalogue.Catalogue
	agenda    *agenda.Agenda
	state     *state.State
	books     *books.Books
	backlog   *backlog.Backlog
	upkeep    *upkeep.Upkeep
	life      *life.Life
	gpus      *gpus.GPUs

	// freed: something has become free in this pass.
	freed bool
	// minimums: elastic gangs are placed with their minimum. Until it is known how much more
	// there is for them, unbound lists what is placed, in policy order.
	minimums bool
	unbound  []Unbound
	// booked is scratch: the members that bookPlacement has booked so far.
	booked []int
	// leaving is scratch: see planner.leaving.
	leaving []int
	// nodesLooked counts the nodes that were looked at for GPUs to change, or to keep.
	nodesLooked int
	// listed is scratch: the offers to the wish at hand.
	listed []gpus.Offer
}

// New returns one that stands on the rooms below.
func New(catalogue *catalogue.Catalogue, agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog, upkeep *upkeep.Upkeep, life *life.Life, gpus *gpus.GPUs) *Search {
	return &Search{
		catalogue: catalogue, agenda: agenda, state: state, books: books, backlog: backlog, upkeep: upkeep, life: life, gpus: gpus,
	}
}

// find searches a place and holds it.
func (se *Search) find(r *gang.Request) bool {
	for i := range r.Groups {
		if len(r.Groups[i].Classes) == 0 {
			return false
		}
	}
	return se.books.Place(r)
}

// leavingOut is a request without the nodes that a function names.
func leavingOut(r *gang.Request, out func(topology.NodeIndex) bool) *gang.Request {
	rest := *r
	rest.Groups = slices.Clone(r.Groups)
	for i := range rest.Groups {
		match := rest.Groups[i].Match
		rest.Groups[i].Match = func(n topology.NodeIndex) bool { return !out(n) && (match == nil || match(n)) }
	}
	return &rest
}
