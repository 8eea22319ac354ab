package due

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
)

// This file is about the heads: the first entry of each bucket, as far as it may get a reservation.

// At is when an entry may get a reservation. False: it gets none, since it cannot lose to smaller
// work, has one, or would not be helped by one.
func (d *Due) At(e *record.Entry) (berth.Time, bool) {
	b := e.Bucket
	if e.Grows || e.Rep.Reserved != nil || b.QuotaSlot >= 0 || b.Shape.IsSingle() || d.Stalled(e.Rep) || d.Hopeless(e.Rep) {
		return 0, false
	}
	return max(e.Rep.PendingSince.Add(d.state.Config.Policy.ReserveAfter), e.Rep.Reserve.At), true
}

// Stalled reports whether a reservation was no help to a replica, and nothing became free since.
func (d *Due) Stalled(rep *record.Replica) bool { return rep.Reserve.StalledAt == d.agenda.FreedTurn }

// Hopeless reports whether a replica would not fit if all that is expected to end had ended, and
// there is no more to plan with since.
func (d *Due) Hopeless(rep *record.Replica) bool { return rep.Reserve.HopelessAt == d.agenda.GrownTurn }

// NoteHead notes that the first entry of a bucket is another, or may get a reservation otherwise
// than before. Where no bucket is ready, those that quota does not hold back are blocked: so blocks
// come and go without a note.
func (d *Due) NoteHead(b *record.Bucket) {
	if b.Heading.Changed < 0 && b.Entries.Len() > 0 {
		b.Heading.Changed = len(d.changedHeads)
		d.changedHeads = append(d.changedHeads, b)
	}
}

func (d *Due) unnoteHead(b *record.Bucket) {
	if at := b.Heading.Changed; at >= 0 {
		d.changedHeads = unordered.Remove(d.changedHeads, at, func(b *record.Bucket, at int) { b.Heading.Changed = at })
		b.Heading.Changed = -1
	}
}

// NoteEntries notes the buckets of all entries of a replica, for reservations and for bids.
func (d *Due) NoteEntries(rep *record.Replica) {
	for _, e := range rep.Entries {
		d.NoteHead(e.Bucket)
		d.NoteBids(e.Bucket)
	}
}

// SyncHeads brings the heads up to date, and returns when one more may get a reservation. Nothing is
// ready then. O(log buckets) for each that was noted, or has become due.
func (d *Due) SyncHeads(queues []*record.Queue) (next berth.Time) {
	after := d.state.Config.Policy.ReserveAfter
	if d.headVersion != d.state.Classes.Version || d.reserveAfter != after {
		d.headVersion, d.reserveAfter = d.state.Classes.Version, after
		eachBucket(queues, d.NoteHead)
	}
	if d.freed != d.agenda.FreedTurn || d.grown != d.agenda.GrownTurn {
		d.freed, d.grown = d.agenda.FreedTurn, d.agenda.GrownTurn
		for _, b := range d.held {
			d.NoteHead(b)
		}
	}
	for d.later.Len() > 0 && d.later.Min().Heading.At <= d.state.Now {
		d.place(d.later.Min())
	}
	for len(d.changedHeads) > 0 {
		b := d.changedHeads[len(d.changedHeads)-1]
		d.unnoteHead(b)
		d.place(b)
	}
	if d.later.Len() == 0 {
		return agenda.Never
	}
	return d.later.Min().Heading.At
}

// place looks at a bucket.
func (d *Due) place(b *record.Bucket) {
	d.Looked++
	d.leaveHeads(b)
	e, h := b.Entries.Min(), &b.Heading
	switch at, ok := d.At(e); {
	case e.Grows || b.QuotaSlot >= 0 || b.Shape.IsSingle(): // it gets none
	case ok && at > d.state.Now:
		h.Entry, h.At, h.Place = e, at, record.HeadLater
		d.later.Push(b)
	case ok || e.Rep.Reserved != nil: // those behind it may be due
		h.Entry, h.At, h.Place, h.Spans = e, at, record.HeadDue, d.state.SpansNodes(b.Shape)
		d.enterHeads(b)
	default:
		h.Entry, h.Place, h.Slot = e, record.HeadHeld, len(d.held)
		d.held = append(d.held, b)
	}
}

func (d *Due) enterHeads(b *record.Bucket) {
	q := b.Queue
	q.EnterHead(b)
	d.count[sizeOf(b)]++
	if q.Standings.At < 0 {
		q.Standings.At = len(d.queues)
		d.queues = append(d.queues, q)
	}
}

func (d *Due) leaveHeads(b *record.Bucket) {
	h, q := &b.Heading, b.Queue
	switch h.Place {
	case record.HeadLater:
		d.later.Remove(h.Slot)
	case record.HeadHeld:
		d.held = unordered.Remove(d.held, h.Slot, func(b *record.Bucket, at int) { b.Heading.Slot = at })
	case record.HeadDue:
		q.LeaveHead(b)
		d.count[sizeOf(b)]--
		if q.Heads.Len() == 0 {
			d.queues = unordered.Remove(d.queues, q.Standings.At, func(q *record.Queue, at int) { q.Standings.At = at })
			q.Standings.At = -1
		}
	}
	h.Entry, h.Place, h.Slot = nil, record.HeadNowhere, -1
}

func sizeOf(b *record.Bucket) int {
	if b.Heading.Spans {
		return 1
	}
	return 0
}

// Queues are the queues with heads, in no order that matters. It is in step with the last SyncHeads.
func (d *Due) Queues() []*record.Queue { return d.queues }

// Heads counts the heads of gangs that fit on one node, and of those that need several.
func (d *Due) Heads() [2]int { return d.count }

func eachBucket(queues []*record.Queue, f func(*record.Bucket)) {
	for _, q := range queues {
		if q == nil {
			continue
		}
		for _, b := range q.List {
			f(b)
		}
	}
}
