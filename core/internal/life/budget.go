package life

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// SettleBudgets has the gangs of queues that are out of budget by now wait for that, and those of
// queues that are so no longer wait for a place again. Gangs go on that were asked to leave for a
// budget and need not any more.
func (l *Life) SettleBudgets() {
	turned, looked := l.books.SettleBudgets()
	if !looked {
		return
	}
	for _, q := range turned {
		if q.OutOfBudget {
			l.backlog.HoldBack(q)
		} else {
			l.backlog.AwaitAgain(q)
		}
	}
	if len(turned) > 0 {
		l.agenda.Stir(l.state.Now)
	}
	for _, rep := range l.leaving((*record.Replica).IsOutOfBudget) {
		if l.books.StopsForBudget(rep) == nil {
			l.stay(rep)
		}
	}
}
