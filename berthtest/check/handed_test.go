package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about what is handed over: claims, members, losses.

// lostOn is the loss of what a gang of z.running has on a node of its GPUs.
func (z *zoo) lostOn(id berth.JobID, members ...berth.MemberPlacement) berth.Loss {
	return berth.Loss{Job: id, Incarnation: 1, At: z.now, Cause: berth.Cause{Code: berth.CauseHardwareLost, Detail: "a fire"}, Members: members}
}

var handed = []animal{
	{check.PromiseClaims, "a Bind has no claims", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Claims = nil
		return z.try(b)
	}},
	{check.PromiseClaims, "a Bind has another claim", func(z *zoo) error {
		z.submit("a", 1)
		b := z.bind("a", on(0, "n1", 0))
		b.Claims = []berth.GroupClaim{{Claim: berth.Claim{GPUs: 1, CPUMilli: 1}}}
		return z.try(b)
	}},
	{check.PromiseClaims, "the claims of a Bind change places", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) {
			j.Groups[0].Name = "one"
			j.Groups = append(j.Groups, berth.Group{Name: "two", Members: 1, Claim: berth.Claim{GPUs: 2}})
		})
		one, two := on(0, "n1", 0), on(0, "n2", 0, 1)
		one.Group, two.Group = "one", "two"
		b := z.bind("a", one, two)
		b.Claims = []berth.GroupClaim{b.Claims[1], b.Claims[0]}
		return z.try(b)
	}},
	{check.PromiseOrders, "a checkpoint is requested of nobody", func(z *zoo) error {
		z.full()
		r := z.ask("z", berth.CausePreempted, "high")
		r.Members = nil
		return z.try(r)
	}},
	{check.PromiseOrders, "a checkpoint is requested elsewhere", func(z *zoo) error {
		z.full()
		r := z.ask("z", berth.CausePreempted, "high")
		r.Members = []berth.MemberPlacement{on(0, "n1", 0)}
		return z.try(r)
	}},
	{check.PromiseOrders, "a checkpoint is requested of one member too many", func(z *zoo) error {
		z.full()
		r := z.ask("z", berth.CausePreempted, "high")
		r.Members = append(r.Members[:1:1], on(1, "n1", 0))
		return z.try(r)
	}},
	{check.PromiseLost, "a loss is not said", func(z *zoo) error {
		z.running("a", 3)
		z.tell(berth.NodeLost{Node: "n2"})
		return z.c.Lost(nil)
	}},
	{check.PromiseLost, "a whole gang that went is not said", func(z *zoo) error {
		z.running("a", 1)
		z.tell(berth.NodeLost{Node: "n1"})
		return z.c.Lost(nil)
	}},
	{check.PromiseLost, "a member is left out of a loss", func(z *zoo) error {
		at := z.running("a", 3)
		z.tell(berth.NodeLost{Node: "n1"})
		return z.c.Lost([]berth.Loss{z.lostOn("a", at[0])})
	}},
	{check.PromiseLost, "a member that runs is said to be lost", func(z *zoo) error {
		at := z.running("a", 3)
		z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
		return z.c.Lost([]berth.Loss{z.lostOn("a", at[0], at[1])})
	}},
	{check.PromiseLost, "a loss is of another life", func(z *zoo) error {
		loss := z.lostOn("a", z.running("a", 1)...)
		loss.Incarnation++
		z.tell(berth.NodeLost{Node: "n1"})
		return z.c.Lost([]berth.Loss{loss})
	}},
	{check.PromiseLost, "a loss is said after the pass", func(z *zoo) error {
		at := z.running("a", 1)
		z.tell(berth.NodeLost{Node: "n1"})
		require.NoError(z.t, z.c.Lost([]berth.Loss{z.lostOn("a", at...)}))
		z.pass()
		return z.c.Lost([]berth.Loss{z.lostOn("a", at...)})
	}},
	{check.PromiseCauses, "a loss has another cause", func(z *zoo) error {
		loss := z.lostOn("a", z.running("a", 1)...)
		loss.Cause.Code = berth.CauseDrained
		z.tell(berth.NodeLost{Node: "n1"})
		return z.c.Lost([]berth.Loss{loss})
	}},
}

// Losses that are said right are in the order of their events, then by job.
func TestLossesAreHeldAgainstTheBooks(t *testing.T) {
	z := newZoo(t)
	require.NoError(t, z.c.Lost(nil))
	b := z.running("b", 3)
	z.submit("a", 1)
	bind := z.bind("a", on(0, "n2", 1))
	z.pass(bind)
	z.tell(berth.NodeLost{Node: "n2"})
	first := []berth.Loss{z.lostOn("a", bind.Members...), z.lostOn("b", b[2])}
	require.NoError(t, z.c.Lost(first))
	z.now = 5
	z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
	require.NoError(t, z.c.Lost(append(first, z.lostOn("b", b[0]))), "what was to be stopped is lost as well")
}
