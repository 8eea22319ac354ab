// Package evict preempts and moves: it bids for the victims and the moves that start what waits,
// moves gangs off nodes that are drained and off nodes that a beneficiary needs, and reserves the
// result. A bid plans; a plan never bids.
package evict

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/search"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/victim"
	"github.com/berth-sched/berth/preempt"
)

// An Evict preempts and moves. It owns no state but scratch.
type Evict struct {
	agenda  *agenda.Agenda
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog
	life    *life.Life
	search  *search.Search
	victims *victim.Victims
	chooser preempt.Chooser
	// departing and here are scratch of the imagination.
	departing books.Bill
	here      []record.Imagined
	// Cleared counts how often the cost to clear a node was worked out.
	Cleared int
	// Replied, unless nil, is told of each bid that is in vain as an earlier search tells, so that
	// tests can search all the same.
	Replied func(*record.Entry, *victim.Search)
}

// New returns one that stands on the rooms below.
func New(agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog, life *life.Life, search *search.Search, victims *victim.Victims) *Evict {
	return &Evict{agenda: agenda, state: state, books: books, backlog: backlog, life: life, search: search, victims: victims}
}

// evictsNothing reports whether the policy evicts and moves nothing.
func evictsNothing(p *berth.Policy) bool {
	return p.Preemption.Mode == berth.PreemptionOff && p.Defragmentation.Mode != berth.DefragmentationOn
}
