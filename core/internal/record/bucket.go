package record

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/internal/pq"
)

// A Bucket holds the entries of one shape in one queue.
type Bucket struct {
	Queue   *Queue
	Shape   *Shape
	Entries pq.Heap[*Entry]
	Behind  int // how many wait in the batches behind them
	Others  int // entries of replicas that wait in another bucket before this one
	At      int // position in Queue.List
	Slot    int // position in Queue.Ready, or -1
	// QuotaSlot is the position in Backlog.QuotaBlocked, or -1.
	QuotaSlot int
	// kinds has the entries once more, by what else than their order tells whether they may be on
	// nodes that are set aside: whether their loss is cheap, and when they end. Of a kind the first
	// is admitted wherever another is, unless that one ranks above it.
	kinds [2 * lengths]pq.Heap[*Entry]
}

// How long the entries of a kind run: as long as they state, as long as is assumed, or without an
// end.
const (
	stated = iota
	assumed
	endless
	lengths
)

// NewBucket returns an empty bucket of a shape in a queue, in neither's list.
func NewBucket(q *Queue, s *Shape) *Bucket {
	b := &Bucket{Queue: q, Shape: s, Slot: -1, QuotaSlot: -1, Entries: pq.New(
		func(a, b *Entry) bool { return CompareEntries(a, b) < 0 }, func(e *Entry, slot int) { e.Slot = slot },
	)}
	for i := range b.kinds {
		b.kinds[i] = pq.New(lessHandy, func(e *Entry, slot int) { e.handy = slot })
	}
	return b
}

// Waiting counts the replicas, or parts of them, that wait in a bucket.
func (b *Bucket) Waiting() int { return b.Entries.Len() + b.Behind }

// Add has an entry wait in a bucket. O(log entries).
func (b *Bucket) Add(e *Entry) {
	b.Entries.Push(e)
	b.kinds[e.kind()].Push(e)
	b.Queue.note(e, true)
}

// Remove has an entry wait there no longer. O(log entries).
func (b *Bucket) Remove(e *Entry) {
	b.Entries.Remove(e.Slot)
	b.kinds[e.kind()].Remove(e.handy)
	b.Queue.note(e, false)
}

// InStep reports whether each entry of a bucket stands in its kind, and none beside.
func (b *Bucket) InStep() bool {
	all := 0
	for i := range b.kinds {
		all += b.kinds[i].Len()
	}
	return all == b.Entries.Len() && !slices.ContainsFunc(b.Entries.Items(), func(e *Entry) bool {
		list := b.kinds[e.kind()].Items()
		return e.handy >= len(list) || list[e.handy] != e || rankOf(e.Rep).above(b.Queue.top)
	})
}

// kind is the position in Bucket.kinds.
func (e *Entry) kind() int {
	j, kind := &e.Rep.Job.Spec, stated
	switch {
	case j.Service != nil:
		kind = endless
	case j.ExpectedRuntime == 0:
		kind = assumed
	}
	if j.Class == berth.ClassLatencyCritical {
		kind += lengths
	}
	return kind
}

// lessHandy orders the entries of a kind: what ends first comes first, then the order of service.
func lessHandy(a, b *Entry) bool {
	x, y := &a.Rep.Job.Spec, &b.Rep.Job.Spec
	if x.Service == nil && x.ExpectedRuntime != y.ExpectedRuntime {
		return x.ExpectedRuntime < y.ExpectedRuntime
	}
	return CompareEntries(a, b) < 0
}

// Handy is the first entry of the kind of one that waited there; nil: there is none.
func (b *Bucket) Handy(like *Entry) *Entry {
	if h := &b.kinds[like.kind()]; h.Len() > 0 {
		return h.Min()
	}
	return nil
}

// EachHandy calls a function with the first entry of each kind.
func (b *Bucket) EachHandy(f func(*Entry)) {
	for i := range b.kinds {
		if b.kinds[i].Len() > 0 {
			f(b.kinds[i].Min())
		}
	}
}

// Soonest is when the first of the entries would be expected to end that were placed now, if each
// takes so long that does not say how long it takes.
func (b *Bucket) Soonest(now berth.Time, otherwise berth.Duration) berth.Time {
	soonest := agenda.Never
	b.EachHandy(func(e *Entry) {
		if j := &e.Rep.Job.Spec; j.Service == nil {
			soonest = min(soonest, now.Add(cmp.Or(j.ExpectedRuntime, otherwise)))
		}
	})
	return soonest
}
