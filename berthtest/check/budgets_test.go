package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about budgets.

// mayUse gives org a budget of GPU-hours from now on, of which one GPU uses one an hour.
func (z *zoo) mayUse(hours int64, stop bool) {
	b := berth.Budget{Queue: "org", GPUMilliHours: 1000 * hours, Until: 100 * berth.Time(berth.Hour), Stop: stop}
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{GuaranteeWithin: berth.Off}, Budgets: []berth.Budget{b}}})
}

// usedUp has a job of one GPU run for an hour, on a budget of one GPU-hour.
func (z *zoo) usedUp(stop bool, change ...func(*berth.Job)) {
	z.running("a", 1, change...)
	z.mayUse(1, stop)
	z.now = z.now.Add(berth.Hour)
}

// told is what a report has of the budget, as it is but for a change.
func (z *zoo) told(waiting int, change func(*berth.BudgetReport)) error {
	return z.toldOf(waiting, func(r *berth.FleetReport) { change(&r.Budgets[0]) })
}

// toldOf is a report, as it is but for a change.
func (z *zoo) toldOf(waiting int, change func(*berth.FleetReport)) error {
	gpus, activity := berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}, berth.ActivityCount{HeldMilli: 1000}
	r := berth.FleetReport{
		Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{0, 1, 2}, GPUs: gpus,
		Products: []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas: berth.ReplicaCount{Running: 1, Pending: waiting}, Waiting: berth.WaitingCount{Budget: waiting},
		Queues: []berth.QueueReport{
			{Queue: "free"},
			{Queue: "org", UsedMilli: 1000, LimitMilli: amount(5000), Activity: activity},
			{Queue: "q", UsedMilli: 1000, LimitMilli: amount(4000), Activity: activity},
		},
		Activity: activity, Tenants: []berth.TenantCount{{ActivityCount: activity}}, Pools: []berth.PoolCount{{ActivityCount: activity}},
	}
	b := berth.Budget{Queue: "org", GPUMilliHours: 1000, Until: 100 * berth.Time(berth.Hour)}
	r.Budgets = []berth.BudgetReport{{Budget: b, UsedMilliHours: 1000, UsedMilli: 1000, Waiting: waiting}}
	change(&r)
	return z.c.AgainstReport(r)
}

var budgets = []animal{
	{check.PromiseBudgets, "a job starts on a budget that is used up", func(z *zoo) error {
		z.usedUp(false)
		z.submit("b", 1)
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseBudgets, "a job is stopped for a budget with a millisecond left", func(z *zoo) error {
		z.usedUp(true)
		z.now--
		return z.try(z.release("a", berth.CauseBudget, z.bound["a"]...))
	}},
	{check.PromiseBudgets, "a job is stopped for a budget that stops none", func(z *zoo) error {
		z.usedUp(false)
		return z.try(z.release("a", berth.CauseBudget, z.bound["a"]...))
	}},
	{check.PromiseBudgets, "a job runs on, on a budget that stops all", func(z *zoo) error {
		z.usedUp(true)
		return z.try()
	}},
	{check.PromiseS6, "a job is stopped for a budget without a checkpoint that it would write", func(z *zoo) error {
		z.usedUp(true, writes)
		return z.try(z.release("a", berth.CauseBudget, z.bound["a"]...))
	}},
	{check.PromiseBudgets, "the report has less used than was", func(z *zoo) error {
		z.usedUp(false)
		z.pass()
		return z.told(0, func(r *berth.BudgetReport) { r.UsedMilliHours, r.LeftMilliHours = 999, 1 })
	}},
	{check.PromiseBudgets, "the report has a job wait for capacity that waits for a budget", func(z *zoo) error {
		z.usedUp(false)
		z.submit("b", 1)
		z.pass()
		return z.told(1, func(r *berth.BudgetReport) { r.Waiting = 0 })
	}},
	{check.PromiseBudgets, "a place is kept for a job that waits for a budget", func(z *zoo) error {
		z.usedUp(false)
		z.submit("b", 1)
		z.pass()
		return z.toldOf(1, func(r *berth.FleetReport) {
			r.Reservations = []berth.ReservationReport{{Job: "b", Nodes: []berth.NodeID{"n2"}}}
		})
	}},
	{check.PromiseBudgets, "the next pass is a millisecond after a budget is used up", func(z *zoo) error {
		z.running("a", 1)
		z.mayUse(1, false)
		z.pass()
		return z.c.Wakes(z.now.Add(berth.Hour)+1, true)
	}},
	{check.PromiseBudgets, "no pass is due when a budget ends", func(z *zoo) error {
		z.usedUp(false)
		z.pass()
		return z.c.Wakes(0, false)
	}},
	{check.PromiseBudgets, "a job is said to wait for a budget that has something left", func(z *zoo) error {
		z.mayUse(1, false)
		z.submit("b", 1)
		z.pass()
		return z.c.Explained(&berth.Explanation{Job: "b", Replicas: []berth.ReplicaExplanation{{Reason: &berth.Reason{Code: berth.ReasonBudget}}}})
	}},
}

// A job that waits for a budget while it is used up, and what is told of that, is as it should be;
// so is one that is asked to go, and one that starts once the budget is raised.
func TestAJobThatWaitsForABudgetPasses(t *testing.T) {
	z := newZoo(t)
	z.usedUp(false)
	z.submit("b", 1)
	z.pass()
	require.NoError(t, z.told(1, func(*berth.BudgetReport) {}))
	require.NoError(t, z.c.Wakes(100*berth.Time(berth.Hour), true))
	require.NoError(t, z.c.Explained(&berth.Explanation{Job: "b", Replicas: []berth.ReplicaExplanation{{Reason: &berth.Reason{Code: berth.ReasonBudget}}}}))
	z.mayUse(2, false)
	z.pass(z.bind("b", on(0, "n2", 0)))
}

func TestAJobThatIsStoppedForABudgetPasses(t *testing.T) {
	z := newZoo(t)
	z.usedUp(true, writes)
	r := berth.RequestCheckpoint{OrderHeader: z.order("a", 5*berth.Minute, berth.CauseBudget), Members: z.bound["a"]}
	z.pass(r)
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	stop := z.release("a", berth.CauseBudget, z.bound["a"]...)
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	require.Equal(t, map[berth.ReplicaState]int{berth.ReplicaPending: 1}, z.c.States())
}
