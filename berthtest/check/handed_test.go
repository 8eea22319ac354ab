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

// half has a gang of two be started on GPUs 0 and 1 of node n1, and the first of them die.
func (z *zoo) half(id berth.JobID) berth.Bind {
	z.submit(id, 2)
	b := z.bind(id, on(0, "n1", 0), on(1, "n1", 1))
	z.pass(b)
	z.tell(berth.MemberFailed{Job: id, Incarnation: 1, Members: []berth.MemberRef{{Index: 0}}})
	return b
}

// sees is a world with the nodes of the zoo, where these members of a gang run.
func (z *zoo) sees(id berth.JobID, members ...berth.MemberPlacement) berth.World {
	w := berth.World{Nodes: []berth.Node{{ID: "n1"}, {ID: "n2"}, {ID: "n3"}}}
	for _, p := range members {
		w.Running = append(w.Running, berth.ObservedMember{Job: id, Incarnation: 1, MemberPlacement: p})
	}
	return w
}

// blast is the answer about a whole GPU with one gang on it, or none.
func blast(node berth.NodeID, gpu int, device ...berth.AffectedReplica) berth.BlastRadius {
	b := berth.BlastRadius{Node: node, GPU: gpu, Mode: berth.GPUModeWhole, Device: device}
	for _, r := range device {
		b.Processes = append(b.Processes, berth.ProcessFault{Job: r.Job, Replica: r.Replica, Affected: device})
	}
	return b
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
	{check.PromiseLost, "one that had died is said to be lost", func(z *zoo) error {
		b := z.half("a")
		z.tell(berth.NodeLost{Node: "n1"})
		return z.c.Lost([]berth.Loss{z.lostOn("a", b.Members...)})
	}},
	{check.PromiseOrders, "what is out starts one that had died", func(z *zoo) error {
		return z.c.Outstanding([]berth.Order{z.half("a")})
	}},
	{check.PromiseOrders, "what is out starts one elsewhere", func(z *zoo) error {
		b := z.half("a")
		b.Members = []berth.MemberPlacement{on(1, "n2", 0)}
		return z.c.Outstanding([]berth.Order{b})
	}},
	{check.PromiseBlast, "a fault takes one that had died", func(z *zoo) error {
		z.half("a")
		return z.c.BlastRadius(blast("n1", 0, berth.AffectedReplica{Job: "a", Members: 1, Down: true}))
	}},
	{check.PromiseBlast, "a fault takes nothing", func(z *zoo) error {
		z.half("a")
		return z.c.BlastRadius(blast("n1", 1))
	}},
	{check.PromiseBlast, "what a fault takes goes on", func(z *zoo) error {
		z.running("a", 1)
		return z.c.BlastRadius(blast("n1", 0, berth.AffectedReplica{Job: "a", Members: 1}))
	}},
	{check.PromiseBlast, "a fault is on a GPU that is not there", func(z *zoo) error {
		return z.c.BlastRadius(blast("n1", 2))
	}},
	{check.PromiseDiff, "one that had died is seen, and nothing is said", func(z *zoo) error {
		b := z.half("a")
		return z.c.Diff(z.sees("a", b.Members...), nil)
	}},
	{check.PromiseDiff, "one that runs is not seen, and nothing is said", func(z *zoo) error {
		at := z.running("a", 2)
		return z.c.Diff(z.sees("a", at[0]), nil)
	}},
	{check.PromiseDiff, "one is seen where it runs, and is said to be misplaced", func(z *zoo) error {
		at := z.running("a", 1)
		ref := at[0].Ref()
		return z.c.Diff(z.sees("a", at...), []berth.Difference{{Kind: berth.DifferenceMemberMisplaced, Job: "a", Member: &ref}})
	}},
	{check.PromiseDiff, "the event settles half of it", func(z *zoo) error {
		at := z.running("a", 2)
		var list []berth.Difference
		for _, p := range at {
			ref := p.Ref()
			list = append(list, berth.Difference{
				Kind: berth.DifferenceMemberMissing, Job: "a", Member: &ref,
				Event: berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{ref}},
			})
		}
		return z.c.Diff(z.sees("a"), list)
	}},
	{check.PromiseDiff, "a node is not seen, and nothing is said", func(z *zoo) error {
		return z.c.Diff(berth.World{}, nil)
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

// Answers that are right about a gang of which a member died while it was being started.
func TestAnswersOfTheDeadAreHeldAgainstTheBooks(t *testing.T) {
	z := newZoo(t)
	b := z.half("a")
	require.NoError(t, z.c.BlastRadius(blast("n1", 0)))
	require.NoError(t, z.c.BlastRadius(blast("n1", 1, berth.AffectedReplica{Job: "a", Members: 1, Down: true})))
	dead := b.Members[0].Ref()
	require.NoError(t, z.c.Diff(z.sees("a", b.Members...), []berth.Difference{{Kind: berth.DifferenceMemberUnknown, Job: "a", Member: &dead}}))
	left := b
	left.Members = b.Members[1:]
	require.NoError(t, z.c.Outstanding([]berth.Order{left}))
	z.tell(berth.NodeLost{Node: "n1"})
	require.NoError(t, z.c.Lost([]berth.Loss{z.lostOn("a", left.Members...)}))
	left.Members = nil
	require.NoError(t, z.c.Outstanding([]berth.Order{left}))
}
