// Package upkeep says how far hardware is trusted: losses, quarantine and burn-in, and the hot
// spares of each pool. It marks nodes and sets them aside.
package upkeep

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/losses"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
)

// An Upkeep watches nodes.
//
// Its invariants:
//
//  1. The watched nodes are those in quarantine or in burn-in, in order of name.
//  2. Nodes in burn-in, and the spares of each pool, are set aside by one reservation each.
//  3. Each domain that has lost bandwidth has a node, and is listed once. LostMilli of a node is
//     the most that a domain of its path has lost.
type Upkeep struct {
	losses  *losses.Losses
	agenda  *agenda.Agenda
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog

	Watched []*record.Node
	BurnIn  *record.Reservation
	// fabric has the domains that have lost bandwidth, in order of their paths.
	fabric []berth.FabricReport
}

// New returns one that stands on the rooms below.
func New(losses *losses.Losses, agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog) *Upkeep {
	return &Upkeep{
		losses: losses, agenda: agenda, state: state, books: books, backlog: backlog,
	}
}
