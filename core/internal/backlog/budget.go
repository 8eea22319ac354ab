package backlog

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// What waits for a budget stands in no bucket: so it costs no pass anything, and nothing is reserved
// or evicted for it. Its queue has it in a set of its own, and a batch behind it has no head.

// WaitsForBudget reports whether a replica would stand in the pending index if a budget of its queue
// were not used up.
func (bl *Backlog) WaitsForBudget(rep *record.Replica) bool {
	return bl.books.IsOutOfBudget(rep) && rep.Retry.Get().ReadyAt == 0 && rep.Job.Gate == nil &&
		(rep.State == berth.ReplicaPending || rep.MayGrow() && record.Absent(rep.Members) > 0)
}

// leaveHeldBack takes a replica out of those that wait for a budget. The first of a batch behind it
// takes its place.
func (bl *Backlog) leaveHeldBack(rep *record.Replica) {
	q := bl.books.Queues[rep.Job.Queue]
	if _, held := q.HeldBack.Delete(rep); !held {
		return
	}
	if t := rep.Job.BatchOf(rep.Number + 1); t != nil && t.Head == nil {
		q.HeldBack.ReplaceOrInsert(bl.state.Reveal(t))
	}
}

// HoldBack takes what claims GPUs out of the pending index of a queue that is out of budget, and
// gives up the places that are kept for its gangs elsewhere. O(entries x log entries).
func (bl *Backlog) HoldBack(q *record.Queue) {
	var list []*record.Replica
	for _, b := range q.List {
		for _, e := range b.Entries.Items() {
			if e.Rep.Job.MayClaimGPUs() {
				list = append(list, e.Rep)
			}
		}
	}
	slices.SortFunc(list, record.CompareReplicas)
	for _, rep := range slices.Compact(list) {
		for _, e := range rep.Entries {
			if t := e.Batch; t != nil {
				bl.countBatch(t, -t.Len())
				e.Batch, t.Head, t.Fresh = nil, nil, false
			}
		}
		bl.Unawait(rep)
		bl.Await(rep)
	}
	for _, res := range slices.Clone(bl.Reservations) {
		if rep := res.Rep; rep != nil && rep.Moving == res && bl.books.Queues[rep.Job.Queue] == q && bl.books.IsOutOfBudget(rep) {
			bl.EndReservation(res)
		}
	}
}

// AwaitAgain has the replicas of a queue wait for a place that waited for a budget. O(replicas x log
// replicas).
func (bl *Backlog) AwaitAgain(q *record.Queue) {
	var list []*record.Replica
	q.HeldBack.Ascend(func(rep *record.Replica) bool {
		list = append(list, rep)
		return true
	})
	q.HeldBack.Clear(false)
	for _, rep := range list {
		bl.Await(rep)
		bl.AwaitBatch(rep)
	}
}

// CountHeldBack is how many replicas of a queue wait for a budget, those of batches too.
func (bl *Backlog) CountHeldBack(q *record.Queue) (many int) {
	q.HeldBack.Ascend(func(rep *record.Replica) bool {
		many++
		if t := rep.Job.BatchOf(rep.Number + 1); t != nil && t.Head == nil {
			many += t.Len()
		}
		return true
	})
	return many
}
