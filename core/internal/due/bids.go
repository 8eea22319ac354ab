package due

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
)

// This file is about the bidders: of each bucket the first whole gang and the first entry that grows,
// as far as nothing is planned for them yet.

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
	if b.BidsChanged < 0 && b.Entries.Len() > 0 {
		b.BidsChanged = len(d.changedBids)
		d.changedBids = append(d.changedBids, b)
	}
}

func (d *Due) unnoteBids(b *record.Bucket) {
	if at := b.BidsChanged; at >= 0 {
		d.changedBids = unordered.Remove(d.changedBids, at, func(b *record.Bucket, at int) { b.BidsChanged = at })
		b.BidsChanged = -1
	}
}

// SyncBids brings the bidders up to date; first finds those of a bucket, nil where there is none.
// O(log buckets) for each bucket that was noted, or has bid in the last turn.
func (d *Due) SyncBids(queues []*record.Queue, first func(*record.Bucket) [2]*record.Entry) {
	if d.bidVersion != d.state.Classes.Version {
		d.bidVersion = d.state.Classes.Version
		eachBucket(queues, d.NoteBids)
	}
	if d.turn != d.agenda.PreemptTurn {
		d.turn = d.agenda.PreemptTurn
		for _, bidder := range d.sought {
			d.NoteBids(bidder.Bucket)
		}
	}
	for len(d.changedBids) > 0 {
		b := d.changedBids[len(d.changedBids)-1]
		d.unnoteBids(b)
		d.Looked++
		for i, e := range first(b) {
			d.placeBidder(b, i, e)
		}
	}
}

// placeBidder has an entry bid for its bucket; nil: none does.
func (d *Due) placeBidder(b *record.Bucket, i int, e *record.Entry) {
	bidder := b.Bidders[i]
	if bidder == nil && e == nil {
		return
	}
	if bidder == nil {
		bidder = &record.Bidder{Bucket: b, Slot: -1, Sought: -1}
		b.Bidders[i] = bidder
	}
	d.dropBidder(bidder)
	if bidder.Entry = e; e == nil {
		return
	}
	bidder.Asks, bidder.At = d.asks(b), d.LooksFor(e)
	switch {
	case bidder.At == agenda.Never:
	case bidder.At > d.state.Now:
		bidder.Place = record.BidLater
		b.Queue.Later.Push(bidder)
	default:
		bidder.Place = record.BidDue
		b.Queue.Due.Push(bidder)
	}
	if e.Bid.Turn == d.agenda.PreemptTurn {
		bidder.Sought = len(d.sought)
		d.sought = append(d.sought, bidder)
	}
}

// dropBidder has a bidder stand nowhere; nil: it does.
func (d *Due) dropBidder(bidder *record.Bidder) {
	if bidder == nil {
		return
	}
	switch bidder.Place {
	case record.BidLater:
		bidder.Bucket.Queue.Later.Remove(bidder.Slot)
	case record.BidDue:
		bidder.Bucket.Queue.Due.Remove(bidder.Slot)
	}
	if bidder.Sought >= 0 {
		d.sought = unordered.Remove(d.sought, bidder.Sought, func(bidder *record.Bidder, at int) { bidder.Sought = at })
		bidder.Sought = -1
	}
	bidder.Place, bidder.Entry = record.BidNever, nil
}

// EachDue calls a function with the bidders of a queue that are due, as far as they ask for no more
// GPUs than an amount, and for some, until it returns false. O(log bidders) for each that becomes
// due, O(1) for each that it is called with.
func (d *Due) EachDue(q *record.Queue, most int64, f func(*record.Entry) bool) {
	for q.Later.Len() > 0 && q.Later.Min().At <= d.state.Now {
		bidder := q.Later.Pop()
		bidder.Place = record.BidDue
		q.Due.Push(bidder)
	}
	d.eachBelow(q.Due.Items(), 0, most, f)
}

func (d *Due) eachBelow(heap []*record.Bidder, i int, most int64, f func(*record.Entry) bool) bool {
	if i >= len(heap) || heap[i].Asks > most {
		return true
	}
	d.Looked++
	return f(heap[i].Entry) && d.eachBelow(heap, 2*i+1, most, f) && d.eachBelow(heap, 2*i+2, most, f)
}

// NextBid is the first instant before a given one at which a bidder of a queue is due of which a
// function tells that it may bid; else the given one. EachDue came before.
func (d *Due) NextBid(q *record.Queue, before berth.Time, may func(*record.Entry) bool) berth.Time {
	return d.nextBelow(q.Later.Items(), 0, before, may)
}

func (d *Due) nextBelow(heap []*record.Bidder, i int, before berth.Time, may func(*record.Entry) bool) berth.Time {
	if i >= len(heap) || heap[i].At >= before {
		return before
	}
	d.Looked++
	if may(heap[i].Entry) {
		return heap[i].At
	}
	return d.nextBelow(heap, 2*i+2, d.nextBelow(heap, 2*i+1, before, may), may)
}
