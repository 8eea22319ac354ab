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
