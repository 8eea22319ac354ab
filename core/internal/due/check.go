package due

import (
	"fmt"

	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// Check holds what is known of each bucket of some queues against a look at it, and the lists
// against the buckets; first finds the bidders of a bucket. It is for tests.
func (d *Due) Check(queues []*record.Queue, first func(*record.Bucket) [2]*record.Entry) error {
	seen, buckets := tally{}, 0
	for _, q := range queues {
		if q == nil {
			continue
		}
		for _, b := range q.List {
			buckets++
			s := d.buckets[b.Due]
			switch {
			case b.Due == 0 || s.bucket != b:
				return fmt.Errorf("a bucket of queue %d has no standing", q.Index)
			case !d.headInStep(s):
				return fmt.Errorf("a bucket of queue %d stands otherwise among those that may get a reservation than its first entry does", q.Index)
			case !d.bidsInStep(s, first):
				return fmt.Errorf("a bucket of queue %d bids with other entries than it has, or at another instant", q.Index)
			}
			seen.add(s)
		}
	}
	of := tally{later: d.later.Len(), held: len(d.held), changedHeads: len(d.changedHeads), changedBids: len(d.changedBids), sought: len(d.sought), sizes: d.count}
	withHeads := 0
	for _, q := range d.byQueue {
		if q == nil {
			continue
		}
		of.heads, of.bids = of.heads+q.manyHeads(), of.bids+q.due.Len()+q.later.Len()
		if (q.manyHeads() > 0) != (q.at >= 0) || q.at >= 0 && d.lines[q.at] != q {
			return fmt.Errorf("a queue is not where it says among those with heads")
		}
		if !d.mostInStep(q) {
			return fmt.Errorf("the heads of queue %d ask for something else at the most than is noted", q.queue.Index)
		}
		if q.outlineKnown && q.outline != outlineOf(q) {
			return fmt.Errorf("the bidders of queue %d have another outline than is noted", q.queue.Index)
		}
		if q.at >= 0 {
			withHeads++
		}
	}
	if seen != of || withHeads != len(d.lines) || buckets != len(d.buckets)-1-len(d.vacant) {
		return fmt.Errorf("%d buckets stand in %+v, the lists have %+v", buckets, seen, of)
	}
	return nil
}

// mostInStep reports whether the most that heads of a queue ask for is what is known of it, or they
// are to be looked at.
func (d *Due) mostInStep(q *queue) bool {
	if !q.known || d.headVersion != d.state.Classes.Version {
		return true
	}
	most, alike := d.mostOf(q)
	return most.Equal(q.most) && alike == q.alike
}

// A tally counts what stands in the lists.
type tally struct {
	later, held, heads, changedHeads, changedBids, sought, bids int
	sizes                                                       [sizes]int
}

func (t *tally) add(s *bucketState) {
	switch s.place {
	case inLater:
		t.later++
	case inHeld:
		t.held++
	case inHeads:
		t.heads++
		t.sizes[s.size]++
	}
	if s.headNoted >= 0 {
		t.changedHeads++
	}
	if s.bidsNoted >= 0 {
		t.changedBids++
	}
	for i := range s.bidders {
		if s.bidders[i].place != never {
			t.bids++
		}
		if s.bidders[i].sought >= 0 {
			t.sought++
		}
	}
}

// headInStep reports whether a bucket stands where a look at it would put it, or is to be looked
// at.
func (d *Due) headInStep(s *bucketState) bool {
	if s.headNoted >= 0 || d.headVersion != d.state.Classes.Version || d.reserveAfter != d.state.Config.Policy.ReserveAfter {
		return s.headNoted < 0 || d.changedHeads[s.headNoted] == s
	}
	b := s.bucket
	e := b.Entries.Min()
	at, ok := d.At(e)
	switch s.place {
	case nowhere:
		return e.Grows || b.QuotaSlot >= 0 || b.Shape.IsSingle()
	case inHeld:
		return d.held[s.slot] == s && (!ok && e.Rep.Reserved == nil || d.freed != d.agenda.FreedTurn || d.grown != d.agenda.GrownTurn)
	case inLater:
		return d.later.Items()[s.slot] == s && s.entry == e && ok && at == s.at
	}
	return s.size == d.SizeOf(e.Rep) && d.queueOf(b.Queue).heads[s.size].Items()[s.slot] == s && s.entry == e &&
		(ok && at <= d.state.Now || e.Rep.Reserved != nil)
}

// bidsInStep reports whether the bidders of a bucket stand where a look at them would put them, or
// are to be looked at.
func (d *Due) bidsInStep(s *bucketState, first func(*record.Bucket) [2]*record.Entry) bool {
	b := s.bucket
	if s.bidsNoted >= 0 || d.bidVersion != d.state.Classes.Version {
		return s.bidsNoted < 0 || d.changedBids[s.bidsNoted] == s
	}
	if b.Behind > 0 && !b.Entries.Min().Bids() {
		return true // to find out would make records of what is in a batch
	}
	for i, e := range first(b) {
		if w := &s.bidders[i]; w.entry != e || e != nil && (w.asks != d.asks(b) || w.since != e.Rep.PendingSince || !d.bidInStep(w)) {
			return false
		}
	}
	return true
}

func (d *Due) bidInStep(w *bidder) bool {
	if w.sought >= 0 && (d.sought[w.sought] != w || d.turn != d.agenda.PreemptTurn) {
		return d.sought[w.sought] == w // and it is to be looked at
	}
	at, q := d.LooksFor(w.entry), d.queueOf(w.bucket.bucket.Queue)
	switch w.place {
	case bidLater:
		return q.later.Items()[w.slot] == w && at == w.at
	case bidDue:
		return q.due.Items()[w.slot] == w && at == w.at && at <= d.state.Now
	}
	return at == agenda.Never
}
