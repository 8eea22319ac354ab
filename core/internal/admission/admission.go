// Package admission checks what is told of jobs and replicas before it is believed: at the door,
// and in a snapshot. It takes the replicas of a snapshot back.
package admission

import (
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/state"
)

// An Admission checks jobs against the fleet and its limits. It owns nothing.
//
// Its invariants:
//
//  1. A job that is taken makes sense, and the core honours all that it asks for. Any other is
//     refused with the field that is wrong. NewJob changes nothing, whatever it finds.
//  2. No job exceeds the limits of the core: replicas, groups, members, members above the minimum.
//  3. An ID is one job's. The same job again, scaled or not, is told from another of that ID. Its
//     queue is a leaf of the tree.
//  4. Equal jobs are saved equally: by ID, their replicas by number, and those together that wait
//     alike, whether they are records by now or a number.
//  5. A replica is restored as it was saved, or refused. The fleet grants each hold again, a gang
//     stands as an order would have placed it, and an order that is out is about the replica, in
//     this life, and about all members in the state that it ends, each where it is.
//  6. A member is observed on a GPU that is divided only if it claims an instance, and the other
//     way round. Between whole use and shares the GPU is as its members need it.
type Admission struct {
	catalogue *catalogue.Catalogue
	agenda    *agenda.Agenda
	state     *state.State
	books     *books.Books
	backlog   *backlog.Backlog
}

// New returns one that stands on the rooms below.
func New(catalogue *catalogue.Catalogue, agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog) *Admission {
	return &Admission{
		catalogue: catalogue, agenda: agenda, state: state, books: books, backlog: backlog,
	}
}
