package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/search"
)

func checkpointing(j berth.Job) berth.Job {
	j.Checkpoint.Supported = true
	return j
}

// drain has what runs on a node leave it, by an instant unless that is 0.
func drain(m *roomtest.Machine, node string, by berth.Time) *record.Node {
	n := m.NodeNamed(node)
	m.Upkeep.Cordon(n, true, "")
	m.Upkeep.SetDraining(n, true)
	n.DrainBy = by
	m.Agenda.Relook(m.State.Now)
	m.Books.TellCapacity()
	return n
}

func ids(reps []*record.Replica) (ids []berth.JobID) {
	for _, rep := range reps {
		ids = append(ids, rep.Job.Spec.ID)
	}
	return ids
}

func to(m *roomtest.Machine, rep *record.Replica, nodes ...string) search.Relocation {
	return search.Relocation{Rep: rep, Where: m.Where(rep, nodes)}
}

func TestUprootedAreThoseThatNeedAnotherPlaceInTheOrderOfService(t *testing.T) {
	m := machine(t)
	m.Run(roomtest.Job("stays", "a", 1, 1), "n2")
	m.Run(roomtest.Job("on-drained", "a", 1, 1), "n1")
	m.Run(urgent(roomtest.Job("urgent", "a", 1, 1)), "n1")
	lost := m.Run(roomtest.Job("lost-hardware", "a", 2, 1), "n3", "n4")
	m.Life.TakeBack(lost, berth.Cause{Code: berth.CauseHardwareLost}, false)
	preempted := m.Run(roomtest.Job("preempted", "a", 1, 1), "n3")
	m.Life.TakeBack(preempted, berth.Cause{Code: berth.CausePreempted}, false)
	drain(m, "n1", 0)
	require.Equal(t, []berth.JobID{"urgent", "lost-hardware", "on-drained"}, ids(m.Search.Uprooted()))
	lost.Relocation.Note().SoughtAt = m.Agenda.MoveTurn
	require.Equal(t, []berth.JobID{"urgent", "on-drained"}, ids(m.Search.Uprooted()), "it had its turn")
	m.Agenda.EndMoves(false)
	require.Len(t, m.Search.Uprooted(), 3, "another round")
	require.True(t, m.Search.ReserveMove(lost, m.Where(lost, []string{"n2", "n2"})))
	require.Equal(t, []berth.JobID{"urgent", "on-drained"}, ids(m.Search.Uprooted()), "it has a place")
	m.Upkeep.SetDraining(m.NodeNamed("n1"), false)
}

func TestAGangThatBacksOffComesBackToWhereItStood(t *testing.T) {
	m := machine(t)
	rep := m.RunSince(roomtest.Start-berth.Time(berth.Hour), roomtest.Job("dies", "a", 1, 8), "n1")
	m.Life.MembersDied(rep, []int{0}, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
	require.Equal(t, berth.ReplicaPending, rep.State)
	require.Equal(t, []*record.Replica{rep}, m.Search.Uprooted())
	m.Search.DecideMove(to(m, rep, "n1"))
	require.True(t, rep.Moving.IsBackoff())
	require.Empty(t, m.Search.Uprooted())
	require.EqualValues(t, 1, m.State.Totals.Moves)
}

// A gang leaves a drained node as soon as there is a place for it, which is kept for it meanwhile.
func TestAGangLeavesADrainedNodeForAPlaceThatIsKept(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("leaves", "a", 1, 8)), "n1")
	drain(m, "n1", 0)
	m.Search.DecideMove(to(m, rep, "n2"))
	require.True(t, rep.Leaves)
	require.True(t, rep.Asked())
	require.Equal(t, berth.CauseDrained, rep.Order.Header().Cause.Code)
	require.Equal(t, []berth.NodeID{"n2"}, rep.Moving.NodeIDs())
	m.Upkeep.SetDraining(m.NodeNamed("n1"), false)
}

// A node that is cleared for a queue is left by the jobs of other queues, once there is just the
// time for that, until the reservation is over.
func TestTheJobsOfOtherQueuesLeaveNodesThatAreCleared(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("leaves", "a", 1, 4)), "n1")
	m.Run(checkpointing(roomtest.Job("belongs", "b", 1, 4)), "n1")
	m.Run(checkpointing(roomtest.Job("elsewhere", "a", 1, 4)), "n2")
	begins := m.State.Now.Add(berth.Hour)
	m.NoRefusal(m.Backlog.ReservationSet(berth.ReservationSet{Reservation: berth.Reservation{
		ID: "r", From: begins, Until: begins.Add(berth.Hour), Nodes: []berth.NodeID{"n1"}, Queue: "b", Clear: true,
	}}))
	timeout := m.State.Config.Policy.ReleaseTimeout
	first := begins.Add(-timeout - m.State.GraceOf(rep))
	m.Later(first.Sub(m.State.Now) - 1)
	m.Search.BeginDrains()
	require.Empty(t, m.Search.Uprooted())
	m.Later(1)
	m.Search.BeginDrains()
	require.Equal(t, []*record.Replica{rep}, m.Search.Uprooted())
	require.True(t, m.Agenda.BeginMoves(m.State.Now))
	m.Search.DecideMove(to(m, rep, "n3"))
	require.Equal(t, berth.CauseDrained, rep.Order.Header().Cause.Code)
	require.Equal(t, "node n1 is cleared for reservation r", rep.Order.Header().Cause.Detail)
	require.Equal(t, begins.Add(-timeout), rep.Order.Header().Deadline)

	// It is over before the gang is.
	m.Later(2 * berth.Hour)
	m.Search.EndReservations()
	require.True(t, rep.Stray(), "it goes on")
	require.Nil(t, rep.Moving)
}

// Without a place it stays until it has to write its checkpoint at the latest.
func TestAGangWithoutAPlaceStaysUntilItsDeadline(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("stays", "a", 1, 8)), "n1")
	grace := m.State.GraceOf(rep)
	n := drain(m, "n1", m.State.Now.Add(grace+berth.Minute))
	require.True(t, m.Agenda.BeginMoves(m.State.Now))
	m.Search.DecideMove(search.Relocation{Rep: rep})
	require.False(t, rep.Leaves)
	require.Equal(t, m.State.Now.Add(berth.Minute), m.Agenda.NextMove)
	m.Later(berth.Minute)
	m.Search.DecideMove(search.Relocation{Rep: rep})
	require.True(t, rep.Leaves)
	require.Equal(t, n.DrainBy, rep.Order.Header().Deadline)
	m.Upkeep.SetDraining(n, false)
}

// One that was asked to leave for a place that is gone goes on, if it may.
func TestAGangStaysWhereItsPlaceIsGone(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("stays", "a", 1, 8)), "n1")
	n := drain(m, "n1", m.State.Now.Add(24*berth.Hour))
	m.Search.DecideMove(to(m, rep, "n2"))
	m.Backlog.EndMove(rep)
	require.True(t, rep.Leaves)
	require.False(t, m.Search.LetStay([]search.Relocation{to(m, rep, "n2")}), "it has another")
	require.True(t, m.Search.LetStay([]search.Relocation{{Rep: rep}}))
	require.False(t, rep.Leaves)
	require.True(t, m.State.Todo.Has(rep), "the request is withdrawn")
	m.Upkeep.SetDraining(n, false)
}

func TestAGangThatNeedNotLeaveAnyMoreStays(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("stays", "a", 1, 8)), "n1")
	n := drain(m, "n1", 0)
	m.Search.DecideMove(to(m, rep, "n2"))
	m.Upkeep.SetDraining(n, false)
	m.Search.DecideMove(search.Relocation{Rep: rep})
	require.False(t, rep.Leaves)
	require.Nil(t, rep.Moving)
}

// A place in which the quota of its queue does not admit a gang is none.
func TestABarredPlaceIsNotKept(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(roomtest.Job("barred", "a", 1, 8)), "n1")
	n := drain(m, "n1", 0)
	r := to(m, rep, "n2")
	r.Barred = true
	m.Search.DecideMove(r)
	require.Nil(t, rep.Moving)
	require.False(t, rep.Leaves)
	m.Upkeep.SetDraining(n, false)
}

// What is left of a place is kept while its gang is being stopped, until it waits and may bid for
// the rest.
func TestWhatIsLeftOfAPlaceIsKeptUntilTheGangMayBidForTheRest(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("loses", "a", 3, 8), "n1", "n2", "n3")
	m.Run(roomtest.Job("other", "b", 1, 8), "n4")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseHardwareLost}, false)
	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	m.Books.TellCapacity()
	m.Search.DecideMove(search.Relocation{Rep: rep})
	require.True(t, rep.Moving.IsPartial())
	require.Equal(t, []berth.NodeID{"n2", "n3"}, rep.Moving.NodeIDs())
	require.True(t, m.Agenda.Homeless)
	m.Search.DecideMove(search.Relocation{Rep: rep})
	require.Len(t, m.Backlog.Reservations, 1, "once")
	require.Contains(t, m.Search.Uprooted(), rep, "it still needs a place for the rest")

	m.Stopped(rep)
	require.True(t, rep.Reserved.IsPartialResume())
	m.Search.EndPartialResumes()
	require.NotNil(t, rep.Reserved, "it is ready: it had no turn yet")
	require.Empty(t, place(m))
	m.Search.EndPartialResumes()
	require.Nil(t, rep.Reserved)
	m.Search.EndPartialResumes() // nothing is set aside
}

func TestAGangThatGrowsAndMovesGrowsNoFurtherWhereItIs(t *testing.T) {
	m := machine(t)
	rep := m.Run(checkpointing(elastic(roomtest.Job("grows", "a", 2, 8))), "n1")
	m.Plan(rep, []string{"n3"})
	n := drain(m, "n1", 0)
	m.Search.DecideMove(to(m, rep, "n2"))
	require.Nil(t, rep.Reserved)
	require.NotNil(t, rep.Moving)
	m.Upkeep.SetDraining(n, false)
}
