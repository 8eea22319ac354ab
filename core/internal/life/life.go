// Package life leads a replica through its states: it settles what a loss or a report leaves of a
// gang, takes gangs back, stops victims by way of a checkpoint, and keeps the rates of preemption.
package life

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/meter"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
)

// A Life knows what runs.
//
// Its invariants:
//
//  1. A replica is leaving if and only if it has members to stop, is asked to leave on its own
//     account, or is evicted for another.
//  2. The beneficiary of a victim waits, has nodes set aside, and lists the victim.
//  3. The running replicas are those of the queues; States counts the replicas by state, and
//     Stretching those that run and may have more than their minimum.
//  4. A replica needs an order of the next pass if and only if none is out and it is to be
//     repaired or has members to stop, or if it is asked for a checkpoint that nobody needs.
//  5. Where its members stood is kept of a replica while it backs off after they died or, before
//     that, while the rest of it is being stopped.
//  6. A gang that runs and may not for ever has an instant at which that is looked at, unless it
//     was asked for its last checkpoint: then the request is out until its end, at the latest.
//  7. A job at a gate has never run, waits in no bucket, and stands where what opens the gate finds
//     it. No job is ready that could have all of its slots, and those that have slots are the jobs
//     without a gate.
type Life struct {
	agenda  *agenda.Agenda
	state   *state.State
	books   *books.Books
	backlog *backlog.Backlog

	// States counts the replicas by state. Those that wait from the first count for nothing: they
	// are the rest.
	States [berth.ReplicaReleasing + 1]int
	// Stretching counts the replicas that run and may have more than their minimum.
	Stretching int
	// Gated counts the jobs at gates.
	Gated int
	// Since gates were last settled, slots of freed came free, and the lanes of made were made.
	// Ready are jobs that need no slots and have nothing left to wait for.
	freed []*record.Slots
	made  []*record.Lane
	ready []*record.Job
	// evictions of the whole fleet.
	evictions meter.Meter
}

// New returns one that stands on the rooms below.
func New(agenda *agenda.Agenda, state *state.State, books *books.Books, backlog *backlog.Backlog) *Life {
	return &Life{
		agenda: agenda, state: state, books: books, backlog: backlog,
	}
}
