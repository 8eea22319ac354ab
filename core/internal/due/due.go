// Package due keeps, as things change, which of the waiting entries may get a reservation or bid for
// victims, and when: so that a pass looks at what is due, and not at every bucket of every queue.
//
// Of each bucket three entries count: the first one, for reservations, and the first whole gang and
// the first entry that grows, for bids. What they may do and when follows from the records, from two
// settings, and from the turns of the agenda. It is found out late: whoever changes a record notes
// the bucket (NoteHead, NoteBids), which costs next to nothing, and the next pass to which it matters
// looks once at each bucket that was noted (SyncHeads, SyncBids). What the clock or a turn changes is
// found by instant, and in the lists of those that wait for a turn.
//
// Nothing of it is saved: every bucket of a restored core is new to it. What does not follow from one
// queue alone is asked as ever, when the pass is about to decide: whether a gang is within its quota,
// what its queue may have at the cost of others. So nothing is decided here.
package due

import (
	"math"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/pq"
)

// A Due knows which entries may get a reservation or bid, and when.
//
// Its invariants, once it is in step:
//
//  1. A bucket with entries is in step with what follows from the records (place, placeBidder), or
//     stands in a list of those that were noted. An empty one stands nowhere.
//  2. A bucket is HeadDue if and only if the queue has it in Heads; later has those that are
//     HeadLater, held those that are HeadHeld.
//  3. queues has the queues with heads, and count has their number by size.
//  4. sought has the bidders that have bid in turn, the others bid at Bidder.At or never.
//
// What becomes due by the clock alone is moved when somebody asks.
type Due struct {
	agenda *agenda.Agenda
	state  *state.State

	later        pq.Heap[*record.Bucket]
	held         []*record.Bucket
	changedHeads []*record.Bucket
	queues       []*record.Queue
	count        [2]int // of one node, of several
	// The turns, the version of the classes and the setting for which the heads were looked at.
	freed, grown agenda.Turn
	headVersion  int
	reserveAfter berth.Duration

	sought      []*record.Bidder
	changedBids []*record.Bucket
	turn        agenda.Turn // for which the bidders were looked at
	bidVersion  int

	// Looked counts the buckets that were looked at, for tests.
	Looked int
}

// New returns one that knows of no bucket.
func New(agenda *agenda.Agenda, state *state.State) *Due {
	return &Due{
		agenda: agenda, state: state,
		later: pq.New(func(a, b *record.Bucket) bool { return a.Heading.At < b.Heading.At }, func(b *record.Bucket, slot int) { b.Heading.Slot = slot }),
	}
}

// Forget forgets a bucket that is empty.
func (d *Due) Forget(b *record.Bucket) {
	d.leaveHeads(b)
	d.unnoteHead(b)
	d.unnoteBids(b)
	for i := range b.Bidders {
		d.dropBidder(b.Bidders[i])
		b.Bidders[i] = nil
	}
}

// asks is what a bidder of a bucket asks for.
func (d *Due) asks(b *record.Bucket) int64 {
	d.state.Compile(b.Shape)
	if asked := b.Shape.Least.GPUMilli; asked > 0 {
		return asked
	}
	return math.MaxInt64
}
