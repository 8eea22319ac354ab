package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about jobs that may not run for ever.

func forAnHour(j *berth.Job) { j.MaxRuntime, j.Checkpoint.Cost = berth.Hour, berth.Minute }

// asksToEnd asks the job for its last checkpoint, after it has run for so long.
func (z *zoo) asksToEnd(after berth.Duration) berth.RequestCheckpoint {
	z.now = berth.Time(after)
	return berth.RequestCheckpoint{OrderHeader: z.order("a", berth.Hour-after, berth.CauseMaxRuntime), Members: z.bound["a"]}
}

// ends has the job be stopped because of its limit, after it has run for so long.
func (z *zoo) ends(after berth.Duration) berth.Release {
	z.now = berth.Time(after)
	return z.release("a", berth.CauseMaxRuntime, on(0, "n1", 0))
}

var limits = []animal{
	{check.PromiseS6, "a job ends before its limit", func(z *zoo) error {
		z.running("a", 1, forAnHour)
		return z.try(z.ends(berth.Hour - 1))
	}},
	{check.PromiseS6, "a job without a limit ends", func(z *zoo) error {
		z.running("a", 1)
		return z.try(z.ends(berth.Hour))
	}},
	{check.PromiseOrders, "a job runs for longer than it may", func(z *zoo) error {
		z.running("a", 1, forAnHour)
		z.now = berth.Time(berth.Hour)
		return z.try()
	}},
	{check.PromiseTimeouts, "a job is not asked for its last checkpoint", func(z *zoo) error {
		z.running("a", 1, forAnHour, writes)
		z.now = berth.Time(59 * berth.Minute)
		return z.try()
	}},
	{check.PromiseS6, "a job is asked for it too early", func(z *zoo) error {
		z.running("a", 1, forAnHour, writes)
		return z.try(z.asksToEnd(58 * berth.Minute))
	}},
	{check.PromiseDeadlines, "a job has more time for it than it may run", func(z *zoo) error {
		z.running("a", 1, forAnHour, writes)
		r := z.asksToEnd(59 * berth.Minute)
		r.Deadline++
		return z.try(r)
	}},
	{check.PromiseIncarnations, "another life is asked for it", func(z *zoo) error {
		z.running("a", 1, forAnHour, writes)
		r := z.asksToEnd(59 * berth.Minute)
		r.Incarnation++
		return z.try(r)
	}},
	{check.PromiseS7, "a job whose time is over goes on", func(z *zoo) error {
		z.running("a", 1, forAnHour, writes)
		r := z.asksToEnd(59 * berth.Minute)
		z.pass(r)
		w := berth.Withdraw{OrderHeader: z.order("a", 0, berth.CauseNotNeeded), Request: r.ID}
		w.Deadline = 0
		return z.try(w)
	}},
	{check.PromiseOrders, "a job that ended comes back", func(z *zoo) error {
		z.running("a", 1, forAnHour)
		r := z.ends(berth.Hour)
		z.pass(r)
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		again := z.bind("a", on(0, "n1", 0))
		again.Incarnation = 2
		return z.try(again)
	}},
	{check.PromiseEvents, "a job runs for longer than it may at least", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1, forAnHour, func(j *berth.Job) { j.MinRuntime = berth.Day })})
	}},
}

// A job that is asked in time, answers or not, and is stopped, is as it should be.
func TestAJobThatEndsAtItsLimitPasses(t *testing.T) {
	for _, answers := range []bool{true, false} {
		z := newZoo(t)
		z.running("a", 1, forAnHour, writes)
		r := z.asksToEnd(59 * berth.Minute)
		z.pass(r)
		at := berth.Hour
		if answers {
			z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
			at = 59 * berth.Minute
		}
		stop := z.ends(at)
		z.pass(stop)
		z.tell(berth.OrderReported{Order: stop.ID, Outcome: berth.OutcomeDone})
		require.Empty(t, z.c.States())
	}
}
