package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// serve runs the stages that start what has its nodes set aside, between the earmarks of a pass.
func serve(m *roomtest.Machine) []string {
	return starts(m.Pass(
		func() { m.Backlog.Earmark(true) }, m.Search.ServeReserved, m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place,
		func() { m.Backlog.Earmark(false) },
	))
}

func full(m *roomtest.Machine, queue berth.QueueID) (runs []*record.Replica) {
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		runs = append(runs, m.Run(roomtest.Job(berth.JobID("on-"+node), queue, 1, 8), node))
	}
	return runs
}

func TestAGangWithAReservationStartsOnItsNodesOnceTheyAreFree(t *testing.T) {
	m := machine(t)
	runs := full(m, "b")
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	require.Empty(t, serve(m))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1", "n2")
	small := m.Wait(roomtest.Job("small", "a", 1, 8))
	m.Finished(runs[0])
	require.Empty(t, serve(m), "nobody else is started there, either")
	m.Finished(runs[1])
	require.Equal(t, []string{"large, fits: n1 n2"}, serve(m))
	require.Nil(t, rep.Reserved)
	require.Equal(t, 1, len(small.Entries))
}

// It starts elsewhere if it fits there before.
func TestAGangWithAReservationStartsElsewhereIfItFitsThereFirst(t *testing.T) {
	m := machine(t)
	runs := full(m, "b")
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	require.Empty(t, serve(m))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	m.Finished(runs[3])
	require.Equal(t, []string{"waits, fits: n4"}, serve(m))
}

// Invariant 5: what ends on its nodes may bring a reservation forward, and never puts it off.
func TestTheInstantOfAReservationOnlyMovesForward(t *testing.T) {
	m := machine(t)
	first := m.Run(running(2*berth.Hour, roomtest.Job("first", "b", 1, 8)), "n1")
	m.Run(running(berth.Hour, roomtest.Job("second", "b", 1, 8)), "n2")
	m.Run(roomtest.Job("others", "b", 2, 8), "n3", "n4")
	rep := m.Wait(roomtest.Job("large", "a", 2, 8))
	require.Empty(t, serve(m))
	from := m.State.Now.Add(2 * berth.Hour)
	res := m.Reserve(rep, from, "n1", "n2")
	require.Empty(t, serve(m))
	require.Equal(t, from, res.From)
	m.Later(90 * berth.Minute)
	m.Finished(first)
	require.Empty(t, serve(m))
	require.Equal(t, m.State.Now.Add(30*berth.Minute), res.From, "the second is late by 30 minutes, and gets as many again")
}

// plan is a full fleet with a gang that has the place of a victim planned.
func plan(t *testing.T) (m *roomtest.Machine, rep *record.Replica, runs []*record.Replica) {
	m = machine(t)
	runs = full(m, "a")
	rep = m.Wait(urgent(roomtest.Job("beneficiary", "a", 1, 8)))
	require.Empty(t, place(m))
	m.Plan(rep, []string{"n1"}, runs[0])
	return m, rep, runs
}

func TestABeneficiaryStartsWhereItsVictimsWere(t *testing.T) {
	m, rep, runs := plan(t)
	require.Empty(t, serve(m))
	m.Stopped(runs[0])
	require.Equal(t, []string{"beneficiary, victims-gone: n1"}, serve(m))
	require.Nil(t, rep.Reserved)
}

func TestABeneficiaryStartsElsewhereIfItFitsThereFirst(t *testing.T) {
	m, _, runs := plan(t)
	m.Finished(runs[3])
	require.Equal(t, []string{"beneficiary, fits: n4"}, serve(m))
}

// A plan that cannot come true is over, and the gang bids again after a while, longer each time.
func TestAPlanIsOverThatCannotComeTrue(t *testing.T) {
	m, rep, runs := plan(t)
	m.Stopped(runs[0])
	m.NodeNamed("n1").Spec.GPUs[0].Failed = true // as condemn does, but that the plan is not told
	m.Books.SettleGPU(m.NodeNamed("n1"), 0)
	m.Books.Recount(m.NodeNamed("n1"), m.NodeNamed("n1").CapacityNow())
	require.Empty(t, serve(m))
	require.Nil(t, rep.Reserved)
	require.Greater(t, rep.BidsAt, m.State.Now)
	require.EqualValues(t, 1, rep.FailedBids)
	before := rep.BidsAt.Sub(m.State.Now)
	m.Search.FailBid(rep)
	require.Equal(t, 2*before, rep.BidsAt.Sub(m.State.Now))
}

// As long as something is on its way out, others may hold the quota that it frees.
func TestAPlanWaitsForTheQuotaThatOthersStillHold(t *testing.T) {
	m, rep, runs := plan(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(24)}) // less than is used
	m.Stopped(runs[0])
	m.Life.TakeBack(runs[1], berth.Cause{Code: berth.CauseDrained}, false)
	require.Empty(t, serve(m))
	require.NotNil(t, rep.Reserved)
	m.Stopped(runs[1])
	require.Equal(t, []string{"beneficiary, victims-gone: n1"}, serve(m))
}

// Where a spread group goes depends on other nodes than its own: it is searched for anew.
func TestASpreadGangIsPlacedAnew(t *testing.T) {
	m := machine(t)
	runs := full(m, "a")
	job := urgent(roomtest.Job("spread", "a", 2, 4))
	job.Groups[0].Topology = berth.Topology{Spread: "rack", MaxSkew: 1}
	rep := m.Wait(job)
	require.Empty(t, place(m))
	m.Plan(rep, []string{"n1", "n3"}, runs[0], runs[2])
	m.Stopped(runs[0])
	m.Stopped(runs[2])
	require.Equal(t, []string{"spread, fits: n1 n3"}, serve(m), "by a search")
}

func TestAGangWithItsDomainsForItselfTakesItsPlaceOnceTheyAreEmpty(t *testing.T) {
	m := machine(t)
	runs := full(m, "a")
	job := urgent(roomtest.Job("alone", "a", 1, 8))
	job.Topology.Exclusive = "rack"
	rep := m.Wait(job)
	require.Empty(t, place(m))
	m.Plan(rep, []string{"n1"}, runs[0])
	m.Stopped(runs[0])
	m.Life.TakeBack(runs[1], berth.Cause{Code: berth.CausePreempted}, false) // in the same rack
	require.Empty(t, serve(m))
	require.NotNil(t, rep.Reserved)
	m.Stopped(runs[1])
	require.Equal(t, []string{"alone, victims-gone: n1"}, serve(m))
}

// The nodes that are set aside for further members are for as many as are planned: all of them take
// their place together, there or, some of them, elsewhere.
func TestAGangGrowsByAsManyAsArePlanned(t *testing.T) {
	for name, c := range map[string]struct {
		goes string
		want string
	}{"the other victim": {"on-n3", "grows, victims-gone: n2 n3"}, "another": {"on-n4", "grows, grows: n2 n4"}} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			rep := m.Run(urgent(elastic(roomtest.Job("grows", "a", 3, 8))), "n1")
			victims := []*record.Replica{m.Run(roomtest.Job("on-n2", "a", 1, 8), "n2"), m.Run(roomtest.Job("on-n3", "a", 1, 8), "n3")}
			m.Run(roomtest.Job("on-n4", "a", 1, 8), "n4")
			require.Empty(t, place(m))
			m.Plan(rep, []string{"n2", "n3"}, victims...)
			m.Stopped(victims[0])
			require.Empty(t, serve(m), "one alone has no claim to them")
			if goes := m.State.Jobs[berth.JobID(c.goes)].Replicas.At(0); goes == victims[1] {
				m.Stopped(goes)
			} else {
				m.Finished(goes)
			}
			require.Equal(t, []string{c.want}, serve(m))
		})
	}
}

// What came meanwhile and ranks above the beneficiary has the room first.
func TestARoomIsForTheOneOfItsQueueThatRanksAbove(t *testing.T) {
	m, rep, runs := plan(t)
	above := roomtest.Job("above", "a", 1, 8)
	above.Priority = 2
	m.Wait(above)
	require.Empty(t, serve(m))
	m.Stopped(runs[0])
	require.Equal(t, []string{"above, fits: n1"}, serve(m))
	require.Nil(t, rep.Reserved, "its place is taken")
	require.Equal(t, []*record.Replica{rep}, m.Backlog.TakeDisplaced())
}

// One that fits where nothing is set aside leaves the room to its beneficiary.
func TestWhatFitsOnOpenNodesLeavesTheRoomAlone(t *testing.T) {
	m, rep, runs := plan(t)
	above := roomtest.Job("above", "a", 1, 8)
	above.Priority = 2
	m.Wait(above)
	m.Stopped(runs[0])
	m.Finished(runs[1])
	require.Equal(t, []string{"beneficiary, victims-gone: n1", "above, fits: n2"}, serve(m))
	require.Nil(t, rep.Reserved)
}

// The searches for those that come first are bounded: the gang leaves the rest of them its place,
// and they have their turn in the next pass.
func TestTakersThatAreLeftOverComeFirstInTheNextPass(t *testing.T) {
	m, rep, runs := plan(t)
	for _, id := range []berth.JobID{"above-1", "above-2"} {
		above := roomtest.Job(id, "a", 1, 8)
		if above.Priority = 2; id == "above-1" {
			above.Groups[0].Selector.Labels = map[string]string{"fits": "nowhere"}
		}
		m.Wait(above)
	}
	m.Stopped(runs[0])
	reserved := func(budget int) []string {
		m.State.Config.Policy.BackfillBudget = budget
		return starts(m.Pass(func() { m.Backlog.Earmark(true) }, m.Search.ServeReserved, func() { m.Backlog.Earmark(false) }))
	}
	require.Empty(t, reserved(1), "the first fits nowhere, and the second was not tried")
	m.State.ClearFreed()
	m.Agenda.Backfilled()
	require.True(t, m.Agenda.DueNow())
	require.Equal(t, []string{"above-2, fits: n1"}, reserved(2))
	require.Nil(t, rep.Reserved, "its place is taken")
}
