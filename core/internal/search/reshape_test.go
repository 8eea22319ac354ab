package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// adaptive is a fleet of two nodes of two GPUs of which the layout may change, at the cost of ten
// seconds of what is touched.
func adaptive(t *testing.T, change ...func(*berth.Geometry)) *roomtest.Machine {
	g := berth.Geometry{Kind: berth.GeometryAdaptive, Cost: 10 * berth.Second}
	for _, c := range change {
		c(&g)
	}
	m := roomtest.New(t, berth.Config{Levels: []string{"rack"}, Policy: berth.Policy{Geometry: []berth.Geometry{g}}})
	m.Nodes(1, 2, "r1")
	m.Nodes(1, 2, "r2")
	m.Queue("a", 4)
	return m
}

// seventh is a job of so many members with an instance of a seventh of a GPU each.
func seventh(id berth.JobID, members int) berth.Job {
	j := roomtest.Job(id, "a", members, 0)
	j.Groups[0].Claim = berth.MIGInstance("1g.10gb")
	return j
}

// reshape runs the stages that place, and that change GPUs for what does not fit.
func reshape(m *roomtest.Machine) []berth.Order {
	return m.Pass(m.Search.TendGPUHolds, m.Search.Wake, m.Agenda.BeginPlacing, m.Search.Place, m.Search.Reshape)
}

// changes says of each Repartition among orders which GPU becomes what.
func changes(orders []berth.Order) (list []string) {
	for _, o := range orders {
		if r, ok := o.(berth.Repartition); ok {
			list = append(list, fmt.Sprintf("%s/%d: %s with %d", r.Node, r.GPU, r.Mode, len(r.Create)))
		}
	}
	return list
}

// done reports that GPUs are what was ordered, and members run.
func done(m *roomtest.Machine, orders []berth.Order) {
	for _, o := range orders {
		switch o := o.(type) {
		case berth.Repartition:
			m.NoRefusal(m.GPUs.RepartitionReported(m.GPUs.Repartitions[o.ID], &berth.OrderReported{Order: o.ID, Outcome: berth.OutcomeDone}))
		case berth.Bind:
			m.Started(m.State.Orders[o.ID])
		}
	}
}

// Invariant 6, the rule of the ski rental problem.
func TestAGPUIsDividedOnceTheWaitComesToTheCost(t *testing.T) {
	m := adaptive(t)
	rep := m.Wait(seventh("seventh", 1))
	require.Empty(t, reshape(m))
	m.Later(10*berth.Second - 1)
	require.Empty(t, reshape(m))
	milli := bucketOf(rep).Shape.Least.GPUMilli
	at := m.Search.ExpectedReshape(rep.Entries[0])
	require.Equal(t, roomtest.Start.Add(berth.Duration((10_000*1000+milli-1)/milli)), at, "ten seconds of a whole GPU, in its part of one")
	m.Later(at.Sub(m.State.Now) - 1)
	require.Empty(t, reshape(m))
	m.Later(1)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 7"}, changes(orders))
	require.Equal(t, []string{"seventh, fits: n1"}, starts(orders))
	require.Equal(t, []berth.OrderID{orders[0].Header().ID}, orders[1].(berth.Bind).After)
	require.EqualValues(t, 1, m.State.Totals.RepartitionsForMembers)
	done(m, orders)
}

// Those that wait for the same count together, as far as the change serves them.
func TestThoseThatWaitForTheSamePayTogether(t *testing.T) {
	m := adaptive(t)
	for i := range 5 {
		m.Wait(seventh(berth.JobID(fmt.Sprint("seventh-", i)), 1))
	}
	require.Empty(t, reshape(m))
	rep := m.State.Jobs["seventh-0"].Replicas.At(0)
	milli := bucketOf(rep).Shape.Least.GPUMilli
	at := m.Search.ExpectedReshape(rep.Entries[0])
	require.Equal(t, roomtest.Start.Add(berth.Duration((10_000*1000+5*milli-1)/(5*milli))), at)
	m.Later(at.Sub(m.State.Now))
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 7"}, changes(orders))
	require.Len(t, starts(orders), 5)
	done(m, orders)
}

func TestADividedGPUIsMadeWholeForWhatWaits(t *testing.T) {
	m := adaptive(t)
	rep := m.Wait(seventh("seventh", 1))
	m.Later(10 * berth.Minute)
	done(m, reshape(m))
	m.Finished(rep)
	for i := range 3 {
		done(m, reshape(m))
		m.Wait(roomtest.Job(berth.JobID(fmt.Sprint("whole-", i)), "a", 1, 1))
	}
	done(m, reshape(m))
	last := m.Wait(roomtest.Job("whole-3", "a", 1, 1))
	require.Empty(t, reshape(m))
	require.Equal(t, roomtest.Start.Add(20*berth.Minute), m.Search.ExpectedReshape(last.Entries[0]), "no GPU is changed twice within its interval")
	m.Later(10 * berth.Minute)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: whole with 0"}, changes(orders))
	done(m, orders)
}

func TestAPoolIsChangedNoMoreOftenThanItsRate(t *testing.T) {
	m := adaptive(t, func(g *berth.Geometry) { g.PerHour = 1 })
	for i := range 8 {
		m.Wait(seventh(berth.JobID(fmt.Sprint("seventh-", i)), 1))
	}
	m.Later(10 * berth.Minute)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 7"}, changes(orders))
	done(m, orders)
	require.Empty(t, reshape(m))
	last := m.State.Jobs["seventh-7"].Replicas.At(0)
	require.Equal(t, m.State.Now.Add(berth.Hour), m.Search.ExpectedReshape(last.Entries[0]))
	m.Later(berth.Hour)
	require.Len(t, changes(reshape(m)), 1)
}

func TestAFixedPoolStaysAsItIs(t *testing.T) {
	m := machine(t)
	rep := m.Wait(seventh("seventh", 1))
	m.Later(24 * berth.Hour)
	require.Empty(t, reshape(m))
	require.Equal(t, agenda.Never, m.Search.ExpectedReshape(rep.Entries[0]))
}

// A gang takes as many GPUs as it needs, if they pay together, in the domain that it requires.
func TestSeveralGPUsAreDividedForAGang(t *testing.T) {
	m := adaptive(t)
	gang := seventh("gang", 10)
	gang.Topology.Required = "rack"
	m.Wait(gang)
	require.Empty(t, reshape(m))
	m.Later(berth.Minute)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 7", "n1/1: mig with 7"}, changes(orders)[:2])
	require.Equal(t, []string{"gang, fits: n1 n1 n1 n1 n1 n1 n1 n1 n1 n1"}, starts(orders))
	done(m, orders)

	tooMany := seventh("too-many", 15)
	tooMany.Topology.Required = "rack"
	m.Wait(tooMany)
	m.Later(24 * berth.Hour)
	require.Empty(t, reshape(m), "a rack has two GPUs")
	require.NoError(t, m.Check(), "what was staged is taken back")
}

func TestNoGPUIsChangedForWhatQuotaForbids(t *testing.T) {
	m := adaptive(t)
	rep := m.Wait(seventh("seventh", 1))
	require.Empty(t, reshape(m))
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.Amounts{quota.GPUMilli: 10}})
	m.Later(24 * berth.Hour)
	require.Empty(t, m.Pass(m.Search.Reshape))
	require.Equal(t, agenda.Never, m.Search.ExpectedReshape(rep.Entries[0]))
}

// A pass looks for so many requests; the rest goes on in the next one.
func TestAPassLooksForSoManyRequests(t *testing.T) {
	m := adaptive(t)
	m.State.Bounds.Reshapes = 1
	m.Wait(seventh("first", 1))
	other := roomtest.Job("second", "a", 1, 0)
	other.Groups[0].Claim = berth.MIGInstance("2g.20gb")
	m.Wait(other)
	m.Later(10 * berth.Minute)
	orders := reshape(m)
	require.Equal(t, []string{"first, fits: n1"}, starts(orders))
	require.Len(t, starts(reshape(m)), 1)
}

// With more offers than one pass tries, a later one goes on behind them.
func TestAPassTriesSoManyOffersAndALaterOneGoesOn(t *testing.T) {
	m := adaptive(t)
	m.State.Bounds.Offers = 1
	m.Run(roomtest.Job("runs", "a", 1, 1), "n1")
	m.Wait(berth.Job{ID: "in-a-rack", Queue: "a", Topology: berth.Topology{Required: "rack"}, Groups: []berth.Group{
		{Name: "parts", Members: 7, Claim: berth.MIGInstance("1g.10gb")}, {Name: "whole", Members: 1, Claim: berth.WholeGPUs(1)},
	}})
	place(m)
	m.Later(berth.Hour)
	require.Empty(t, reshape(m), "the other GPU of n1 does not do, and was tried first")
	require.NoError(t, m.Check())
	m.Later(15 * berth.Second)
	require.Equal(t, []string{"n2/0: mig with 7"}, changes(reshape(m)))
}

// Where instances come and go with their members, the mode alone is changed.
func TestAPoolPerClaimChangesTheModeAlone(t *testing.T) {
	m := adaptive(t, func(g *berth.Geometry) { g.Kind = berth.GeometryPerClaim })
	for i := range 3 {
		m.Wait(seventh(berth.JobID(fmt.Sprint("seventh-", i)), 1))
	}
	m.Later(10 * berth.Minute)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 0"}, changes(orders))
	require.Len(t, starts(orders), 3)
	done(m, orders)
}

// GPU holds.

// busyGPUs is a fleet in which each GPU has a job: the first is expected to end in ten minutes.
func busyGPUs(t *testing.T, change ...func(*berth.Geometry)) (*roomtest.Machine, *record.Replica) {
	m := adaptive(t, change...)
	first := m.Run(running(10*berth.Minute, roomtest.Job("on-n1/0", "a", 1, 1)), "n1")
	m.Run(roomtest.Job("others", "a", 3, 1), "n1", "n2", "n2")
	return m, first
}

// A GPU is kept for a member as soon as what it has waited comes to what stands idle until the GPU
// is clear, and to the change.
func TestAGPUIsHeldUntilItIsClearAndThenDivided(t *testing.T) {
	m, first := busyGPUs(t)
	share := m.Wait(seventh("seventh", 1))
	at := m.Search.ExpectedReshape(share.Entries[0])
	require.Equal(t, roomtest.Start.Add(10*berth.Minute), at, "when the GPU is clear")
	require.Empty(t, reshape(m))
	require.Nil(t, share.GPUHold)
	held := m.State.Now
	for ; share.GPUHold == nil; m.Later(berth.Second) {
		require.Less(t, m.State.Now, at)
		require.Empty(t, reshape(m))
		held = m.State.Now
	}
	require.Equal(t, first.Members[0].Node, share.GPUHold.Node)
	require.Zero(t, share.GPUHold.GPU)
	milli, idle := bucketOf(share).Shape.Least.GPUMilli, int64(0)
	require.GreaterOrEqual(t, milli*int64(held.Sub(roomtest.Start)), idle*int64(at.Sub(held))+10_000*1000)
	require.False(t, m.State.Fleet.Healthy(m.NodeNamed("n1").Index, 0), "it takes nobody else")
	m.Finished(first)
	orders := reshape(m)
	require.Equal(t, []string{"n1/0: mig with 7"}, changes(orders))
	require.Equal(t, []string{"seventh, fits: n1"}, starts(orders))
	require.Nil(t, share.GPUHold)
	done(m, orders)
}

func TestAHoldThatTookTooLongIsGivenUp(t *testing.T) {
	m, _ := busyGPUs(t, func(g *berth.Geometry) { g.HoldLimit = 20 * berth.Minute })
	share := m.Wait(seventh("seventh", 1))
	m.Later(5 * berth.Minute)
	reshape(m)
	require.NotNil(t, share.GPUHold)
	until := share.GPUHold.Until
	require.Equal(t, m.State.Now.Add(20*berth.Minute), until)
	m.Later(20*berth.Minute - 1)
	reshape(m)
	require.NotNil(t, share.GPUHold)
	m.Later(1)
	reshape(m)
	require.Nil(t, share.GPUHold)
	require.Equal(t, until.Add(10*berth.Minute), share.Look.Get().HoldAt, "after an interval it may have another")
	require.True(t, m.State.Fleet.Healthy(m.NodeNamed("n1").Index, 0))
}

func TestAHeldGPUThatMayNotBeChangedYetIsTriedAgainWhenItMay(t *testing.T) {
	m, first := busyGPUs(t)
	share := m.Wait(seventh("seventh", 1))
	m.Later(5 * berth.Minute)
	reshape(m)
	require.NotNil(t, share.GPUHold)
	m.NodeNamed("n1").GPUs[0].Note().ChangedAt = m.State.Now // as after a change
	m.NodeNamed("n1").Altered = true
	m.Finished(first)
	require.Empty(t, reshape(m))
	require.Equal(t, m.State.Now.Add(10*berth.Minute), share.GPUHold.RetryAt)
	require.Equal(t, share.GPUHold.RetryAt, m.Search.ExpectedReshape(share.Entries[0]), "it is clear, and may not be changed before")
	until := share.GPUHold.Until
	share.GPUHold.Until = share.GPUHold.RetryAt - 1
	require.Equal(t, agenda.Never, m.Search.ExpectedReshape(share.Entries[0]), "the hold is given up before")
	share.GPUHold.Until = until
	m.Later(10 * berth.Minute)
	require.Equal(t, []string{"seventh, fits: n1"}, starts(reshape(m)))
}

func TestNoGPUIsHeldWherePolicyWantsNone(t *testing.T) {
	for name, change := range map[string]func(*roomtest.Machine){
		"by the geometry": nil,
		"by their number": func(m *roomtest.Machine) { m.State.Config.Policy.ReservedGangs = 0 },
	} {
		m, _ := busyGPUs(t, func(g *berth.Geometry) {
			if change == nil {
				g.HoldLimit = -1
			}
		})
		if change != nil {
			change(m)
		}
		share := m.Wait(seventh("seventh", 1))
		m.Later(5 * berth.Minute)
		reshape(m)
		require.Nil(t, share.GPUHold, name)
	}
}

// What waits for the pieces alone finds enough free GPUs and quota, on nodes that it may use.
func TestInPieces(t *testing.T) {
	m := machine(t)
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		m.Run(roomtest.Job(berth.JobID("half-of-"+node), "b", 1, 4), node)
	}
	rep := m.Wait(roomtest.Job("whole", "a", 2, 8))
	require.True(t, m.Search.InPieces(rep.Entries[0]))
	large := m.Wait(roomtest.Job("large", "a", 3, 8))
	require.False(t, m.Search.InPieces(large.Entries[0]), "it would not fit in one piece either")
	m.Backlog.QuotaBlock(bucketOf(rep))
	require.False(t, m.Search.InPieces(rep.Entries[0]))
	alone := roomtest.Job("alone", "a", 1, 8)
	alone.Topology.Exclusive = "node"
	require.False(t, m.Search.InPieces(m.Wait(alone).Entries[0]))
}
