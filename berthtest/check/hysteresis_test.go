package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about calm.

// calm has a policy of preemption hold.
func (z *zoo) calm(p berth.Preemption) {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: p}})
}

// again has one of six be stopped for another, which ends, and run again.
func (z *zoo) again() {
	r := z.asked()
	kept := z.room("high", "n3")
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
	require.NoError(z.t, z.against(z.seen("a1", 1, 1, kept)))
	stop := z.stop("z", berth.CausePreempted, "high")
	z.pass(stop)
	z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
	z.tell(berth.JobCancelled{Job: "high"})
	b := z.bind("z", z.places["z"])
	b.Incarnation = 2
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	z.submit("higher", 1, in("a1"), ahead)
	require.NoError(z.t, z.against(z.seen("a1", 1, 0)))
}

// lives changes the life that an order is to.
func lives(r berth.RequestCheckpoint, life berth.Incarnation) berth.RequestCheckpoint {
	r.Incarnation = life
	return r
}

var unrest = []animal{
	{check.PromiseGain, "a gang that loses more than is gained is evicted", func(z *zoo) error {
		z.full(func(j *berth.Job) { j.Checkpoint.RestartCost = 5 * berth.Minute })
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.seen("a1", 1, 0, z.room("high", "n3")))
	}},
	{check.PromiseGain, "somebody is evicted a millisecond before it is worth it", func(z *zoo) error {
		z.full(func(j *berth.Job) { j.Checkpoint.RestartCost = 6 * berth.Minute })
		z.now = berth.Time(berth.Minute)
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.seen("a1", 1, 0, z.room("high", "n3")))
	}},
	{check.PromiseS6, "somebody is evicted again before its cooldown is over", func(z *zoo) error {
		z.again()
		z.now = berth.Time(5*berth.Minute) - 1
		return z.try(lives(z.ask("z", berth.CausePreempted, "higher"), 2))
	}},
	{check.PromiseRates, "more are evicted than the fleet's rate lets", func(z *zoo) error {
		z.full()
		z.submit("also", 1, in("a1"), ahead)
		z.calm(berth.Preemption{RateLimit: berth.RateLimit{Evictions: 1, Per: berth.Minute}})
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		z.pass(z.ask("z", berth.CausePreempted, "high"))
		z.now = berth.Time(berth.Minute) - 1
		return z.try(z.ask("y", berth.CausePreempted, "also"))
	}},
	{check.PromiseRates, "more are evicted than the queue's rate lets", func(z *zoo) error {
		z.full()
		z.submit("also", 1, in("a1"), ahead)
		z.calm(berth.Preemption{QueueRateLimit: berth.RateLimit{Evictions: 1, Per: berth.Minute}})
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		return z.try(z.ask("y", berth.CausePreempted, "also"), z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseRates, "many are evicted for one before it is full", func(z *zoo) error {
		z.full()
		z.submit("wide", 3, in("a1"), ahead)
		z.calm(berth.Preemption{RateLimit: berth.RateLimit{Evictions: 2, Per: berth.Minute}})
		require.NoError(z.t, z.against(z.seen("a1", 2, 0)))
		z.pass(z.ask("u", berth.CausePreempted, "high"))
		z.now = berth.Time(30*berth.Second) - 1
		return z.try(z.ask("x", berth.CausePreempted, "wide"), z.ask("y", berth.CausePreempted, "wide"), z.ask("z", berth.CausePreempted, "wide"))
	}},
	{check.PromiseDeadlines, "a class has not the time that it has", func(z *zoo) error {
		z.full()
		z.calm(berth.Preemption{Grace: []berth.Grace{{Class: berth.ClassBatch, Timeout: berth.Minute}}})
		return z.try(z.ask("z", berth.CausePreempted, "high"))
	}},
	{check.PromiseS9, "a checkpoint of a life to come is accepted", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.CheckpointWritten{Job: "a", Incarnation: 2})
	}},
	{check.PromiseEvents, "a checkpoint to come is accepted", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Applied(z.now, berth.CheckpointWritten{Job: "a", Incarnation: 1, At: z.now + 1})
	}},
	{check.PromiseR5, "a checkpoint is refused", func(z *zoo) error {
		z.running("a", 1)
		return z.c.Rejected(z.now, berth.CheckpointWritten{Job: "a", Incarnation: 1}, refusal("checkpointWritten", berth.ErrInvalid))
	}},
}

// TestHysteresisPasses: the same a moment later, or with a little less to lose, is right.
func TestHysteresisPasses(t *testing.T) {
	for name, test := range map[string]func(*zoo){
		"as soon as it is worth it": func(z *zoo) {
			z.full(func(j *berth.Job) { j.Checkpoint.RestartCost = 6 * berth.Minute })
			z.now = berth.Time(berth.Minute) + 1
			z.pass(z.ask("z", berth.CausePreempted, "high"))
			require.NoError(t, z.against(z.seen("a1", 1, 0, z.room("high", "n3"))))
			require.Positive(t, z.c.Cases()["worth what is lost by its wait alone"])
		},
		"when its cooldown is over": func(z *zoo) {
			z.again()
			z.now = berth.Time(5 * berth.Minute)
			z.pass(lives(z.ask("z", berth.CausePreempted, "higher"), 2))
		},
		"many for one when it is full": func(z *zoo) {
			z.full()
			z.submit("wide", 3, in("a1"), ahead)
			z.calm(berth.Preemption{RateLimit: berth.RateLimit{Evictions: 2, Per: berth.Minute}})
			require.NoError(t, z.against(z.seen("a1", 2, 0)))
			z.pass(z.ask("u", berth.CausePreempted, "high"))
			z.now = berth.Time(30 * berth.Second)
			z.pass(z.ask("x", berth.CausePreempted, "wide"), z.ask("y", berth.CausePreempted, "wide"), z.ask("z", berth.CausePreempted, "wide"))
			require.Positive(t, z.c.Cases()["evicted at a rate"])
		},
	} {
		t.Run(name, func(t *testing.T) { test(newZoo(t)) })
	}
}
