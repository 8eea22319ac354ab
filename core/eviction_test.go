package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// one is a job of one member with some GPUs.
func one(queue berth.QueueID, id berth.JobID, gpus int, change ...func(*berth.Job)) berth.Event {
	j := berth.Job{ID: id, Queue: queue, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}}}
	for _, c := range change {
		c(&j)
	}
	return berth.JobSubmitted{Job: j}
}

func writesCheckpoints(j *berth.Job) { j.Checkpoint.Supported = true }

func ranks(priority int32) func(*berth.Job) { return func(j *berth.Job) { j.Priority = priority } }

func inPool(pool string) func(*berth.Job) {
	return func(j *berth.Job) { j.Groups[0].Selector.Pools = []string{pool} }
}

// pooled adds a node of a pool that has its name.
func (d *divided) pooled(name string, gpus int, domains ...string) {
	d.Helper()
	n := berth.Node{ID: berth.NodeID(name), Pool: name, Domains: domains}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100"})
	}
	d.tell(berth.NodeJoined{Node: n})
}

// runs submits jobs and has them run.
func (d *divided) runs(jobs ...berth.Event) {
	d.Helper()
	for _, e := range jobs {
		d.tell(e)
		orders := d.pass()
		require.Len(d, orders, 1)
		require.IsType(d, berth.Bind{}, orders[0])
		d.carryOut(orders)
	}
}

// told describes orders: their kind, their job and their cause.
func told(orders []berth.Order) []string {
	list := []string{}
	for _, o := range orders {
		h := o.Header()
		list = append(list, fmt.Sprintf("%s %s %s", o.Kind(), h.Job, h.Cause.Code))
	}
	return list
}

func (d *divided) explain(id berth.JobID) berth.ReplicaExplanation {
	d.Helper()
	e, err := d.Explain(id)
	require.NoError(d, err)
	return e.Replicas[0]
}

// asked is a core of which the only node is held by "low", which was asked for a checkpoint
// so that "high" can have its place. Of queue a 4 GPUs are guaranteed, of b as many.
func asked(t *testing.T, change ...func(*berth.Job)) (d *divided, request berth.Order) {
	t.Helper()
	d = shared(t, berth.Config{Ledger: true}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "low", 8, writesCheckpoints))
	d.now += 1000
	d.tell(one("a", "high", 8, append(change, ranks(1))...))
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint low preempted"}, told(orders))
	return d, orders[0]
}

// A job that can write a checkpoint is asked for it, and stopped when it has written it; what
// it held goes to the one it was stopped for, and to nobody else.
func TestS6_ACheckpointComesBeforeTheEnd(t *testing.T) {
	d, request := asked(t)
	high := berth.ReplicaRef{Job: "high"}
	require.Equal(t, high, request.Header().Cause.Beneficiary)
	require.Equal(t, d.now.Add(5*berth.Minute), request.Header().Deadline)
	low := d.explain("low")
	require.Equal(t, berth.ReplicaRunning, low.State, "it works on while it writes")
	require.Equal(t, high, low.Beneficiary)
	reason := d.explain("high").Reason
	require.Equal(t, []berth.Victim{{Job: "low", Queue: "a", GPUMilli: 8000, Cost: 40 * 60_000, Deadline: request.Header().Deadline}}, reason.Victims)
	require.Contains(t, reason.Preemption, "preemption is under way")
	require.Equal(t, []berth.NodeID{"n"}, reason.Reservation.Nodes)
	require.Empty(t, d.pass(), "one order at a time")

	d.report(request, berth.OutcomeDone)
	orders := d.pass()
	require.Equal(t, []string{"release low preempted"}, told(orders))
	require.Equal(t, high, orders[0].Header().Cause.Beneficiary)
	require.Zero(t, d.explain("high").Reason.Victims[0].Deadline, "it is being stopped")
	d.tell(one("a", "third", 1))
	require.Empty(t, d.pass())
	d.report(orders[0], berth.OutcomeDone)
	orders = d.pass()
	require.Equal(t, []string{"bind high victims-gone"}, told(orders))
	d.carryOut(orders)
	low = d.explain("low")
	require.Equal(t, berth.ReplicaPending, low.State)
	require.Equal(t, 1, low.Position, "it waits with its age, before the third")
	require.EqualValues(t, 1, d.Report().Totals.CheckpointsRequested)
	d.tell(berth.JobFinished{Job: "high", Incarnation: 1})
	d.carryOut(d.pass())
	require.EqualValues(t, 2, d.explain("low").Incarnation)
}

// A checkpoint that fails, or of which nothing is heard, holds nobody up for ever.
func TestS6_ACheckpointThatFailsIsNotWaitedFor(t *testing.T) {
	d, request := asked(t)
	d.report(request, berth.OutcomeFailed)
	orders := d.pass()
	require.Equal(t, []string{"release low preempted"}, told(orders))
	require.Contains(t, orders[0].Header().Cause.Detail, "it wrote no checkpoint")

	d, request = asked(t)
	d.now = request.Header().Deadline - 1
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Equal(t, request.Header().Deadline, wake)
	d.now = wake
	orders = d.pass()
	require.Equal(t, []string{"release low preempted"}, told(orders))
	require.Contains(t, orders[0].Header().Cause.Detail, "no checkpoint was reported in time")
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: request.Header().ID, Outcome: berth.OutcomeDone}), berth.ErrStale, "too late")
}

// Reports about a request that make no sense are refused, those that come twice are stale.
func TestReportsOfACheckpoint(t *testing.T) {
	d, request := asked(t)
	id, members := request.Header().ID, []berth.MemberRef{{}}
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: id, Outcome: berth.OutcomePartial, Members: members}), berth.ErrInvalid)
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: id, Outcome: berth.OutcomeDone, Members: members}), berth.ErrInvalid)
	require.Empty(t, d.pass())
	d.report(request, berth.OutcomeDone)
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: id, Outcome: berth.OutcomeDone}), berth.ErrStale)
	require.Len(t, d.pass(), 1)
	require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: id, Outcome: berth.OutcomeFailed}), berth.ErrStale)
}

// A victim is told when its beneficiary needs the place no more, and goes on. If its
// checkpoint is written before it can be told, it goes on without.
func TestAVictimThatIsNotNeededGoesOn(t *testing.T) {
	for name, end := range map[string]func(*divided){
		"the other is cancelled":   func(d *divided) { d.tell(berth.JobCancelled{Job: "high"}) },
		"it starts elsewhere":      func(d *divided) { d.node("m", 8, berth.GPUModeWhole) },
		"its node takes no more":   func(d *divided) { d.tell(berth.NodeCordoned{Node: "n"}) },
		"it is given up":           func(d *divided) { d.now += berth.Time(2 * berth.Minute) },
		"a policy forbids it":      func(d *divided) { d.mode(berth.PreemptionOff) },
		"the two are of one queue": func(d *divided) { d.mode(berth.PreemptionReclaim) },
	} {
		t.Run(name, func(t *testing.T) {
			limited := func(j *berth.Job) { j.GangTimeout = 2 * berth.Minute }
			d, request := asked(t, limited)
			end(d)
			orders := d.pass()
			withdrawn := orders[len(orders)-1]
			require.Equal(t, "withdraw low not-needed", told(orders)[len(orders)-1])
			require.Equal(t, request.Header().ID, withdrawn.(berth.Withdraw).Request)
			require.ErrorIs(t, d.Apply(d.now, berth.OrderReported{Order: request.Header().ID, Outcome: berth.OutcomeDone}), berth.ErrStale)
			require.Equal(t, berth.ReplicaRunning, d.explain("low").State)
			require.EqualValues(t, 1, d.Report().Totals.RequestsWithdrawn)

			d, request = asked(t, limited)
			end(d)
			if name == "it starts elsewhere" || name == "it is given up" {
				return // that is the doing of the pass, which tells at once
			}
			d.report(request, berth.OutcomeDone)
			require.NotContains(t, strings.Join(told(d.pass()), ", "), "low")
			require.Equal(t, berth.ReplicaRunning, d.explain("low").State)
		})
	}
}

func (d *divided) mode(mode berth.PreemptionMode) {
	d.Helper()
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Mode: mode, GuaranteeWithin: berth.Off}}})
}

// What is asked for a checkpoint gets no more members, until it is a victim no longer.
func TestAVictimDoesNotGrow(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "low", 2, writesCheckpoints, func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 5, 4 }))
	d.tell(one("a", "high", 8, ranks(1)))
	require.Equal(t, []string{"requestCheckpoint low preempted"}, told(d.pass()))
	d.node("m", 2, berth.GPUModeWhole)
	require.Empty(t, d.pass())
	d.tell(berth.JobCancelled{Job: "high"})
	require.Equal(t, []string{"withdraw low not-needed", "bind low grows"}, told(d.pass()))
}

// As many as there are go on at once.
func TestAllGoOnWhenThePolicyForbidsIt(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "v1", 4, writesCheckpoints), one("a", "v2", 4, writesCheckpoints))
	d.tell(one("a", "h1", 4, ranks(1)))
	d.tell(one("a", "h2", 4, ranks(1)))
	require.Len(t, d.pass(), 2)
	d.mode(berth.PreemptionOff)
	require.Equal(t, []string{"withdraw v1 not-needed", "withdraw v2 not-needed"}, told(d.pass()))
}

// A victim that is being stopped already is not held up, and waits again like all others.
func TestAStoppedVictimIsNotHeldUp(t *testing.T) {
	d, request := asked(t)
	d.report(request, berth.OutcomeDone)
	release := d.pass()[0]
	d.tell(berth.JobCancelled{Job: "high"})
	require.Empty(t, d.pass())
	require.Zero(t, d.explain("low").Beneficiary)
	d.report(release, berth.OutcomeDone)
	require.Equal(t, []string{"bind low fits"}, told(d.pass()))
}

// A victim that ends or fails by itself while it is asked makes room all the same.
func TestAVictimThatGoesByItself(t *testing.T) {
	d, _ := asked(t)
	d.tell(berth.JobFinished{Job: "low", Incarnation: 1})
	require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))

	d, _ = asked(t)
	d.tell(berth.MemberFailed{Job: "low", Incarnation: 1, Members: []berth.MemberRef{{}}})
	require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))

	d, _ = asked(t)
	d.tell(berth.JobCancelled{Job: "low"})
	orders := d.pass()
	require.Equal(t, []string{"release low cancelled"}, told(orders))
	d.report(orders[0], berth.OutcomeDone)
	require.Equal(t, []string{"bind high victims-gone"}, told(d.pass()))

	d, _ = asked(t)
	d.tell(berth.NodeLost{Node: "n"})
	require.Empty(t, d.pass())
	require.Empty(t, d.Report().Reservations)
}

// A core that is restored between any two events gives the orders that the first one would.
func TestD2_RestoredWhileSomebodyYields(t *testing.T) {
	ends := map[string][]berth.Event{
		"done":       {berth.OrderReported{Order: 2, Outcome: berth.OutcomeDone}, berth.OrderReported{Order: 3, Outcome: berth.OutcomeDone}, berth.OrderReported{Order: 4, Outcome: berth.OutcomeDone}},
		"failed":     {berth.OrderReported{Order: 2, Outcome: berth.OutcomeFailed}, berth.OrderReported{Order: 3, Outcome: berth.OutcomeDone}},
		"finished":   {berth.JobFinished{Job: "low", Incarnation: 1}},
		"cancelled":  {berth.JobCancelled{Job: "high"}},
		"unreported": nil,
	}
	for name, events := range ends {
		t.Run(name, func(t *testing.T) {
			var first []string
			for restored := range 2 {
				d, _ := asked(t)
				var all []string
				for i := range 8 {
					if restored == 1 {
						b, err := d.Snapshot()
						require.NoError(t, err)
						d.Core, err = core.Restore(b)
						require.NoError(t, err)
					}
					if i < len(events) {
						d.tell(events[i])
					}
					all = append(all, told(d.pass())...)
					d.now += berth.Time(berth.Minute)
				}
				if restored == 0 {
					first = all
				}
				require.Equal(t, first, all)
			}
		})
	}
}

// Nobody is evicted before its minimum runtime, and a pass looks again when that is over.
func TestMinRuntimeSpares(t *testing.T) {
	config := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{MinRuntime: berth.Hour, StopUnsaved: true}}}
	d := shared(t, config, func(_, _ *quota.Queue) {})
	d.runs(one("a", "a0", 1), one("a", "long", 7, func(j *berth.Job) { j.MinRuntime = 2 * berth.Hour }))
	d.now = 1000
	d.tell(one("b", "b0", 1))
	require.Empty(t, d.pass())
	reason := d.explain("b0").Reason
	require.Contains(t, reason.Preemption, "ends in 59m59s")
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "c"}}) // of no use: it is looked at, and not forgotten
	d.now = 60_000
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Equal(t, berth.Time(berth.Hour), wake)
	d.now = wake
	require.Equal(t, []string{"release a0 reclaimed"}, told(d.pass()))
}

// The mode says which of the two rules hold, and Explain what they would do otherwise.
func TestTheModeOfPreemption(t *testing.T) {
	for mode, want := range map[berth.PreemptionMode][]string{
		berth.PreemptionOff:     {},
		berth.PreemptionReclaim: {"release low reclaimed"},
		berth.PreemptionOn:      {"release low reclaimed", "release lower preempted"},
	} {
		d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
		d.mode(mode)
		d.runs(one("a", "low", 5), one("b", "lower", 3))
		d.tell(one("b", "high", 3, ranks(1)))
		d.tell(one("b", "own", 1))
		require.Equal(t, want, told(d.settle(0))[:len(want)], mode)
		if mode == berth.PreemptionOff {
			reason := d.explain("high").Reason
			require.Contains(t, reason.Preemption, "the policy forbids")
			require.Equal(t, []berth.Victim{{Job: "lower", Queue: "b", GPUMilli: 3000, Cost: 15 * 60_000}}, reason.PotentialVictims)
			wake, _ := d.NextWake()
			require.Greater(t, wake, d.now, "there is nothing to look for")
		}
	}
}

// A latency-critical job is never preempted. What it has over the guarantee of its queue is
// lent like all else.
func TestLatencyCriticalJobsYieldWhatIsLent(t *testing.T) {
	critical := func(j *berth.Job) { j.Class = berth.ClassLatencyCritical }
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.runs(one("a", "due", 4, critical))
	d.now += 1000
	d.runs(one("a", "lent", 4, critical)) // it came last: of equals it goes
	d.tell(one("a", "high", 4, critical, ranks(9)))
	require.Empty(t, d.settle(d.now))
	require.Empty(t, d.explain("high").Reason.PotentialVictims)
	d.tell(one("b", "b0", 4))
	require.Equal(t, []string{"release lent reclaimed", "bind b0 victims-gone"}, told(d.settle(d.now)))
	d.tell(one("b", "b1", 1))
	require.Empty(t, d.settle(d.now), "it would be over its guarantee, and its fair share")
	require.Contains(t, d.explain("b1").Reason.Preemption, "more than its fair share of 4 GPU")
}

// What was lent is given back by the queues that have the most for their share, and none is
// left with less than its guarantee.
func TestS4_WhatWasLentIsGivenBack(t *testing.T) {
	d := shared(t, berth.Config{}, func(a, b *quota.Queue) { a.Guarantee, b.Guarantee = gpuMilli(2), gpuMilli(4) })
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "c"}})
	for i := range 3 {
		d.runs(one("a", berth.JobID(fmt.Sprint("a", i)), 1))
	}
	for i := range 5 {
		d.runs(one("c", berth.JobID(fmt.Sprint("c", i)), 1))
	}
	for i := range 4 {
		d.tell(one("b", berth.JobID(fmt.Sprint("b", i)), 1))
	}
	left := map[berth.QueueID]int{"a": 3, "c": 5}
	for _, o := range d.settle(berth.Time(berth.Hour)) {
		if r, ok := o.(berth.Release); ok {
			e, err := d.Explain(r.Job)
			require.NoError(t, err)
			left[e.Queue]--
			require.Equal(t, berth.CauseReclaimed, r.Cause.Code)
		}
	}
	require.Equal(t, map[berth.QueueID]int{"a": 3, "c": 1}, left, "a, which borrows 1, has less for its share")
}

// Nobody is placed on the nodes that are being vacated, however long that takes.
func TestS7_NobodySlipsIn(t *testing.T) {
	d := shared(t, berth.Config{}, func(a, b *quota.Queue) { a.Guarantee = gpuMilli(8); b.Guarantee = nil })
	d.runs(one("b", "b0", 4), one("b", "b1", 4, writesCheckpoints))
	d.tell(one("a", "a0", 8))
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint b1 reclaimed", "release b0 reclaimed"}, told(orders))
	d.report(orders[1], berth.OutcomeDone)
	d.tell(one("b", "important", 4, func(j *berth.Job) { j.Class = berth.ClassLatencyCritical }))
	d.tell(one("a", "small", 1, func(j *berth.Job) { j.ExpectedRuntime = berth.Second }))
	require.Empty(t, d.pass())
	require.Equal(t, berth.ReasonReserved, d.explain("small").Reason.Code)
	require.Len(t, d.explain("a0").Reason.Victims, 1)
	d.report(orders[0], berth.OutcomeDone)
	d.carryOut(d.pass())
	require.Equal(t, []string{"bind a0 victims-gone"}, told(d.pass()))
}

// Nor on what is freed of a limit, if that is what is short: not even a gang whose
// reservation comes true at that instant.
func TestS7_NobodySlipsInByQuota(t *testing.T) {
	d := shared(t, berth.Config{Policy: berth.Policy{ReserveAfter: berth.Minute, Stretch: berth.Off}}, func(_, _ *quota.Queue) {})
	for _, q := range []quota.Queue{
		{Name: "org", Limit: gpuMilli(8)},
		{Name: "lent", Parent: "org"},
		{Name: "owed", Parent: "org", Guarantee: gpuMilli(4)},
		{Name: "other", Parent: "org"},
	} {
		d.tell(berth.QueueSet{Queue: q})
	}
	for _, pool := range []string{"x", "y", "z"} {
		d.pooled(pool, 4)
	}
	d.runs(one("a", "outsider", 4, inPool("x"), func(j *berth.Job) { j.ExpectedRuntime = berth.Hour }))
	d.runs(one("lent", "first", 4, inPool("y")))
	d.tell(one("other", "reserved", 4, inPool("x")))
	d.pass()
	d.now += berth.Time(2 * berth.Minute)
	d.pass()
	require.Equal(t, []berth.NodeID{"x"}, d.explain("reserved").Reason.Reservation.Nodes)
	d.runs(one("lent", "second", 4, inPool("p")))
	d.tell(one("owed", "mine", 4, inPool("z")))
	orders := d.pass()
	require.Equal(t, []string{"release second reclaimed"}, told(orders), "z is free, but not the limit of org")
	require.Equal(t, berth.JobID("second"), d.explain("mine").Reason.Victims[0].Job)
	require.Equal(t, []berth.NodeID{"z"}, d.Report().Reservations[1].Nodes)
	d.report(orders[0], berth.OutcomeDone)
	d.tell(berth.JobFinished{Job: "outsider", Incarnation: 1})
	require.Equal(t, []string{"bind mine victims-gone"}, told(d.pass()))
	require.Equal(t, berth.ReplicaPending, d.explain("reserved").State)
}

// A queue within its guarantee does not take the place of another within its own.
func TestS7_WhatIsDueIsNotTakenByWhatIsDue(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "c"}})
	d.runs(one("c", "c0", 2), one("c", "c1", 2, writesCheckpoints), one("c", "spared", 4, func(j *berth.Job) { j.MinRuntime = berth.Day }))
	d.tell(one("a", "a0", 4))
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint c1 reclaimed", "release c0 reclaimed"}, told(orders))
	d.report(orders[1], berth.OutcomeDone)
	d.tell(one("b", "b0", 2))
	require.Empty(t, d.pass())
	d.report(orders[0], berth.OutcomeDone)
	d.carryOut(d.pass())
	require.Equal(t, []string{"bind a0 victims-gone"}, told(d.pass()))
}

// A gang that is to have its domains for itself has them: room is made for nobody else there.
func TestS8_RoomForAGangThatIsAlone(t *testing.T) {
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	d.pooled("n1", 8, "left")
	d.pooled("n2", 8, "left")
	d.pooled("n3", 8, "right")
	d.runs(one("q", "v1", 8, inPool("n1")), one("q", "v3", 8, inPool("n3")))
	d.tell(one("q", "alone", 8, ranks(5), inPool("n1"), func(j *berth.Job) { j.Topology.Exclusive = "leaf" }))
	d.tell(one("q", "pair", 8, ranks(4), func(j *berth.Job) { j.Groups[0].Members = 2 }))
	d.settle(berth.Time(berth.Hour))
	require.Len(t, d.explain("alone").Members, 1)
	require.Empty(t, d.explain("pair").Members)
	require.Len(t, d.explain("v3").Members, 1, "nothing would be won by its end")
}

// Jobs that need only wait for another that goes anyway keep no pass awake, however many.
func TestL1_WaitingForAJobThatGoesAnyway(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.pooled("x", 64)
	d.pooled("y", 1)
	d.runs(one("a", "large", 64), one("a", "low", 1, inPool("y"), ranks(-1)), one("a", "full", 8, ranks(1)))
	d.tell(berth.JobCancelled{Job: "large"})
	for i := range 100 {
		d.tell(one("a", berth.JobID(fmt.Sprint("j", i)), 1, inPool("x")))
	}
	require.Len(t, d.pass(), 1)
	require.Empty(t, d.pass())
	wake, ok := d.NextWake()
	require.True(t, ok)
	require.Greater(t, wake, d.now)
}

// With a fixed demand there is an end to it: a victim does not take the place back,
// of whatever class it is.
func TestL2_NobodyTakesItBack(t *testing.T) {
	d := shared(t, berth.Config{}, func(a, b *quota.Queue) { a.Guarantee, b.Guarantee = nil, nil })
	for i := range 4 {
		d.runs(one("a", berth.JobID(fmt.Sprint("a", i)), 2, func(j *berth.Job) { j.Class, j.Checkpoint.Supported = berth.ClassLatencyCritical, i%2 == 0 }))
	}
	d.tell(one("b", "b0", 4))
	d.tell(one("b", "b1", 2))
	d.settle(berth.Time(berth.Day))
	require.Len(t, d.explain("b0").Members, 1)
	require.EqualValues(t, 2, d.Report().Totals.ReplicasEvicted, "half of the fleet, and no more")
	d.tell(one("b", "large", 5))
	d.settle(2 * berth.Time(berth.Day))
	require.EqualValues(t, 2, d.Report().Totals.ReplicasEvicted, "it is more than b's share")
}

// Room is made for one replica of a service as for any gang, and one is evicted by itself.
func TestReplicasOfServicesYield(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, b *quota.Queue) { b.Guarantee = nil })
	d.tell(one("b", "web", 4, func(j *berth.Job) { j.Service = &berth.Service{Replicas: 2} }))
	d.carryOut(d.pass())
	d.tell(one("a", "a0", 4))
	orders := d.settle(0)
	require.Equal(t, []string{"release web reclaimed", "bind a0 victims-gone"}, told(orders))
}

// that fit in the guarantee, and not the large gang that does not.
func TestASmallJobIsTakenBackForASmallOne(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3", "n4")
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "a", Guarantee: gpuMilli(16)}})
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "b", Guarantee: gpuMilli(16)}})
	d.runs(one("a", "first", 8))
	d.now += 1000
	d.runs(one("a", "second", 8), one("a", "large", 8, members(2)))
	d.now += 1000
	d.tell(one("b", "owed", 8))
	require.Equal(t, []string{"release second reclaimed"}, told(d.pass()))
}

// A pass looks for victims for so many requests, and the next one goes on behind them; when all
// have been looked at the core rests.
func TestMoreRequestsThanAPassLooksForVictimsFor(t *testing.T) {
	for bids := 1; bids <= 4; bids++ {
		d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
		d.lower(func(b *core.Bounds) { b.Bids = bids })
		d.runs(one("a", "low", 8, func(j *berth.Job) { j.MinRuntime = berth.Hour }))
		for gpus := 1; gpus <= bids+1; gpus++ {
			d.tell(one("a", berth.JobID(fmt.Sprint("high", gpus)), gpus, ranks(1)))
		}
		require.Empty(t, d.pass())
		require.Equal(t, 1, d.passesToRest(), "one is left of %d", bids+1)
	}
}

// A bid that runs out of the searches of its pass because others had them is not in vain: it comes
// first in the next pass, and has all of them.
func TestABidThatIsCutShortIsMadeAgain(t *testing.T) {
	for searches := 6; searches <= 16; searches++ { // fewer are not enough for one
		d := fleetOf(t, "n1", "n2", "n3", "n4")
		d.runs(one("q", "low1", 8), one("q", "low2", 8), one("q", "low3", 8), one("q", "low4", 8))
		d.lower(func(b *core.Bounds) { b.VictimSearches = searches })
		d.tell(one("q", "high1", 8, ranks(1)))
		d.tell(one("q", "high2", 8, ranks(1), func(j *berth.Job) { j.Groups[0].Members = 2 }))
		evicted := len(d.pass())
		evicted += len(d.pass())
		require.Equal(t, 3, evicted, "%d searches", searches)
	}
}

// However many nodes a cold start fills, pass by pass, the pass that looks for victims at its end
// looks at those that the passes before it have just filled, and not at all of them.
func TestAColdStartLeavesNoPassAllNodes(t *testing.T) {
	const placed = 16
	for _, nodes := range []int{64, 256} {
		var names []berth.NodeID
		for i := range nodes {
			names = append(names, berth.NodeID(fmt.Sprintf("n%03d", i)))
		}
		d := fleetOf(t, names...)
		d.lower(func(b *core.Bounds) { b.Placed = placed })
		d.tell(berth.QueueSet{Queue: quota.Queue{Name: "r"}})
		for i := range nodes {
			d.tell(one("q", berth.JobID(fmt.Sprint("job", i)), 8))
		}
		d.tell(one("r", "last", 8))
		d.carryOut(d.pass()) // looks at all that have joined
		most, all := 0, 0
		for at, due := d.now, true; due && at <= d.now; at, due = d.NextWake() {
			before := core.NodesRestood(d.Core)
			d.carryOut(d.pass())
			looked := core.NodesRestood(d.Core) - before
			most, all = max(most, looked), all+looked
		}
		require.GreaterOrEqual(t, all, nodes-placed, "the last one looks for victims")
		require.LessOrEqual(t, most, 2*placed, "nodes looked at in one pass of %d", nodes)
	}
}
