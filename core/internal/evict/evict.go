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
//
// Its invariants:
//
//  1. What is to come is imagined on the fleet and the quota tree themselves, and forgotten without
//     a trace. Seek changes nothing either.
//  2. Nobody is asked to go before the places of the beneficiary, and of all that move for it, are
//     set aside. A plan that cannot come true any more ends.
//  3. The queues bid in policy order, each gang as if those that bid before it had started: no two
//     count on one GPU.
//  4. Victims are of other queues, or all of the own one. The mode of the policy says which of the
//     two are taken, and the rate limits say when.
//  5. A bid is passed over only if it is in vain: the bound of a gain is never below the gain, an
//     earlier reply is what a search would say, and what needs more than the headroom has no place.
//  6. Moves that only end a wait gain more than they cost. For a guarantee gangs move at any cost.
//     No more of them move for one than the policy says, and each runs again.
//  7. A gang that grows takes what its queue is guaranteed and nothing else, and nothing bids after
//     it in a pass.
//  8. A gang leaves a drained node once a place is kept for it, or at the last instant. Members
//     stay where they can, unless that spreads a gang that fits more closely elsewhere. What died
//     comes back to where it stood.
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
