package check

import (
	"math/big"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about budgets, as the comment of berth.Budget states them. What was used of one is
// added up over the time between any two steps.

// A budget is one of the policy, and what its queue used of it: in thousandths of a GPU x
// milliseconds.
type budget struct {
	spec berth.Budget
	used big.Int
}

// tellBudgets takes over those of a policy. What is known of one with the same queue and time
// stays.
func (c *Checker) tellBudgets() {
	before := c.budgets
	c.budgets = nil
	for _, spec := range c.policy.Budgets {
		b := &budget{spec: spec}
		for _, known := range before {
			if known.spec.Queue == spec.Queue && known.spec.From == spec.From && known.spec.Until == spec.Until {
				b.used.Set(&known.used)
			}
		}
		c.budgets = append(c.budgets, b)
	}
	slices.SortFunc(c.budgets, func(a, b *budget) int { return a.spec.Compare(b.spec) })
}

// end is when a budget ends; never: it does not.
func (b *budget) end() berth.Time {
	if b.spec.Until == 0 {
		return never
	}
	return b.spec.Until
}

// inForce reports whether a budget holds at an instant.
func (b *budget) inForce(now berth.Time) bool { return b.spec.From <= now && now < b.end() }

// amount is what may be used of a budget in all.
func (b *budget) amount() *big.Int {
	return new(big.Int).Mul(big.NewInt(b.spec.GPUMilliHours), big.NewInt(3600*1000))
}

// spend adds what queues use from the last step until an instant.
func (c *Checker) spend(until berth.Time) {
	for _, b := range c.budgets {
		if span := min(until, b.end()) - max(c.now, b.spec.From); span > 0 {
			b.used.Add(&b.used, new(big.Int).Mul(big.NewInt(int64(span)), big.NewInt(c.usedBy(b.spec.Queue))))
		}
	}
}

// usedBy is what a queue uses of GPUs; nothing if there is none.
func (c *Checker) usedBy(name berth.QueueID) int64 {
	if q := c.queues[name]; q != nil {
		return q.used[quota.GPUMilli]
	}
	return 0
}

// noteBudgets notes which queues are out of budget, and which of these have what runs stopped; and
// the gangs that need not go for that any more.
func (c *Checker) noteBudgets() {
	for _, q := range c.queues {
		q.out, q.stopsAll = false, false
		for _, b := range c.budgets {
			if q.below(b.spec.Queue) && b.inForce(c.now) && b.used.Cmp(b.amount()) >= 0 {
				q.out, q.stopsAll = true, q.stopsAll || b.spec.Stop
			}
		}
	}
	for _, rep := range c.orders {
		if rep.stopsForBudget() && !rep.job.queue.stopsAll && !rep.stays {
			rep.stays = true
			c.spareLate(rep)
			c.saw("in budget again before it was stopped")
		}
	}
}

// isOutOfBudget reports whether no gang of a job may be started: one of its alternatives claims
// GPUs.
func (j *job) isOutOfBudget() bool { return j.queue.out && asksMilli(j) > 0 }

// stopsForBudget reports whether a gang was asked for a checkpoint because of a budget.
func (rep *replica) stopsForBudget() bool {
	return rep.asked() && rep.order.Header().Cause.Code == berth.CauseBudget
}

// isToStop reports whether a gang that runs is to be stopped because of a budget.
func (rep *replica) isToStop() bool {
	return rep.job.queue.stopsAll && !rep.job.spec.NonPreemptible && rep.state == berth.ReplicaRunning && claimsMilli(rep.job.groups) > 0
}

// inBudget: no gang of a queue that is out of budget is started, or grows. One that is being
// started may be repaired.
func inBudget(rep *replica, b berth.Bind) error {
	if rep.job.isOutOfBudget() && (rep.state == berth.ReplicaPending || rep.state == berth.ReplicaRunning) {
		return broken(PromiseBudgets, "order %d starts %s, and a budget of queue %s is used up", b.ID, rep, rep.job.queue.spec.Name)
	}
	return nil
}

// stopsInTurn: a gang that is told to go because of a budget runs on one that is used up and says
// so.
func (c *Checker) stopsInTurn(rep *replica, h berth.OrderHeader) error {
	switch {
	case !rep.isToStop():
		return broken(PromiseBudgets, "order %d stops %s because of a budget, and none that is used up says so", h.ID, rep)
	case rep.has(stopping) || rep.order != nil:
		return broken(PromiseBudgets, "order %d stops %s because of a budget, which is %s", h.ID, rep, rep.doing())
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	rep.preemption, rep.stays = nil, false
	c.saw("told to go because of a budget")
	return nil
}

// allStopped: after a pass nothing runs on a budget that is used up, and says that nothing does,
// but what was told to go, or has another order out. Where others go on in the same pass, or go for
// other causes, that is judged with the next.
func (c *Checker) allStopped() error {
	if len(c.told) > 0 || len(c.opened)+len(c.departed) > 0 {
		return nil
	}
	for _, rep := range inOrder(c.replicas()) {
		if rep.isToStop() && rep.isSettled() {
			return broken(PromiseBudgets, "%s runs on, and a budget of queue %s is used up that has it stopped", rep, rep.job.queue.spec.Name)
		}
	}
	return nil
}

// againstBudgets holds the budgets of a report against what was used.
func (c *Checker) againstBudgets(r *berth.FleetReport) error {
	waiting := 0
	for rep := range c.replicas() {
		waiting += truth(rep.waitsForBudget())
	}
	if len(r.Budgets) != len(c.budgets) || r.Waiting.Budget != waiting {
		return broken(PromiseBudgets, "the report has %d budgets, and %d replicas wait for one; there are %d, and %d do", len(r.Budgets), r.Waiting.Budget, len(c.budgets), waiting)
	}
	for i := range r.Reservations {
		if rep := c.find(gangKey{r.Reservations[i].Job, r.Reservations[i].Replica}); rep != nil && rep.job.isOutOfBudget() {
			return broken(PromiseBudgets, "a place is kept for %s, which is out of budget: %v", rep, r.Reservations[i])
		}
	}
	for i, b := range c.budgets {
		hours := new(big.Int).Quo(&b.used, big.NewInt(3600*1000)).Int64()
		want := berth.BudgetReport{Budget: b.spec, UsedMilliHours: hours, LeftMilliHours: b.spec.GPUMilliHours - hours, UsedMilli: c.usedBy(b.spec.Queue)}
		if at := c.usedUpAt(b); at > c.now && at < never {
			want.UsedUpAt = at
		}
		if b.inForce(c.now) && b.used.Cmp(b.amount()) >= 0 {
			for rep := range c.replicas() {
				want.Waiting += truth(rep.waitsForBudget() && rep.job.queue.below(b.spec.Queue))
			}
		}
		if r.Budgets[i] != want {
			return broken(PromiseBudgets, "the report has the budget %+v; it is %+v", r.Budgets[i], want)
		}
	}
	return nil
}

// usedUpAt is the first millisecond at which a budget is used up at the rates of now; never: it is
// not.
func (c *Checker) usedUpAt(b *budget) berth.Time {
	from, left, rate := max(c.now, b.spec.From), new(big.Int).Sub(b.amount(), &b.used), c.usedBy(b.spec.Queue)
	switch {
	case from >= b.end():
		return never
	case left.Sign() <= 0:
		return from
	case rate == 0:
		return never
	}
	span, rest := new(big.Int).QuoRem(left, big.NewInt(rate), new(big.Int))
	if rest.Sign() > 0 {
		span.Add(span, big.NewInt(1))
	}
	at := span.Add(span, big.NewInt(int64(from)))
	if !at.IsInt64() || berth.Time(at.Int64()) >= b.end() || at.Int64() > 1<<61 {
		return never
	}
	return berth.Time(at.Int64())
}

// Wakes holds the instant of the next pass (Core.NextWake) against the budgets: it is not after the
// one at which one of them begins, is used up or ends.
func (c *Checker) Wakes(at berth.Time, due bool) error {
	for _, b := range c.budgets {
		for _, next := range []berth.Time{b.spec.From, c.usedUpAt(b), b.end()} {
			if next > c.now && next < never && (!due || at > next) {
				return broken(PromiseBudgets, "the next pass is due at %d (%v), and something becomes of the budget of queue %s at %d", at, due, b.spec.Queue, next)
			}
		}
	}
	return nil
}

// Explained holds what a core says of why a replica waits (Core.Explain) against the budgets: that
// it is one of them, if and only if nothing else keeps the replica.
func (c *Checker) Explained(e *berth.Explanation) error {
	for i := range e.Replicas {
		r := &e.Replicas[i]
		for number := r.Replica; number <= r.Replica+r.Alike; number++ {
			rep := c.find(gangKey{e.Job, number})
			is := r.Reason != nil && r.Reason.Code == berth.ReasonBudget
			if rep == nil || is == rep.waitsForBudget() {
				continue
			}
			return broken(PromiseBudgets, "%s is said to wait for a budget: %v", rep, is)
		}
	}
	return nil
}
