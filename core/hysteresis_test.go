package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// calmly is a core with 8 GPUs and a queue a, under a policy of preemption.
func calmly(t *testing.T, p berth.Preemption) *divided {
	t.Helper()
	return shared(t, berth.Config{Policy: berth.Policy{Preemption: p}}, func(_, _ *quota.Queue) {})
}

func costs(checkpoint, restart berth.Duration) func(*berth.Job) {
	return func(j *berth.Job) {
		j.Checkpoint = berth.Checkpoint{Supported: true, Cost: checkpoint, RestartCost: restart}
	}
}

func serves(j *berth.Job) { j.Class = berth.ClassLatencyCritical }

// wakes runs passes when the core asks for them, until one has orders, and returns when that was;
// it fails after too many passes.
func (d *divided) wakes(most int) (berth.Time, []berth.Order) {
	d.Helper()
	for range most {
		wake, ok := d.NextWake()
		require.True(d, ok, "there is nothing to wait for")
		d.now = wake
		if orders := d.pass(); len(orders) > 0 {
			return d.now, orders
		}
	}
	require.FailNow(d, "woken too often")
	return 0, nil
}

// A preemption is put off until the gain is more than the price, to the millisecond, and no pass
// is run for it before.
func TestItIsPutOffUntilItIsWorthIt(t *testing.T) {
	d := calmly(t, berth.Preemption{})
	d.tell(berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: -1}})
	d.runs(one("a", "low", 8, costs(berth.Minute, 14*berth.Minute)))
	d.now = 1000
	d.tell(one("a", "high", 4, ranks(1)))
	require.Empty(t, d.pass())
	reason := d.explain("high").Reason
	// 8 GPUs for 1 + 14 + 5 minutes, against 4 GPUs for 10 minutes and the wait.
	want := &berth.Weighing{Gain: 40 * 60_000, Cost: 160 * 60_000, From: 1000 + berth.Time(30*berth.Minute) + 1}
	require.Equal(t, want, reason.Weighing)
	require.Equal(t, []berth.Victim{{Job: "low", Queue: "a", GPUMilli: 8000, Cost: want.Cost}}, reason.PotentialVictims)
	require.Contains(t, reason.Preemption, "does not pay")
	at, orders := d.wakes(2)
	require.Equal(t, want.From, at)
	require.Equal(t, []string{"requestCheckpoint low preempted"}, told(orders))
	require.Nil(t, d.explain("high").Reason.Weighing)
}

// It is found as well where what victims lose rises between their checkpoints and falls with
// each.
func TestItIsWorthItAfterACheckpoint(t *testing.T) {
	d := calmly(t, berth.Preemption{})
	d.tell(berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: -1}})
	d.runs(one("a", "low", 8, func(j *berth.Job) { j.Checkpoint.Interval = berth.Hour }))
	d.now = berth.Time(10 * berth.Minute)
	d.tell(one("a", "high", 8, ranks(1)))
	require.Empty(t, d.pass(), "15 minutes are lost, 10 are gained")
	at, _ := d.wakes(2)
	require.Equal(t, berth.Time(berth.Hour), at, "they rise alike")
}

// What a higher class gains is worth more than what checkpointing jobs lose, but not than a week.
func TestAClassIsWorthALot(t *testing.T) {
	d := calmly(t, berth.Preemption{})
	d.runs(one("a", "low", 8, costs(20*berth.Minute, berth.Hour)))
	d.tell(one("a", "high", 1, serves))
	require.Equal(t, []string{"requestCheckpoint low preempted"}, told(d.pass()))

	d = calmly(t, berth.Preemption{})
	d.runs(one("a", "low", 8))
	d.now = berth.Time(7 * berth.Day)
	d.tell(one("a", "high", 1, serves))
	require.Empty(t, d.pass())
	require.Zero(t, d.explain("high").Reason.Weighing.From, "it never is")
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Gain: berth.GainPolicy{IgnoreCost: true}}}})
	d.now += berth.Time(berth.Minute)
	require.Equal(t, []string{"release low preempted"}, told(d.pass()))
}

// What is owed to a queue is not weighed, what it takes beyond is.
func TestWhatIsOwedIsNotWeighed(t *testing.T) {
	config := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{StopUnsaved: true}}}
	d := shared(t, config, func(a, b *quota.Queue) { a.Guarantee, b.Guarantee = gpuMilli(2), nil })
	d.runs(one("b", "b1", 2), one("b", "b2", 2), one("b", "b3", 4))
	d.now = berth.Time(7 * berth.Day)
	d.tell(one("a", "a1", 2))
	require.Equal(t, []string{"release b1 reclaimed"}, told(d.settle(d.now))[:1])
	d.tell(one("a", "a2", 2))
	require.Empty(t, d.pass())
	require.NotNil(t, d.explain("a2").Reason.Weighing)
}

// A function of the embedder's own takes the place of the standard one, and is given again at a
// restore.
func TestAGainOfOnesOwn(t *testing.T) {
	var asked []preempt.Beneficiary
	gain := func(b preempt.Beneficiary) preempt.GPUMilliseconds {
		asked = append(asked, b)
		return preempt.GPUMilliseconds(b.Waited)
	}
	d := shared(t, berth.Config{Gain: gain}, func(a, _ *quota.Queue) { a.Weight = 7 })
	d.runs(one("a", "low", 8, writesCheckpoints))
	d.now = 1000
	d.tell(one("a", "high", 4, ranks(1), serves))
	require.Empty(t, d.pass())
	require.Equal(t, preempt.Beneficiary{Class: 2, Priority: 1, Weight: 7, GPUMilli: 4000}, asked[0])
	require.Equal(t, 1000+berth.Time(40*berth.Minute)+1, d.explain("high").Reason.Weighing.From)

	b, err := d.Snapshot()
	require.NoError(t, err)
	_, err = core.Restore(b)
	require.ErrorIs(t, err, berth.ErrInvalid)
	d.Core, err = core.Restore(b, core.WithGain(gain))
	require.NoError(t, err)
	_, err = d.WhatIf(d.now)
	require.NoError(t, err)
	d.now += berth.Time(40*berth.Minute) + 1
	require.Equal(t, []string{"requestCheckpoint low preempted"}, told(d.pass()))

	b, err = calmly(t, berth.Preemption{}).Snapshot()
	require.NoError(t, err)
	_, err = core.Restore(b, core.WithGain(gain))
	require.ErrorIs(t, err, berth.ErrInvalid)
}

// What a job tells of its checkpoints is believed, and its interval is a guess no longer.
func TestCheckpointsThatAreTold(t *testing.T) {
	loses := func(d *divided) berth.Duration {
		return berth.Duration(d.explain("high").Reason.PotentialVictims[0].Cost/8) - 5*berth.Minute
	}
	d := calmly(t, berth.Preemption{Mode: berth.PreemptionReclaim})
	d.runs(one("a", "low", 8, func(j *berth.Job) { j.Checkpoint.Interval = 20 * berth.Minute }))
	d.tell(one("a", "high", 8, ranks(1)))
	d.now = berth.Time(50 * berth.Minute)
	d.pass()
	require.Equal(t, 10*berth.Minute, loses(d))
	d.tell(berth.CheckpointWritten{Job: "low", Incarnation: 1, At: berth.Time(15 * berth.Minute)})
	require.Equal(t, 35*berth.Minute, loses(d), "it would have told of those after that")
	d.tell(berth.CheckpointWritten{Job: "low", Incarnation: 1})
	d.tell(berth.CheckpointWritten{Job: "low", Incarnation: 1, At: 1})
	d.now += 7
	d.pass()
	require.EqualValues(t, 7, loses(d))
}

// A victim may tell of a checkpoint meanwhile: that is no answer.
func TestACheckpointByItselfIsNoAnswer(t *testing.T) {
	d, request := asked(t)
	d.tell(berth.CheckpointWritten{Job: "low", Incarnation: 1})
	require.Empty(t, d.pass())
	d.report(request, berth.OutcomeDone)
	require.Equal(t, []string{"release low preempted"}, told(d.pass()))
	require.ErrorIs(t, d.Apply(d.now, berth.CheckpointWritten{Job: "low", Incarnation: 1}), berth.ErrStale)
}

// A victim that is asked has the time that its class has.
func TestGraceGoesByClass(t *testing.T) {
	d := calmly(t, berth.Preemption{Grace: []berth.Grace{{Class: berth.ClassBatch, Timeout: berth.Hour}, {Class: berth.ClassInteractive}}})
	interactive := func(j *berth.Job) { j.Class = berth.ClassInteractive }
	d.runs(one("a", "low", 4, writesCheckpoints), one("a", "mid", 4, writesCheckpoints, interactive))
	d.tell(one("a", "high", 8, serves))
	orders := d.pass()
	require.Equal(t, berth.Time(berth.Hour), orders[0].Header().Deadline)
	require.Equal(t, berth.Time(5*berth.Minute), orders[1].Header().Deadline)
	// The room is kept until the last must have answered, and is gone.
	require.Equal(t, berth.Time(berth.Hour+33*berth.Minute), d.explain("high").Reason.Reservation.Until)
}

// A victim runs for longer before it is evicted again, twice as long each time, up to eight
// times; and starts over when it has run for long enough.
func TestACooldownGrows(t *testing.T) {
	d := calmly(t, berth.Preemption{Cooldown: berth.Minute, Gain: berth.GainPolicy{IgnoreCost: true}})
	d.runs(one("a", "low", 8, writesCheckpoints))
	waitOf := func(i int) berth.Duration {
		began, id := d.now, berth.JobID(fmt.Sprint("high", i))
		d.tell(one("a", id, 8, ranks(1)))
		orders := d.pass()
		if len(orders) == 0 {
			_, orders = d.wakes(2)
		}
		spared := d.now.Sub(began)
		require.Equal(t, []string{"requestCheckpoint low preempted"}, told(orders))
		d.carryOut(orders)
		d.carryOut(d.pass())
		d.carryOut(d.pass())
		d.tell(berth.JobFinished{Job: id, Incarnation: 1})
		d.carryOut(d.pass())
		require.Equal(t, berth.ReplicaRunning, d.explain("low").State)
		return spared
	}
	var spared []berth.Duration
	for i := range 6 {
		spared = append(spared, waitOf(i))
	}
	m := berth.Minute
	require.Equal(t, []berth.Duration{0, m, 2 * m, 4 * m, 8 * m, 8 * m}, spared)
	d.now += berth.Time(16*m - 1)
	require.Zero(t, waitOf(6))
	require.Equal(t, 8*m, waitOf(7), "it was not long enough")
	d.now += berth.Time(16 * m)
	require.Zero(t, waitOf(8))
	require.Equal(t, m, waitOf(9))
}

// The rates bound the victims that are asked, from rest as many as they say, and then one after the
// other; a restored core keeps them as well.
func TestRatesBoundEvictions(t *testing.T) {
	for name, p := range map[string]berth.Preemption{
		"fleet": {RateLimit: berth.RateLimit{Evictions: 3, Per: 100}},
		"queue": {QueueRateLimit: berth.RateLimit{Evictions: 3, Per: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			d := calmly(t, p)
			for i := range 8 {
				d.runs(one("a", berth.JobID(fmt.Sprint("low", i)), 1, writesCheckpoints))
			}
			d.now = 1000
			for i := range 8 {
				d.tell(one("a", berth.JobID(fmt.Sprint("high", i)), 1, ranks(1)))
			}
			require.Len(t, d.pass(), 3)
			var at []berth.Time
			for range 5 {
				b, err := d.Snapshot()
				require.NoError(t, err)
				d.Core, err = core.Restore(b)
				require.NoError(t, err)
				require.Contains(t, d.explain("high7").Reason.Preemption, "in 34ms")
				when, orders := d.wakes(3)
				require.Len(t, orders, 1)
				at = append(at, when)
			}
			require.Equal(t, []berth.Time{1034, 1068, 1102, 1136, 1170}, at)
		})
	}
}

// One that needs more than the rate ever lets at once is served when nobody was evicted for long
// enough; smaller ones do not go before it, and it delays those that come after it.
func TestRatesLetLargeOnesPass(t *testing.T) {
	d := calmly(t, berth.Preemption{RateLimit: berth.RateLimit{Evictions: 2, Per: 100}})
	for i := range 8 {
		d.runs(one("a", berth.JobID(fmt.Sprint("low", i)), 1, writesCheckpoints))
	}
	d.now = 1000
	d.tell(one("a", "first", 1, ranks(3)))
	require.Len(t, d.pass(), 1)
	d.tell(one("a", "wide", 4, ranks(2)))
	d.tell(one("a", "small", 1, ranks(1)))
	at, orders := d.wakes(3)
	require.EqualValues(t, 1050, at)
	require.Len(t, orders, 4)
	require.Equal(t, berth.JobID("wide"), orders[0].Header().Cause.Beneficiary.Job)
	at, orders = d.wakes(3)
	require.EqualValues(t, 1200, at, "four evictions later there is one again")
	require.Len(t, orders, 1)
	require.Equal(t, berth.JobID("small"), orders[0].Header().Cause.Beneficiary.Job)
}

// No victim ever evicts its beneficiary, whatever both have waited for: gains decide when, and
// never the victims.
func TestL2_NoTwoYieldToEachOther(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		d := calmly(t, berth.Preemption{
			Cooldown: -1,
			Gain: berth.GainPolicy{
				Turn: rapid.SampledFrom([]berth.Duration{-1, 0, 1}).Draw(rt, "turn"), Queueing: rapid.SampledFrom([]berth.Duration{-1, 0}).Draw(rt, "queueing"),
				WaitMilli: rapid.SampledFrom([]int{0, 100_000}).Draw(rt, "wait"),
			},
		})
		for i := range rapid.IntRange(2, 7).Draw(rt, "jobs") {
			d.tell(one("a", berth.JobID(fmt.Sprint("j", i)), rapid.IntRange(1, 8).Draw(rt, "gpus"),
				ranks(int32(rapid.IntRange(0, 2).Draw(rt, "priority"))), func(j *berth.Job) {
					j.Class = rapid.SampledFrom([]berth.Class{berth.ClassBatch, berth.ClassInteractive, berth.ClassLatencyCritical}).Draw(rt, "class")
					j.Checkpoint = berth.Checkpoint{
						Supported: rapid.Bool().Draw(rt, "supported"), Cost: berth.Duration(rapid.IntRange(0, 100_000).Draw(rt, "cost")),
						Interval: berth.Duration(rapid.IntRange(0, 1_000_000).Draw(rt, "interval")),
					}
				}))
			d.now += berth.Time(rapid.IntRange(0, 1_000_000).Draw(rt, "later"))
			d.carryOut(d.pass())
		}
		evicted := map[[2]berth.JobID]bool{}
		for range 200 {
			orders := d.pass()
			for _, o := range orders {
				if to := o.Header().Cause.Beneficiary.Job; to != "" {
					evicted[[2]berth.JobID{o.Header().Job, to}] = true
				}
			}
			d.carryOut(orders)
			wake, ok := d.NextWake()
			if !ok || wake > d.now.Add(100*berth.Day) {
				break
			}
			d.now = wake
		}
		for pair := range evicted {
			require.False(rt, evicted[[2]berth.JobID{pair[1], pair[0]}], "%v", pair)
		}
	})
}

// newCalmCore has a victim, one that was a victim before, one that it does not pay for yet,
// and rates that have let as many be evicted as they let.
func newCalmCore(t *testing.T) *core.Core {
	t.Helper()
	d := calmly(t, berth.Preemption{
		RateLimit: berth.RateLimit{Evictions: 3, Per: berth.Hour}, QueueRateLimit: berth.RateLimit{Evictions: 2, Per: berth.Hour},
		Grace: []berth.Grace{{Class: berth.ClassBatch, Timeout: berth.Minute}},
	})
	d.runs(one("a", "low", 4, writesCheckpoints), one("a", "told", 4, costs(berth.Hour, berth.Hour)))
	d.tell(berth.CheckpointWritten{Job: "told", Incarnation: 1})
	d.tell(one("a", "short", 4, ranks(1)))
	for range 3 {
		d.carryOut(d.pass())
	}
	d.tell(berth.JobFinished{Job: "short", Incarnation: 1})
	d.carryOut(d.pass())
	d.now += berth.Time(10 * berth.Minute)
	d.tell(one("a", "high", 4, ranks(2)))
	d.tell(one("a", "later", 8, ranks(1)))
	require.Len(t, d.pass(), 1)
	d.tell(one("a", "last", 3, ranks(1)))
	d.pass()
	require.NoError(t, d.Check())
	return d.Core
}

// Rates, graces and worths that make no sense are refused.
func TestBadCalmIsRefused(t *testing.T) {
	for field, p := range map[string]berth.Preemption{
		"cooldown":             {Cooldown: -2},
		"rateLimit.evictions":  {RateLimit: berth.RateLimit{Evictions: -2}},
		"rateLimit.per":        {RateLimit: berth.RateLimit{Evictions: 2, Per: 1}},
		"queueRateLimit.per":   {QueueRateLimit: berth.RateLimit{Evictions: 1, Per: -1}},
		"grace[0].class":       {Grace: []berth.Grace{{Class: 3}}},
		"grace[1].class":       {Grace: []berth.Grace{{}, {}}},
		"grace[0].timeout":     {Grace: []berth.Grace{{Timeout: -1}}},
		"maxMinRuntime":        {MaxMinRuntime: -2},
		"queues[0].queue":      {Queues: []berth.QueuePreemption{{}}},
		"queues[0].minRuntime": {Queues: []berth.QueuePreemption{{Queue: "q", MinRuntime: -1}}},
		"queues[1].queue":      {Queues: []berth.QueuePreemption{{Queue: "q"}, {Queue: "q", MinRuntime: berth.Minute}}},
		"gain.turn":            {Gain: berth.GainPolicy{Turn: -2}},
		"gain.queueing":        {Gain: berth.GainPolicy{Queueing: -2}},
		"gain.interactive":     {Gain: berth.GainPolicy{Interactive: 1 << 60}},
		"gain.latencyCritical": {Gain: berth.GainPolicy{LatencyCritical: -7}},
		"gain.waitMilli":       {Gain: berth.GainPolicy{WaitMilli: -2}},
	} {
		_, err := core.New(berth.Config{Policy: berth.Policy{Preemption: p}})
		var e *berth.Error
		require.ErrorAs(t, err, &e, field)
		require.Equal(t, "policy.preemption."+field, e.Field)
	}
}

// A policy that was told shares nothing with the core.
func TestGraceIsCloned(t *testing.T) {
	grace := []berth.Grace{{Timeout: berth.Hour}}
	sched, err := core.New(berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Grace: grace}}})
	require.NoError(t, err)
	grace[0].Timeout = 1
	sched.Config().Policy.Preemption.Grace[0].Timeout = 2
	require.Equal(t, berth.Hour, sched.Config().Policy.Preemption.Grace[0].Timeout)
}
