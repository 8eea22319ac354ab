package gpus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// Invariants 3, 5 and 6.

// towardsHalves has the idle GPUs of a pool go back to two halves.
func towardsHalves(g *berth.Geometry) {
	name := inHalves.Instances[0].Profile
	g.Layout = []mig.ProfileName{name, name}
}

// ended has a gang of which a Bind is out run and end at once.
func ended(m *roomtest.Machine, rep *record.Replica) {
	m.Started(rep)
	m.Finished(rep)
}

// astray is a machine of which n1/0 was divided, and is idle and in another layout than its pool's.
func astray(t roomtest.TB, change ...func(*berth.Geometry)) *roomtest.Machine {
	m := machine(t, append(change, towardsHalves)...)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("2g.20gb@0:2")})
	rep := bind(m, claiming("was", berth.MIGInstance("2g.20gb")), 0, "2g.20gb@0:2")
	done(m, 0)
	ended(m, rep)
	changes(m)
	return m
}

func bringBack(m *roomtest.Machine) []berth.Repartition {
	m.GPUs.BringBack()
	return changes(m)
}

func TestAnIdleGPUGoesBackToTheLayoutOfItsPool(t *testing.T) {
	m := astray(t)
	require.Len(t, m.GPUs.Astray, 1)
	back, ok := m.GPUs.BackAt(m.GPUs.Astray[0])
	require.True(t, ok)
	require.Equal(t, m.State.Now.Add(10*berth.Minute), back)
	m.Later(10*berth.Minute - 1)
	require.Empty(t, bringBack(m), "no GPU is changed twice within its interval")
	m.Later(1)
	m.State.ClearFreed()
	orders := bringBack(m)
	require.Len(t, orders, 1)
	require.Equal(t, berth.CauseLayout, orders[0].Cause.Code)
	require.Empty(t, orders[0].Job)
	require.Equal(t, layout("2g.20gb@0:2"), orders[0].Destroy)
	require.Equal(t, inHalves.Instances, orders[0].Create)
	require.Empty(t, m.GPUs.Astray)
	require.True(t, m.NodeNamed("n1").Freed, "what waits may fit there now")
	m.Later(24 * berth.Hour)
	require.Empty(t, bringBack(m))

	m.NoRefusal(report(m, out(m, 0), berth.OutcomeFailed))
	require.Len(t, m.GPUs.Astray, 1, "it is as it was")
	m.Later(10 * berth.Minute)
	require.Len(t, bringBack(m), 1)
}

func TestAGPUThatIsOfUseStaysAsItIs(t *testing.T) {
	for name, use := range map[string]func(*roomtest.Machine){
		"it is held": func(m *roomtest.Machine) { bind(m, claiming("runs", berth.MIGInstance("2g.20gb")), 0, "2g.20gb@0:2") },
		"a gang waits that may use it": func(m *roomtest.Machine) {
			m.Backlog.Block(m.Wait(half("waits")).Entries[0].Bucket.Shape)
		},
		"it is kept for a gang": func(m *roomtest.Machine) { m.Reserve(m.Wait(whole("waits")), m.State.Now, "n1") },
		"its node takes no work": func(m *roomtest.Machine) {
			m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
		},
		"it has failed": func(m *roomtest.Machine) {
			n := m.NodeNamed("n1")
			n.Spec.GPUs[0].Failed = true
			m.Books.SettleGPU(n, 0)
			m.Books.Recount(n, n.CapacityNow())
			m.Upkeep.CountSound(n)
		},
		"nobody knows how it is": func(m *roomtest.Machine) {
			m.NodeNamed("n1").GPUs[0].Note().Restore(&record.SavedGPU{Unknown: true}, nil)
			m.Books.SettleGPU(m.NodeNamed("n1"), 0)
		},
		"a member waits for it alone": func(m *roomtest.Machine) {
			m.GPUs.HoldGPU(&record.GPUHold{Rep: m.Wait(whole("waits")), Node: m.NodeNamed("n1"), GPUHoldPart: record.GPUHoldPart{GPU: 0, Until: m.State.Now.Add(48 * berth.Hour)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := astray(t)
			use(m)
			m.Later(24 * berth.Hour)
			_, ok := m.GPUs.BackAt(m.GPUs.Astray[0])
			require.False(t, ok)
			require.Empty(t, bringBack(m))
			require.Len(t, m.GPUs.Astray, 1)
		})
	}
}

// What waits for nodes of another kind has no use for it.
func TestWhatCannotUseAGPUKeepsItFromNothing(t *testing.T) {
	m := astray(t)
	m.Join(roomtest.Node("large", 4))
	m.Backlog.Block(m.Wait(roomtest.Job("large", "a", 1, 4)).Entries[0].Bucket.Shape)
	m.Later(24 * berth.Hour)
	require.Len(t, bringBack(m), 1)
}

func TestAPoolIsChangedSoOftenWithinAnHour(t *testing.T) {
	m := machine(t) // twice an hour
	n := m.NodeNamed("n1")
	start := m.State.Now
	require.Zero(t, m.GPUs.Changeable(n, 0))
	for gpu := range 2 {
		m.GPUs.Stage(n, gpu, inHalves)
		ended(m, bind(m, half(berth.JobID(rune('a'+gpu))), gpu, "3g.40gb@0:4"))
		done(m, gpu)
		require.Equal(t, m.State.Now.Add(10*berth.Minute), gpus.Rested(n, gpu))
		m.Later(20 * berth.Minute)
	}
	require.Equal(t, start.Add(berth.Hour), m.GPUs.Changeable(n, 0), "an hour after the first of the two")
	require.Equal(t, start.Add(berth.Hour), m.GPUs.PoolChangeable(n))
	other := roomtest.Node("other", 2)
	other.Pool = "other"
	require.Zero(t, m.GPUs.PoolChangeable(m.Join(other)), "the rate is the pool's own")
}

// Invariant 6: of several GPUs the first go first, whatever went astray before.
func TestGPUsGoBackInOrderWithinTheRates(t *testing.T) {
	m := machine(t, towardsHalves)
	n := m.NodeNamed("n1")
	for gpu := 1; gpu >= 0; gpu-- {
		m.GPUs.Stage(n, gpu, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("2g.20gb@0:2")})
		ended(m, bind(m, claiming(berth.JobID(rune('a'+gpu)), berth.MIGInstance("2g.20gb")), gpu, "2g.20gb@0:2"))
		done(m, gpu)
		m.Later(berth.Minute)
	}
	changes(m)
	m.Later(58*berth.Minute - 1)
	require.Empty(t, bringBack(m), "the pool was changed twice within the hour")
	m.Later(1)
	orders := bringBack(m)
	require.Len(t, orders, 1)
	require.Zero(t, orders[0].GPU)
	require.Len(t, m.GPUs.Astray, 1)
}

// A GPU that was told to be in another layout, and was never changed, is left as it is.
func TestAGPUThatCameInAnotherLayoutStaysInIt(t *testing.T) {
	m := machine(t, towardsHalves)
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG, Instances: layout("2g.20gb@0:2")}))
	require.Empty(t, m.GPUs.Astray)
	m = astray(t)
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@4:4", "3g.40gb@0:4")}))
	require.Empty(t, m.GPUs.Astray, "it has been brought back by hand")
}

// regeometry sets the geometry of all pools.
func regeometry(m *roomtest.Machine, change func(*berth.Geometry)) {
	policy := m.State.Config.Policy
	g := policy.Geometry[0]
	change(&g)
	policy.Geometry = []berth.Geometry{g}
	m.State.SetPolicy(policy)
	m.GPUs.Regeometry()
}

// Invariant 3, across a change of the geometry.
func TestInstancesOutliveThatTheyComeWithTheirMembers(t *testing.T) {
	m := machine(t, perClaim)
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG}))
	m.Started(bind(m, half("half"), 0, "3g.40gb@4:4"))
	m.State.ClearFreed()
	regeometry(m, fixed)
	require.Equal(t, layout("3g.40gb@4:4"), m.NodeNamed("n1").Spec.GPUs[0].Instances, "what is held exists")
	kind, exist := division(m, 0)
	require.Equal(t, gang.PartitioningFixed, kind)
	require.Equal(t, layout("3g.40gb@4:4"), exist)
	require.True(t, m.NodeNamed("n1").Freed)
	require.Zero(t, m.Agenda.Pliable)
	require.Equal(t, 1, m.Agenda.Dividing)

	regeometry(m, perClaim)
	require.Empty(t, m.NodeNamed("n1").Spec.GPUs[0].Instances)
	kind, _ = division(m, 0)
	require.Equal(t, gang.PartitioningPerClaim, kind)
	require.Equal(t, 1, m.Agenda.Pliable)
	require.NoError(t, m.Check())
}

func TestAnotherLayoutOfThePoolMovesWhatIsAstray(t *testing.T) {
	m := astray(t)
	regeometry(m, func(g *berth.Geometry) { g.Layout = []mig.ProfileName{layout("2g.20gb@0:2")[0].Profile} })
	require.Empty(t, m.GPUs.Astray)
	regeometry(m, towardsHalves)
	require.Len(t, m.GPUs.Astray, 1)
	regeometry(m, func(g *berth.Geometry) { g.Layout = nil })
	require.Empty(t, m.GPUs.Astray, "there is none to go back to")
}

func TestHoldsEndWhereThePolicyWantsNone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*berth.Geometry)
		stays  bool
	}{
		"the cost alone": {func(g *berth.Geometry) { g.Cost = berth.Hour }, true},
		"nothing":        {func(*berth.Geometry) {}, true},
		"fixed":          {fixed, false},
		"no holds":       {func(g *berth.Geometry) { g.HoldLimit = -1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			rep := m.Wait(whole("waits"))
			m.GPUs.HoldGPU(&record.GPUHold{Rep: rep, Node: m.NodeNamed("n1"), GPUHoldPart: record.GPUHoldPart{GPU: 1, Until: m.State.Now.Add(berth.Hour)}})
			turn := m.Agenda.ReshapeTurn
			regeometry(m, c.change)
			require.Equal(t, c.stays, rep.GPUHold != nil)
			require.Equal(t, m.Agenda.Pliable > 0, m.Agenda.ReshapeTurn > turn, "what waits is looked at again, where that may help")
		})
	}
}

// Holds.

func TestAGPUThatIsHeldTakesNobodyElse(t *testing.T) {
	m := machine(t)
	rep, planned := m.Wait(whole("waits")), m.Wait(whole("planned"))
	m.Plan(planned, []string{"n1"})
	d := &record.GPUHold{Rep: rep, Node: m.NodeNamed("n1"), GPUHoldPart: record.GPUHoldPart{GPU: 0, Until: m.State.Now.Add(berth.Hour)}}
	m.GPUs.HoldGPU(d)
	require.Same(t, d, rep.GPUHold)
	require.False(t, takes(m, 0))
	require.True(t, takes(m, 1))
	require.Nil(t, planned.Reserved, "a plan counts on the GPUs as they were")
	require.EqualValues(t, 1, m.State.Totals.GPUHolds)
	require.True(t, m.GPUs.Untouchable(d.Node, 0))
	require.False(t, m.GPUs.Untouchable(d.Node, 1))
}

func expectedFor(d berth.Duration, spec berth.Job) berth.Job {
	spec.ExpectedRuntime = d
	return spec
}

// clearAt is what a claim for one group of a job sees of a GPU of n1.
func clearAt(m *roomtest.Machine, spec berth.Job, gpu int) (berth.Duration, int64, bool, bool) {
	s := m.Wait(spec).Entries[0].Bucket.Shape
	m.State.Compile(s)
	at, idle, late, ok := m.GPUs.ClearAt(m.NodeNamed("n1"), gpu, &s.Minimum.Groups[0].Claim)
	return at.Sub(m.State.Now), idle, late, ok
}

func TestAGPUIsClearForAWholeClaimOnceAllHaveEnded(t *testing.T) {
	m := machine(t)
	m.Started(bind(m, expectedFor(berth.Hour, shared("long", berth.ShareTimeSlice)), 0))
	m.Started(bind(m, expectedFor(berth.Minute, shared("short", berth.ShareTimeSlice)), 0))
	in, idle, late, ok := clearAt(m, whole("whole"), 0)
	require.True(t, ok)
	require.Equal(t, berth.Hour, in)
	require.Zero(t, idle, "two halves are all of it")
	require.False(t, late)
	_, _, _, ok = clearAt(m, whole("now"), 1)
	require.False(t, ok, "nobody is there")

	m.Later(2 * berth.Minute)
	_, _, late, ok = clearAt(m, whole("later"), 0)
	require.True(t, ok)
	require.True(t, late, "one should have ended already")

	service := whole("for-ever")
	service.Service = &berth.Service{Replicas: 1}
	m.Run(service, "n1")
	_, _, _, ok = clearAt(m, whole("never"), 1)
	require.False(t, ok)
}

// Instances end one by one, and what is free beside them stands idle.
func TestAGPUIsClearForAnInstanceOnceEnoughHaveEnded(t *testing.T) {
	m := machine(t)
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG, Instances: layout("2g.20gb@0:2", "2g.20gb@2:2", "2g.20gb@4:2")}))
	for i, at := range []string{"2g.20gb@0:2", "2g.20gb@2:2", "2g.20gb@4:2"} {
		m.Started(bind(m, expectedFor(berth.Duration(3-i)*berth.Hour, claiming(berth.JobID(at), berth.MIGInstance("2g.20gb"))), 0, at))
	}
	in, idle, _, ok := clearAt(m, half("half"), 0)
	require.True(t, ok)
	require.Equal(t, berth.Hour, in, "the last four slices are free then")
	table := m.NodeNamed("n1").Table
	require.Equal(t, 1000-3*table.Milli(layout("2g.20gb@0:2")[0]), idle)
	in, _, _, _ = clearAt(m, claiming("most", berth.MIGInstance("4g.40gb")), 0)
	require.Equal(t, 3*berth.Hour, in, "the first four")
	in, _, _, _ = clearAt(m, whole("whole"), 0)
	require.Equal(t, 3*berth.Hour, in)
}

// A node qualifies by its class, by what a gang wants of it besides, and by what its host has left.
func TestANodeQualifiesIfItsHostHasRoom(t *testing.T) {
	m := machine(t)
	own := roomtest.Node("own", 2)
	own.Pool = "own"
	n := m.Join(own)
	spec := whole("waits")
	spec.Groups[0].Claim.CPUMilli = 60_000
	spec.Groups[0].Selector.Pools = []string{"own"}
	s := m.Wait(spec).Entries[0].Bucket.Shape
	m.State.Compile(s)
	g := s.Minimum.Groups[0]
	require.True(t, m.GPUs.Qualifies(n, &g))
	require.False(t, m.GPUs.Qualifies(m.NodeNamed("n1"), &g), "of another pool")
	g.Match = func(topology.NodeIndex) bool { return false }
	require.False(t, m.GPUs.Qualifies(n, &g))
	g.Match = nil
	spec.ID = "runs"
	m.Run(spec, "own")
	require.False(t, m.GPUs.Qualifies(n, &g), "40 of 100 cores are left")
}

func TestOffersAreInOrder(t *testing.T) {
	m := machine(t)
	n1, n2 := m.NodeNamed("n1"), m.Nodes(1, 2)[0]
	list := []gpus.Offer{
		{Node: n2, Cost: 1, Serves: 1},
		{Node: n1, GPU: 1, Cost: 2, Serves: 3},
		{Node: n1, Cost: 2, Serves: 2},
		{Node: n1, GPU: 1, Cost: 2, Serves: 2},
		{Node: n2, Cost: 2, Serves: 2},
	}
	for i := range list {
		for k := range list {
			require.Equal(t, i < k, list[i].Compare(list[k]) < 0)
		}
	}
}

// Nodes that go.

func TestNothingIsLeftOfANodeThatGoes(t *testing.T) {
	m := astray(t)
	n := m.NodeNamed("n1")
	m.Nodes(1, 2)
	m.State.Config.Policy.Health.BurnIn = berth.Hour
	m.Upkeep.BeginBurnIn(n, m.State.Now)
	rep := m.Wait(half("held"))
	m.GPUs.HoldGPU(&record.GPUHold{Rep: rep, Node: n, GPUHoldPart: record.GPUHoldPart{GPU: 0, Until: m.State.Now.Add(berth.Hour)}})
	m.GPUs.Stage(n, 1, inHalves)
	other := bind(m, half("other"), 1, "3g.40gb@0:4")
	m.State.CloseOrder(other)
	m.Books.UnbookAll(other, record.MemberUnplaced, record.MemberBinding)
	m.Life.TakeBack(other, berth.Cause{}, true)
	res := m.Reserve(m.Wait(whole("waits")), m.State.Now, "n1", "n2")
	table := n.Table
	m.GPUs.RemoveNode(n)
	m.Backlog.DropEmpty(n.Reservations)
	require.Nil(t, m.State.NodeByID["n1"])
	require.Empty(t, m.GPUs.Astray)
	require.Empty(t, m.GPUs.Repartitions)
	require.Nil(t, rep.GPUHold)
	require.Empty(t, m.Upkeep.Watched)
	require.Equal(t, []berth.NodeID{"n2"}, res.NodeIDs())
	require.Equal(t, 1, table.Nodes)
	require.Equal(t, 1, m.Agenda.Dividing)
	require.Equal(t, 1, m.Agenda.Pliable)
}
