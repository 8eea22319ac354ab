package gpus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// machine is a node of two whole GPUs, of a pool with layouts that may change: at most twice
// an hour, and a GPU once in ten minutes.
func machine(t roomtest.TB, change ...func(*berth.Geometry)) *roomtest.Machine {
	g := berth.Geometry{Kind: berth.GeometryAdaptive, Interval: 10 * berth.Minute, PerHour: 2}
	for _, c := range change {
		c(&g)
	}
	m := roomtest.New(t, berth.Config{Policy: berth.Policy{Geometry: []berth.Geometry{g}}})
	m.Nodes(1, 2)
	m.Queue("a", 0)
	return m
}

func perClaim(g *berth.Geometry) { g.Kind = berth.GeometryPerClaim }

func fixed(g *berth.Geometry) { g.Kind = berth.GeometryFixed }

// layout is instances of a GPU, such as "3g.40gb@4:4".
func layout(texts ...string) (list []mig.Placement) {
	for _, text := range texts {
		p, err := mig.ParsePlacement(text)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

// inHalves is a GPU of two instances of three sevenths each.
var inHalves = record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@0:4", "3g.40gb@4:4")}

func half(id berth.JobID) berth.Job { return claiming(id, berth.MIGInstance("3g.40gb")) }

func shared(id berth.JobID, mode berth.ShareMode) berth.Job {
	return claiming(id, berth.SharedGPU(mode, 500))
}

func whole(id berth.JobID) berth.Job { return claiming(id, berth.WholeGPUs(1)) }

// claiming is a job of one member.
func claiming(id berth.JobID, claim berth.Claim) berth.Job {
	j := berth.Job{ID: id, Queue: "a", Groups: []berth.Group{{Members: 1, Claim: claim}}}
	if claim.Share != nil {
		j.Class = berth.ClassInteractive
	}
	return j
}

// bind gives a gang of one member a GPU of n1, or an instance of it, and the orders that it takes
// to start there.
func bind(m *roomtest.Machine, spec berth.Job, gpu int, instance ...string) *record.Replica {
	rep := m.Wait(spec)
	at := berth.MemberPlacement{Node: "n1", GPUs: berth.GPUSetOf(gpu)}
	if share := spec.Groups[0].Claim.Share; share != nil {
		at.ShareMilli = share.GPUMilli
	}
	for _, p := range layout(instance...) {
		at.Instance = p
	}
	hold := m.Backlog.HoldOf(rep.Job, &at)
	m.Catalogue.Owners.ReleaseShare(hold.Share)
	if err := m.Books.Adopt(hold); err != nil {
		panic(err)
	}
	rep.Members = make([]record.Member, 1)
	m.Books.Book(rep, 0, hold, record.MemberPlaced)
	m.Backlog.Unawait(rep)
	m.Life.LeavePending(rep)
	m.State.SetEnd(rep, m.State.EndIfPlaced(rep))
	m.Life.BeginNext(rep)
	after := m.GPUs.Prepare(rep)
	rep.Members[0].Bind = m.State.LastOrder + 1
	rep.Order = berth.Bind{
		OrderHeader: m.State.Order(rep, berth.Hour, berth.Cause{Code: berth.CauseFits}),
		Members:     m.State.Placements(rep, record.MemberBinding), Claims: rep.Job.Pattern.Claims(), After: after,
	}
	m.State.OpenOrder(rep)
	return rep
}

// divided is a machine on which n1/0 is being divided into halves, of which a gang is to have one.
func divided(t roomtest.TB, change ...func(*berth.Geometry)) (*roomtest.Machine, *record.Replica) {
	m := machine(t, change...)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, inHalves)
	return m, bind(m, half("half"), 0, "3g.40gb@0:4")
}

func after(rep *record.Replica) []berth.OrderID { return rep.Order.(berth.Bind).After }

// changes are the Repartitions that were given since this was asked last.
func changes(m *roomtest.Machine) (list []berth.Repartition) {
	for _, o := range m.Pass() {
		if p, ok := o.(berth.Repartition); ok {
			list = append(list, p)
		}
	}
	return list
}

// out is the order about a GPU of n1.
func out(m *roomtest.Machine, gpu int) *record.Repartition { return kept(m, gpu).Order() }

func kept(m *roomtest.Machine, gpu int) record.GPUState { return m.NodeNamed("n1").GPUs[gpu].Get() }

func report(m *roomtest.Machine, p *record.Repartition, outcome berth.Outcome) *berth.Error {
	return m.GPUs.RepartitionReported(p, &berth.OrderReported{Order: p.Order.ID, Outcome: outcome})
}

func done(m *roomtest.Machine, gpu int) { m.NoRefusal(report(m, out(m, gpu), berth.OutcomeDone)) }

// takes reports whether the fleet gives a GPU of n1 to newcomers.
func takes(m *roomtest.Machine, gpu int) bool {
	return m.State.Fleet.Healthy(m.NodeNamed("n1").Index, gpu)
}

// division is how the fleet sees a GPU of n1 divided.
func division(m *roomtest.Machine, gpu int) (gang.Partitioning, []mig.Placement) {
	n := m.NodeNamed("n1")
	kind, exist, _ := m.State.Fleet.Partitioning(n.Index, gpu)
	return kind, n.Table.Lattice.Layout(exist)
}

// Invariant 1.
func TestAShareIsStartedAfterTheOrderThatMakesItsGPUShared(t *testing.T) {
	for mode, want := range map[berth.ShareMode]berth.GPUMode{berth.ShareTimeSlice: berth.GPUModeTimeSlice, berth.ShareMPS: berth.GPUModeMPS} {
		m := machine(t)
		first := bind(m, shared("first", mode), 0)
		orders := changes(m)
		require.Len(t, orders, 1)
		require.Equal(t, berth.CauseMode, orders[0].Cause.Code)
		require.Equal(t, want, orders[0].Mode)
		require.Equal(t, berth.JobID("first"), orders[0].Job)
		require.Equal(t, m.State.Now.Add(m.State.Config.Policy.RepartitionTimeout), orders[0].Deadline)
		require.Equal(t, []berth.OrderID{orders[0].ID}, after(first))
		require.Equal(t, orders[0], out(m, 0).Order)
		require.EqualValues(t, 1, m.State.Totals.Repartitions)
		require.Zero(t, kept(m, 0).ChangedAt, "it touches no instance, and counts for no rate")

		second := bind(m, shared("second", mode), 0)
		require.Empty(t, changes(m), "one order does for both")
		require.Equal(t, after(first), after(second))
		require.True(t, takes(m, 0))
		done(m, 0)
		require.Nil(t, out(m, 0))
		require.Empty(t, m.GPUs.Repartitions)
	}
}

func TestAGPUOnItsWayToSharesTakesNobodyOnceItsMemberIsGone(t *testing.T) {
	m := machine(t)
	rep := bind(m, shared("share", berth.ShareMPS), 0)
	m.State.CloseOrder(rep)
	m.Books.UnbookAll(rep, record.MemberUnplaced, record.MemberBinding)
	m.Life.TakeBack(rep, berth.Cause{}, true)
	require.False(t, takes(m, 0))
	m.State.ClearFreed()
	done(m, 0)
	require.True(t, takes(m, 0))
	require.True(t, m.NodeNamed("n1").Freed)
}

func TestAGPUThatIsAsItIsNeededTakesNoOrder(t *testing.T) {
	m := machine(t)
	require.Empty(t, after(bind(m, whole("whole"), 0)))
	m.Run(shared("runs", berth.ShareMPS), "n1")
	require.Empty(t, after(bind(m, shared("joins", berth.ShareMPS), 1)))
	require.Empty(t, changes(m))
}

// The orders that a gang waits for are named once each and in order, whatever its members hold.
func TestAGangStartsAfterAllOrdersAboutItsGPUs(t *testing.T) {
	m := machine(t)
	n := m.NodeNamed("n1")
	m.GPUs.Stage(n, 1, inHalves)
	m.GPUs.Stage(n, 0, inHalves)
	spec := half("gang")
	spec.Groups[0].Members = 3
	rep := m.Admit(spec)
	rep.Members = make([]record.Member, 3)
	for flat, at := range []berth.MemberPlacement{
		{Node: "n1", GPUs: berth.GPUSetOf(1), Instance: inHalves.Instances[0]},
		{Node: "n1", GPUs: berth.GPUSetOf(0), Instance: inHalves.Instances[0]},
		{Node: "n1", GPUs: berth.GPUSetOf(1), Instance: inHalves.Instances[1]},
	} {
		hold := m.Backlog.HoldOf(rep.Job, &at)
		require.NoError(t, m.Books.Adopt(hold))
		m.Books.Book(rep, flat, hold, record.MemberPlaced)
	}
	list := m.GPUs.Prepare(rep)
	require.Equal(t, []berth.OrderID{1, 2}, list)
	require.Equal(t, 1, m.GPUs.Repartitions[1].Order.GPU, "the first member is on this one")
	m.Break() // no Bind follows
}

// Invariant 2.
func TestAStagedGPUIsSeenAsItCouldBe(t *testing.T) {
	m := machine(t)
	n := m.NodeNamed("n1")
	was := n.Spec.Full()
	m.GPUs.Stage(n, 0, inHalves)
	kind, exist := division(m, 0)
	require.Equal(t, gang.PartitioningFixed, kind)
	require.Equal(t, inHalves.Instances, exist)
	require.ErrorContains(t, m.GPUs.CheckGPUs(), "is staged after a pass")
	m.GPUs.Unstage(n, 0)
	kind, _ = division(m, 0)
	require.Equal(t, gang.PartitioningNone, kind)
	require.Equal(t, was, n.Spec.Full())
	require.Empty(t, changes(m))
	require.True(t, kept(m, 0).Nothing())
}

func TestALayoutIsOrderedByWhatIsCreatedAndDestroyed(t *testing.T) {
	m, rep := divided(t)
	orders := changes(m)
	require.Len(t, orders, 1)
	require.Equal(t, berth.CauseGeometry, orders[0].Cause.Code)
	require.Equal(t, berth.GPUModeMIG, orders[0].Mode)
	require.Equal(t, inHalves.Instances, orders[0].Create)
	require.Empty(t, orders[0].Destroy)
	require.Equal(t, []berth.OrderID{orders[0].ID}, after(rep))
	require.Equal(t, m.State.Now, kept(m, 0).ChangedAt)
	require.Equal(t, []berth.Time{m.State.Now}, m.Catalogue.Pool("").Changes)
	require.True(t, takes(m, 0), "the other half is to be had")
	require.Equal(t, after(rep), after(bind(m, half("other"), 0, "3g.40gb@4:4")))
	done(m, 0)

	table := m.NodeNamed("n1").Table
	profile, _ := table.Lattice.ProfileIndex(inHalves.Instances[0].Profile)
	require.EqualValues(t, 2*256, table.Recent[profile], "what was given is in demand")
}

func TestWhatStaysOfALayoutIsNeitherCreatedNorDestroyed(t *testing.T) {
	m, rep := divided(t)
	m.Started(rep)
	done(m, 0)
	changes(m)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@0:4", "2g.20gb@4:2")})
	bind(m, claiming("less", berth.MIGInstance("2g.20gb")), 0, "2g.20gb@4:2")
	orders := changes(m)
	require.Equal(t, layout("3g.40gb@4:4"), orders[0].Destroy)
	require.Equal(t, layout("2g.20gb@4:2"), orders[0].Create)
}

// Where instances come and go with their members, the mode alone is ordered.
func TestNoInstanceIsOrderedWhereTheyComeWithTheirMembers(t *testing.T) {
	m := machine(t, perClaim)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, record.Partitioning{Mode: berth.GPUModeMIG})
	bind(m, half("half"), 0, "3g.40gb@4:4")
	orders := changes(m)
	require.Len(t, orders, 1)
	require.Empty(t, orders[0].Create)
	kind, _ := division(m, 0)
	require.Equal(t, gang.PartitioningPerClaim, kind)
	require.Empty(t, m.NodeNamed("n1").Spec.GPUs[0].Instances)
}

// Of several modes for which a GPU could be staged, it gets that of the member that is placed.
func TestAStagedGPUGetsTheModeOfItsMember(t *testing.T) {
	m := machine(t)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, record.Partitioning{Mode: berth.GPUModeTimeSlice})
	bind(m, shared("share", berth.ShareMPS), 0)
	require.Equal(t, berth.GPUModeMPS, changes(m)[0].Mode)
}

// All orders that are out are given again after a restart, by ID.
func TestOrdersThatAreOutAreListedInOrder(t *testing.T) {
	m, rep := divided(t)
	m.GPUs.Stage(m.NodeNamed("n1"), 1, inHalves)
	other := bind(m, half("other"), 1, "3g.40gb@0:4")
	var ids []berth.OrderID
	for _, o := range m.GPUs.Outstanding() {
		ids = append(ids, o.Header().ID)
	}
	require.Equal(t, []berth.OrderID{1, 2, 3, 4}, ids)
	done(m, 0)
	m.Started(other)
	require.Equal(t, []berth.Order{rep.Order, out(m, 1).Order}, m.GPUs.Outstanding())
}
