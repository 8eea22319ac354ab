// Package due keeps, as things change, which of the waiting entries may get a reservation or bid
// for victims, and when: so that a pass looks at what is due, and not at every bucket of every
// queue.
//
// Of each bucket three entries count: the first one, for reservations, and the first whole gang
// and the first entry that grows, for bids. What they may do and when follows from the records,
// from two settings, and from the turns of the agenda. It is found out late: a change of a record
// notes the bucket (NoteHead, NoteBids), which costs next to nothing, and the next pass to which
// it matters looks once at each bucket that was noted (SyncHeads, SyncBids). What the clock or a
// turn changes is found by instant, and in the lists of those that wait for a turn.
//
// Nothing of it is saved: every bucket of a restored core is new to it. What does not follow from
// the bucket is asked as ever, when the pass is about to decide: whether a gang is within its
// quota, and what its queue may have at the cost of others. So nothing is decided here.
package due

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/quota"
)

// A Due knows which entries may get a reservation or bid, and when.
//
// Its invariants, which Check verifies:
//
//  1. A bucket with entries that is not noted stands where a look at it would put it, but for what
//     the clock or a turn has changed since. An empty one stands nowhere.
//  2. A bucket has a state if and only if it was noted since it was empty.
//  3. What the state of a bucket says of a list is true, and nothing else is in the lists.
//  4. lines has the queues with heads, and count has the number of heads by size.
type Due struct {
	agenda *agenda.Agenda
	state  *state.State

	buckets []*bucketState // by number; the first is nil
	vacant  []int          // the numbers that nobody has
	byQueue []*queue       // by quota.QueueIndex

	later        pq.Heap[*bucketState] // those that may get a reservation at an instant yet to come
	held         []*bucketState        // those that get none before a turn changes
	changedHeads []*bucketState
	lines        []*queue
	count        [sizes]int // heads
	// The turns, the version of the classes and the setting for which the heads were looked at.
	freed, grown agenda.Turn
	headVersion  int
	reserveAfter berth.Duration

	sought      []*bidder // those that have bid in this turn
	changedBids []*bucketState
	// The turn and the version of the classes for which the bidders were looked at.
	turn       agenda.Turn
	bidVersion int

	// Looked counts the buckets and the bidders that were looked at, for tests.
	Looked int
}

// A bucketState is which lists a bucket is in.
type bucketState struct {
	bucket *record.Bucket // nil: it is nobody's, and stands nowhere
	// entry is the first entry as it was when the bucket was looked at last, at is when it may get
	// a reservation, and size is that of a head.
	entry *record.Entry
	at    berth.Time
	size  Size
	place headPlace
	slot  int // the position in the list that place names
	// bidders are the first whole gang and the first entry that grows.
	bidders [2]bidder
	// The positions in changedHeads and changedBids, or -1.
	headNoted, bidsNoted int
}

type headPlace uint8

const (
	nowhere headPlace = iota // it gets no reservation
	inLater
	inHeld
	inHeads // of its queue: it may get a reservation, or has one
)

// A bidder is an entry that bids for its bucket.
type bidder struct {
	bucket *bucketState
	entry  *record.Entry // nil: there is none
	at     berth.Time
	// asks is for how many GPUs, in thousandths; the largest number where it asks for none.
	asks int64
	// since is when its wait began: once it is dropped, its gang may have begun another one.
	since berth.Time
	place bidPlace
	// slot is the position in the heap that place names, sought that in Due.sought, or -1.
	slot, sought int
}

type bidPlace uint8

const (
	never    bidPlace = iota // it does not bid before a turn changes
	bidLater                 // it bids at an instant yet to come
	bidDue                   // it bids as soon as its queue may have what it asks for
)

// A queue has what is due there.
type queue struct {
	queue *record.Queue
	heads [sizes]pq.Heap[*bucketState] // in the order of service
	due   pq.Heap[*bidder]             // by what they ask for
	later pq.Heap[*bidder]             // by instant
	at    int                          // position in Due.lines, or -1
	// most is what a head asks for at the most, of each resource, if it is known; alike: the heads
	// ask for one product, or for none in particular.
	most         quota.Charge
	known, alike bool
	// outline of the bidders, if it is told.
	outline      Outline
	outlineKnown bool
}

// New returns one that knows of no bucket.
func New(agenda *agenda.Agenda, state *state.State) *Due {
	return &Due{
		agenda: agenda, state: state, buckets: make([]*bucketState, 1),
		later: pq.New(func(a, b *bucketState) bool { return a.at < b.at }, func(s *bucketState, slot int) { s.slot = slot }),
	}
}

// stateOf is the state of a bucket with entries; nil: the bucket is empty.
func (d *Due) stateOf(b *record.Bucket) *bucketState {
	switch {
	case b.Due != 0:
		return d.buckets[b.Due]
	case b.Entries.Len() == 0:
		return nil
	case len(d.vacant) == 0:
		s := &bucketState{slot: -1, headNoted: -1, bidsNoted: -1}
		for i := range s.bidders {
			s.bidders[i] = bidder{bucket: s, slot: -1, sought: -1}
		}
		d.vacant = append(d.vacant, len(d.buckets))
		d.buckets = append(d.buckets, s)
	}
	b.Due = d.vacant[len(d.vacant)-1]
	d.vacant = d.vacant[:len(d.vacant)-1]
	s := d.buckets[b.Due]
	s.bucket = b
	return s
}

// queueOf is what is due in the queue of a bucket.
func (d *Due) queueOf(of *record.Queue) *queue {
	for int(of.Index) >= len(d.byQueue) {
		d.byQueue = append(d.byQueue, nil)
	}
	q := d.byQueue[of.Index]
	if q == nil {
		q = &queue{
			due:   pq.New(func(a, b *bidder) bool { return a.asks < b.asks }, func(w *bidder, slot int) { w.slot = slot }),
			later: pq.New(func(a, b *bidder) bool { return a.at < b.at }, func(w *bidder, slot int) { w.slot = slot }),
			at:    -1,
		}
		for size := range q.heads {
			q.heads[size] = pq.New(func(a, b *bucketState) bool { return record.CompareEntries(a.entry, b.entry) < 0 }, func(s *bucketState, slot int) { s.slot = slot })
		}
		d.byQueue[of.Index] = q
	}
	q.queue = of
	return q
}

func (d *Due) eachBucket(f func(*record.Bucket)) {
	for _, s := range d.buckets[1:] {
		if s.bucket != nil {
			f(s.bucket)
		}
	}
}
