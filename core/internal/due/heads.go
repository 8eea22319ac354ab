package due

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/unordered"
	"github.com/berth-sched/berth/quota"
)

// This file is about the heads: the first entries of buckets, as far as they may get a reservation.

// A Size tells gangs of several nodes from those that fit on one: as many of each kind may have
// reservations.
type Size int

const (
	// OneNode is the size of a gang that fits on one node.
	OneNode Size = iota
	// SeveralNodes is that of one which does not.
	SeveralNodes
	sizes
)

// SizeOf is the size of a gang: that of the largest, if its job has alternatives, whichever of them
// it gets its reservation for.
func (d *Due) SizeOf(rep *record.Replica) Size {
	p := rep.Job.Pattern
	for option := range p.Many() {
		if d.state.SpansNodes(p.Option(option).Shape) {
			return SeveralNodes
		}
	}
	return OneNode
}

// At is when an entry may get a reservation. False: it gets none, since it cannot lose to smaller
// work, has one, or would not be helped by one.
func (d *Due) At(e *record.Entry) (berth.Time, bool) {
	b := e.Bucket
	if e.Grows || e.Rep.Reserved != nil || b.QuotaSlot >= 0 || b.Shape.IsSingle() || d.Stalled(e.Rep) || d.CannotPlan(e.Rep) {
		return 0, false
	}
	at := max(e.Rep.PendingSince.Add(d.state.Config.Policy.ReserveAfter), e.Rep.Reserve.Get().At)
	return max(at, d.passedUntil(e.Rep)), true
}

// passedUntil is the instant until which a gang gets no reservation, so that short jobs pass it; 0:
// none is to. It is bounded by half of the run time that the policy assumes: long jobs of other
// queues pass the gang too, and so do those of its own queue that came later.
func (d *Due) passedUntil(rep *record.Replica) berth.Time {
	if rep.Job.Spec.Preferred() || rep.Incarnation > 0 {
		return 0
	}
	return min(rep.Turn(), rep.Created.Add(d.state.Config.Policy.AssumedRuntime/2))
}

// Stalled reports whether a reservation was no help to a replica, and nothing became free since.
func (d *Due) Stalled(rep *record.Replica) bool {
	return rep.Reserve.Get().StalledAt == d.agenda.FreedTurn
}

// CannotPlan reports whether a replica would not fit if all that is expected to end had ended, and
// there is no more to plan with since.
func (d *Due) CannotPlan(rep *record.Replica) bool {
	return rep.Reserve.Get().HopelessAt == d.agenda.GrownTurn
}

// NoteHead notes that the first entry of a bucket is another, or may get a reservation otherwise
// than before. Where no bucket is ready, those that quota does not hold back are blocked: so blocks
// come and go without a note.
func (d *Due) NoteHead(b *record.Bucket) {
	if s := d.stateOf(b); s != nil && s.headNoted < 0 && !b.Shape.IsSingle() {
		s.headNoted = len(d.changedHeads)
		d.changedHeads = append(d.changedHeads, s)
	}
}

func (d *Due) unnoteHead(s *bucketState) {
	if s.headNoted >= 0 {
		d.changedHeads = unordered.Remove(d.changedHeads, s.headNoted, func(s *bucketState, at int) { s.headNoted = at })
		s.headNoted = -1
	}
}

// NoteEntries notes the buckets of all entries of a replica, for reservations and for bids.
func (d *Due) NoteEntries(rep *record.Replica) {
	for _, e := range rep.Entries {
		d.NoteHead(e.Bucket)
		d.NoteBids(e.Bucket)
	}
}

// SyncHeads brings the heads up to date where no bucket is ready, and returns when one more may get
// a reservation. O(log buckets) for each that was noted, or has become due.
func (d *Due) SyncHeads() (next berth.Time) {
	after := d.state.Config.Policy.ReserveAfter
	if d.headVersion != d.state.Classes.Version || d.reserveAfter != after {
		d.headVersion, d.reserveAfter = d.state.Classes.Version, after
		d.eachBucket(d.NoteHead)
	}
	if d.freed != d.agenda.FreedTurn || d.grown != d.agenda.GrownTurn {
		d.freed, d.grown = d.agenda.FreedTurn, d.agenda.GrownTurn
		for _, s := range d.held {
			d.NoteHead(s.bucket)
		}
	}
	for d.later.Len() > 0 && d.later.Min().at <= d.state.Now {
		d.look(d.later.Min())
	}
	for len(d.changedHeads) > 0 {
		s := d.changedHeads[len(d.changedHeads)-1]
		d.unnoteHead(s)
		d.look(s)
	}
	if d.later.Len() == 0 {
		return agenda.Never
	}
	return d.later.Min().at
}

// look puts a bucket where its first entry belongs.
func (d *Due) look(s *bucketState) {
	d.Looked++
	d.leaveHeads(s)
	b := s.bucket
	e := b.Entries.Min()
	switch at, ok := d.At(e); {
	case e.Grows || b.QuotaSlot >= 0 || b.Shape.IsSingle(): // it gets none
	case ok && at > d.state.Now:
		s.entry, s.at, s.place = e, at, inLater
		d.later.Push(s)
	case ok || e.Rep.Reserved != nil: // those behind it may be due
		s.entry, s.place, s.size = e, inHeads, d.SizeOf(e.Rep)
		d.enterHeads(s)
	default:
		s.entry, s.place, s.slot = e, inHeld, len(d.held)
		d.held = append(d.held, s)
	}
}

func (d *Due) enterHeads(s *bucketState) {
	q := d.queueOf(s.bucket.Queue)
	q.heads[s.size].Push(s)
	q.known = false
	d.count[s.size]++
	if q.at < 0 {
		q.at = len(d.lines)
		d.lines = append(d.lines, q)
	}
}

func (d *Due) leaveHeads(s *bucketState) {
	switch s.place {
	case nowhere:
		return
	case inLater:
		d.later.Remove(s.slot)
	case inHeld:
		d.held = unordered.Remove(d.held, s.slot, func(s *bucketState, at int) { s.slot = at })
	case inHeads:
		q := d.queueOf(s.bucket.Queue)
		q.heads[s.size].Remove(s.slot)
		q.known = false
		d.count[s.size]--
		if q.manyHeads() == 0 {
			d.lines = unordered.Remove(d.lines, q.at, func(q *queue, at int) { q.at = at })
			q.at = -1
		}
	}
	s.entry, s.place, s.slot = nil, nowhere, -1
}

func (q *queue) manyHeads() int { return q.heads[OneNode].Len() + q.heads[SeveralNodes].Len() }

// EachQueue calls a function with each queue that has heads, in no order that matters. All heads
// are as they were at the last SyncHeads.
func (d *Due) EachQueue(f func(*record.Queue)) {
	for _, q := range d.lines {
		f(q.queue)
	}
}

// HeadsOf are the heads of one size.
func (d *Due) HeadsOf(size Size) Heads { return Heads{d, size} }

// Heads are those of one size.
type Heads struct {
	due  *Due
	size Size
}

// Len counts the heads.
func (h Heads) Len() int { return h.due.count[h.size] }

// EachQueue calls a function with each queue that has such heads and with the first of these, in no
// order that matters, until it returns false.
func (h Heads) EachQueue(f func(q *record.Queue, first *record.Entry) bool) {
	for _, q := range h.due.lines {
		if heads := &q.heads[h.size]; heads.Len() > 0 && !f(q.queue, heads.Min().entry) {
			return
		}
	}
}

// EachHead calls a function with each such head of a queue, in no order that matters, until it
// returns false.
func (h Heads) EachHead(of quota.QueueIndex, f func(*record.Entry) bool) {
	for _, s := range h.due.byQueue[of].heads[h.size].Items() {
		h.due.Looked++
		if !f(s.entry) {
			return
		}
	}
}

// Most is what a head of a queue asks for at the most, of each resource: a queue that may have it
// may have what any of its heads asks for. False: they ask for several products, and so there is no
// such charge. O(heads of the queue) after a change, else O(1).
func (d *Due) Most(of quota.QueueIndex) (most quota.Charge, some bool) {
	q := d.byQueue[of]
	if !q.known {
		q.most, q.alike = d.mostOf(q)
		q.known = true
	}
	return q.most, q.alike
}

// mostOf is Most, by a look at all heads.
func (d *Due) mostOf(q *queue) (most quota.Charge, alike bool) {
	alike = true
	for size := range q.heads {
		for _, s := range q.heads[size].Items() {
			d.state.Compile(s.bucket.Shape)
			c := &s.bucket.Shape.Least
			if c.GPUMilli > 0 && c.Product != quota.NoProduct {
				alike = alike && (most.Product == quota.NoProduct || most.Product == c.Product)
				most.Product = c.Product
			}
			most.GPUMilli = max(most.GPUMilli, c.GPUMilli)
			for r := range most.Host {
				most.Host[r] = max(most.Host[r], c.Host[r])
			}
			most.Declared = most.Declared.Most(c.Declared)
		}
	}
	return most, alike
}
