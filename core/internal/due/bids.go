package due

import (
	"math"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
)

// This file is about the bidders: of each bucket the first whole gang and the first entry that
// grows, as far as nothing is planned for them yet.
//
// The law. For a bidder e of a bucket b, let retry(e) be the latest of the instants before which
// it or its replica looks for nothing, ripe(e) the instant from which on the answer of its last
// search may be another by the clock alone, and T the turn of preemption, which rises with each
// change after which any search may find more. Then
//
//	at(e) = min(ripe(e), retry(e))  if e has not bid in turn T
//	at(e) = ripe(e)                 if it has
//
// and e bids in a pass at an instant t if and only if at(e) <= t, and the least that b asks for is
// no more than the queue of b may have at the cost of others at t.
//
// The case: most buckets wait and nothing has changed for them, and each pass asked every bucket
// of every queue for its first bidder. Now a pass looks at the buckets that were noted, at the
// bidders that a new turn frees, and at those that are due.
//
// Rejected: to keep the second half of the law, what a queue may have, with the bidder. It follows
// from the use and the demand of every queue of the tree, and changes with each start. So the
// bidders of a queue are in a heap by what they ask for, and a pass reads it up to the amount that
// holds at that instant (EachDue).

// LooksFor is when to look again for victims of an entry; never: when something changes.
func (d *Due) LooksFor(e *record.Entry) berth.Time {
	at := agenda.Never
	if e.Bid.Turn != d.agenda.PreemptTurn {
		at = max(e.Bid.At, e.Rep.BidsAt)
	}
	if e.Bid.RipeAt != 0 {
		at = min(at, e.Bid.RipeAt)
	}
	return at
}

// NoteBids notes that an entry of a bucket came or went, or bids at another instant than before.
func (d *Due) NoteBids(b *record.Bucket) {
	if s := d.stateOf(b); s != nil && s.bidsNoted < 0 {
		s.bidsNoted = len(d.changedBids)
		d.changedBids = append(d.changedBids, s)
	}
}

func (d *Due) unnoteBids(s *bucketState) {
	if s.bidsNoted >= 0 {
		d.changedBids = unordered.Remove(d.changedBids, s.bidsNoted, func(s *bucketState, at int) { s.bidsNoted = at })
		s.bidsNoted = -1
	}
}

// SyncBids brings the bidders up to date; first finds those of a bucket, nil where there is none.
// O(log buckets) for each bucket that was noted, or has bid in the last turn.
func (d *Due) SyncBids(first func(*record.Bucket) [2]*record.Entry) {
	if d.bidVersion != d.state.Classes.Version {
		d.bidVersion = d.state.Classes.Version
		d.eachBucket(d.NoteBids)
	}
	if d.turn != d.agenda.PreemptTurn {
		d.turn = d.agenda.PreemptTurn
		for _, w := range d.sought {
			d.NoteBids(w.bucket.bucket)
		}
	}
	for len(d.changedBids) > 0 {
		s := d.changedBids[len(d.changedBids)-1]
		d.unnoteBids(s)
		d.Looked++
		for i, e := range first(s.bucket) {
			d.bid(&s.bidders[i], e)
		}
	}
}

// bid has an entry bid for its bucket; nil: none does.
func (d *Due) bid(w *bidder, e *record.Entry) {
	d.removeBidder(w)
	if e == nil {
		return
	}
	q := d.queueOf(w.bucket.bucket.Queue)
	w.entry, w.asks, w.at, w.since = e, d.asks(w.bucket.bucket), d.LooksFor(e), e.Rep.PendingSince
	switch {
	case w.at == agenda.Never:
	case w.at > d.state.Now:
		w.place = bidLater
		q.later.Push(w)
	default:
		w.place = bidDue
		q.due.Push(w)
	}
	if w.place != never {
		q.outline.add(w)
	}
	if e.Bid.Turn == d.agenda.PreemptTurn {
		w.sought = len(d.sought)
		d.sought = append(d.sought, w)
	}
}

// removeBidder takes a bidder out of every list.
func (d *Due) removeBidder(w *bidder) {
	if w.entry == nil {
		return
	}
	q := d.queueOf(w.bucket.bucket.Queue)
	q.outlineKnown = q.outlineKnown && (w.place == never || q.outline.isUnchangedWithout(w))
	switch w.place {
	case bidLater:
		q.later.Remove(w.slot)
	case bidDue:
		q.due.Remove(w.slot)
	}
	if w.sought >= 0 {
		d.sought = unordered.Remove(d.sought, w.sought, func(w *bidder, at int) { w.sought = at })
		w.sought = -1
	}
	w.place, w.entry = never, nil
}

// asks is what a bidder of a bucket asks for.
func (d *Due) asks(b *record.Bucket) int64 {
	d.state.Compile(b.Shape)
	if asked := b.Shape.Least.GPUMilli; asked > 0 {
		return asked
	}
	return math.MaxInt64
}

// AnyBids reports whether some entry of a queue bids, now or at a known instant.
func (d *Due) AnyBids(of *record.Queue) bool {
	if int(of.Index) >= len(d.byQueue) || d.byQueue[of.Index] == nil {
		return false
	}
	q := d.byQueue[of.Index]
	return q.due.Len()+q.later.Len() > 0
}

// An Outline is what the bidders of a queue have in common that bid now or at a known instant.
type Outline struct {
	// Since is the start of the longest wait, Fewest the smallest number of GPUs that one asks for,
	// in thousandths, and Class the highest class.
	Since  berth.Time
	Fewest int64
	Class  berth.Class
}

func (o *Outline) add(w *bidder) {
	o.Since, o.Fewest, o.Class = min(o.Since, w.since), min(o.Fewest, w.asks), max(o.Class, w.entry.Rep.Job.Spec.Class)
}

// isUnchangedWithout reports whether an outline is the same without a bidder.
func (o *Outline) isUnchangedWithout(w *bidder) bool {
	class := w.entry.Rep.Job.Spec.Class
	return w.since > o.Since && w.asks > o.Fewest && (class < o.Class || class == 0)
}

// Outline is that of the bidders of a queue. O(bidders of the queue) after one has gone that made a
// difference, else O(1).
func (d *Due) Outline(of *record.Queue) *Outline {
	q := d.queueOf(of)
	if !q.outlineKnown {
		q.outline, q.outlineKnown = outlineOf(q), true
		d.Looked += q.due.Len() + q.later.Len()
	}
	return &q.outline
}

// outlineOf is Outline, by a look at all bidders.
func outlineOf(q *queue) Outline {
	o := Outline{Since: agenda.Never, Fewest: math.MaxInt64}
	for _, list := range [...][]*bidder{q.due.Items(), q.later.Items()} {
		for _, w := range list {
			o.add(w)
		}
	}
	return o
}

// EachDue calls a function with the bidders of a queue that are due and ask for no more GPUs than
// an amount, in no order that matters, until it returns false. O(log bidders) for each that
// becomes due, O(1) for each that it is called with.
func (d *Due) EachDue(of *record.Queue, most int64, f func(*record.Entry) bool) {
	q := d.queueOf(of)
	for q.later.Len() > 0 && q.later.Min().at <= d.state.Now {
		w := q.later.Pop()
		w.place = bidDue
		q.due.Push(w)
	}
	d.eachBelow(q.due.Items(), 0, most, f)
}

// eachBelow is EachDue for the part of a heap below a position, which begins with the least.
func (d *Due) eachBelow(heap []*bidder, i int, most int64, f func(*record.Entry) bool) bool {
	if i >= len(heap) || heap[i].asks > most {
		return true
	}
	d.Looked++
	return f(heap[i].entry) && d.eachBelow(heap, 2*i+1, most, f) && d.eachBelow(heap, 2*i+2, most, f)
}

// NextBid is the first instant before a given one at which a bidder of a queue is due and may bid;
// else the given one. The function is the instant from which on an entry may. EachDue came before.
func (d *Due) NextBid(of *record.Queue, before berth.Time, from func(*record.Entry) berth.Time) berth.Time {
	return d.nextBelow(d.queueOf(of).later.Items(), 0, before, from)
}

// nextBelow is NextBid for the part of a heap below a position, which begins with the soonest.
func (d *Due) nextBelow(heap []*bidder, i int, before berth.Time, from func(*record.Entry) berth.Time) berth.Time {
	if i >= len(heap) || heap[i].at >= before {
		return before
	}
	d.Looked++
	before = min(before, max(heap[i].at, from(heap[i].entry)))
	return d.nextBelow(heap, 2*i+2, d.nextBelow(heap, 2*i+1, before, from), from)
}
