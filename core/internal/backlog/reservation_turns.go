package backlog

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
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
		e, l := w.Rep.Entries[0], &last[bl.SizeOf(w.Rep.Job.Shape())]
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

// Turnouts are those of the heads of all buckets, and of what is reserved.
func (bl *Backlog) Turnouts() (of [gangSizes]Turnout) {
	heads := bl.Due.Heads()
	for size, reserved := range bl.ReservedGangs() {
		of[size] = Turnout{Ahead: heads[size], reserved: reserved, full: reserved >= bl.state.Config.Policy.ReservedGangs}
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
			of[bl.SizeOf(w.Rep.Job.Shape())]++
		}
	}
	return of
}

// AnyMayReserve reports whether some head of a bucket, or an entry behind it, may get a
// reservation: of its size there are fewer than may be, or it outranks a gang that has one. None
// behind a head outranks a gang that the head does not. O(queues with heads), and for those that
// may outrank any O(heads x reservations of gangs).
func (bl *Backlog) AnyMayReserve() (some bool) {
	heads := bl.Due.Heads()
	for size, reserved := range bl.ReservedGangs() {
		if heads[size] > 0 && reserved < bl.state.Config.Policy.ReservedGangs {
			return true
		}
	}
	holders := slices.DeleteFunc(slices.Clone(bl.Reservations), func(w *record.Reservation) bool { return !w.GivesWay() })
	if len(holders) == 0 {
		return false
	}
	may := bl.queuesThatMayOutrank(holders)
	bl.Due.EachQueue(func(q *record.Queue, _ *record.Entry) bool {
		if may(q) {
			bl.Due.EachHead(q.Index, func(e *record.Entry) bool {
				size := bl.SizeOf(e.Bucket.Shape)
				some = slices.ContainsFunc(holders, func(w *record.Reservation) bool {
					return bl.Outranks(e.Rep, w.Rep) && bl.SizeOf(w.Rep.Job.Shape()) == size
				})
				return !some
			})
		}
		return !some
	})
	return some
}

// queuesThatMayOutrank tells of a queue whether something that waits there may outrank a gang that
// has a reservation, as far as the queue tells: what is within its guarantee may, what is of a
// higher class, and what is of the same queue. What a queue has without its earmarks it does not
// tell.
func (bl *Backlog) queuesThatMayOutrank(holders []*record.Reservation) func(*record.Queue) bool {
	lowest := slices.MinFunc(holders, func(v, w *record.Reservation) int { return cmp.Compare(v.Rep.Job.Spec.Class, w.Rep.Job.Spec.Class) })
	known := map[quota.QueueIndex]bool{}
	for _, w := range bl.Reservations {
		if w.IsForGang() {
			known[w.Rep.Job.Queue] = true
		}
	}
	return func(q *record.Queue) bool {
		return known[q.Index] || q.MayBeOfHigherClass(lowest.Rep) || bl.state.Quota.Within(q.Index, quota.Charge{})
	}
}

// HeadsBeyondQuota lists the heads that may get a reservation now, but for their quota. O(queues
// with heads), and O(heads) of those queues that cannot have the most of each resource that a head
// asks for.
func (bl *Backlog) HeadsBeyondQuota() (late []*record.Entry) {
	bl.Due.EachQueue(func(q *record.Queue, _ *record.Entry) bool {
		if most, some := bl.Due.Most(q.Index); some && bl.Affords(q.Index, most) {
			return true // and so anything less
		}
		bl.Due.EachHead(q.Index, func(e *record.Entry) bool {
			if e.Rep.Reserved == nil && !bl.WithinQuota(e.Bucket) {
				late = append(late, e)
			}
			return true
		})
		return true
	})
	return late
}

// WithinQuota reports whether the queue of a bucket may have what its entries need at least.
func (bl *Backlog) WithinQuota(b *record.Bucket) bool {
	bl.state.Compile(b.Shape)
	return bl.Affords(b.Queue.Index, b.Shape.Least)
}
