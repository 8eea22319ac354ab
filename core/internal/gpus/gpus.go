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
//  1. A GPU has at most one Repartition out, and takes nobody new while it has.
//  2. A layout is valid for the product of the GPU (package mig).
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
