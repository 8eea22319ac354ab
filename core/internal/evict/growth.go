package evict

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/victim"
)

// The part of preemption about gangs that run with fewer members than they want: the doc of package
// victim says what they may take, and why that ends. Growth looks for victims where a bucket of it
// is blocked, nowhere unless some queue uses more than its guarantee, and no queue at its own.

// seekToGrow is Seek for an entry that grows: by as many members as the guarantee of its queue
// leaves, or else by half as many, and so on down to the fewest that come together.
func (ev *Evict) seekToGrow(e *record.Entry, s Seeking, trials *int) (t *victim.Search, victims []record.Piece, ok bool) {
	least := e.Bucket.Shape.Minimum.Groups[0].Members
	for members := ev.mostToGrow(e); ; members = max(least, members/2-members/2%least) {
		before := t
		if t = ev.victims.NewSearchToGrow(e, members, s.avoid); before != nil {
			t.Obstacles = before.Obstacles
		}
		t.PartsOnly, t.SparesNone = s.partsOnly, s.SparesNone
		t.GatherLent()
		budget := *trials
		if members > least {
			budget = (budget + 1) / 2 // the rest is for fewer
		}
		*trials -= budget
		victims, ok = t.Choose(s.Chooser, &budget)
		*trials += budget
		if ok = ok && t.Weighing == nil; ok || t.Waits || members == least || *trials <= 0 {
			t.Cut = t.Cut || members > least
			return t, victims, ok
		}
	}
}

// mostToGrow is how many of the members that an entry lacks the guarantee of its queue leaves, or
// the fewest that come together if it leaves less.
func (ev *Evict) mostToGrow(e *record.Entry) int {
	s := e.Bucket.Shape
	ev.state.Compile(s)
	least, all := s.Minimum.Groups[0].Members, s.Request.Groups[0].Members
	if s.Least.GPUMilli == 0 {
		return least
	}
	left := ev.books.Owed(ev.books.Queues[e.Rep.Job.Queue])
	return int(max(1, min(left/s.Least.GPUMilli, int64(all/least)))) * least
}

// asGroup has members that were found for an entry be of its group.
func asGroup(e *record.Entry, b *Bid) *Bid {
	if e.Grows {
		for i := range b.where {
			b.where[i].Group = e.Part()
		}
	}
	return b
}

// mayBid reports whether an entry may preempt or cause moves, as far as that is known without a
// search, by what its queue may have at the cost of others, in all and of its guarantee.
func (ev *Evict) mayBid(e *record.Entry, share, guarantee int64, preempts bool) bool {
	if e.Grows {
		return ev.asksWithin(e.Bucket, guarantee)
	}
	moves := ev.state.Config.Policy.Defragmentation.Mode == berth.DefragmentationOn
	return ev.asksWithin(e.Bucket, share) || preempts || moves && ev.search.InPieces(e)
}

// asksWithin reports whether entries of a bucket ask for GPUs, and for no more than an amount.
func (ev *Evict) asksWithin(b *record.Bucket, milli int64) bool {
	ev.state.Compile(b.Shape)
	asked := b.Shape.Least.GPUMilli
	return asked > 0 && asked <= milli
}

// outranks reports whether a replica may take the place of the first of its queue to go.
func (c *claim) outranks(rep *record.Replica) bool {
	return c.least != nil && books.MayPreempt(rep, c.least)
}
