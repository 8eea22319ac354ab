package check_test

import (
	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about topology beyond one level, and about
// nodes that are set aside.

// reserve sets nodes aside in advance, from 100 s until 200 s unless it is changed.
func (z *zoo) reserve(id berth.ReservationID, change func(*berth.Reservation)) {
	r := berth.Reservation{ID: id, From: 100_000, Until: 200_000}
	change(&r)
	z.tell(berth.ReservationSet{Reservation: r})
}

// report is what a core with an idle fleet would report, with so many replicas
// pending in q.
func (z *zoo) report(pending int, list ...berth.ReservationReport) berth.FleetReport {
	gpus := berth.GPUCount{AllMilli: 6000, FreeMilli: 6000}
	return berth.FleetReport{
		Nodes: berth.NodeCount{All: 3}, NodesByFreeGPUs: []int{0, 0, 3}, GPUs: gpus,
		Products: []berth.ProductCount{{Product: "H100", GPUCount: gpus}},
		Replicas: berth.ReplicaCount{Pending: pending}, Waiting: berth.WaitingCount{Capacity: pending},
		Queues:       []berth.QueueReport{{Queue: "free"}, {Queue: "org", LimitMilli: amount(5000)}, {Queue: "q", LimitMilli: amount(4000), WaitingReplicas: pending}},
		Reservations: list,
	}
}

// reserved is the report of a reservation of a gang that is due.
func reserved(id berth.JobID, from berth.Time, nodes ...berth.NodeID) berth.ReservationReport {
	return berth.ReservationReport{Job: id, From: from, Until: from.Add(30 * berth.Minute), Nodes: nodes}
}

// waited has gang a of six GPUs, and b, wait for as long as it takes to be due for a
// reservation.
func (z *zoo) waited(change ...func(*berth.Job)) {
	z.submit("a", 6, shorter(2*berth.Minute))
	z.submit("b", 1, change...)
	z.pass()
	z.now = berth.Time(5 * berth.Minute)
	require.NoError(z.t, z.against(z.report(2)))
}

// shorter has a job end within a span.
func shorter(d berth.Duration) func(*berth.Job) {
	return func(j *berth.Job) { j.ExpectedRuntime = d }
}

// onLeaf has a gang keep others off its leaves.
func onLeaf(j *berth.Job) { j.Topology.Exclusive = "leaf" }

// topo changes the topology of a job's only group.
func topo(t berth.Topology) func(*berth.Job) {
	return func(j *berth.Job) { j.Groups[0].Topology = t }
}

var fenced = []animal{
	{check.PromiseS8, "a nested segment is torn", func(z *zoo) error {
		z.submit("a", 4, topo(berth.Topology{Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}}}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0), on(2, "n1", 1), on(3, "n2", 1)))
	}},
	{check.PromiseS8, "a segment with segments in it is torn", func(z *zoo) error {
		z.submit("a", 4, topo(berth.Topology{Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}}}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n3", 0), on(3, "n3", 1)))
	}},
	{check.PromiseS8, "a gang starts with half a segment", func(z *zoo) error {
		z.submit("a", 4, topo(berth.Topology{Segments: []berth.Segment{{Size: 2, Level: "leaf"}}}), func(j *berth.Job) { j.Groups[0].MinMembers = 2 })
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n3", 0)))
	}},
	{check.PromiseS8, "a second group leaves its node", func(z *zoo) error {
		z.submit("a", 1, func(j *berth.Job) {
			j.Groups[0].Name = "driver"
			j.Groups = append(j.Groups, berth.Group{Name: "workers", Members: 2, Claim: berth.Claim{GPUs: 1}, Topology: berth.Topology{Required: "node"}})
		})
		b := z.bind("a", on(0, "n1", 0), on(0, "n1", 1), on(1, "n2", 0))
		b.Members[0].Group, b.Members[1].Group, b.Members[2].Group = "driver", "workers", "workers"
		return z.try(b)
	}},
	{check.PromiseS8, "a balanced group uses one leaf more than it has to", func(z *zoo) error {
		z.submit("a", 3, topo(berth.Topology{Balance: "leaf"}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n3", 0)))
	}},
	{check.PromiseS8, "a balanced group is uneven", func(z *zoo) error {
		z.submit("a", 6, topo(berth.Topology{Balance: "node"}), func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{CPUMilli: 200} })
		return z.try(z.bind("a", on(0, "n1"), on(1, "n1"), on(2, "n1"), on(3, "n1"), on(4, "n1"), on(5, "n2")))
	}},
	{check.PromiseS8, "a spread group stands on one leaf", func(z *zoo) error {
		z.submit("a", 2, topo(berth.Topology{Spread: "leaf"}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 0)))
	}},
	{check.PromiseS8, "a spread group is skewed by more than it may", func(z *zoo) error {
		z.submit("a", 4, topo(berth.Topology{Spread: "node", MaxSkew: 1}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0), on(3, "n2", 1)))
	}},
	{check.PromiseS8, "a group spread inside its leaf is not", func(z *zoo) error {
		z.submit("a", 2, topo(berth.Topology{Required: "leaf", Spread: "node"}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1)))
	}},
	{check.PromiseS8, "rails are crossed", func(z *zoo) error {
		z.submit("a", 2, topo(berth.Topology{RailAligned: true}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n2", 1)))
	}},
	{check.PromiseS8, "two nodes have fewer rails", func(z *zoo) error {
		z.submit("a", 4, topo(berth.Topology{RailAligned: true}))
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "n4", Domains: []string{"x"}, GPUs: make([]berth.GPU, 2)}})
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n1", 1), on(2, "n2", 0), on(3, "n4", 0)))
	}},
	{check.PromiseS8, "aligned rails leave their domain", func(z *zoo) error {
		z.submit("a", 2, topo(berth.Topology{RailAligned: true}))
		return z.try(z.bind("a", on(0, "n1", 0), on(1, "n3", 0)))
	}},
	{check.PromiseS8, "somebody is placed beside an exclusive gang", func(z *zoo) error {
		z.running("a", 1, onLeaf)
		z.submit("b", 1)
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseS8, "an exclusive gang is placed beside somebody", func(z *zoo) error {
		z.running("a", 1)
		z.submit("b", 1, onLeaf)
		return z.try(z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseS8, "an exclusive gang is placed beside its like", func(z *zoo) error {
		z.submit("a", 1, onLeaf, func(j *berth.Job) { j.Service = &berth.Service{Replicas: 2} })
		z.pass(z.bind("a", on(0, "n1", 0)))
		second := z.bind("a", on(0, "n2", 0))
		second.Replica = 1
		return z.try(second)
	}},
	{check.PromiseS8, "an exclusive gang grows beside somebody", func(z *zoo) error {
		z.running("b", 1)
		z.submit("a", 2, onLeaf, func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
		z.pass(z.bind("a", on(0, "n3", 0)))
		z.tell(berth.OrderReported{Order: 2, Outcome: berth.OutcomeDone})
		grow := z.bind("a", on(1, "n1", 1))
		grow.Cause.Code = berth.CauseGrows
		return z.try(grow)
	}},
	{check.PromiseS8, "somebody stays beside an exclusive gang that is being stopped", func(z *zoo) error {
		at := z.running("a", 1, onLeaf)
		z.submit("b", 1)
		z.tell(berth.JobCancelled{Job: "a"})
		return z.try(z.release("a", berth.CauseCancelled, at...), z.bind("b", on(0, "n2", 0)))
	}},
	{check.PromiseReservations, "a job runs into a reservation of nodes", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n2", "n9"} })
		z.submit("a", 1, shorter(100*berth.Second))
		z.submit("b", 1, shorter(100*berth.Second))
		z.pass(z.bind("a", on(0, "n2", 0)))
		z.now = 1
		return z.try(z.bind("b", on(0, "n2", 1)))
	}},
	{check.PromiseReservations, "a job runs into a reservation of a domain", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain = []string{"x"} })
		z.tell(berth.NodeJoined{Node: berth.Node{ID: "n4", Domains: []string{"x"}, GPUs: make([]berth.GPU, 2)}})
		z.submit("a", 1, shorter(101*berth.Second))
		return z.try(z.bind("a", on(0, "n4", 0)))
	}},
	{check.PromiseReservations, "a job of no stated length runs into a reservation", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{AssumedRuntime: 101 * berth.Second}})
		z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n1"} })
		z.submit("a", 1)
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseReservations, "a service runs into a reservation", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n1"} })
		z.submit("a", 1, shorter(berth.Second), func(j *berth.Job) { j.Service = &berth.Service{Replicas: 1} })
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseReservations, "a job grows into a reservation", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n2"} })
		z.submit("a", 2, shorter(101*berth.Second), func(j *berth.Job) { j.Groups[0].MinMembers = 1 })
		z.pass(z.bind("a", on(0, "n1", 0)))
		z.tell(berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone})
		grow := z.bind("a", on(1, "n2", 0))
		grow.Cause.Code = berth.CauseGrows
		return z.try(grow)
	}},
	{check.PromiseReservations, "a reservation for one queue serves another", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Nodes, r.Queue = []berth.NodeID{"n1"}, "free" })
		z.submit("a", 1, func(j *berth.Job) { j.Queue = "free" })
		z.submit("b", 1)
		z.pass(z.bind("a", on(0, "n1", 0)))
		return z.try(z.bind("b", on(0, "n1", 1)))
	}},
	{check.PromiseReservations, "a job runs into what the core picked", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.GPUs = 3 })
		z.submit("a", 1)
		picked := berth.ReservationReport{ID: "r", From: 100_000, Until: 200_000, Nodes: []berth.NodeID{"n1", "n2"}}
		require.NoError(z.t, z.against(z.report(1, picked)))
		return z.try(z.bind("a", on(0, "n2", 0)))
	}},
	{check.PromiseReservations, "the core picks too much", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.GPUs = 2 })
		return z.against(z.report(0, berth.ReservationReport{ID: "r", From: 100_000, Until: 200_000, Nodes: []berth.NodeID{"n1", "n2"}}))
	}},
	{check.PromiseReservations, "the core picks from two leaves", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.GPUs, r.Required = 4, "leaf" })
		return z.against(z.report(0, berth.ReservationReport{ID: "r", From: 100_000, Until: 200_000, Nodes: []berth.NodeID{"n2", "n3"}}))
	}},
	{check.PromiseReservations, "a reservation leaves out a node that joined", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain = []string{"x"} })
		return z.against(z.report(0, berth.ReservationReport{ID: "r", From: 100_000, Until: 200_000, Nodes: []berth.NodeID{"n1"}}))
	}},
	{check.PromiseReservations, "a reservation is forgotten", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain = []string{"x"} })
		return z.against(z.report(0))
	}},
	{check.PromiseReservations, "a reservation stays that was removed", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain = []string{"y"} })
		z.tell(berth.ReservationRemoved{Reservation: "r"})
		return z.against(z.report(0, berth.ReservationReport{ID: "r", From: 100_000, Until: 200_000, Nodes: []berth.NodeID{"n3"}}))
	}},
	{check.PromiseReservations, "a gang's reservation is run into", func(z *zoo) error {
		z.waited(shorter(10 * berth.Minute))
		z.pass()
		held := reserved("a", z.now.Add(9*berth.Minute), "n1", "n2", "n3")
		require.NoError(z.t, z.against(z.report(2, held)))
		z.pass(z.bind("b", on(0, "n1", 0)))
		r := z.report(1, held)
		r.Replicas.Binding, r.NodesByFreeGPUs = 1, []int{0, 1, 2}
		r.GPUs = berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}
		r.Products[0].GPUCount = r.GPUs
		r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 1000, 1000
		return z.against(r)
	}},
	{check.PromiseReservations, "a gang is reserved for before its turn", func(z *zoo) error {
		z.submit("a", 6, shorter(berth.Hour))
		z.now = berth.Time(2*berth.Hour) - 1
		z.pass()
		return z.against(z.report(1, reserved("a", z.now, "n1")))
	}},
	{check.PromiseReservations, "a gang is reserved for too early", func(z *zoo) error {
		z.submit("a", 6, shorter(berth.Minute))
		z.now = berth.Time(5*berth.Minute) - 1
		z.pass()
		return z.against(z.report(1, reserved("a", z.now, "n1")))
	}},
	{check.PromiseReservations, "too many gangs are reserved for", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: 1}})
		z.waited()
		z.submit("c", 1)
		z.now = berth.Time(10 * berth.Minute)
		require.NoError(z.t, z.against(z.report(3)))
		z.pass()
		return z.against(z.report(3, reserved("a", z.now, "n1"), reserved("b", z.now, "n2"), reserved("c", z.now, "n3")))
	}},
	{check.PromiseReservations, "too many large gangs are reserved for", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: 1}})
		z.waited(func(j *berth.Job) { j.Groups[0].Members = 3 })
		z.pass()
		return z.against(z.report(2, reserved("a", z.now, "n1", "n2"), reserved("b", z.now, "n1", "n3")))
	}},
	{check.PromiseReservations, "a gang of equal rank passes a reservation", func(z *zoo) error {
		z.waited(func(j *berth.Job) { j.Class, j.Priority = berth.ClassBatch, 0 })
		z.pass()
		held := reserved("a", z.now, "n1")
		require.NoError(z.t, z.against(z.report(2, held)))
		z.pass(z.bind("b", on(0, "n1", 0)))
		r := z.report(1, held)
		r.Replicas.Binding, r.NodesByFreeGPUs = 1, []int{0, 1, 2}
		r.GPUs = berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}
		r.Products[0].GPUCount = r.GPUs
		r.Queues[1].UsedMilli, r.Queues[2].UsedMilli = 1000, 1000
		return z.against(r)
	}},
	{check.PromiseReservations, "a gang is reserved for though none may be", func(z *zoo) error {
		z.tell(berth.PolicyChanged{Policy: berth.Policy{ReservedGangs: -1}})
		z.waited()
		z.pass()
		return z.against(z.report(2, reserved("a", z.now, "n1")))
	}},
	{check.PromiseReservations, "a gang's reservation is put off", func(z *zoo) error {
		z.waited()
		z.pass()
		held := reserved("a", z.now, "n1")
		require.NoError(z.t, z.against(z.report(2, held)))
		z.pass()
		held.From++
		return z.against(z.report(2, held))
	}},
	{check.PromiseReservations, "a gang's reservation lasts longer than it may", func(z *zoo) error {
		z.waited()
		z.pass()
		held := reserved("a", z.now, "n1")
		held.Until++
		return z.against(z.report(2, held))
	}},
	{check.PromiseReservations, "a gang that is gone keeps its reservation", func(z *zoo) error {
		z.waited()
		z.pass()
		held := reserved("a", z.now, "n1")
		require.NoError(z.t, z.against(z.report(2, held)))
		z.tell(berth.JobCancelled{Job: "a"})
		return z.against(z.report(1, held))
	}},
	{check.PromiseReservations, "a reservation keeps a node that takes no work", func(z *zoo) error {
		z.waited()
		z.pass()
		held := reserved("a", z.now, "n1")
		require.NoError(z.t, z.against(z.report(2, held)))
		z.tell(berth.NodeCordoned{Node: "n1"})
		r := z.report(2, held)
		r.Nodes.Cordoned, r.NodesByFreeGPUs = 1, []int{0, 0, 2}
		r.GPUs = berth.GPUCount{AllMilli: 6000, FreeMilli: 4000, OutOfServiceMilli: 2000}
		r.Products[0].GPUCount = r.GPUs
		return z.against(r)
	}},
	{check.PromiseEvents, "a reservation of the past is accepted", func(z *zoo) error {
		z.now = 200_000
		return z.c.Applied(z.now, berth.ReservationSet{Reservation: berth.Reservation{ID: "r", Until: 200_000, GPUs: 1}})
	}},
	{check.PromiseEvents, "a reservation in two ways is accepted", func(z *zoo) error {
		return z.c.Applied(z.now, berth.ReservationSet{Reservation: berth.Reservation{ID: "r", Until: 1, GPUs: 1, Domain: []string{"x"}}})
	}},
	{check.PromiseEvents, "a reservation for a queue that is none is accepted", func(z *zoo) error {
		return z.c.Applied(z.now, berth.ReservationSet{Reservation: berth.Reservation{ID: "r", Until: 1, GPUs: 1, Queue: "nobody"}})
	}},
	{check.PromiseEvents, "the removal of no reservation is accepted", func(z *zoo) error {
		return z.c.Applied(z.now, berth.ReservationRemoved{Reservation: "r"})
	}},
	{check.PromiseEvents, "a queue is removed under a reservation", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain, r.Queue = []string{"x"}, "free" })
		return z.c.Applied(z.now, berth.QueueRemoved{Queue: "free"})
	}},
	{check.PromiseL1, "what fits beside a reservation is left pending", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n1"} })
		z.submit("a", 4)
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "what fits its queue's reservation is left pending", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain, r.Queue = []string{"x"}, "org" })
		z.submit("a", 4, topo(berth.Topology{Segments: []berth.Segment{{Size: 4, Level: "leaf"}, {Size: 2, Level: "node"}}}))
		return z.c.Quiescent(z.now)
	}},
	{check.PromiseL1, "an exclusive gang is left pending beside an idle leaf", func(z *zoo) error {
		z.running("b", 1)
		z.submit("a", 2, onLeaf)
		return z.c.Served()
	}},
	{check.PromiseL1, "a spread group is left pending that fits", func(z *zoo) error {
		z.running("b", 1)
		z.submit("a", 3, topo(berth.Topology{Spread: "node"}))
		return z.c.Served()
	}},
	{check.PromiseL1, "what fits after a reservation is left pending", func(z *zoo) error {
		z.reserve("r", func(r *berth.Reservation) { r.Domain = []string{"x"} })
		z.submit("a", 4)
		z.now = 200_000
		z.pass()
		return z.c.Quiescent(z.now)
	}},
}
