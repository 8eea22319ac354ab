package backlog

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// This file is about which gangs may have a reservation, of those that wait for one: the first of
// each size in policy order.

// A Position is where a gang stands in an order; a gang that is not in it stands behind all of it.
type Position struct {
	Entry *record.Entry
	At    int
}

// holders lists the reservations of gangs of one size.
func (bl *Backlog) holders(size due.Size) (list []*record.Reservation) {
	for _, res := range bl.Reservations {
		if res.GivesWay() && bl.Due.SizeOf(res.Rep) == size {
			list = append(list, res)
		}
	}
	return list
}

// ReservedGangs counts the gangs of one size that have a reservation.
func (bl *Backlog) ReservedGangs(size due.Size) int { return len(bl.holders(size)) }

// LastReserved counts the gangs of one size that have a reservation, and finds the last of them
// that stands in an order, or behind it. O(reservations x order).
func (bl *Backlog) LastReserved(size due.Size, order []*record.Entry) (reserved int, last Position) {
	holders := bl.holders(size)
	last.At = -1
	for _, res := range holders {
		e := res.Rep.Entry()
		at := slices.Index(order, e)
		if at < 0 {
			at = len(order)
		}
		if at > last.At || at == last.At && record.CompareEntries(last.Entry, e) < 0 {
			last = Position{e, at}
		}
	}
	return len(holders), last
}

// AnyMayReserve reports whether some head of a size, or an entry behind it, may get a reservation:
// fewer of the size have one than may, or it outranks one that has. None behind a head outranks a
// gang that the head does not. O(1) where fewer have one, else O(queues with heads), and for those
// that may outrank any O(heads x reservations of gangs).
func (bl *Backlog) AnyMayReserve(size due.Size) (some bool) {
	heads, holders := bl.Due.HeadsOf(size), bl.holders(size)
	if heads.Len() == 0 || len(holders) < bl.state.Config.Policy.ReservedGangs {
		return heads.Len() > 0
	}
	may := bl.queuesThatMayOutrank(holders)
	heads.EachQueue(func(q *record.Queue, _ *record.Entry) bool {
		if may(q) {
			heads.EachHead(q.Index, func(e *record.Entry) bool {
				some = slices.ContainsFunc(holders, func(res *record.Reservation) bool { return bl.Outranks(e.Rep, res.Rep) })
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
	lowest := slices.MinFunc(holders, func(v, res *record.Reservation) int { return cmp.Compare(v.Rep.Job.Spec.Class, res.Rep.Job.Spec.Class) })
	var known []quota.QueueIndex
	for _, res := range bl.Reservations {
		if res.IsForGang() {
			known = append(known, res.Rep.Job.Queue)
		}
	}
	return func(q *record.Queue) bool {
		return q.MayBeOfHigherClass(lowest.Rep) || bl.state.Quota.Within(q.Index, quota.Charge{}) || slices.Contains(known, q.Index)
	}
}

// HeadsBeyondQuota lists the heads that may get a reservation now, but for their quota. O(queues
// with heads), and O(heads) of those queues that cannot have the most of each resource that a head
// asks for.
func (bl *Backlog) HeadsBeyondQuota() (late []*record.Entry) {
	bl.Due.EachQueue(func(q *record.Queue) {
		if most, some := bl.Due.Most(q.Index); some && bl.Affords(q.Index, most) {
			return // and so anything less
		}
		for _, size := range [...]due.Size{due.OneNode, due.SeveralNodes} {
			bl.Due.HeadsOf(size).EachHead(q.Index, func(e *record.Entry) bool {
				if e.Rep.Reserved == nil && !bl.AnyWithinQuota(e.Rep) {
					late = append(late, e)
				}
				return true
			})
		}
	})
	return late
}

// AnyWithinQuota reports whether the queue of a gang that waits may have what it needs at least, as
// one of its options.
func (bl *Backlog) AnyWithinQuota(rep *record.Replica) bool {
	return slices.ContainsFunc(rep.Entries, func(e *record.Entry) bool { return e.Bucket.QuotaSlot < 0 && bl.WithinQuota(e.Bucket) })
}

// WithinQuota reports whether the queue of a bucket may have what its entries need at least.
func (bl *Backlog) WithinQuota(b *record.Bucket) bool {
	bl.state.Compile(b.Shape)
	return bl.Affords(b.Queue.Index, b.Shape.Least)
}
