package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// explainBudget says for which budgets a replica waits, from its queue up.
func (an *Answers) explainBudget(rep *record.Replica) *berth.Reason {
	reason, endless := &berth.Reason{Code: berth.ReasonBudget}, false
	for _, b := range an.books.SpentBudgets(rep.Job.Queue) {
		if reason.Text != "" {
			reason.Text += ", and "
			reason.Remedy += "; and "
		}
		reason.Text += b.Describe(an.state.Now)
		reason.Remedy += fmt.Sprintf("a budget of more than %s GPU-hours for queue %s", decimal.Milli(b.Spending.Used(int64(an.state.Now))), b.Spec.Queue)
		if b.Spec.Until == 0 {
			reason.Text += ", which has no end"
			endless = true
			continue
		}
		reason.Until = max(reason.Until, b.Spec.Until)
		left := b.Spec.Until.Sub(an.state.Now)
		reason.Text += fmt.Sprintf(", which ends in %v", left)
		reason.Remedy += fmt.Sprintf(", or its end in %v", left)
	}
	if endless {
		reason.Until = 0
	} else if rep.State == berth.ReplicaPending {
		if an.expectAny(rep, reason); !reason.ExpectedStart.IsZero() {
			f := &reason.ExpectedStart
			f.Earliest, f.Middle, f.Late = max(f.Earliest, reason.Until), max(f.Middle, reason.Until), max(f.Late, reason.Until)
		}
	}
	return reason
}

// reportBudgets lists the budgets of the policy. O(queues + replicas that wait for budgets), and
// for each budget O(queues where some do).
func (an *Answers) reportBudgets() (list []berth.BudgetReport) {
	type held struct {
		queue quota.QueueIndex
		many  int
	}
	var waiting []held
	for _, q := range an.books.Queues {
		if q != nil && q.HeldBack.Len() > 0 {
			waiting = append(waiting, held{q.Index, an.backlog.CountHeldBack(q)})
		}
	}
	for _, b := range an.books.Budgets {
		now := int64(an.state.Now)
		r := berth.BudgetReport{Budget: b.Spec, UsedMilliHours: b.Spending.Used(now), UsedMilli: b.Spending.Rate()}
		r.LeftMilliHours = b.Spec.GPUMilliHours - r.UsedMilliHours
		if at, ok := b.UsedUpAt(an.state.Now); ok && at > an.state.Now {
			r.UsedUpAt = at
		}
		if i, known := an.state.Quota.Lookup(b.Spec.Queue); known && b.Spent {
			for _, w := range waiting {
				if an.state.Quota.Below(w.queue, i) {
					r.Waiting += w.many
				}
			}
		}
		list = append(list, r)
	}
	return list
}
