package backlog

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// Replicas of a service that are no more than a number as yet, behind the entry of the one before
// them. Whatever counts those that wait counts them; they become records one by one, as the first
// entries of a bucket are looked at.

// AwaitBatch has the batch of the numbers after that of a replica that has just come wait behind
// it, if there is one.
func (bl *Backlog) AwaitBatch(rep *record.Replica) {
	t := rep.Job.BatchOf(rep.Number + 1)
	if t == nil || t.Head != nil || rep.Entries == nil {
		return
	}
	head := rep.Entries[0]
	t.Head, t.Fresh = head, head.FreshAt >= 0
	head.Batch = t
	bl.countBatch(t, t.Len())
}

// countBatch counts replicas that wait in a batch, or do so no longer.
func (bl *Backlog) countBatch(t *record.Batch, change int) {
	b := t.Head.Bucket
	bl.count(t.Head, change)
	b.Behind += change
	b.Queue.Waiting += change
}

// First lists the first entries of a bucket in order.
func (bl *Backlog) First(b *record.Bucket, n int) []*record.Entry {
	var list []*record.Entry
	for len(list) < n && b.Entries.Len() > 0 {
		e := b.Entries.Min()
		if e.Batch != nil && len(list)+1 < n {
			bl.Reveal(e.Batch)
		}
		b.Entries.Remove(int(e.Slot))
		list = append(list, e)
	}
	for _, e := range list {
		b.Entries.Push(e)
	}
	return list
}

// SyncBids brings up to date which entries bid, and when.
func (bl *Backlog) SyncBids() {
	bl.Due.SyncBids(bl.bidders)
}

// CheckDue holds what is known of when entries are due against the entries.
func (bl *Backlog) CheckDue() error { return bl.Due.Check(bl.books.Queues, bl.bidders) }

func (bl *Backlog) bidders(b *record.Bucket) [2]*record.Entry {
	if b.Shape.Borrows { // nobody has to go for it
		return [2]*record.Entry{}
	}
	return [...]*record.Entry{bl.Bidder(b), bl.Grower(b)}
}

// Bidder is the first entry of a bucket that may bid; nil: there is none.
func (bl *Backlog) Bidder(b *record.Bucket) *record.Entry {
	if first := b.Entries.Min(); first.Bids() {
		return first
	}
	var bidder *record.Entry
	for i := 0; i < b.Entries.Len(); i++ {
		e := b.Entries.Items()[i]
		for !e.Bids() && e.Batch != nil {
			e = bl.Reveal(e.Batch)
		}
		if e.Bids() && (bidder == nil || record.CompareEntries(e, bidder) < 0) {
			bidder = e
		}
	}
	return bidder
}

// Grower is the first entry of a bucket that may bid for further members; nil: there is none. A
// whole gang that comes first and asks for the same may have whatever that could.
func (bl *Backlog) Grower(b *record.Bucket) (grower *record.Entry) {
	bids := func(e *record.Entry) bool { return e.Grows && e.Rep.PlannedReservation() == nil }
	switch first := b.Entries.Min(); {
	case !first.Grows:
		return nil
	case bids(first):
		return first
	}
	for _, e := range b.Entries.Items() {
		if bids(e) && (grower == nil || record.CompareEntries(e, grower) < 0) {
			grower = e
		}
	}
	return grower
}

// CutBatch takes the replicas of a batch from a number on out of what waits, and forgets them.
func (bl *Backlog) CutBatch(t *record.Batch, from int) {
	head, many := t.Head, t.End-from
	if many <= 0 {
		return
	}
	bl.state.CutBatch(t, from)
	if head == nil { // it waits for a budget
		return
	}
	if t.Len() == 0 {
		head.Batch = nil
	}
	bl.countBatch(t, -many)
	bl.noteFirst(head.Bucket)
}

// Skip has the first replicas of a fresh batch be fresh no longer: they would fare there as the
// one before them did. The others stay fresh, behind a record of their own.
func (bl *Backlog) Skip(t *record.Batch, many int) {
	t.Fresh = false
	if many < t.Len() {
		rest := bl.state.SplitBatch(t, many)
		rest.Fresh = true
		bl.Reveal(rest)
	}
}
