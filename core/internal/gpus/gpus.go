// Package gpus knows how GPUs are divided: their modes and layouts, the orders that change them,
// and where they go back to.
package gpus

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
)

// A GPUs has the orders about GPUs.
//
// Its invariants:
//
//  1. A GPU has at most one Repartition out, and the Bind of a member that gets a part of it
//     meanwhile comes after that order. On its way to whole use or shares a GPU takes no newcomer
//     while no member holds it: another mode may be wanted next.
//  2. The fleet sees a GPU as its description has it: as it was told or, while an order about it is
//     out, as it will be. An order that fails leaves the GPU as it was before, and so does Unstage.
//  3. A layout is valid for the product of the GPU (package mig). A member is on a GPU in the mode
//     that it needs, and on an instance that exists.
//  4. A GPU takes no newcomer while it is not known how it is divided: once the deadline of an
//     order has passed without a report, or the GPU failed while one was out. A GPUPartitioned ends
//     that, as does a member that runs on what was ordered.
//  5. A change of instances is counted for the rates, a change of the mode alone is not. Changeable
//     is when the next one is within both: that of the GPU and that of its pool.
//  6. Astray has the GPUs that were changed and are in another layout than their pool's. An idle
//     one goes back as soon as the rates allow, unless a gang waits that may use its node.
//  7. What is saved is restored as it was, or refused.
type GPUs struct {
	catalogue *catalogue.Catalogue
	agenda    *agenda.Agenda
	state     *state.State
	books     *books.Books
	backlog   *backlog.Backlog
	upkeep    *upkeep.Upkeep
	life      *life.Life

	// Repartitions are the orders about GPUs that are out.
	Repartitions map[berth.OrderID]*record.Repartition
	// Astray lists the GPUs that are to go back to their pool's layout.
	Astray []GPUAt
}

// New returns one that stands on the rooms below.
func New(catalogue *catalogue.Catalogue, agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog, upkeep *upkeep.Upkeep, life *life.Life) *GPUs {
	return &GPUs{
		catalogue: catalogue, agenda: agenda, state: state, books: books, backlog: backlog, upkeep: upkeep, life: life,
		Repartitions: map[berth.OrderID]*record.Repartition{},
	}
}
