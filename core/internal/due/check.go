package due

import (
	"fmt"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// Check holds what is known of each bucket of some queues against a look at it, and the lists
// against the buckets; first finds the bidders of a bucket. It is for tests.
func (d *Due) Check(queues []*record.Queue, first func(*record.Bucket) [2]*record.Entry) error {
	var seen tally
	var err error
	eachBucket(queues, func(b *record.Bucket) {
		seen.count(b)
		if err == nil && !d.headInStep(b) {
			err = fmt.Errorf("a bucket of queue %d stands elsewhere among those that may get a reservation than its first entry does", b.Queue.Index)
		}
		if err == nil && !d.bidsInStep(b, first) {
			err = fmt.Errorf("a bucket of queue %d bids with other entries than it has, or at another instant", b.Queue.Index)
		}
	})
	for _, q := range queues {
		if q != nil {
			seen.heads -= q.Heads.Len()
			seen.bids -= q.Due.Len() + q.Later.Len()
		}
	}
	for i, q := range d.queues {
		if q.Standings.At != i || q.Heads.Len() == 0 {
			return fmt.Errorf("queue %d is not where it says among those with heads", q.Index)
		}
		seen.queues++
	}
	for _, q := range queues {
		if q != nil && q.Heads.Len() > 0 {
			seen.queues--
		}
	}
	of := tally{later: d.later.Len(), held: len(d.held), changedHeads: len(d.changedHeads), changedBids: len(d.changedBids), sought: len(d.sought), sizes: d.count}
	if err == nil && seen != of {
		err = fmt.Errorf("the buckets stand in %+v, and the lists have %+v", seen, of)
	}
	return err
}

// A tally counts what stands in the lists.
type tally struct {
	later, held, heads, changedHeads, changedBids, sought, bids, queues int
	sizes                                                               [2]int
}

func (t *tally) count(b *record.Bucket) {
	switch b.Heading.Place {
	case record.HeadLater:
		t.later++
	case record.HeadHeld:
		t.held++
	case record.HeadDue:
		t.heads++
		t.sizes[sizeOf(b)]++
	}
	if b.Heading.Changed >= 0 {
		t.changedHeads++
	}
	if b.BidsChanged >= 0 {
		t.changedBids++
	}
	for _, bidder := range b.Bidders {
		if bidder == nil {
			continue
		}
		if bidder.Place != record.BidNever {
			t.bids++
		}
		if bidder.Sought >= 0 {
			t.sought++
		}
	}
}

// headInStep reports whether a bucket stands where a look at it would put it, or is to be looked at.
func (d *Due) headInStep(b *record.Bucket) bool {
	h := &b.Heading
	if h.Changed >= 0 || d.headVersion != d.state.Classes.Version || d.reserveAfter != d.state.Config.Policy.ReserveAfter {
		return h.Changed < 0 || d.changedHeads[h.Changed] == b
	}
	e := b.Entries.Min()
	at, ok := d.At(e)
	switch h.Place {
	case record.HeadNowhere:
		return e.Grows || b.QuotaSlot >= 0 || b.Shape.IsSingle()
	case record.HeadHeld:
		return d.held[h.Slot] == b && (!ok && e.Rep.Reserved == nil || d.freed != d.agenda.FreedTurn || d.grown != d.agenda.GrownTurn)
	case record.HeadLater:
		return d.later.Items()[h.Slot] == b && h.Entry == e && ok && at == h.At
	default:
		return b.Queue.Heads.Items()[h.Slot] == b && h.Entry == e && h.Spans == d.state.SpansNodes(b.Shape) && (ok && at <= d.state.Now || e.Rep.Reserved != nil)
	}
}

// bidsInStep reports whether the bidders of a bucket stand where a look at them would put them, or
// are to be looked at.
func (d *Due) bidsInStep(b *record.Bucket, first func(*record.Bucket) [2]*record.Entry) bool {
	if b.BidsChanged >= 0 || d.bidVersion != d.state.Classes.Version {
		return b.BidsChanged < 0 || d.changedBids[b.BidsChanged] == b
	}
	if b.Behind > 0 && !b.Entries.Min().Bids() {
		return true // to find out would make records of what is in a batch
	}
	for i, e := range first(b) {
		bidder := b.Bidders[i]
		if bidder == nil || bidder.Entry == nil {
			if e != nil {
				return false
			}
			continue
		}
		if bidder.Entry != e || bidder.Bucket != b || bidder.Asks != d.asks(b) || !d.bidInStep(bidder) {
			return false
		}
	}
	return true
}

func (d *Due) bidInStep(bidder *record.Bidder) bool {
	if bidder.Sought >= 0 && d.sought[bidder.Sought] != bidder {
		return false
	}
	if bidder.Sought >= 0 && d.turn != d.agenda.PreemptTurn {
		return true // it is to be looked at
	}
	at := d.LooksFor(bidder.Entry)
	switch q := bidder.Bucket.Queue; bidder.Place {
	case record.BidLater:
		return q.Later.Items()[bidder.Slot] == bidder && at == bidder.At
	case record.BidDue:
		return q.Due.Items()[bidder.Slot] == bidder && at == bidder.At && at <= d.state.Now
	default:
		return at == agenda.Never
	}
}
