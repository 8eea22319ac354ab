package backlog

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// What waits for a budget stands in no bucket: so it costs no pass anything, and nothing is
// reserved or evicted for it. Its queue has it in a set of its own, and a batch behind it has no
// head.

// WaitsForBudget reports whether a replica would stand in the pending index if a budget of its
// queue were not used up.
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
