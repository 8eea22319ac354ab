package record

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roster"
	"github.com/berth-sched/berth/internal/pq"
)

// A Bucket holds the entries of one shape in one queue.
type Bucket struct {
	Queue     *Queue
	Shape     *Shape
	Entries   pq.Heap[*Entry]
	Behind    int   // how many wait in the batches behind them
	Others    int32 // entries of replicas that wait in another bucket before this one
	Optional  int32 // entries of jobs that have alternatives
	At        int   // position in Queue.List
	Slot      int   // position in Queue.Ready, or -1
	QuotaSlot int   // position in Backlog.QuotaBlocked, or -1
	BoundAt   int   // position in Backlog.DomainBound, or -1
	Due       int   // the number by which package due knows it; 0: it does not
	// kinds has the entries once more, by what else than their order tells whether they may be on
	// nodes that are set aside: whether their loss is cheap, and when they end. Of a kind the first
	// is admitted wherever another is, unless that one ranks above it. Reservations in advance go
	// by the run times that were told. Where others were learned, toldFirst has the entries in
	// that order, so that the law holds for each of two reservations, but not for a node with both.
	// What gangs grow by ends with them, whenever it is placed, and so stands in growers instead,
	// unless it never ends. There the order is that of the learned ends alone.
	kinds     [2 * lengths]*pq.Heap[*Entry]     // nil: there were none
	toldFirst [2]*pq.Heap[*Entry]               // nil: there were none
	growers   [2 * lengths]*roster.Ends[*Entry] // nil: there were none
}

// How long the entries of a kind run: as long as they state, as long as is assumed, without an end,
// as long as was learned where they state nothing, or something else.
const (
	stated = iota
	assumed
	endless
	learned
	corrected
	lengths
)

// NewBucket returns an empty bucket of a shape in a queue, in neither's list.
func NewBucket(q *Queue, s *Shape) *Bucket {
	return &Bucket{Queue: q, Shape: s, Slot: -1, QuotaSlot: -1, BoundAt: -1, Entries: pq.New(
		func(a, b *Entry) bool { return CompareEntries(a, b) < 0 }, func(e *Entry, slot int) { e.Slot = int32(slot) },
	)}
}

// Before reports whether a bucket is served before another one of its queue.
func (b *Bucket) Before(o *Bucket) bool {
	if b.Queue.sorted {
		return b.At < o.At
	}
	return compareBuckets(b, o) < 0
}

// Waiting counts the replicas, or parts of them, that wait in a bucket.
func (b *Bucket) Waiting() int { return b.Entries.Len() + b.Behind }

// firstOwn is the first entry of a bucket that waits as what its job asks for itself; nil: none
// does. O(1) where no job has alternatives, else O(entries).
func (b *Bucket) firstOwn() *Entry {
	first := b.Entries.Min()
	if !first.IsAlternative() {
		return first
	}
	first = nil
	for _, e := range b.Entries.Items() {
		if !e.IsAlternative() && (first == nil || CompareEntries(e, first) < 0) {
			first = e
		}
	}
	return first
}

// Add has an entry wait in a bucket. O(log entries).
func (b *Bucket) Add(e *Entry) {
	if b.Entries.Push(e); e.Slot == 0 {
		b.Queue.sorted = false
	}
	if kind := e.kind(); e.endsWithGang() {
		if b.growers[kind] == nil {
			b.growers[kind] = roster.NewEnds(CompareEntries)
		}
		b.growers[kind].Add(e.endOfGang(), e)
	} else {
		if b.kinds[kind] == nil {
			starters := pq.New(lessHandy, func(e *Entry, slot int) { e.handy = int32(slot) })
			b.kinds[kind] = &starters
		}
		b.kinds[kind].Push(e)
		if kind%lengths == corrected {
			h := &b.toldFirst[kind/lengths]
			if *h == nil {
				told := pq.New(lessTold, func(e *Entry, slot int) { e.told = int32(slot) })
				*h = &told
			}
			(*h).Push(e)
		}
	}
	if e.Rep.Job.HasAlternatives() {
		b.Optional++
	}
	b.Queue.note(e, true)
}

// Remove has an entry wait there no longer. O(log entries).
func (b *Bucket) Remove(e *Entry) {
	if e.Slot == 0 {
		b.Queue.sorted = false
	}
	b.Entries.Remove(int(e.Slot))
	if kind := e.kind(); e.endsWithGang() {
		b.growers[kind].Remove(e.endOfGang(), e)
	} else {
		b.kinds[kind].Remove(int(e.handy))
		if kind%lengths == corrected {
			b.toldFirst[kind/lengths].Remove(int(e.told))
		}
	}
	if e.Rep.Job.HasAlternatives() {
		b.Optional--
	}
	b.Queue.note(e, false)
}

// InStep reports whether each entry of a bucket stands in its kind, and none beside.
func (b *Bucket) InStep() bool {
	all := 0
	for i, starters := range b.kinds {
		if all += b.growers[i].Len(); starters != nil {
			all += starters.Len()
		}
	}
	return all == b.Entries.Len() && !slices.ContainsFunc(b.Entries.Items(), func(e *Entry) bool {
		if e.endsWithGang() {
			return !b.growers[e.kind()].Has(e.endOfGang(), e)
		}
		h := b.kinds[e.kind()]
		if h == nil {
			return true
		}
		if told := b.toldFirst[e.kind()/lengths]; e.kind()%lengths == corrected && (int(e.told) >= told.Len() || told.Items()[e.told] != e) {
			return true
		}
		list := h.Items()
		return int(e.handy) >= len(list) || list[e.handy] != e || rankOf(e.Rep).compare(b.Queue.top) > 0
	})
}

// endsWithGang reports whether an entry is what a gang grows by that ends.
func (e *Entry) endsWithGang() bool { return e.Grows && e.Rep.Job.Spec.Service == nil }

// endOfGang is the end of the gang of an entry as it is expected. Where none is, its start is in
// that place: all of that kind end as much later.
func (e *Entry) endOfGang() berth.Time { return e.Rep.Started.Add(e.Rep.Job.Length()) }

// kind is the position in Bucket.kinds.
func (e *Entry) kind() int {
	j, kind := &e.Rep.Job.Spec, stated
	switch anew := e.Rep.Job.Learned != 0; {
	case j.Service != nil:
		kind = endless
	case anew && j.Told() == 0:
		kind = learned
	case anew:
		kind = corrected
	case j.Told() == 0:
		kind = assumed
	}
	if j.Class == berth.ClassLatencyCritical {
		kind += lengths
	}
	return kind
}

// lessHandy orders the entries of a kind: what ends first comes first, then the order of service.
func lessHandy(a, b *Entry) bool {
	x, y := a.Rep.Job, b.Rep.Job
	if x.Spec.Service == nil && x.Length() != y.Length() {
		return x.Length() < y.Length()
	}
	return CompareEntries(a, b) < 0
}

// lessTold is lessHandy by what was told or learned, whichever is longer.
func lessTold(a, b *Entry) bool {
	longer := func(j *Job) berth.Duration { return max(j.Learned, j.Spec.Told()) }
	if x, y := longer(a.Rep.Job), longer(b.Rep.Job); x != y {
		return x < y
	}
	return CompareEntries(a, b) < 0
}

// EachHandy calls a function with the first entries of each kind, at an instant: the first of those
// that start, and the first of those that grow. Jobs that do not say how long they run take the
// given time. O(kinds * log entries).
func (b *Bucket) EachHandy(now berth.Time, otherwise berth.Duration, f func(*Entry)) {
	for kind := range b.kinds {
		b.handyStarter(kind, f)
		b.handyGrowers(kind, now, otherwise, f)
	}
}

// EachAsHandy is EachHandy for the kind of an entry that waited there.
func (b *Bucket) EachAsHandy(like *Entry, now berth.Time, otherwise berth.Duration, f func(*Entry)) {
	if like.endsWithGang() {
		b.handyGrowers(like.kind(), now, otherwise, f)
	} else {
		b.handyStarter(like.kind(), f)
	}
}

func (b *Bucket) handyStarter(kind int, f func(*Entry)) {
	if h := b.kinds[kind]; h != nil && h.Len() > 0 {
		f(h.Min())
		if kind%lengths == corrected {
			f(b.toldFirst[kind/lengths].Min())
		}
	}
}

func (b *Bucket) handyGrowers(kind int, now berth.Time, otherwise berth.Duration, f func(*Entry)) {
	if kind%lengths == assumed {
		now = now.Add(-otherwise) // they stand there by their starts
	}
	b.growers[kind].EachSoonest(now, f)
}
