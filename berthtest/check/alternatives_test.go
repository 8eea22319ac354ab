package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

// This file is the part of the zoo that is about jobs with alternatives.

// orElse gives a job an alternative with so many members, with one GPU each.
func orElse(members int) func(*berth.Job) {
	return func(j *berth.Job) {
		j.Alternatives = append(j.Alternatives, berth.Alternative{Groups: []berth.Group{{Members: members, Claim: berth.WholeGPUs(1)}}})
	}
}

// bindAs starts a job as an alternative.
func (z *zoo) bindAs(id berth.JobID, alternative int, members ...berth.MemberPlacement) berth.Bind {
	b := z.bind(id, members...)
	b.Alternative = alternative
	return b
}

// nowhere has a job ask for a product that no node has.
func nowhere(j *berth.Job) { j.Groups[0].Selector.Products = []string{"B200"} }

// known has a pass be seen after which one job waits, with the reservations that there are.
func (z *zoo) known(list ...berth.ReservationReport) error {
	z.pass()
	return z.against(z.report(1, list...))
}

// tryKnown is try where the reservations before the pass are known: there are none.
func (z *zoo) tryKnown(actions ...berth.Order) error {
	require.NoError(z.t, z.known())
	return z.try(actions...)
}

var alternatives = []animal{
	{check.PromiseAlternatives, "a job starts as an alternative, and would fit as its own gang", func(z *zoo) error {
		z.submit("a", 2, orElse(1))
		return z.tryKnown(z.bindAs("a", 1, on(0, "n1", 0)))
	}},
	{check.PromiseAlternatives, "a job starts as the second alternative, and would fit as the first", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2), orElse(1))
		return z.tryKnown(z.bindAs("a", 2, on(0, "n2", 0)))
	}},
	{check.PromiseAlternatives, "a job starts as what it cannot run as", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2))
		return z.try(z.bindAs("a", 2, on(0, "n2", 0), on(1, "n2", 1)))
	}},
	{check.PromiseAlternatives, "a gang is repaired as another alternative", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2))
		b := z.bindAs("a", 1, on(0, "n2", 0), on(1, "n2", 1))
		z.pass(b)
		z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomePartial, Members: []berth.MemberRef{{Index: 1}}})
		repair := z.bindAs("a", 0, on(1, "n2", 1))
		repair.Cause.Code = berth.CauseRepair
		return z.try(repair)
	}},
	{check.PromiseClaims, "an order has the claims of another alternative", func(z *zoo) error {
		z.submit("a", 2, nowhere, func(j *berth.Job) {
			j.Alternatives = []berth.Alternative{{Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(2)}}}}
		})
		return z.try(z.bindAs("a", 1, on(0, "n1", 0, 1)))
	}},
	{check.PromiseS2, "an alternative starts with too few members", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2))
		return z.try(z.bindAs("a", 1, on(0, "n2", 0)))
	}},
	{check.PromiseS8, "an alternative is placed against its topology", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2), func(j *berth.Job) { j.Alternatives[0].Topology.Required = "node" })
		return z.try(z.bindAs("a", 1, on(0, "n2", 0), on(1, "n3", 0)))
	}},
	{check.PromiseL1, "a job waits, and would fit as an alternative", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2))
		require.NoError(z.t, z.known())
		return z.c.Served()
	}},
	{check.PromiseAlternatives, "a place is kept for an alternative that a job has not", func(z *zoo) error {
		z.submit("a", 2, nowhere, orElse(2))
		return z.known(berth.ReservationReport{Job: "a", Alternative: 2, From: 1, Until: 2, Nodes: []berth.NodeID{"n1"}})
	}},
	{check.PromiseEvents, "an elastic gang is accepted as an alternative", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1, orElse(2), func(j *berth.Job) { j.Alternatives[0].Groups[0].MinMembers = 1 })})
	}},
	{check.PromiseEvents, "a service is accepted with alternatives", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobSubmitted{Job: job("a", 1, orElse(2), func(j *berth.Job) { j.Service = &berth.Service{Replicas: 1} })})
	}},
	{check.PromiseEvents, "a job is observed as what it cannot run as", func(z *zoo) error {
		return z.c.Applied(z.now, berth.JobObserved{Job: job("a", 1, orElse(2)), Running: []berth.ObservedReplica{
			{Alternative: 2, Incarnation: 1, Members: []berth.MemberPlacement{on(0, "n1", 0)}},
		}})
	}},
}

// Nothing is caught that is right about alternatives: a job starts as the first that fits.
func TestAlternativesThatAreRight(t *testing.T) {
	z := newZoo(t)
	z.submit("a", 2, nowhere, orElse(2))
	require.NoError(t, z.known())
	b := z.bindAs("a", 1, on(0, "n2", 0), on(1, "n2", 1))
	z.pass(b)
	z.tell(berth.OrderReported{Order: b.ID, Outcome: berth.OutcomeDone})
	require.Equal(t, 1, z.c.Cases()["started as an alternative, and those before it do not fit"])
}
