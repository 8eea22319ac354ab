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
	if t == nil || t.Head != nil {
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

// Reveal makes the first replica of a batch a record, which waits as it did.
func (bl *Backlog) Reveal(t *record.Batch) *record.Entry {
	head := t.Head
	rep := bl.state.Reveal(t)
	e := &record.Entry{Rep: rep, Bucket: head.Bucket, FreshAt: -1}
	rep.Entries = []*record.Entry{e}
	if head.Batch == t {
		head.Batch = nil
	}
	head.Bucket.Behind--
	head.Bucket.Entries.Push(e)
	if t.Fresh {
		bl.Freshen(e)
	}
	t.Head = e
	if t.Len() > 0 {
		e.Batch = t
	}
	return e
}

// First lists the first entries of a bucket in order.
func (bl *Backlog) First(b *record.Bucket, n int) []*record.Entry {
	var list []*record.Entry
	for len(list) < n && b.Entries.Len() > 0 {
		e := b.Entries.Min()
		if e.Batch != nil && len(list)+1 < n {
			bl.Reveal(e.Batch)
		}
		b.Entries.Remove(e.Slot)
		list = append(list, e)
	}
	for _, e := range list {
		b.Entries.Push(e)
	}
	return list
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

// CutBatch takes the replicas of a batch from a number on out of what waits, and forgets them.
func (bl *Backlog) CutBatch(t *record.Batch, from int) {
	head, many := t.Head, t.End-from
	if many <= 0 {
		return
	}
	bl.state.CutBatch(t, from)
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
