package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about gangs whose members died.

// dies has a gang of three run for an hour, unless told otherwise, and all of its members die.
func (z *zoo) dies(fault berth.Fault, after berth.Duration) []berth.MemberPlacement {
	at := z.running("a", 3)
	z.now = z.now.Add(after)
	z.tell(berth.MemberFailed{Job: "a", Incarnation: 1, Members: []berth.MemberRef{{Index: 0}, {Index: 1}, {Index: 2}}, Fault: fault})
	z.shown(z.dead())
	return at
}

// dead is the report of that world, with what is set aside.
func (z *zoo) dead(list ...berth.ReservationReport) berth.FleetReport {
	gpus := berth.GPUCount{AllMilli: 6000, FreeMilli: 6000}
	return berth.FleetReport{
		Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{0, 0, 3}, GPUs: gpus,
		Products:     []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas:     berth.ReplicaCount{Pending: 1},
		Waiting:      berth.WaitingCount{Backoff: 1},
		Queues:       []berth.QueueReport{{Queue: "free"}, {Queue: "org", LimitMilli: amount(5000)}, {Queue: "q", LimitMilli: amount(4000)}},
		Reservations: list,
	}
}

// waits is that of the same world in which another job waits.
func (z *zoo) waits(list ...berth.ReservationReport) berth.FleetReport {
	r := z.dead(list...)
	r.Replicas.Pending, r.Waiting.Capacity, r.Queues[2].WaitingReplicas = 2, 1, 1
	return r
}

// keptThrough is the report of a place that is kept through a first backoff from now on.
func (z *zoo) keptThrough(nodes ...berth.NodeID) berth.ReservationReport {
	r := z.kept("a", nodes...)
	r.Until = z.now.Add(5 * berth.Second).Add(30 * berth.Minute)
	return r
}

// comesBack is the Bind of the next life after a place was kept.
func (z *zoo) comesBack(at ...berth.MemberPlacement) berth.Bind {
	b := z.bind("a", at...)
	b.Cause.Code, b.Incarnation = berth.CauseResumed, 2
	return b
}

var returning = []animal{
	{check.PromiseReservations, "the place of a gang is not kept of which all members died", func(z *zoo) error {
		z.dies(berth.FaultUnset, berth.Hour)
		z.pass()
		return z.against(z.dead())
	}},
	{check.PromiseReservations, "a part of the place of a gang is kept of which all members died", func(z *zoo) error {
		z.dies(berth.FaultUnset, berth.Hour)
		z.pass()
		return z.against(z.dead(z.keptThrough("n1", "n3")))
	}},
	{check.PromiseReservations, "a place is kept for longer than the backoff", func(z *zoo) error {
		z.dies(berth.FaultUnset, berth.Hour)
		z.pass()
		kept := z.keptThrough("n1", "n2")
		kept.Until++
		return z.against(z.dead(kept))
	}},
	{check.PromiseReservations, "a place is kept for a job that is at fault", func(z *zoo) error {
		z.dies(berth.FaultJob, berth.Hour)
		z.pass()
		return z.against(z.dead(z.keptThrough("n1", "n2")))
	}},
	{check.PromiseReservations, "a place is kept for a gang that crashes in a loop", func(z *zoo) error {
		at := z.dies(berth.FaultUnset, berth.Minute)
		z.pass()
		z.shown(z.dead(z.keptThrough("n1", "n2")))
		z.now = z.now.Add(5 * berth.Second)
		b := z.comesBack(at...)
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 2, Members: []berth.MemberRef{{Index: 0}, {Index: 1}, {Index: 2}}})
		z.shown(z.dead())
		z.pass()
		return z.against(z.dead(z.keptThrough("n1", "n2")))
	}},
	{check.PromiseBackoffs, "a gang that crashes in a loop backs off as after the first time", func(z *zoo) error {
		at := z.dies(berth.FaultJob, berth.Minute)
		z.now = z.now.Add(5 * berth.Second)
		b := z.bind("a", at...)
		b.Incarnation = 2
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
		z.tell(berth.MemberFailed{Job: "a", Incarnation: 2, Members: []berth.MemberRef{{Index: 0}, {Index: 1}, {Index: 2}}})
		z.now = z.now.Add(5 * berth.Second)
		b = z.bind("a", at...)
		b.Incarnation = 3
		return z.try(b)
	}},
	{check.PromiseReservations, "a gang comes back to other GPUs than those that were kept", func(z *zoo) error {
		at := z.dies(berth.FaultUnset, berth.Hour)
		z.pass()
		z.shown(z.dead(z.keptThrough("n1", "n2")))
		z.now = z.now.Add(5 * berth.Second)
		at[2].GPUs = berth.GPUSetOf(1)
		return z.try(z.comesBack(at...))
	}},
	{check.PromiseReservations, "an equal takes the place of a gang that backs off", func(z *zoo) error {
		z.dies(berth.FaultUnset, berth.Hour)
		z.pass()
		kept := z.keptThrough("n1", "n2")
		z.shown(z.dead(kept))
		z.submit("b", 1)
		z.shown(z.waits(kept))
		z.pass(z.bind("b", on(0, "n2", 1)))
		r := z.dead(kept)
		r.GPUs.HeldMilli, r.GPUs.FreeMilli, r.NodesByFreeGPUs = 1000, 5000, []int{0, 1, 2}
		r.Products[0].GPUCount = r.GPUs
		r.Replicas.Binding, r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 1, 1000, 1000
		return z.against(r)
	}},
}

// A gang that comes back as it should passes.
func TestReturningPasses(t *testing.T) {
	z := newZoo(t)
	at := z.dies(berth.FaultUnset, berth.Hour)
	z.pass()
	kept := z.keptThrough("n1", "n2")
	z.shown(z.dead(kept))
	z.submit("b", 1, ahead)
	z.shown(z.waits(kept))
	z.pass(z.bind("b", on(0, "n2", 1))) // beside it, and by rank
	r := z.dead(kept)
	r.GPUs.HeldMilli, r.GPUs.FreeMilli, r.NodesByFreeGPUs = 1000, 5000, []int{0, 1, 2}
	r.Products[0].GPUCount = r.GPUs
	r.Replicas.Binding, r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 1, 1000, 1000
	z.shown(r)
	z.now = z.now.Add(5 * berth.Second)
	z.pass(z.comesBack(at...))
	for _, what := range []string{
		"the place of a gang was kept of which all members died", "passed the reservation of a gang by rank",
		"a gang of which all members died came back to where it stood",
	} {
		require.Positive(t, z.c.Cases()[what], what)
	}
}
