package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about gangs that shrink.

// stretched has a gang of four members, of which so many suffice, run on two nodes, and one
// of two GPUs wait that ranks above it.
func (z *zoo) stretched(least int, change ...func(*berth.Job)) {
	z.tenants(plain, plain)
	z.submit("wide", 4, append([]func(*berth.Job){in("a1"), writes, func(j *berth.Job) { j.Groups[0].MinMembers = least }}, change...)...)
	b := z.bind("wide", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0), on(3, "n2", 1))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	z.used = append(z.used, "a1", "a1", "a1", "a1")
	z.singles("a1", "yz", writes)
	z.submit("high", 2, in("a1"), ahead)
	require.NoError(z.t, z.against(z.gangs(1, 3, 0)))
}

// shrink stops the last members of the gang for another.
func (z *zoo) shrink(to berth.JobID, members ...berth.MemberPlacement) berth.Release {
	r := berth.Release{OrderHeader: z.because("wide", berth.Minute, berth.CausePreempted, to), Members: members, Attempt: 1}
	r.Remaining = []berth.GroupSize{{Members: 4 - len(members)}}
	r.SurplusEvictions = []berth.SurplusEviction{{Beneficiary: berth.ReplicaRef{Job: to}}}
	for i := range members {
		r.SurplusEvictions[0].Members = append(r.SurplusEvictions[0].Members, members[i].Ref())
	}
	return r
}

func pairs(j *berth.Job) { j.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "node"}} }

var last2 = []berth.MemberPlacement{on(2, "n2", 0), on(3, "n2", 1)}

var shrinks = []animal{
	{check.PromiseS2, "a gang gives more than it has above its minimum", func(z *zoo) error {
		z.stretched(3)
		return z.try(z.shrink("high", last2...))
	}},
	{check.PromiseS8, "a gang gives a part of a segment", func(z *zoo) error {
		z.stretched(2, pairs)
		z.submit("small", 1, in("a1"), ahead)
		require.NoError(z.t, z.against(z.gangs(2, 3, 0)))
		return z.try(z.shrink("small", last2[1]))
	}},
	{check.PromiseS7, "a gang shrinks for one that runs", func(z *zoo) error {
		z.stretched(2)
		return z.try(z.shrink("z", last2...))
	}},
	{check.PromiseS6, "a gang shrinks for its equal", func(z *zoo) error {
		z.stretched(2, ahead)
		return z.try(z.shrink("high", last2...))
	}},
	{check.PromiseS6, "a gang shrinks though nobody shall", func(z *zoo) error {
		z.stretched(2)
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}})
		return z.try(z.shrink("high", last2...))
	}},
	{check.PromiseOrders, "a gang is told a wrong size", func(z *zoo) error {
		z.stretched(2)
		r := z.shrink("high", last2...)
		r.Remaining[0].Members = 3
		return z.try(r)
	}},
	{check.PromiseS6, "more is stopped than is evicted", func(z *zoo) error {
		z.stretched(1)
		r := z.shrink("high", last2...)
		r.Members = append(r.Members, on(1, "n1", 1))
		return z.try(r)
	}},
	{check.PromiseOrders, "a member is evicted that does not run", func(z *zoo) error {
		z.stretched(2)
		r := z.shrink("high", last2...)
		r.SurplusEvictions[0].Members[1].Index = 7
		return z.try(r)
	}},
	{check.PromiseOrders, "a member is evicted twice", func(z *zoo) error {
		z.stretched(2)
		r := z.shrink("high", last2...)
		r.SurplusEvictions[0].Members[1] = r.SurplusEvictions[0].Members[0]
		return z.try(r)
	}},
	{check.PromiseCauses, "a gang shrinks first for somebody else than it says", func(z *zoo) error {
		z.stretched(2)
		r := z.shrink("high", last2...)
		r.Cause.Beneficiary.Job = "z"
		return z.try(r)
	}},
	{check.PromiseS7, "a gang gives more than is needed", func(z *zoo) error {
		z.stretched(1)
		z.pass(z.shrink("high", append(last2[:2:2], on(1, "n1", 1))...))
		return z.against(z.gangs(1, 3, 0, z.roomFor("high", "n1", "n2")))
	}},
	{check.PromiseS7, "a gang ends where another could have shrunk", func(z *zoo) error {
		z.stretched(2)
		z.pass(z.ask("y", berth.CausePreempted, "high"), z.ask("z", berth.CausePreempted, "high"))
		return z.against(z.gangs(1, 3, 0, z.room("high", "n3")))
	}},
	{check.PromiseS7, "a gang ends that could have shrunk", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Gain: berth.GainPolicy{IgnoreCost: true}}}})
		z.stretched(2)
		z.pass(z.ask("wide", berth.CausePreempted, "high"))
		return z.against(z.gangs(1, 3, 0, z.room("high", "n2")))
	}},
	{check.PromiseOrders, "what was told to stop is not asked again", func(z *zoo) error {
		z.stretched(2)
		r := z.shrink("high", last2...)
		z.pass(r)
		z.now = r.Deadline
		return z.try()
	}},
}

// roomFor is the report of a reservation of a gang for which nobody is asked for a checkpoint.
func (z *zoo) roomFor(id berth.JobID, nodes ...berth.NodeID) berth.ReservationReport {
	r := z.room(id, nodes...)
	r.Until = z.now.Add(grace - 5*berth.Minute)
	return r
}

// A gang that shrinks as it should passes, and grows again.
func TestShrinkingPasses(t *testing.T) {
	z := newZoo(t)
	z.stretched(2, pairs)
	r := z.shrink("high", last2...)
	z.pass(r)
	require.NoError(t, z.against(z.gangs(1, 3, 0, z.roomFor("high", "n2"))))
	z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 2}}})
	z.now = r.Deadline
	again := z.shrink("high", last2[0])
	again.Attempt, again.Remaining = 2, r.Remaining
	z.pass(again)
	z.tell(berth.OrderReported{Order: again.ID, Outcome: berth.OutcomeDone})
	z.tell(berth.JobCancelled{Job: "high"})
	b := z.bind("wide", last2...)
	b.Cause.Code = berth.CauseGrows
	z.pass(b)
	for _, name := range []string{"shrinks", "none of the victims could be spared", "room is enough"} {
		require.NotZero(t, z.c.Cases()[name], name)
	}
}
