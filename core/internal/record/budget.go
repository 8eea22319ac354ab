package record

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/decimal"
	"github.com/berth-sched/berth/quota"
)

// A Budget is one of the policy, and what was used of it.
type Budget struct {
	Spec     berth.Budget
	Spending quota.Spending
	// Spent: it is in force and used up, as was found last.
	Spent bool
}

// NewBudget is one of which nothing is used.
func NewBudget(spec berth.Budget) *Budget {
	return &Budget{Spec: spec, Spending: quota.NewSpending(int64(spec.From), int64(spec.Until))}
}

// IsSpent reports whether it is in force and used up at an instant.
func (b *Budget) IsSpent(now berth.Time) bool {
	return b.Spending.InForce(int64(now)) && b.Spending.IsSpent(b.Spec.GPUMilliHours, int64(now))
}

// UsedUpAt is when it is used up, if its queue goes on to use as much; false: it is not, or not
// before it ends.
func (b *Budget) UsedUpAt(now berth.Time) (berth.Time, bool) {
	at, ok := b.Spending.SpentAt(b.Spec.GPUMilliHours, int64(now))
	return berth.Time(at), ok
}

// Next is the first instant after now at which it begins, is used up or ends, as far as is known;
// false: there is none.
func (b *Budget) Next(now berth.Time) (berth.Time, bool) {
	if now < b.Spec.From {
		return b.Spec.From, true
	}
	if at, ok := b.UsedUpAt(now); ok && at > now {
		return at, true
	}
	return b.Spec.Until, now < b.Spec.Until
}

// Describe says how much of it is used at an instant.
func (b *Budget) Describe(now berth.Time) string {
	return fmt.Sprintf("queue %s has used %s of its budget of %s GPU-hours", b.Spec.Queue, decimal.Milli(b.Spending.Used(int64(now))), decimal.Milli(b.Spec.GPUMilliHours))
}

// MayClaimGPUs reports whether a job is charged for GPUs as any of its alternatives, whichever it
// is.
func (j *Job) MayClaimGPUs() bool { return j.claimedMilli() > 0 }
