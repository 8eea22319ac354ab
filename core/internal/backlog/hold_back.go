package backlog

import (
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
)

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

// AwaitAgain has the replicas of a queue wait for a place that waited for a budget. O(replicas x
// log replicas).
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
