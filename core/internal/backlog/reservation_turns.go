package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
)

// This file is about which gangs may have a reservation, of those that wait for one: the first of
// each size in policy order.

// A GangSize tells gangs of several nodes from those that fit on one: as many of each kind may have
// reservations.
type GangSize int

const (
	// OfOneNode is a gang that fits on one node.
	OfOneNode GangSize = iota
	// OfSeveralNodes is one that does not.
	OfSeveralNodes
	gangSizes
)

// SizeOf is the size of the gangs of a shape.
func (bl *Backlog) SizeOf(s *record.Shape) GangSize {
	if bl.state.SpansNodes(s) {
		return OfSeveralNodes
	}
	return OfOneNode
}

// A Position is where a gang stands in an order; a gang that is not in it stands behind all of it.
type Position struct {
	Entry *record.Entry
	At    int
}

// LastReserved is the last gang of each size that has a reservation and stands in an order, or
// behind it. O(reservations x order).
func (bl *Backlog) LastReserved(order []*record.Entry) (last [gangSizes]Position) {
	for i := range last {
		last[i].At = -1
	}
	for _, w := range bl.Reservations {
		if !w.GivesWay() {
			continue
		}
		e, l := w.Rep.Entries[0], &last[bl.SizeOf(w.Rep.Job.Shape)]
		at := slices.Index(order, e)
		if at < 0 {
			at = len(order)
		}
		if at > l.At || at == l.At && record.CompareEntries(l.Entry, e) < 0 {
			*l = Position{e, at}
		}
	}
	return last
}

// A Turnout counts the gangs of one size that are yet to come in policy order.
type Turnout struct {
	Ahead, reserved int
	full            bool // as many have a reservation as may
}

// Turnouts are those of a list, and of what is reserved.
func (bl *Backlog) Turnouts(list []*record.Entry) (of [gangSizes]Turnout) {
	for size, reserved := range bl.ReservedGangs() {
		of[size].reserved, of[size].full = reserved, reserved >= bl.state.Config.Policy.ReservedGangs
	}
	for _, e := range list {
		of[bl.SizeOf(e.Bucket.Shape)].Ahead++
	}
	return of
}

// Open reports whether one that is yet to come may get a reservation.
func (t *Turnout) Open() bool { return t.Ahead > 0 && (!t.full || t.reserved > 0) }

// Pass notes that an entry has come.
func (t *Turnout) Pass(e *record.Entry) {
	t.Ahead--
	if w := e.Rep.Reserved; w != nil && w.GivesWay() {
		t.reserved--
	}
}

// ReservedGangs counts the gangs of each size that have a reservation.
func (bl *Backlog) ReservedGangs() (of [gangSizes]int) {
	for _, w := range bl.Reservations {
		if w.GivesWay() {
			of[bl.SizeOf(w.Rep.Job.Shape)]++
		}
	}
	return of
}

// AnyMayReserve reports whether some entry of these heads of buckets, or behind them, may get a
// reservation: of its size there are fewer than may be, or it outranks a gang that has one. None
// behind a head outranks a gang that the head does not. O(heads x reservations of gangs).
func (bl *Backlog) AnyMayReserve(heads []*record.Entry) bool {
	reserved := bl.ReservedGangs()
	holders := slices.DeleteFunc(slices.Clone(bl.Reservations), func(w *record.Reservation) bool { return !w.GivesWay() })
	return slices.ContainsFunc(heads, func(e *record.Entry) bool {
		size := bl.SizeOf(e.Bucket.Shape)
		return reserved[size] < bl.state.Config.Policy.ReservedGangs || slices.ContainsFunc(holders, func(w *record.Reservation) bool {
			return bl.Outranks(e.Rep, w.Rep) && bl.SizeOf(w.Rep.Job.Shape) == size
		})
	})
}

// WithinQuota reports whether the queue of a bucket may have what its entries need at least.
func (bl *Backlog) WithinQuota(b *record.Bucket) bool {
	bl.state.Compile(b.Shape)
	return bl.Affords(b.Queue.Index, b.Shape.Least)
}
