package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about hardware that failed, and spares.

// careful has a policy that trusts nothing at once: a node is in quarantine for an hour after
// its first loss, and in burn-in for half an hour.
func (z *zoo) careful() {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{Health: berth.Health{Losses: 1, BurnIn: 30 * berth.Minute}}})
}

// back has a node come back that was lost.
func (z *zoo) back(id berth.NodeID, leaf string) {
	z.tell(berth.NodeLost{Node: id})
	gpu := berth.GPU{Product: "H100", MemoryMiB: 1000}
	z.tell(berth.NodeJoined{Node: berth.Node{ID: id, Domains: []string{leaf}, GPUs: []berth.GPU{gpu, gpu}, CPUMilli: 1000, MemoryMiB: 1000}})
}

// repaired has a GPU of n1 in burn-in.
func (z *zoo) repaired() {
	z.careful()
	z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
	z.tell(berth.GPURepaired{Node: "n1", GPU: 0})
}

// keeps has a policy that keeps so many thousandths of the three nodes.
func (z *zoo) keeps(milli int) {
	z.tell(berth.PolicyChanged{Policy: berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: milli}}}})
}

// sparing is what a core with an idle fleet would report, with so many replicas pending in q
// and these spares of so many that are wanted.
func (z *zoo) sparing(pending, wanted int, nodes ...berth.NodeID) berth.FleetReport {
	r := z.report(pending)
	r.Nodes.HotSpares = len(nodes)
	r.HotSpares = []berth.HotSparesReport{{Wanted: wanted, Free: len(nodes), Nodes: nodes}}
	return r
}

// heldOn is sparing with one GPU of one node in use by the only replica of q.
func (z *zoo) heldOn(wanted int, nodes ...berth.NodeID) berth.FleetReport {
	r := z.sparing(0, wanted, nodes...)
	r.GPUs.HeldMilli, r.GPUs.FreeMilli = 1000, 5000
	r.Products[0].GPUCount = r.GPUs
	r.NodesByFreeGPUs = []int{0, 1, 2}
	r.Replicas, r.Waiting = berth.ReplicaCount{Binding: 1}, berth.WaitingCount{}
	for i := range r.Queues[1:] {
		r.Queues[1+i].UsedMilli = 1000
	}
	return r
}

func urgent(j *berth.Job) { j.Class = berth.ClassLatencyCritical }

var failing = []animal{
	{check.PromiseHealth, "a node in quarantine is used", func(z *zoo) error {
		z.careful()
		z.back("n1", "x")
		z.submit("a", 1)
		z.now = berth.Time(berth.Hour) - 1
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseHealth, "a second quarantine is no longer than the first", func(z *zoo) error {
		z.careful()
		z.back("n1", "x")
		z.back("n1", "x")
		z.submit("a", 1)
		z.now = berth.Time(berth.Hour)
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseHealth, "a gang of two is in burn-in", func(z *zoo) error {
		z.repaired()
		z.submit("a", 2)
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0)))
	}},
	{check.PromiseHealth, "what is latency-critical is in burn-in", func(z *zoo) error {
		z.repaired()
		z.submit("a", 1, urgent)
		return z.try(z.bind("a", on(0, "n1", 1)))
	}},
	{check.PromiseHealth, "a burn-in begins with the loss, not after the quarantine", func(z *zoo) error {
		z.careful()
		z.back("n1", "x")
		z.submit("a", 1, urgent)
		z.now = berth.Time(berth.Hour)
		return z.try(z.bind("a", on(0, "n1", 1)))
	}},
	{check.PromiseHealth, "a burn-in is not reported", func(z *zoo) error {
		z.repaired()
		r := z.report(0)
		r.Nodes.InBurnIn = 1
		return z.against(r)
	}},
	{check.PromiseHealth, "a burn-in is reported that ends too early", func(z *zoo) error {
		z.repaired()
		r := z.report(0)
		r.Nodes.InBurnIn = 1
		r.Health = []berth.HealthReport{{Node: "n1", BurnInUntil: 1000}}
		return z.against(r)
	}},
	{check.PromiseSelectors, "a GPU is used that an Xid condemned", func(z *zoo) error {
		z.submit("a", 1)
		z.tell(berth.XidReported{Node: "n1", GPU: 0, Xid: 79})
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseSelectors, "a GPU in burn-in is used that reported a suspect Xid", func(z *zoo) error {
		z.repaired()
		z.submit("a", 1)
		z.tell(berth.XidReported{Node: "n1", GPU: 1, Xid: 4711})
		return z.try(z.bind("a", on(0, "n1", 1)))
	}},
	{check.PromiseEvents, "Xid 0 is accepted", func(z *zoo) error {
		return z.c.Applied(z.now, berth.XidReported{Node: "n1"})
	}},
	{check.PromiseHotSpares, "too few are wanted", func(z *zoo) error {
		z.keeps(334)
		return z.against(z.sparing(0, 1, "n1"))
	}},
	{check.PromiseHotSpares, "too many are kept", func(z *zoo) error {
		z.keeps(300)
		require.NoError(z.t, z.against(z.sparing(0, 1)))
		z.pass()
		return z.against(z.sparing(0, 1, "n1", "n3"))
	}},
	{check.PromiseHotSpares, "a spare has a failed GPU", func(z *zoo) error {
		z.keeps(500)
		z.tell(berth.NodeCordoned{Node: "n1"})
		r := func(nodes ...berth.NodeID) berth.FleetReport {
			r := z.sparing(0, 1, nodes...)
			r.Nodes.Cordoned, r.NodesByFreeGPUs = 1, []int{0, 0, 2}
			r.GPUs = berth.GPUCount{AllMilli: 6000, FreeMilli: 4000, OutOfServiceMilli: 2000}
			r.Products[0].GPUCount = r.GPUs
			return r
		}
		require.NoError(z.t, z.against(r()))
		z.pass()
		return z.against(r("n1"))
	}},
	{check.PromiseHotSpares, "no spare is chosen, and a node is idle", func(z *zoo) error {
		z.keeps(300)
		z.pass()
		require.NoError(z.t, z.against(z.sparing(0, 1)))
		return z.c.Served()
	}},
	{check.PromiseHotSpares, "the second spare is in the leaf of the first", func(z *zoo) error {
		z.keeps(300)
		require.NoError(z.t, z.against(z.sparing(0, 1)))
		z.pass()
		require.NoError(z.t, z.against(z.sparing(0, 1, "n1")))
		z.keeps(600)
		require.NoError(z.t, z.against(z.sparing(0, 2, "n1")))
		z.pass()
		return z.against(z.sparing(0, 2, "n1", "n2"))
	}},
	{check.PromiseHotSpares, "a gang that has lost nothing is placed on a spare", func(z *zoo) error {
		z.keeps(300)
		z.pass()
		require.NoError(z.t, z.against(z.sparing(0, 1, "n1")))
		z.submit("a", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.against(z.heldOn(1, "n1"))
	}},
	{check.PromiseHotSpares, "a gang that has run since is placed on a spare", func(z *zoo) error {
		z.keeps(300)
		z.running("a", 1)
		z.tell(berth.GPUFailed{Node: "n1", GPU: 0})
		z.tell(berth.GPURepaired{Node: "n1", GPU: 0})
		b := z.bind("a", on(0, "n2", 0))
		b.Incarnation = 2
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 2, Members: []berth.MemberRef{{}}})
		z.now += 1000_000
		z.pass()
		require.NoError(z.t, z.against(z.sparing(1, 1, "n1")))
		again := z.bind("a", on(0, "n1", 0))
		again.Incarnation = 3
		z.pass(again)
		return z.against(z.heldOn(1, "n1"))
	}},
}

// TestWhatIsRightAboutFailures goes through what is allowed about hardware that failed.
func TestWhatIsRightAboutFailures(t *testing.T) {
	z := newZoo(t)
	z.tell(berth.PolicyChanged{Policy: berth.Policy{
		Health: berth.Health{Losses: 1, Quarantine: berth.Minute, BurnIn: berth.Minute}, HotSpares: []berth.HotSpares{{NodesMilli: 300}},
	}})
	z.running("a", 1)
	z.pass()
	z.tell(berth.XidReported{Node: "n1", GPU: 0, Xid: 31})
	z.tell(berth.XidReported{Node: "n1", GPU: 0, Xid: 79})
	z.tell(berth.GPURepaired{Node: "n1", GPU: 0})
	r := z.sparing(1, 1, "n3")
	r.Nodes.InBurnIn, r.Health = 1, []berth.HealthReport{{Node: "n1", BurnInUntil: berth.Time(berth.Minute)}}
	require.NoError(t, z.against(r))
	b := z.bind("a", on(0, "n3", 0))
	b.Incarnation = 2
	z.pass(b) // on the spare, as it was struck
	r = z.heldOn(1, "n3")
	r.Nodes.InBurnIn, r.Health = 1, []berth.HealthReport{{Node: "n1", BurnInUntil: berth.Time(berth.Minute)}}
	require.NoError(t, z.against(r))
	z.submit("b", 1)
	z.pass(z.bind("b", on(0, "n1", 0)))
	z.back("n2", "x")
	z.now = berth.Time(berth.Minute)
	z.submit("c", 1)
	z.pass(z.bind("c", on(0, "n2", 0))) // the quarantine is over
	for _, name := range []string{"resumed on a spare", "placed in burn-in", "in quarantine", "quarantine over", "burn-in over", "an Xid condemns", "an Xid without effect"} {
		require.NotZero(t, z.c.Cases()[name], name)
	}
}
