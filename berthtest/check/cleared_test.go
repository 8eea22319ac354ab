package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about advance reservations that clear their nodes.

const (
	// begins is when a reservation of this file begins, closes when it begins to clear its nodes,
	// and empty by when these have to be left.
	begins = berth.Time(berth.Hour)
	closes = begins - berth.Time(6*berth.Minute)
	empty  = begins - berth.Time(berth.Minute)
)

// window clears n1, unless that is changed.
func (z *zoo) window(change ...func(*berth.Reservation)) {
	z.reserve("r", func(r *berth.Reservation) {
		r.From, r.Until, r.Nodes, r.Clear = begins, begins.Add(berth.Hour), []berth.NodeID{"n1"}, true
		for _, c := range change {
			c(r)
		}
	})
}

// inTheWay has a job of one GPU run on n1, which is to be cleared, and a pass come when that
// begins.
func (z *zoo) inTheWay(change ...func(*berth.Job)) {
	z.running("a", 1, change...)
	z.window()
	z.now = closes
}

// cleared is the report of that world, with what is set aside beside the reservation.
func (z *zoo) cleared(list ...berth.ReservationReport) berth.FleetReport {
	r := z.leaves(0, append([]berth.ReservationReport{{
		ID: "r", From: begins, Until: begins.Add(berth.Hour), Clear: true, Nodes: []berth.NodeID{"n1"}, Conflicts: []berth.JobID{"a"},
	}}, list...)...)
	r.Nodes.Cordoned, r.NodesByFreeGPUs, r.Draining = 0, []int{0, 1, 2}, nil
	r.GPUs = berth.GPUCount{AllMilli: 6000, HeldMilli: 1000, FreeMilli: 5000}
	r.Products[0].GPUCount = r.GPUs
	return r
}

// What is right: a gang is asked when that begins, with n3 kept for it, and goes on if the
// reservation is removed.
func TestClearedRightly(t *testing.T) {
	z := newZoo(t)
	z.inTheWay(writes)
	r := z.asksToLeave(empty)
	z.pass(r)
	z.shown(z.cleared(z.kept("a", "n3")))
	require.NoError(t, z.c.Served())
	z.tell(berth.ReservationRemoved{Reservation: "r"})
	z.pass(z.takeBack("a", r.ID))
}

var clearing = []animal{
	{check.PromiseS6, "a gang leaves for a reservation that clears nothing", func(z *zoo) error {
		z.running("a", 1, writes)
		z.window(func(r *berth.Reservation) { r.Clear = false })
		z.now = closes
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang leaves nodes that are cleared for its own queue", func(z *zoo) error {
		z.running("a", 1, writes)
		z.window(func(r *berth.Reservation) { r.Queue = "org" })
		z.now = closes
		return z.try(z.asksToLeave(empty))
	}},
	{check.PromiseS6, "a gang leaves before its time", func(z *zoo) error {
		z.inTheWay(writes)
		z.now--
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang on other nodes leaves", func(z *zoo) error {
		z.running("a", 1, writes)
		z.window(func(r *berth.Reservation) { r.Nodes = []berth.NodeID{"n2"} })
		z.now = closes
		return z.try(z.asksToLeave(empty))
	}},
	{check.PromiseDeadlines, "a gang gets longer than until the nodes have to be empty", func(z *zoo) error {
		z.inTheWay(writes)
		z.now = closes.Add(berth.Minute)
		return z.try(z.asksToLeave(0))
	}},
	{check.PromiseS6, "a gang is stopped for a reservation that was removed", func(z *zoo) error {
		z.inTheWay(writes)
		r := z.asksToLeave(empty)
		z.pass(r)
		z.tell(berth.ReservationRemoved{Reservation: "r"})
		z.tell(berth.OrderReported{Order: r.ID, Outcome: berth.OutcomeDone})
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS6, "a gang is stopped for a reservation that is over", func(z *zoo) error {
		z.inTheWay(writes)
		r := z.asksToLeave(empty)
		z.pass(r)
		z.window(func(r *berth.Reservation) { r.Until = begins.Add(1) })
		z.now = begins.Add(1)
		z.pass()
		return z.try(z.release("a", berth.CauseDrained, on(0, "n1", 0)))
	}},
	{check.PromiseS7, "a gang goes on that has no more time", func(z *zoo) error {
		z.inTheWay(writes)
		r := z.asksToLeave(empty)
		z.pass(r)
		return z.try(z.takeBack("a", r.ID))
	}},
	{check.PromiseL1, "a gang that has no more time is not told to leave", func(z *zoo) error {
		z.inTheWay(writes)
		z.pass()
		z.shown(z.cleared())
		return z.c.Served()
	}},
	{check.PromiseL1, "a gang is not told to leave for a reservation that has begun", func(z *zoo) error {
		z.running("a", 1, writes)
		z.now = begins
		z.window()
		z.pass()
		z.shown(z.cleared())
		return z.c.Served()
	}},
	{check.PromiseReservations, "a gang is placed there that will have to leave", func(z *zoo) error {
		z.submit("a", 1, shorter(berth.Duration(closes)+1))
		z.window()
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseReservations, "a gang is placed on nodes that are cleared already", func(z *zoo) error {
		z.submit("a", 1, shorter(berth.Second))
		z.window()
		z.now = closes
		return z.try(z.bind("a", on(0, "n1", 0)))
	}},
	{check.PromiseReservations, "a report forgets a job that has to leave", func(z *zoo) error {
		z.inTheWay(writes)
		z.pass(z.asksToLeave(empty))
		r := z.cleared(z.kept("a", "n3"))
		r.Reservations[0].Conflicts = nil
		return z.against(r)
	}},
	{check.PromiseReservations, "a report does not say that nodes are cleared", func(z *zoo) error {
		z.inTheWay(writes)
		r := z.cleared()
		r.Reservations[0].Clear = false
		return z.against(r)
	}},
}
