package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// checkpointing is a job that writes a checkpoint before it stops.
func checkpointing(j berth.Job) berth.Job {
	j.Checkpoint.Supported = true
	return j
}

// move keeps a place for a gang that still holds another, as a search does.
func move(m *roomtest.Machine, rep *record.Replica, nodes ...string) *record.Reservation {
	where := m.Where(rep, nodes)
	res := record.GangReservation(record.KindMove, rep)
	res.From, res.Until, res.Nodes = m.State.Now, m.State.Now.Add(berth.Hour), m.State.NodesFor(rep, where)
	res.Plan = m.Backlog.NewPlan(rep, where)
	rep.Moving = res
	m.Backlog.AddReservation(res)
	return res
}

// Invariant 4.
func TestReservationsStandInOrderOfNameAndEachNodeKnowsItsOwn(t *testing.T) {
	m := machine(t)
	for _, id := range []berth.JobID{"x", "z", "y"} {
		m.Reserve(m.Wait(roomtest.Job(id, "a", 1, 8)), m.State.Now.Add(berth.Hour), "n1")
	}
	var names []string
	for _, res := range m.Backlog.Reservations {
		names = append(names, res.Name)
	}
	require.Equal(t, []string{"gang/x#0", "gang/y#0", "gang/z#0"}, names)
	require.Equal(t, m.Backlog.Reservations, m.NodeNamed("n1").Reservations)
	require.NoError(t, m.Backlog.CheckReservations())
	m.Backlog.EndReservation(m.Backlog.Reservations[1])
	require.Equal(t, m.Backlog.Reservations, m.NodeNamed("n1").Reservations)
	require.Len(t, m.Backlog.Reservations, 2)
}

func TestAVictimThatWasAskedInVainGoesOn(t *testing.T) {
	m := machine(t)
	victim := m.Run(checkpointing(roomtest.Job("victim", "a", 1, 8)), "n1")
	res := m.Plan(m.Wait(roomtest.Job("waits", "a", 1, 8)), []string{"n1"}, victim)
	require.True(t, victim.Asked())
	m.Backlog.EndReservation(res)
	require.Nil(t, victim.Beneficiary)
	require.Equal(t, berth.ReplicaRunning, victim.State)
	require.True(t, m.State.Todo.Has(victim), "the next pass withdraws the request")
	require.False(t, m.State.Leaving.Has(victim))
	require.Nil(t, res.Rep.Reserved)
}

func TestAVictimThatIsBeingStoppedIsStoppedAllTheSame(t *testing.T) {
	m := machine(t)
	victim := m.Run(roomtest.Job("victim", "a", 1, 8), "n1")
	res := m.Plan(m.Wait(roomtest.Job("waits", "a", 1, 8)), []string{"n1"}, victim)
	m.Backlog.EndReservation(res)
	require.Nil(t, victim.Beneficiary)
	require.Equal(t, berth.ReplicaReleasing, victim.State)
	require.True(t, m.State.Leaving.Has(victim))
}

// What a gang that goes on keeps, others cannot have: their plans end too.
func TestAPlanEndsThatCountedOnAVictimWhichGoesOn(t *testing.T) {
	m := machine(t)
	victim := m.Run(checkpointing(roomtest.Job("victim", "a", 2, 8)), "n1", "n2")
	first := m.Plan(m.Wait(roomtest.Job("first", "a", 1, 8)), []string{"n1"}, victim)
	second := m.Wait(roomtest.Job("second", "a", 1, 8))
	m.Plan(second, []string{"n2"}, victim)
	victim.Beneficiary = first.Rep
	second.Reserved.Plan.Victims = nil // it counts on the end of a victim of the first
	m.Backlog.EndReservation(first)
	require.Nil(t, second.Reserved)
	require.Empty(t, m.Backlog.Reservations)
}

// A gang that moves for another: if its place goes, it stays, and the other has nothing to wait
// for.
func TestAPreemptionEndsWithTheMoveThatItNeeds(t *testing.T) {
	m := machine(t)
	mover := m.Run(checkpointing(roomtest.Job("mover", "a", 1, 8)), "n1")
	res := m.Plan(m.Wait(roomtest.Job("waits", "a", 1, 8)), []string{"n1"}, mover)
	move(m, mover, "n2")
	m.Backlog.EndMove(mover)
	require.Nil(t, mover.Moving)
	require.Nil(t, res.Rep.Reserved)
	require.Empty(t, m.Backlog.Reservations)
	require.True(t, m.State.Todo.Has(mover))
	require.True(t, m.Agenda.Homeless)
	m.Backlog.EndMove(mover) // there is none
}

func TestAMoveEndsWithTheRequestThatItIsFor(t *testing.T) {
	m := machine(t)
	mover := m.Run(checkpointing(roomtest.Job("mover", "a", 1, 8)), "n1")
	res := m.Plan(m.Wait(roomtest.Job("waits", "a", 1, 8)), []string{"n1"}, mover)
	move(m, mover, "n2")
	m.Backlog.EndReservation(res)
	require.Nil(t, mover.Moving)
	require.Empty(t, m.Backlog.Reservations)
}

// What ends opens its nodes to all, and has the stages look that may gain by it.
func TestTheEndOfAReservationIsNoted(t *testing.T) {
	m := machine(t)
	stalled := m.Wait(roomtest.Job("stalled", "a", 1, 8))
	stalled.Reserve.Note().StalledAt = m.Agenda.Stall()
	m.Backlog.Due.NoteEntries(stalled)
	r := advance("r")
	r.Nodes = []berth.NodeID{"n1"}
	m.NoRefusal(set(m, r))
	m.State.ClearFreed()
	m.Backlog.EndReservation(named(t, m, "advance/r"))
	require.Contains(t, m.State.FreedNodes, m.NodeNamed("n1"))
	require.False(t, m.Backlog.Due.Stalled(stalled))
	require.True(t, m.Agenda.ReserveDue(m.State.Now))
}

func TestWhatCountsOnANodeEndsWhenThatChanges(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	planned := m.Wait(roomtest.Job("planned", "a", 1, 8))
	m.Plan(planned, []string{"n2"})
	r := advance("r")
	r.Nodes = []berth.NodeID{"n1", "n2"}
	m.NoRefusal(set(m, r)) // ends both, too
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	m.Plan(planned, []string{"n2"})
	m.Backlog.EndGangReservationsOn(m.NodeNamed("n1"))
	require.Nil(t, rep.Reserved)
	require.NotNil(t, planned.Reserved, "on another node")
	require.NotEmpty(t, m.NodeNamed("n1").Reservations, "what was made in advance does not count on it")
	m.Backlog.EndGangReservationsOn(m.NodeNamed("n2"))
	require.Nil(t, planned.Reserved)
}

// What is planned for others comes before a gang that has nothing but the nodes.
func TestAReservationGivesWayToAPlan(t *testing.T) {
	m := machine(t)
	rep, planned := m.Wait(roomtest.Job("waits", "a", 1, 8)), m.Wait(roomtest.Job("planned", "a", 1, 8))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	res := m.Plan(planned, []string{"n2"})
	m.Backlog.ClearReservations([]*record.Node{m.NodeNamed("n1"), m.NodeNamed("n2")})
	require.Nil(t, rep.Reserved)
	require.Same(t, res, planned.Reserved)
}

// Arrival.

func TestAGangThatWaitsHasThePlaceThatWasKeptForIt(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("moves", "a", 1, 8), "n1")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseDrained}, false)
	res := move(m, rep, "n2")
	m.Agenda.Backfilled()
	m.Stopped(rep)
	require.Nil(t, rep.Moving)
	require.Same(t, res, rep.Reserved)
	require.True(t, res.IsAwaited())
	require.Equal(t, berth.CauseResumed, res.Kind.Cause())
	require.True(t, m.Agenda.BackfillDue)
}

func TestAPlaceIsKeptThroughABackoff(t *testing.T) {
	m := machine(t)
	rep := backsOff(m, "n1", "n2")
	require.True(t, rep.Moving.IsBackoff())
	require.Equal(t, rep.Retry.Get().ReadyAt.Add(m.State.Config.Policy.ReservationTimeout), rep.Moving.Until)
	m.Later(m.State.Config.Policy.RetryBackoff)
	over, _ := m.State.DueTimer()
	m.Life.BackoffOver(over.Rep)
	require.Same(t, rep, over.Rep)
	require.Equal(t, berth.CauseResumed, rep.Reserved.Kind.Cause())
}

// backsOff has a gang that ran on one node back off, with a place on another.
func backsOff(m *roomtest.Machine, on, to string) *record.Replica {
	rep := m.Run(roomtest.Job("backs-off", "a", 1, 4), on)
	rep.Release.Note().Backoff = true
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseHardwareLost}, false)
	move(m, rep, to)
	m.Stopped(rep)
	return rep
}

func TestWhatIsLeftOfAPlaceIsNotKeptThroughABackoff(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("loses", "a", 2, 8), "n1", "n2")
	rep.Release.Note().Backoff = true
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseHardwareLost}, false)
	res := record.GangReservation(record.KindPartialMove, rep)
	res.Until, res.Nodes = m.State.Now.Add(berth.Hour), []*record.Node{m.NodeNamed("n1")}
	rep.Moving = res
	m.Backlog.AddReservation(res)
	m.Stopped(rep)
	require.Nil(t, rep.Moving)
	require.Empty(t, m.Backlog.Reservations)
}

// EndDisplacedBy.

func TestAPlanEndsWhereAnotherGangWasPlacedInItsStead(t *testing.T) {
	m := machine(t)
	victim := m.Run(checkpointing(roomtest.Job("victim", "a", 1, 4)), "n1")
	low := m.Wait(roomtest.Job("low", "a", 1, 8))
	m.Plan(low, []string{"n1"}, victim)
	require.True(t, low.Reserved.Plan.OfQueue)
	m.Bind(m.Wait(urgent(roomtest.Job("high", "a", 1, 4))), "n1")
	require.Nil(t, low.Reserved)
	require.Equal(t, []*record.Replica{low}, m.Backlog.TakeDisplaced(), "it rests, as its queue evicted for it")
	require.Empty(t, m.Backlog.TakeDisplaced(), "once")
}

func TestAReservationIsNotOverrunByWhatEndsInTime(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	m.Reserve(rep, m.State.Now.Add(berth.Hour), "n1")
	short, long := roomtest.Job("short", "a", 1, 1), roomtest.Job("long", "a", 1, 1)
	short.ExpectedRuntime, long.ExpectedRuntime = berth.Hour, berth.Hour+1
	m.Bind(m.Wait(short), "n1")
	require.NotNil(t, rep.Reserved)
	m.Bind(m.Wait(long), "n1")
	require.Nil(t, rep.Reserved)
	require.Empty(t, m.Backlog.TakeDisplaced(), "nobody was evicted for it")
}

func TestThePlaceOfAGangThatBacksOffEndsIfItWasTaken(t *testing.T) {
	m := machine(t)
	half := m.Run(roomtest.Job("half", "b", 1, 4), "n2")
	rep := backsOff(m, "n1", "n2") // on the other half
	m.Finished(half)
	m.Bind(m.Wait(roomtest.Job("beside", "b", 1, 4)), "n2")
	require.NotNil(t, rep.Moving)
	m.Bind(m.Wait(roomtest.Job("on-it", "b", 1, 4)), "n2")
	require.Nil(t, rep.Moving)
}

func TestARoomThatCannotComeTrueIsLost(t *testing.T) {
	m := machine(t)
	victim := m.Run(checkpointing(roomtest.Job("victim", "a", 1, 8)), "n1")
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	res := m.Plan(rep, []string{"n1"}, victim)
	m.Backlog.EndDisplaced(res)
	require.Nil(t, rep.Reserved)
	require.Equal(t, []*record.Replica{rep}, m.Backlog.TakeDisplaced())
	res = m.Reserve(rep, agenda.Never-berth.Time(berth.Hour), "n1")
	m.Backlog.EndDisplaced(res)
	require.Empty(t, m.Backlog.TakeDisplaced(), "there was no room")
}

// Plans.

func TestAPlanIsChargedInOneSumForEachProduct(t *testing.T) {
	m := machine(t)
	other := roomtest.Node("other", 8, "r2")
	for g := range other.GPUs {
		other.GPUs[g].Product, other.GPUs[g].MIGTable = "H200", ""
	}
	m.Join(other)
	mixed := roomtest.Job("mixed", "a", 3, 4)
	mixed.Groups[0].MixProducts = true
	rep := m.Wait(mixed)
	charges := m.Backlog.NewPlan(rep, m.Where(rep, []string{"n1", "other", "n2"})).Charges
	require.Len(t, charges, 2)
	require.Equal(t, []int64{8000, 4000}, []int64{charges[0].GPUMilli, charges[1].GPUMilli})
	require.Equal(t, m.State.Quota.Product("H200"), charges[1].Product)
}

// What is planned comes as pieces: what is above the minimum one by one, the minimum in one.
func TestPlannedGangsComeInPieces(t *testing.T) {
	m := machine(t)
	segments := elastic("segments", "a", 4, 2)
	segments.Groups[0].MinMembers = 2
	segments.Groups[0].Topology.Segments = []berth.Segment{{Size: 2, Level: "rack"}}
	m.Plan(m.Wait(segments), []string{"n1", "n1", "n1", "n1"})
	m.Plan(m.Wait(elastic("elastic", "a", 3, 1)), []string{"n2", "n2", "n2"})
	whole := m.Wait(roomtest.Job("whole", "a", 2, 3))
	m.Plan(whole, []string{"n3", "n3"})
	grows := m.Run(elastic("grows", "a", 3, 1), "n4")
	m.Plan(grows, []string{"n4", "n4"})
	pieces := map[int64]int{}
	m.Backlog.EachPlanned(queueOf(m, "a").Index, whole, func(milli int64) { pieces[milli]++ })
	delete(pieces, 0) // of one that grows there is no minimum to come
	require.Equal(t, map[int64]int{4000: 2, 1000: 3 + 2}, pieces, "but for the whole one, which asks")
}

func TestTheEntryOfAPlanIsThatOfTheGroupInIt(t *testing.T) {
	m := machine(t)
	group := func(name string) berth.Group {
		return berth.Group{Name: name, Members: 2, MinMembers: 1, Claim: berth.WholeGPUs(4)}
	}
	rep := m.Observe(m.State.Now, berth.Job{ID: "grows", Queue: "a", Groups: []berth.Group{group("x"), group("y")}}, []berth.MemberPlacement{
		{Group: "x", Node: "n1", GPUs: 0xf}, {Group: "y", Node: "n1", GPUs: 0xf0},
	})
	where := m.Where(rep, []string{"n2"})
	where[0].Group = 1
	res := record.GangReservation(record.KindPreemption, rep)
	res.Plan = m.Backlog.NewPlan(rep, where)
	require.Same(t, rep.Entries[1], m.Backlog.EntryOf(res))
	waits := m.Wait(roomtest.Job("waits", "a", 1, 8))
	require.Same(t, waits.Entries[0], m.Backlog.EntryOf(m.Plan(waits, []string{"n3"})))
}

func TestAPlanIsInTheWayOfAReservationThatCameLater(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 8))
	res := m.Plan(rep, []string{"n1"})
	require.False(t, m.Backlog.InTheWay(rep, res.Plan))
	var burnIn *record.Reservation
	m.Backlog.NewNodeSet(&burnIn, record.KindBurnIn, "burn-in")
	m.Backlog.JoinNodeSet(burnIn, m.NodeNamed("n1"))
	require.False(t, m.Backlog.InTheWay(rep, res.Plan), "burn-in admits a job of one node")
	m.Backlog.LeaveNodeSet(burnIn, m.NodeNamed("n1"))
	r := m.Reserve(m.Wait(urgent(roomtest.Job("urgent", "a", 1, 8))), m.State.Now, "n1")
	require.True(t, m.Backlog.InTheWay(rep, res.Plan))
	m.Backlog.EndReservation(r)
}

func TestThePolicyCallsOffWhatItAllowsNoMore(t *testing.T) {
	for mode, want := range map[berth.PreemptionMode][]string{
		berth.PreemptionOff:     nil,
		berth.PreemptionReclaim: {"gang/of-others#0"},
		berth.PreemptionOn:      {"gang/of-others#0", "gang/of-queue#0"},
	} {
		m := machine(t)
		own, other := m.Run(roomtest.Job("own", "a", 1, 8), "n1"), m.Run(roomtest.Job("other", "b", 1, 8), "n2")
		m.Plan(m.Wait(roomtest.Job("of-queue", "a", 1, 8)), []string{"n1"}, own)
		m.Plan(m.Wait(roomtest.Job("of-others", "a", 1, 8)), []string{"n2"}, other)
		policy := m.State.Config.Policy
		policy.Preemption.Mode = mode
		m.State.SetPolicy(policy)
		m.Backlog.CallOff()
		var left []string
		for _, res := range m.Backlog.Reservations {
			left = append(left, res.Name)
		}
		require.Equal(t, want, left)
	}
}

func TestAPlanEndsOnGPUsThatSomebodyHasComeToHold(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("waits", "a", 1, 4))
	m.Run(roomtest.Job("first", "b", 1, 4), "n1")
	m.Plan(rep, []string{"n1"}) // on the other half
	m.Backlog.Intrude(m.NodeNamed("n1"), &m.State.Jobs["first"].Replicas.At(0).Members[0].Hold)
	require.NotNil(t, rep.Reserved)
	m.Run(roomtest.Job("observed", "b", 1, 1), "n1")
	require.Nil(t, rep.Reserved)
}
