package evict_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// Invariant 8.

// drain has what runs on a node leave it, by an instant unless that is 0.
func drain(m *roomtest.Machine, node string, by berth.Time) {
	n := m.NodeNamed(node)
	m.Upkeep.Cordon(n, true, "")
	m.Upkeep.SetDraining(n, true)
	n.DrainBy = by
	m.Agenda.Relook(m.State.Now)
	m.Books.TellCapacity()
}

// struck has a gang lose what it has on a node, as if its GPUs had failed, and nothing else run
// there any more.
func struck(m *roomtest.Machine, node string) {
	n := m.NodeNamed(node)
	m.Upkeep.Cordon(n, true, "")
	cause := berth.Cause{Code: berth.CauseHardwareLost}
	hit := m.Books.Lose(n, cause, func(*record.Member) bool { return true })
	m.Life.SettleAll(hit, cause)
	m.Agenda.Relook(m.State.Now)
	m.Books.TellCapacity()
}

func TestAGangLeavesADrainedNodeForAPlaceThatIsKept(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	rep := m.Run(job("leaves", "a", 1, 4), "n1")
	m.Wait(job("waits", "a", 1, 4))
	drain(m, "n1", 0)
	require.Equal(t, []string{"leaves"}, pass(m), "and what waits does not get n2")
	require.True(t, rep.Leaves)
	require.Equal(t, berth.CauseDrained, rep.Order.Header().Cause.Code)
	require.Equal(t, []string{"n2"}, nodesOf(m, rep.Moving))
	require.Empty(t, pass(m))
}

func TestAGangWithoutAnotherPlaceStaysUntilTheLastInstant(t *testing.T) {
	m := machine(t, 1)
	m.Queue("a", 0)
	rep := m.Run(job("stays", "a", 1, 4), "n1")
	grace := m.State.GraceOf(rep)
	drain(m, "n1", m.State.Now.Add(grace+berth.Minute))
	require.Empty(t, pass(m))
	m.Later(berth.Minute - 1)
	require.Empty(t, pass(m))
	m.Later(1)
	require.Equal(t, []string{"stays"}, pass(m))
	require.Nil(t, rep.Moving)
}

func TestAGangLeavesAsSoonAsThereIsAPlace(t *testing.T) {
	m := machine(t, 1)
	m.Queue("a", 0)
	rep := m.Run(job("stays", "a", 1, 4), "n1")
	drain(m, "n1", 0)
	require.Empty(t, pass(m))
	m.Nodes(1, 4, "r1")
	m.Agenda.Relook(m.State.Now)
	require.Equal(t, []string{"stays"}, pass(m))
	require.Equal(t, []string{"n2"}, nodesOf(m, rep.Moving))
}

// The other members stay, and the one that has to go goes as close to them as there is room.
func TestMembersStayWhereTheyCan(t *testing.T) {
	m := machine(t, 0)
	m.Nodes(1, 4, "r2") // n1 comes first of all, and is farther away
	m.Nodes(4, 4, "r1")
	m.Queue("a", 0)
	rep := m.Run(job("gang", "a", 3, 4), "n2", "n3", "n4")
	drain(m, "n3", 0)
	require.Equal(t, []string{"gang"}, pass(m))
	require.Equal(t, []string{"n2", "n5", "n4"}, nodesOf(m, rep.Moving))
}

func TestAGangIsPlacedAnewWhereThatIsCloser(t *testing.T) {
	for name, c := range map[string]struct {
		second int // GPUs of the second node of rack r2
		want   []string
	}{
		"a whole rack is free":     {4, []string{"n3", "n4"}},
		"all is apart in any case": {2, []string{"n1", "n3"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, 2)
			m.Nodes(1, 4, "r2")
			m.Nodes(1, c.second, "r2")
			m.Queue("a", 0)
			rep := m.Run(job("gang", "a", 2, 4), "n1", "n2")
			drain(m, "n2", 0)
			require.Equal(t, []string{"gang"}, pass(m))
			require.Equal(t, c.want, nodesOf(m, rep.Moving))
		})
	}
}

// Where one member of a spread group goes depends on the others: the first room beside them is no
// place.
func TestAGroupThatIsSpreadIsPlacedTogether(t *testing.T) {
	m := machine(t, 2)
	m.Nodes(1, 4, "r2")
	m.Nodes(1, 4, "r3")
	m.Queue("a", 0)
	spec := job("gang", "a", 2, 4)
	spec.Groups[0].Topology.Spread = "rack"
	rep := m.Run(spec, "n1", "n3")
	drain(m, "n3", 0)
	require.Equal(t, []string{"gang"}, pass(m))
	require.Equal(t, []string{"n1", "n4"}, nodesOf(m, rep.Moving))
}

// Hardware.

func TestAGangThatLosesANodeKeepsTheOthersAndGetsAnother(t *testing.T) {
	m := machine(t, 3)
	m.Queue("a", 0)
	rep := m.Run(job("gang", "a", 2, 4), "n1", "n2")
	m.Wait(job("waits", "a", 1, 4))
	struck(m, "n1")
	require.Equal(t, berth.ReplicaReleasing, rep.State)
	pass(m)
	require.Equal(t, []string{"n3", "n2"}, nodesOf(m, rep.Moving))
	m.Stopped(rep)
	orders := m.Pass(m.Evict.Relocate, m.Search.ServeReserved)
	require.Len(t, orders, 1)
	require.Equal(t, berth.CauseResumed, orders[0].Header().Cause.Code)
}

func TestAGangWithoutRoomForTheRestKeepsWhatItHasLeft(t *testing.T) {
	m := machine(t, 2)
	m.Queue("a", 0)
	rep := m.Run(job("gang", "a", 2, 4), "n1", "n2")
	struck(m, "n1")
	pass(m)
	require.True(t, rep.Moving.IsPartial())
	require.Equal(t, []berth.NodeID{"n2"}, rep.Moving.NodeIDs())
	m.Nodes(1, 4, "r1")
	m.Agenda.Relook(m.State.Now)
	pass(m)
	require.Equal(t, []string{"n3", "n2"}, nodesOf(m, rep.Moving), "once there is room for the rest")
}

// A gang with a surplus may come back with less of it.
func TestAGangThatLosesANodeMayComeBackSmaller(t *testing.T) {
	m := machine(t, 3)
	m.Queue("a", 0)
	rep := m.Run(elastic("gang", "a", 3, 2, 4), "n1", "n2", "n3")
	drain(m, "n1", 0)
	require.Equal(t, []string{"gang"}, pass(m))
	require.Equal(t, []string{"n2", "n3"}, nodesOf(m, rep.Moving))
}

// Members that died.

func ran(m *roomtest.Machine, spec berth.Job, nodes ...string) *record.Replica {
	return m.RunSince(m.State.Now.Add(-berth.Hour), spec, nodes...)
}

func died(m *roomtest.Machine, rep *record.Replica, flats ...int) {
	m.Life.MembersDied(rep, flats, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
}

func TestAGangThatDiedComesBackToWhereItStood(t *testing.T) {
	m := machine(t, 3)
	m.Queue("a", 0)
	all := ran(m, job("all", "a", 1, 4), "n1")
	one := ran(m, job("one", "a", 2, 2), "n2", "n3")
	m.Wait(job("waits", "a", 1, 4))
	m.Wait(job("small", "a", 1, 1))
	died(m, all, 0)
	died(m, one, 1)
	require.Equal(t, berth.ReplicaPending, all.State)
	require.Equal(t, berth.ReplicaReleasing, one.State)
	require.Empty(t, pass(m))
	require.Equal(t, []string{"n1"}, nodesOf(m, all.Moving))
	require.Equal(t, []string{"n2", "n3"}, nodesOf(m, one.Moving))
	require.True(t, all.Moving.IsBackoff())
}

// Where it stood is no place on a node that takes no more work.
func TestAGangThatDiedGoesElsewhereWhereItsNodeIsClosed(t *testing.T) {
	m := machine(t, 3)
	m.Queue("a", 0)
	rep := ran(m, job("gang", "a", 2, 4), "n1", "n2")
	died(m, rep, 0)
	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	m.Books.TellCapacity()
	pass(m)
	require.Equal(t, []string{"n3", "n2"}, nodesOf(m, rep.Moving))
}

// Gangs that stand where they stood take no search: a pass keeps the places of all of them before
// it looks for places of others.
func TestAPassLooksForSoManyPlacesAndKeepsAllThatAreWhereTheyWere(t *testing.T) {
	m := machine(t, 6)
	m.State.Bounds.Moves = 1
	m.Queue("a", 0)
	d1, d2 := ran(m, job("d1", "a", 1, 4), "n1"), ran(m, job("d2", "a", 1, 4), "n2")
	l1 := m.Run(roomtest.WithPriority(job("l1", "a", 1, 4), 2), "n3")
	l2 := m.Run(roomtest.WithPriority(job("l2", "a", 1, 4), 1), "n4")
	died(m, d1, 0)
	died(m, d2, 0)
	drain(m, "n3", 0)
	drain(m, "n4", 0)
	require.Equal(t, []string{"l1"}, pass(m))
	require.Equal(t, []string{"n1"}, nodesOf(m, d1.Moving))
	require.Equal(t, []string{"n2"}, nodesOf(m, d2.Moving))
	require.Nil(t, l2.Moving)
	require.True(t, m.Agenda.MovesLeft)
	require.Equal(t, []string{"l2"}, pass(m))
	require.NotEqual(t, nodesOf(m, l1.Moving), nodesOf(m, l2.Moving))
	require.False(t, m.Agenda.MovesLeft)
}

// Quota.

// What is being stopped has a place as far as its queue admits it there: the last of its surplus
// goes first, and others may have that part.
func TestAGangComesBackWithAsMuchAsItsQueueAdmits(t *testing.T) {
	for limit, want := range [][]uint64{1: nil, 2: {1, 2}, 3: {1, 2, 4}, 4: {1, 2, 4, 8}} {
		if limit == 0 {
			continue
		}
		m := machine(t, 1)
		m.Queue("a", 0)
		rep := m.Run(elastic("gang", "a", 4, 2, 1), "n1", "n1", "n1", "n1")
		m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseHardwareLost}, false)
		m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(int64(limit))})
		pass(m)
		require.Equal(t, want != nil, rep.Moving != nil)
		if want != nil {
			var gpus []uint64
			for _, at := range rep.Moving.Plan.Where {
				gpus = append(gpus, at.Hold.GPUs)
			}
			require.Equal(t, want, gpus)
		}
	}
}

// Growth.

// What is set aside for the growth of a gang where it is ends when it finds another place, and
// what was to go for it stays.
func TestAGangThatFindsAnotherPlaceGrowsNoFurtherWhereItIs(t *testing.T) {
	m := machine(t, 3)
	m.Queue("prod", 8)
	m.Queue("research", 0)
	grows := m.Run(elastic("grows", "prod", 2, 1, 4), "n1")
	r := m.Run(job("r", "research", 1, 4), "n2")
	m.Plan(grows, []string{"n2"}, r)
	m.Pass()
	drain(m, "n1", 0)
	require.Equal(t, []string{"grows"}, pass(m))
	require.Nil(t, grows.Reserved)
	require.Equal(t, []string{"n3"}, nodesOf(m, grows.Moving))
	require.Nil(t, r.Beneficiary)
}

// Its victims were to leave room for more than the growth. A place that counts on that is looked
// for again.
func TestAPlaceThatCountsOnVictimsOfAGrowthThatEndsIsNone(t *testing.T) {
	m := machine(t, 2)
	m.Queue("prod", 4)
	m.Queue("research", 0)
	grows := m.Run(elastic("grows", "prod", 2, 1, 2), "n1")
	r := m.Run(job("r", "research", 1, 4), "n2")
	m.Plan(grows, []string{"n2"}, r)
	m.Pass()
	drain(m, "n1", 0)
	m.Pass(m.Evict.Relocate)
	require.Nil(t, grows.Reserved)
	require.Nil(t, r.Beneficiary)
	require.Nil(t, grows.Moving)
	require.False(t, grows.Leaves)
}
