package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// backfill places what fits on open nodes, and then tries what is left on those that are set aside.
func backfill(m *roomtest.Machine) []string {
	return starts(m.Pass(m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place, m.Search.Backfill))
}

// aside is a fleet with a gang that has n1, n2 and n3 reserved from an hour on, when n3 is free. n4
// is in use for long.
func aside(t *testing.T) (*roomtest.Machine, *record.Replica) {
	m := machine(t)
	m.Run(running(berth.Hour, roomtest.Job("on-n3", "b", 1, 8)), "n3")
	m.Run(roomtest.Job("on-n4", "b", 1, 8), "n4")
	holder := m.Wait(roomtest.Job("holder", "a", 3, 8))
	m.Reserve(holder, m.State.Now.Add(berth.Hour), "n1", "n2", "n3")
	require.Empty(t, backfill(m))
	return m, holder
}

// Invariant 4.
func TestBackfillEndsBeforeTheReservationBegins(t *testing.T) {
	for runtime, want := range map[berth.Duration][]string{berth.Hour: {"fills, fits: n1"}, berth.Hour + 1: nil} {
		m, holder := aside(t)
		m.Wait(running(runtime, roomtest.Job("fills", "a", 1, 8)))
		require.Equal(t, want, backfill(m), "of %v", runtime)
		require.NotNil(t, holder.Reserved)
	}
}

func TestAGapIsCountedWhenItIsFilled(t *testing.T) {
	m, holder := aside(t)
	rep := m.Wait(running(berth.Minute, roomtest.Job("fills", "a", 1, 8)))
	backfill(m)
	require.True(t, holder.Reserved.LetIn(rep), "it makes way when the reservation comes true")
	require.EqualValues(t, 0, m.State.Totals.ReplicasBackfilled, "an attempt on nodes that are set aside is none")
}

// Newcomers are tried once; the others when something changes there.
func TestBackfillTriesNewcomersOnceAndTheOthersAfterAChange(t *testing.T) {
	m, _ := aside(t)
	long := m.Wait(roomtest.Job("long", "a", 1, 8))
	require.Empty(t, backfill(m))
	require.Empty(t, m.Backlog.Fresh)
	tried := m.State.Totals.PlacementAttempts
	require.Empty(t, backfill(m))
	require.Equal(t, tried, m.State.Totals.PlacementAttempts)
	m.Wait(running(berth.Minute, roomtest.Job("short", "a", 1, 8))) // behind the long one, of its bucket
	require.Same(t, bucketOf(long), m.State.Jobs["short"].Replicas.At(0).Entries[0].Bucket)
	require.Equal(t, []string{"short, fits: n1"}, backfill(m))
	require.EqualValues(t, 1, m.State.Totals.ReplicasBackfilled)
}

// After a change the first few of each bucket are tried, and of the others those that are let in
// if any is.
func TestBackfillFindsTheOneThatEndsInTime(t *testing.T) {
	m, _ := aside(t)
	m.State.Bounds.Depth = 2
	for _, id := range []berth.JobID{"long-1", "long-2", "long-3"} {
		m.Wait(roomtest.Job(id, "a", 1, 8))
	}
	m.Wait(running(berth.Minute, roomtest.Job("short", "a", 1, 8)))
	m.Backlog.Block(m.State.Jobs["short"].Replicas.At(0).Entries[0].Bucket.Shape)
	for len(m.Backlog.Fresh) > 0 {
		m.Backlog.Unfresh(m.Backlog.Fresh[0])
	}
	m.State.ClearFreed()
	require.Empty(t, backfill(m), "nothing has changed")
	m.Agenda.BackfillAnew()
	require.Equal(t, []string{"short, fits: n1"}, backfill(m))
}

func TestBackfillSpendsItsBudgetAndTheNextPassGoesOn(t *testing.T) {
	m, _ := aside(t)
	m.State.Config.Policy.BackfillBudget = 1
	var first *record.Replica
	for i, id := range []berth.JobID{"1", "2", "3"} {
		rep := m.Wait(running(berth.Minute, roomtest.Job(id, "a", 1, 1)))
		if i == 0 {
			first = rep
			m.Backlog.Block(bucketOf(rep).Shape)
			m.Backlog.Freshen(rep.Entries[0])
		}
	}
	m.State.ClearFreed()
	m.Agenda.Backfilled()
	require.Equal(t, []string{"1, fits: n1"}, backfill(m))
	require.Len(t, m.Backlog.Fresh, 2)
	require.Equal(t, []string{"2, fits: n1"}, backfill(m))
	require.Equal(t, berth.ReplicaBinding, first.State)
}

// What of a batch comes behind one that did not fit would fare likewise: it counts as tried, as far
// as the budget goes, and no search is made for it.
func TestABatchFaresAsTheFirstOfItDid(t *testing.T) {
	m := machine(t, berth.Policy{BackfillBudget: 60})
	full(m, "b")
	m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
		ID: "r", Queue: "a", From: m.State.Now, Until: m.State.Now.Add(berth.Hour), Nodes: []berth.NodeID{"n1"}, // it is in use
	}}))
	service := func(id berth.JobID, replicas int) *record.Replica {
		job := roomtest.Job(id, "a", 1, 8)
		job.Service = &berth.Service{Replicas: replicas}
		return m.Wait(job)
	}
	service("first", 1)
	require.Empty(t, backfill(m))
	rep := service("second", 100)
	tried := m.State.Totals.PlacementAttempts
	require.Empty(t, backfill(m))
	require.EqualValues(t, 60, m.State.Totals.PlacementAttempts-tried)
	require.Len(t, m.Backlog.Fresh, 1)
	require.Equal(t, 40, m.Backlog.Fresh[0].Many(), "the rest of them stays fresh")
	require.Empty(t, backfill(m))
	require.EqualValues(t, 100, m.State.Totals.PlacementAttempts-tried)
	require.Empty(t, m.Backlog.Fresh)
	require.Greater(t, bucketOf(rep).Behind, 90, "few became records")
}

func TestAReservationInAdvanceIsForTheJobsOfItsQueue(t *testing.T) {
	m := machine(t)
	full(m, "b")
	m.Finished(m.State.Jobs["on-n1"].Replicas.At(0))
	m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
		ID: "r", Queue: "a", From: m.State.Now, Until: m.State.Now.Add(berth.Hour), Nodes: []berth.NodeID{"n1"},
	}}))
	m.Wait(roomtest.Job("of-b", "b", 1, 8))
	require.Empty(t, backfill(m))
	m.Wait(roomtest.Job("of-a", "a", 1, 8))
	require.Equal(t, []string{"of-a, fits: n1"}, backfill(m))
}

// Hot spares are for what lost hardware.
func TestAHotSpareIsForAGangThatLostHardware(t *testing.T) {
	m := machine(t, berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 250}}})
	m.Pass(m.Upkeep.TendSpares)
	m.Run(roomtest.Job("others", "b", 3, 8), "n2", "n3", "n4")
	require.True(t, m.NodeNamed("n1").Trust.HotSpare)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	require.Empty(t, backfill(m))
	m.Backlog.Unawait(rep)
	rep.Retry.Note().LostHardware = true
	m.Backlog.Await(rep)
	require.Equal(t, []string{"waits, fits: n1"}, backfill(m))
}

// Wherever it stands in its bucket, a gang that lost hardware is tried when a spare has become
// free.
func TestAGangThatLostHardwareIsFoundBehindOthers(t *testing.T) {
	m := machine(t, berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 250}}})
	m.State.Bounds.Depth = 1
	runs := full(m, "b")
	m.Wait(roomtest.Job("first", "a", 1, 8))
	rep := m.Admit(roomtest.Job("lost", "a", 1, 8))
	rep.Retry.Note().LostHardware = true
	m.Life.Pend(rep)
	require.Empty(t, backfill(m))
	m.Finished(runs[2])
	m.Pass(m.Upkeep.TendSpares)
	require.True(t, m.NodeNamed("n3").Trust.HotSpare)
	require.Equal(t, []string{"lost, fits: n3"}, backfill(m))
}

// A gang that only grows has no claim to spares, even if it has to leave its node.
func TestAGangDoesNotGrowOntoAHotSpare(t *testing.T) {
	m := machine(t, berth.Policy{HotSpares: []berth.HotSpares{{NodesMilli: 250}}})
	m.Pass(m.Upkeep.TendSpares)
	m.Run(roomtest.Job("others", "b", 2, 8), "n3", "n4")
	rep := m.Run(elastic(roomtest.Job("grows", "a", 2, 8)), "n2")
	m.Upkeep.SetDraining(m.NodeNamed("n2"), true)
	require.True(t, m.State.MaySpare(rep))
	require.Empty(t, backfill(m))
	m.Upkeep.SetDraining(m.NodeNamed("n2"), false)
}

// Where the limit on one product holds a bucket back, its first are tried on set aside nodes of
// another.
func TestWhatOneProductLimitsIsTriedOnSetAsideNodesOfAnother(t *testing.T) {
	m := products(t)
	limitH100(m, 0)
	m.Run(running(berth.Hour, roomtest.Job("on-h200", "b", 1, 1)), "h200")
	full(m, "b")
	holder := m.Wait(roomtest.Job("holder", "a", 1, 8))
	m.Reserve(holder, m.State.Now.Add(berth.Hour), "h200")
	m.Finished(m.State.Jobs["on-n1"].Replicas.At(0)) // what is free there is not allowed
	long := m.Wait(roomtest.Job("long", "a", 1, 4))
	require.Empty(t, backfill(m))
	require.Contains(t, m.Backlog.QuotaBlocked, bucketOf(long))
	m.Wait(running(berth.Minute, roomtest.Job("short", "a", 1, 4)))
	require.Equal(t, []string{"short, fits: h200"}, backfill(m))
}
