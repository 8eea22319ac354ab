// Package backlog has what waits, by request and in policy order, and what is set aside:
// reservations of every kind, and GPUs that are kept for a member.
package backlog

import (
	"github.com/google/btree"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
)

// A Backlog has what waits and what is set aside.
//
// Its invariants:
//
//  1. A replica that is Pending stands in the index of what waits, unless it backs off; a Running
//     one does while it is short of members, has no order out and does not back off.
//  2. A queue is active in the quota tree if and only if it has a ready bucket.
//  3. A bucket is ready, unless its shape is blocked or quota holds it back. A shape is blocked
//     once: a search found no place for it, and nothing has changed since that could help.
//  4. Reservations are in order of name, each is what its kind says (record.ReservationKind), and
//     reservations and nodes list each other.
//  5. An entry is fresh only while something is set aside.
//  6. A victim whose plan ends goes on, unless it is being stopped; what counted on its place ends.
//  7. DomainBound has the buckets of shapes that are domain-bound, but for those of growing gangs.
//  8. Between Earmark(true) and Earmark(false) a queue is charged with what each plan of it will
//     hold beyond what its gang holds, and at no other time: what is tried meanwhile leaves it so.
type Backlog struct {
	catalogue *catalogue.Catalogue
	agenda    *agenda.Agenda
	state     *state.State
	books     *books.Books
	// Due knows which entries may get a reservation or bid, and when.
	Due *due.Due

	// ToldNext is the version of the classes for which the tree knows what is next.
	ToldNext int
	// GPUHolds are the GPUs that are kept for a member, in order of replica.
	GPUHolds []*record.GPUHold
	Demand   []int // by level: whole gangs that wait for room in one domain of it
	// DomainBound are the buckets of gangs that must be in one domain of some level, in no order.
	DomainBound  []*record.Bucket
	Blocked      state.Blocked
	QuotaBlocked []*record.Bucket
	// Reservations set nodes aside; in order of name.
	Reservations []*record.Reservation
	// Fresh has the entries that have come to blocked buckets since they were last tried on
	// nodes that are set aside.
	Fresh []*record.Entry
	// displaced are, in the course of a pass, the beneficiaries of which others took the places
	// that their queues made.
	displaced []*record.Replica
	// LostHardware has the replicas that may use hot spares and wait.
	LostHardware *btree.BTreeG[*record.Replica]
	// freed are nodes of the trees of all queues, for use again: a list for each would be most of
	// what a queue without jobs costs.
	freed *btree.FreeListG[*record.Replica]
}

// New returns a backlog in which nothing waits.
func New(catalogue *catalogue.Catalogue, agenda *agenda.Agenda, state *state.State, books *books.Books) *Backlog {
	return &Backlog{
		catalogue: catalogue, agenda: agenda, state: state, books: books, Due: due.New(agenda, state),
		ToldNext: -1, LostHardware: btree.NewG(16, record.LessReplica), Demand: make([]int, state.Fleet.Tree().NodeLevel()+1),
		freed: btree.NewFreeListG[*record.Replica](btree.DefaultFreeListSize),
	}
}
