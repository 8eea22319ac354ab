package books

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// What queues have used of their budgets. The law: of a budget b of a queue q
//
//	used(b, t) = the integral of used(q) from max(from(b), when b was told) to min(t, until(b))
//	spent(b, t) = from(b) <= t < until(b)  and  used(b, t) >= amount(b)
//
// and a queue is out of budget if one that is spent is its own, or one of a queue above it. used(q)
// changes where charges do, so a budget follows these, as the ledger does; when it is spent follows
// from that by one division, and a pass is due then.
//
// Rejected: the ledger itself as the account. It is an option of a core, an embedder may have it
// forget what is billed, and it rounds the two halves of what a queue used each by itself.

// SetBudgets takes over the budgets of a policy. One with the queue and the time of one that was
// known goes on from what was used of that.
func (bk *Books) SetBudgets(list []berth.Budget) {
	before := bk.Budgets
	bk.Budgets = nil
	for _, spec := range list {
		at, known := slices.BinarySearchFunc(before, spec, func(b *record.Budget, spec berth.Budget) int { return b.Spec.Compare(spec) })
		b := record.NewBudget(spec)
		if known {
			b.Spending = before[at].Spending
		}
		bk.Budgets = append(bk.Budgets, b)
	}
	for _, q := range bk.Queues {
		if q != nil {
			bk.linkBudgets(q)
		}
	}
	bk.budgetsDue = agenda.BeforeAll
}

// linkBudgets has a queue know its budgets, and these what it uses.
func (bk *Books) linkBudgets(q *record.Queue) {
	name := bk.state.Quota.Name(q.Index)
	from, _ := slices.BinarySearchFunc(bk.Budgets, name, func(b *record.Budget, name berth.QueueID) int { return cmp.Compare(b.Spec.Queue, name) })
	end := from
	for end < len(bk.Budgets) && bk.Budgets[end].Spec.Queue == name {
		end++
	}
	q.Budgets = bk.Budgets[from:end]
	bk.useOfBudgets(q)
}

// follow has the ledger and the budgets know what a queue, and those above it, use from now on.
// O(depth), and the budgets there.
func (bk *Books) follow(i quota.QueueIndex) {
	if bk.Ledger != nil {
		bk.Ledger.Follow(bk.state.Quota, i)
	}
	if len(bk.Budgets) == 0 {
		return
	}
	for ; i != quota.RootQueue; i = bk.state.Quota.Parent(i) {
		bk.useOfBudgets(bk.Queues[i])
	}
}

func (bk *Books) useOfBudgets(q *record.Queue) {
	for _, b := range q.Budgets {
		b.Spending.Use(bk.state.Quota.Used(q.Index, quota.GPUMilli), int64(bk.state.Now))
		if at, some := b.Next(bk.state.Now); some {
			bk.budgetsDue = min(bk.budgetsDue, at)
		}
	}
}

// SettleBudgets looks which budgets are used up by now, if that may have changed, and lists the
// queues that are out of budget since then, or no longer, by name. O(1) where it has not looked;
// else O(budgets + queues x depth).
func (bk *Books) SettleBudgets() (turned []*record.Queue, looked bool) {
	if bk.state.Now < bk.budgetsDue {
		return nil, false
	}
	bk.budgetsDue = bk.NextOfBudgets()
	for _, b := range bk.Budgets {
		b.Spent = b.IsSpent(bk.state.Now)
	}
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		if out := len(bk.SpentBudgets(q.Index)) > 0; out != q.OutOfBudget {
			q.OutOfBudget = out
			turned = append(turned, q)
		}
	}
	slices.SortFunc(turned, func(a, b *record.Queue) int {
		return cmp.Compare(bk.state.Quota.Name(a.Index), bk.state.Quota.Name(b.Index))
	})
	return turned, true
}

// StopsSome reports whether a budget is used up that has what runs stopped. O(budgets).
func (bk *Books) StopsSome() bool {
	return slices.ContainsFunc(bk.Budgets, func(b *record.Budget) bool { return b.Spent && b.Spec.Stop })
}

// NextOfBudgets is the first instant after now at which a budget begins, is used up or ends; never:
// there is none. O(budgets).
func (bk *Books) NextOfBudgets() berth.Time {
	next := agenda.Never
	for _, b := range bk.Budgets {
		if at, some := b.Next(bk.state.Now); some {
			next = min(next, at)
		}
	}
	return next
}

// SpentBudgets are the budgets of a queue, and of those above it, that are used up: the nearest
// first. O(depth and their budgets).
func (bk *Books) SpentBudgets(i quota.QueueIndex) (list []*record.Budget) {
	for ; i != quota.RootQueue; i = bk.state.Quota.Parent(i) {
		for _, b := range bk.Queues[i].Budgets {
			if b.Spent {
				list = append(list, b)
			}
		}
	}
	return list
}

// IsOutOfBudget reports whether no gang of a replica's job may be started.
func (bk *Books) IsOutOfBudget(rep *record.Replica) bool {
	return bk.Queues[rep.Job.Queue].OutOfBudget && rep.Job.MayClaimGPUs()
}

// StopsForBudget is the budget for which a replica that runs is stopped; nil: there is none.
func (bk *Books) StopsForBudget(rep *record.Replica) *record.Budget {
	if rep.Job.Spec.NonPreemptible || !rep.Job.ClaimsGPUs() || !bk.IsOutOfBudget(rep) {
		return nil
	}
	for _, b := range bk.SpentBudgets(rep.Job.Queue) {
		if b.Spec.Stop {
			return b
		}
	}
	return nil
}

// saveBudgets saves what was used of budgets, in the order of the policy.
func (bk *Books) saveBudgets() (list []quota.LedgerAccount) {
	for _, b := range bk.Budgets {
		list = append(list, b.Spending.State())
	}
	return list
}

// RestoreBudgets takes over what was used of the budgets of the policy. It comes after the queues,
// and before all that waits: that is held back by it.
func (bk *Books) RestoreBudgets(list []quota.LedgerAccount) *berth.Error {
	if len(list) != len(bk.Budgets) {
		return refusal.Of(berth.ErrInvalid, "budgets", fmt.Sprintf("has %d accounts, and the policy %d budgets", len(list), len(bk.Budgets)))
	}
	for i, b := range bk.Budgets {
		if err := b.Spending.Restore(list[i], int64(bk.state.Now)); err != nil {
			return refusal.Of(berth.ErrInvalid, errtext.Index("budgets", i), err.Error())
		}
	}
	bk.budgetsDue = agenda.BeforeAll
	bk.SettleBudgets() // nothing waits yet
	return nil
}

// checkBudgets refuses budgets with other rates than those of what their queues use.
func (bk *Books) checkBudgets() *berth.Error {
	for i, b := range bk.Budgets {
		used := int64(0)
		if q, known := bk.state.Quota.Lookup(b.Spec.Queue); known {
			used = bk.state.Quota.Used(q, quota.GPUMilli)
		}
		if rate := b.Spending.Rate(); rate != used {
			return refusal.Of(berth.ErrInvalid, errtext.Index("budgets", i)+".rateMilli", fmt.Sprintf("is %d, and the queue uses %d", rate, used))
		}
	}
	return nil
}

// CheckBudgets checks that budgets count at the rates of what their queues use, and that it is
// known which are used up, when the next one is, and which queues are out of budget.
func (bk *Books) CheckBudgets() error {
	if err := bk.checkBudgets(); err != nil {
		return err
	}
	if len(bk.Budgets) != len(bk.state.Config.Policy.Budgets) || bk.budgetsDue <= bk.state.Now || bk.budgetsDue > bk.NextOfBudgets() {
		return fmt.Errorf("%d budgets, of %d of the policy, are looked at at %d, and something is due at %d", len(bk.Budgets), len(bk.state.Config.Policy.Budgets), bk.budgetsDue, bk.NextOfBudgets())
	}
	for i, b := range bk.Budgets {
		if b.Spec != bk.state.Config.Policy.Budgets[i] || b.Spent != b.IsSpent(bk.state.Now) {
			return fmt.Errorf("budget %d of queue %s is said to be used up: %v, or not that of the policy", i, b.Spec.Queue, b.Spent)
		}
	}
	for _, q := range bk.Queues {
		if q == nil {
			continue
		}
		name, own, out := bk.state.Quota.Name(q.Index), 0, false
		for _, b := range bk.Budgets {
			if b.Spec.Queue == name {
				own++
			}
			if at, known := bk.state.Quota.Lookup(b.Spec.Queue); known && b.Spent && bk.state.Quota.Below(q.Index, at) {
				out = true
			}
		}
		if own != len(q.Budgets) || out != q.OutOfBudget {
			return fmt.Errorf("queue %s has %d budgets, counted %d, and is said to be out of budget: %v", name, own, len(q.Budgets), q.OutOfBudget)
		}
	}
	return nil
}
