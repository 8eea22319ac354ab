// Package evict preempts and moves: it chooses victims, weighs their cost against the gain, moves
// gangs off nodes that are drained and off nodes that a beneficiary needs, and reserves the result.
// A bid plans; a plan never bids.
package evict

import (
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/prospect"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/preempt"
)

// An Evict preempts and moves. It owns no state but scratch, and an index of what runs.
type Evict struct {
	agenda  *agenda.Agenda
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog
	life    *life.Life
	search  *search.Search

	prospects *prospect.Prospects
	chooser   preempt.Chooser
	// gathered counts the candidates that searches have gathered on nodes.
	gathered int
}

// New returns one that stands on the rooms below.
func New(agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog, life *life.Life, search *search.Search) *Evict {
	return &Evict{
		agenda: agenda, state: state, books: books, backlog: backlog, life: life, search: search,
		prospects: prospect.New(state),
	}
}

// Work is how many places searches have looked at so far, and how many candidates they have
// gathered there.
func (ev *Evict) Work() (places, candidates int) { return ev.prospects.Looked, ev.gathered }

// CheckProspects holds what victim searches go by against what runs.
func (ev *Evict) CheckProspects() error { return ev.prospects.Check() }
