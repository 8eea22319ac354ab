package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// This file is the part of the zoo that is about limits which are lowered, and gangs that come back
// too often.

// keepsLimits has the policy stop what runs beyond a limit, after a while.
func (z *zoo) keepsLimits(after berth.Duration) {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{OverLimit: berth.OverLimit{Stop: true, After: after}}})
}

// lowers sets the limit of the queue q.
func (z *zoo) lowers(gpus int64) {
	z.tell(berth.QueueSet{Queue: quota.Queue{Name: "q", Parent: "org", Limit: quota.GPUs(gpus)}})
}

// stops has a job of one GPU be released because of a limit.
func (z *zoo) stops(id berth.JobID) berth.Release {
	return z.release(id, berth.CauseOverLimit, z.bound[id]...)
}

var overLimit = []animal{
	{check.PromiseLimits, "a queue stays over a limit", func(z *zoo) error {
		z.running("a", 1)
		z.keepsLimits(0)
		z.lowers(0)
		return z.try()
	}},
	{check.PromiseS6, "a job is stopped within the limit", func(z *zoo) error {
		z.running("a", 1)
		z.keepsLimits(0)
		z.lowers(1)
		return z.try(z.stops("a"))
	}},
	{check.PromiseS6, "a job is stopped too early", func(z *zoo) error {
		z.running("a", 1)
		z.keepsLimits(berth.Hour)
		z.lowers(0)
		return z.try(z.stops("a"))
	}},
	{check.PromiseS6, "a job is stopped, and the policy does not ask", func(z *zoo) error {
		z.running("a", 1)
		z.lowers(0)
		return z.try(z.stops("a"))
	}},
	{check.PromiseS6, "a job is stopped without a checkpoint that it would write", func(z *zoo) error {
		z.running("a", 1, writes)
		z.keepsLimits(0)
		z.lowers(0)
		return z.try(z.stops("a"))
	}},
	{check.PromiseS7, "a job is asked that is needed no more", func(z *zoo) error {
		z.running("a", 1, writes)
		z.keepsLimits(0)
		z.lowers(0)
		r := berth.RequestCheckpoint{OrderHeader: z.order("a", 5*berth.Minute, berth.CauseOverLimit), Members: z.bound["a"]}
		z.pass(r)
		z.lowers(1)
		return z.try()
	}},
	{check.PromiseTimeouts, "a job comes back more often than it may", func(z *zoo) error {
		z.running("a", 1, func(j *berth.Job) { j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseMemberFailed}} })
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{}}})
		return z.try()
	}},
	{check.PromiseTimeouts, "a job is dropped that may come back", func(z *zoo) error {
		z.running("a", 1, func(j *berth.Job) { j.MaxRequeues = []berth.RequeueCap{{Cause: berth.CauseMemberFailed, Requeues: 1}} })
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{}}})
		return z.try(berth.Drop{OrderHeader: z.order("a", 0, berth.CauseMaxRequeues)})
	}},
}

// A job that is asked because of a limit, writes its checkpoint and is stopped, is as it should be.
func TestAJobThatIsStoppedForALimitPasses(t *testing.T) {
	z := newZoo(t)
	z.running("a", 1, writes)
	z.keepsLimits(0)
	z.lowers(0)
	r := berth.RequestCheckpoint{OrderHeader: z.order("a", 5*berth.Minute, berth.CauseOverLimit), Members: z.bound["a"]}
	z.pass(r)
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	stop := z.stops("a")
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	require.Equal(t, map[berth.ReplicaState]int{berth.ReplicaPending: 1}, z.c.States())
}
