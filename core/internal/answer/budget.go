package answer

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/decimal"
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

// reportBudgets lists the budgets of the policy. O(budgets, the queues for each, and the replicas
// that wait for budgets).
func (an *Answers) reportBudgets() (list []berth.BudgetReport) {
	for _, b := range an.books.Budgets {
		now := int64(an.state.Now)
		r := berth.BudgetReport{Budget: b.Spec, UsedMilliHours: b.Spending.Used(now), UsedMilli: b.Spending.Rate()}
		r.LeftMilliHours = b.Spec.GPUMilliHours - r.UsedMilliHours
		if at, ok := b.UsedUpAt(an.state.Now); ok && at > an.state.Now {
			r.UsedUpAt = at
		}
		if i, known := an.state.Quota.Lookup(b.Spec.Queue); known && b.Spent {
			for _, q := range an.books.Queues {
				if q != nil && q.HeldBack.Len() > 0 && an.state.Quota.Below(q.Index, i) {
					r.Waiting += an.backlog.CountHeldBack(q)
				}
			}
		}
		list = append(list, r)
	}
	return list
}
