package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// StopOutOfBudget stops what runs on a budget that is used up, where the budget says so, in order
// of job and number. One with an order out, or members to stop, is stopped once that is over.
func (ev *Evict) StopOutOfBudget() {
	for _, rep := range ev.outOfBudget() {
		cause := berth.Cause{Code: berth.CauseBudget, Detail: ev.books.StopsForBudget(rep).Describe(ev.state.Now)}
		ev.life.Depart(rep, cause, ev.state.DrainOf(rep).By)
	}
}

// NextOutOfBudget is when something is to be stopped because a budget is used up; never: nothing
// is, as things are.
func (ev *Evict) NextOutOfBudget() berth.Time {
	if len(ev.outOfBudget()) > 0 {
		return ev.state.Now
	}
	return agenda.Never
}

// outOfBudget lists what runs, is to be stopped for a budget and can be asked now. O(budgets)
// where none that is used up says so; else O(queues, and what runs in those).
func (ev *Evict) outOfBudget() (list []*record.Replica) {
	if !ev.books.StopsSome() {
		return nil
	}
	for _, q := range ev.books.Queues {
		if q == nil || !q.OutOfBudget || q.Running.Len() == q.NonPreemptible.Len() {
			continue
		}
		q.Running.Ascend(func(rep *record.Replica) bool {
			if rep.MayMove() && ev.books.StopsForBudget(rep) != nil {
				list = append(list, rep)
			}
			return true
		})
	}
	slices.SortFunc(list, record.CompareReplicas)
	return list
}

// mayMove reports whether a gang runs, has nothing else going on, and may be started elsewhere.
func (ev *Evict) mayMove(rep *record.Replica) bool {
	return rep.MayMove() && !ev.books.IsOutOfBudget(rep)
}
