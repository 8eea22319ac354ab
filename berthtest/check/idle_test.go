package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about jobs that leave idle what they hold.

// idle has a job run that tells that it does nothing, and so much time pass. What is idle for an
// hour is warned, and ended ten minutes later.
func (z *zoo) idle(after berth.Duration, change ...func(*berth.Job)) {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Idle: berth.IdlePolicy{QuietFor: berth.Hour, Action: berth.IdleStop}}})
	z.running("a", 1, change...)
	z.active(0, after)
}

// warning of the job, which is idle since the first millisecond.
func (z *zoo) warning() berth.WarnIdle {
	h := z.order("a", 0, berth.CauseIdle)
	h.Deadline = 0
	return berth.WarnIdle{OrderHeader: h, Since: 1, Until: z.now.Add(10 * berth.Minute), Action: berth.IdleStop}
}

// asksIdle asks the job for its last checkpoint.
func (z *zoo) asksIdle() berth.RequestCheckpoint {
	return berth.RequestCheckpoint{OrderHeader: z.order("a", 5*berth.Minute, berth.CauseIdle), Members: z.bound["a"]}
}

// warned has the job be warned, and so much time pass.
func (z *zoo) warned(after berth.Duration, change ...func(*berth.Job)) {
	z.idle(berth.Hour, change...)
	z.pass(z.warning())
	z.now = z.now.Add(after)
}

// against gives a report, in which nothing was told of the activity of what is held, and guarantees
// are those stated where it says nothing else.
func (z *zoo) against(r berth.FleetReport) error {
	if all := (berth.ActivityCount{HeldMilli: r.GPUs.HeldMilli}); all.HeldMilli > 0 {
		r.Activity, r.Tenants, r.Pools = all, []berth.TenantCount{{ActivityCount: all}}, []berth.PoolCount{{ActivityCount: all}}
	}
	r.Queues = slices.Clone(r.Queues)
	for i := range r.Queues {
		q := &r.Queues[i]
		q.Activity.HeldMilli = q.UsedMilli
		if q.GuaranteedMilli == 0 {
			q.GuaranteedMilli = z.queues[string(q.Queue)].Guarantee[quota.GPUMilli]
		}
	}
	return z.c.AgainstReport(r)
}

// reported is a report of the job, which has one GPU and was warned.
func (z *zoo) reported(change func(*berth.FleetReport)) error {
	z.idle(berth.Hour)
	z.pass(z.warning())
	gpus, own := berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}, berth.ActivityCount{HeldMilli: 1000, ToldMilli: 1000, IdleMilli: 1000}
	r := berth.FleetReport{
		Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{0, 1, 2}, GPUs: gpus,
		Products: []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas: berth.ReplicaCount{Running: 1},
		Queues: []berth.QueueReport{
			{Queue: "free"}, {Queue: "org", UsedMilli: 1000, LimitMilli: amount(5000), Activity: own}, {Queue: "q", UsedMilli: 1000, LimitMilli: amount(4000), Activity: own},
		},
		Activity: own, Tenants: []berth.TenantCount{{ActivityCount: own}}, Pools: []berth.PoolCount{{ActivityCount: own}},
		Idle: []berth.IdleReport{{Job: "a", Queue: "q", GPUMilli: 1000, Idleness: berth.Idleness{Since: 1, Warned: z.now, Until: z.now.Add(10 * berth.Minute)}}},
	}
	require.NoError(z.t, z.c.AgainstReport(r))
	change(&r)
	return z.c.AgainstReport(r)
}

// stretchedIdle has a gang of three run that could go on with one, be idle, warned and due.
func (z *zoo) stretchedIdle() {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Idle: berth.IdlePolicy{QuietFor: berth.Hour, Action: berth.IdleShrink}}})
	z.submit("a", 1, func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 3, 1 })
	b := z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	z.active(0, berth.Hour)
	w := z.warning()
	w.Action = berth.IdleShrink
	z.pass(w)
	z.now = z.now.Add(10 * berth.Minute)
}

// givesUp stops members of the gang as it is idle.
func (z *zoo) givesUp(members ...berth.MemberPlacement) berth.Release {
	r := z.release("a", berth.CauseIdleSurplus, members...)
	r.Remaining = []berth.GroupSize{{Members: 3 - len(members)}}
	return r
}

var idles = []animal{
	{check.PromiseIdle, "a job is warned too early", func(z *zoo) error {
		z.idle(berth.Hour - 1)
		return z.try(z.warning())
	}},
	{check.PromiseIdle, "a job is not warned", func(z *zoo) error {
		z.idle(berth.Hour)
		return z.try()
	}},
	{check.PromiseIdle, "a job is warned twice", func(z *zoo) error {
		z.warned(1)
		return z.try(z.warning())
	}},
	{check.PromiseIdle, "a job is warned that is busy", func(z *zoo) error {
		z.idle(berth.Minute)
		z.active(51, berth.Hour)
		return z.try(z.warning())
	}},
	{check.PromiseIdle, "a job is warned that told nothing", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Idle: berth.IdlePolicy{QuietFor: berth.Hour, Action: berth.IdleStop}}})
		z.running("a", 1)
		z.now = z.now.Add(2 * berth.Hour)
		return z.try(z.warning())
	}},
	{check.PromiseIdle, "a warning with another end", func(z *zoo) error {
		z.idle(berth.Hour)
		w := z.warning()
		w.Until++
		return z.try(w)
	}},
	{check.PromiseIdle, "a job that lends is to end", func(z *zoo) error {
		z.idle(berth.Hour, lendsGPUs)
		return z.try(z.warning())
	}},
	{check.PromiseDeadlines, "a warning that is to be reported", func(z *zoo) error {
		z.idle(berth.Hour)
		w := z.warning()
		w.Deadline = z.now + 1
		return z.try(w)
	}},
	{check.PromiseCauses, "a warning for another cause", func(z *zoo) error {
		z.idle(berth.Hour)
		w := z.warning()
		w.Cause.Code = berth.CauseMaxRuntime
		return z.try(w)
	}},
	{check.PromiseIncarnations, "a warning to another life", func(z *zoo) error {
		z.idle(berth.Hour)
		w := z.warning()
		w.Incarnation++
		return z.try(w)
	}},
	{check.PromiseIdle, "an idle job ends too early", func(z *zoo) error {
		z.warned(10*berth.Minute-1, writes)
		return z.try(z.asksIdle())
	}},
	{check.PromiseIdle, "an idle job does not end", func(z *zoo) error {
		z.warned(10*berth.Minute, writes)
		return z.try()
	}},
	{check.PromiseIdle, "a job ends that is busy again", func(z *zoo) error {
		z.warned(berth.Minute, writes)
		z.active(51, 9*berth.Minute)
		return z.try(z.asksIdle())
	}},
	{check.PromiseS6, "an idle job that writes checkpoints is not asked for one", func(z *zoo) error {
		z.warned(10*berth.Minute, writes)
		return z.try(z.release("a", berth.CauseIdle, on(0, "n1", 0)))
	}},
	{check.PromiseDeadlines, "an idle job has more time for it", func(z *zoo) error {
		z.warned(10*berth.Minute, writes)
		r := z.asksIdle()
		r.Deadline++
		return z.try(r)
	}},
	{check.PromiseIncarnations, "another life of an idle job is asked for it", func(z *zoo) error {
		z.warned(10*berth.Minute, writes)
		r := z.asksIdle()
		r.Incarnation++
		return z.try(r)
	}},
	{check.PromiseOrders, "an idle job that ended comes back", func(z *zoo) error {
		z.warned(10 * berth.Minute)
		r := z.release("a", berth.CauseIdle, on(0, "n1", 0))
		z.pass(r)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		again := z.bind("a", on(0, "n1", 0))
		again.Incarnation = 2
		return z.try(again)
	}},
	{check.PromiseIdle, "an idle gang keeps its surplus", func(z *zoo) error {
		z.stretchedIdle()
		return z.try()
	}},
	{check.PromiseIdle, "an idle gang keeps a part of its surplus", func(z *zoo) error {
		z.stretchedIdle()
		return z.try(z.givesUp(on(2, "n2", 0)))
	}},
	{check.PromiseS2, "an idle gang gives up more than its surplus", func(z *zoo) error {
		z.stretchedIdle()
		return z.try(z.givesUp(z.bound["a"]...))
	}},
	{check.PromiseOrders, "an idle gang grows", func(z *zoo) error {
		z.stretchedIdle()
		r := z.givesUp(on(1, "n1", 1), on(2, "n2", 0))
		z.pass(r)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		grow := z.bind("a", on(1, "n1", 1))
		grow.Cause.Code, grow.Incarnation = berth.CauseGrows, 1
		return z.try(grow)
	}},
	{check.PromiseS3, "the report counts more as active", func(z *zoo) error {
		return z.reported(func(r *berth.FleetReport) { r.Activity.ActiveMilli++ })
	}},
	{check.PromiseS3, "the report counts less as told in a queue", func(z *zoo) error {
		return z.reported(func(r *berth.FleetReport) { r.Queues[1].Activity.ToldMilli-- })
	}},
	{check.PromiseS3, "the report counts less as held by a tenant", func(z *zoo) error {
		return z.reported(func(r *berth.FleetReport) { r.Tenants[0].HeldMilli-- })
	}},
	{check.PromiseS3, "the report counts less as idle in a pool", func(z *zoo) error {
		return z.reported(func(r *berth.FleetReport) { r.Pools[0].IdleMilli-- })
	}},
	{check.PromiseIdle, "the report has an idle job be warned earlier", func(z *zoo) error {
		return z.reported(func(r *berth.FleetReport) { r.Idle[0].Warned-- })
	}},
}

// A job that is warned in time, asked in time, tells that it is busy while it writes, and is
// stopped, is as it should be.
func TestAnIdleJobThatEndsPasses(t *testing.T) {
	z := newZoo(t)
	z.warned(10*berth.Minute, writes)
	r := z.asksIdle()
	z.pass(r)
	z.active(900, berth.Minute)
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	stop := z.release("a", berth.CauseIdle, on(0, "n1", 0))
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	require.Empty(t, z.c.States())
}
