package books

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
)

// The books keep per queue which waiting jobs may preempt, so that a pass skips queues without
// one.

// touch notes that what a queue uses or waits for has changed.
func (bk *Books) touch(q *record.Queue) {
	if !q.Touched {
		q.Touched = true
		bk.Touched = append(bk.Touched, q)
	}
}

// CountKeeper counts the queues that do not lend all that they are guaranteed.
func (bk *Books) CountKeeper(q *record.Queue, keeps bool) { state.Count(&bk.Keeping, &q.Keeps, keeps) }

// RecountQueue brings up to date what follows from a queue's place in the tree.
func (bk *Books) RecountQueue(i quota.QueueIndex) {
	bk.countLender(i)
	bk.touch(bk.Queues[i])
}

// CountDemand counts what entries of a bucket wait for, or wait for no longer: of jobs without
// alternatives.
func (bk *Books) CountDemand(b *record.Bucket, entries int64) {
	bk.state.Compile(b.Shape)
	b.Queue.WaitingMilli += entries * b.Shape.Charge.GPUMilli
	bk.touch(b.Queue)
}

// CountEntry is CountDemand for one entry.
func (bk *Books) CountEntry(e *record.Entry, change int64) {
	if !e.Rep.Job.HasAlternatives() {
		bk.CountDemand(e.Bucket, change)
		return
	}
	e.Bucket.Queue.WaitingMilli += change * bk.mostOf(e)
	bk.touch(e.Bucket.Queue)
}

// mostOf is what an entry of a job with alternatives waits for: the most that one of them asks for,
// as the job may come to hold that, and for the others nothing.
func (bk *Books) mostOf(e *record.Entry) (most int64) {
	if e.IsAlternative() {
		return 0
	}
	for _, p := range e.Rep.Job.Pattern.Options {
		bk.state.Compile(p.Shape)
		most = max(most, p.Shape.Charge.GPUMilli)
	}
	return most
}

// waitsFor is what a bucket waits for, in thousandths of a GPU. O(1), or O(entries) where some are
// of jobs with alternatives.
func (bk *Books) waitsFor(b *record.Bucket) int64 {
	bk.state.Compile(b.Shape)
	sum := int64(b.Waiting()-int(b.Optional)) * b.Shape.Charge.GPUMilli
	if b.Optional > 0 {
		for _, e := range b.Entries.Items() {
			if e.Rep.Job.HasAlternatives() {
				sum += bk.mostOf(e)
			}
		}
	}
	return sum
}

// ExceedsShare compares two amounts that a leaf may have besides what it uses, in thousandths of a
// GPU. It reports whether the first takes some queue, the leaf or one above it, beyond its fair
// share, and the other does not. The demands are known: see TellDemands.
func (bk *Books) ExceedsShare(leaf quota.QueueIndex, milli, other int64) bool {
	exceeded := func(milli int64) int { return len(bk.Shares.Exceeded(nil, leaf, quota.Charge{GPUMilli: milli})) }
	return exceeded(milli) > exceeded(other)
}

// countLender keeps count of the queues that use more GPUs than they are guaranteed: as long
// as there are none, nobody has anything to give back.
func (bk *Books) countLender(i quota.QueueIndex) {
	over := bk.state.Quota.Leaf(i) && bk.state.Quota.Used(i, quota.GPUMilli) > bk.state.Quota.Guaranteed(i, quota.GPUMilli)
	state.Count(&bk.over, &bk.Queues[i].Over, over)
}

// AllShares are the shares of all queues, by index, in thousandths of a GPU. They are good until
// the next look at them.
type AllShares struct {
	books            *Books
	fair, guaranteed []int64
}

// AllShares works out what each queue may have. The demands are known: see TellDemands. O(queues).
func (bk *Books) AllShares() *AllShares {
	bk.all = AllShares{bk, bk.Shares.All(bk.all.fair), bk.Shares.AllGuaranteed(bk.all.guaranteed)}
	return &bk.all
}

// Left is what a queue may have beyond what it uses: at the cost of others, as far as its own share
// tells, and of its guaranteed share. Lent: others may have something to give back.
func (s *AllShares) Left(q *record.Queue) (share, guaranteed int64, lent bool) {
	used := s.books.state.Quota.Used(q.Index, quota.GPUMilli)
	guaranteed = s.guaranteed[q.Index] - used
	lent = s.books.over > 1 || s.books.over == 1 && !q.Over
	return max(s.fair[q.Index]-used, guaranteed), guaranteed, lent
}

// Over lists the queues that use more than their share, in a buffer. O(queues).
func (s *AllShares) Over(buffer []quota.QueueIndex) []quota.QueueIndex {
	for _, q := range s.books.Queues {
		if q != nil && s.books.state.Quota.Used(q.Index, quota.GPUMilli) > s.fair[q.Index] {
			buffer = append(buffer, q.Index)
		}
	}
	return buffer
}

// Owed is what of its guarantee a queue does not use.
func (bk *Books) Owed(q *record.Queue) int64 {
	return bk.Shares.Guaranteed(q.Index) - bk.state.Quota.Used(q.Index, quota.GPUMilli)
}

// MayPreempt reports whether a replica may take the place of another of its queue.
func MayPreempt(rep, victim *record.Replica) bool {
	return victim.Job.Spec.Class != berth.ClassLatencyCritical && record.CompareRank(rep, victim) > 0
}

// CompareVictims orders the running jobs of one queue, the first victim first: the lower class,
// the lower priority, the latest start.
func CompareVictims(a, b *record.Replica) int {
	return cmp.Or(record.CompareRank(a, b), cmp.Compare(b.CameAt, a.CameAt), record.CompareReplicas(b, a))
}

// CountEarmarks notes whether what is earmarked is charged from now on. Where it is not any
// more, the queues that were charged meanwhile are counted anew.
func (bk *Books) CountEarmarks(on bool) {
	bk.Earmarked = on
	if !on {
		for _, q := range bk.uncounted {
			bk.countLender(q)
			bk.follow(q)
		}
		bk.uncounted = bk.uncounted[:0]
	}
}

// TellDemands tells the shares what the queues that were touched use and wait for. A request
// may be another charge when there are other nodes to have it on.
func (bk *Books) TellDemands() {
	if bk.demandVersion != bk.state.Classes.Version {
		bk.demandVersion = bk.state.Classes.Version
		for _, q := range bk.Queues {
			if q == nil {
				continue
			}
			q.WaitingMilli = 0
			for _, b := range q.List {
				q.WaitingMilli += bk.waitsFor(b)
			}
			bk.touch(q)
		}
	}
	for _, q := range bk.Touched {
		q.Touched = false
		if bk.Queues[q.Index] == q && bk.state.Quota.Leaf(q.Index) {
			invariant.Must(bk.Shares.SetDemand(q.Index, min(bk.state.Quota.Used(q.Index, quota.GPUMilli)+q.WaitingMilli, quota.MaxAmount)))
		}
	}
	clear(bk.Touched)
	bk.Touched = bk.Touched[:0]
}

// AskedMilli is what all that waits asks for, in thousandths of a GPU. O(queues), and what changed
// since the demands were last told.
func (bk *Books) AskedMilli() (sum int64) {
	bk.TellDemands()
	for _, q := range bk.Queues {
		if q != nil {
			sum = min(sum+min(q.WaitingMilli, quota.MaxAmount), quota.MaxAmount)
		}
	}
	return sum
}
