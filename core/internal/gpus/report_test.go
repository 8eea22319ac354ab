package gpus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/gang"
)

// Invariants 2 and 4: what came of an order, told or not.

// unknown asks that nobody knows how n1/0 is divided, and that nobody gets it.
func unknown(t *testing.T, m *roomtest.Machine) {
	t.Helper()
	require.True(t, kept(m, 0).Unknown())
	require.False(t, takes(m, 0))
	require.Empty(t, m.GPUs.Repartitions)
	require.NoError(t, m.Check())
}

// known asks the opposite.
func known(t *testing.T, m *roomtest.Machine) {
	t.Helper()
	require.False(t, kept(m, 0).Unknown())
	require.Nil(t, kept(m, 0).Overdue())
	require.True(t, takes(m, 0))
	require.NoError(t, m.Check())
}

func TestAFailedOrderPutsBackWhatWas(t *testing.T) {
	m, rep := divided(t)
	m.Plan(m.Wait(whole("planned")), []string{"n1"})
	m.State.ClearFreed()
	p := out(m, 0)
	m.NoRefusal(m.GPUs.RepartitionReported(p, &berth.OrderReported{Order: p.Order.ID, Outcome: berth.OutcomeFailed, Reason: "busy"}))
	require.Equal(t, berth.GPUModeWhole, m.NodeNamed("n1").Spec.GPUs[0].Mode)
	kind, _ := division(m, 0)
	require.Equal(t, gang.PartitioningNone, kind)
	known(t, m)
	require.Equal(t, record.MemberLost, rep.Members[0].State, "its half does not exist")
	require.Contains(t, rep.Retry.Get().Avoid, berth.NodeID("n1"))
	require.True(t, m.NodeNamed("n1").Freed)
	require.Zero(t, m.State.Jobs["planned"].Replicas.At(0).Reserved, "a plan counts on the GPUs as they were")
}

// lessened is a machine on which n1/0 is in halves, of which one runs, and the other is being made
// smaller for one that is being started.
func lessened(t roomtest.TB) (m *roomtest.Machine, half, less *record.Replica) {
	m, half = divided(t)
	m.Started(half)
	done(m, 0)
	m.GPUs.Stage(m.NodeNamed("n1"), 0, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@0:4", "2g.20gb@4:2")})
	return m, half, bind(m, claiming("less", berth.MIGInstance("2g.20gb")), 0, "2g.20gb@4:2")
}

// What stands on an instance that was there before stays.
func TestAFailedOrderTakesThoseAloneThatNeededIt(t *testing.T) {
	m, half, less := lessened(t)
	m.NoRefusal(report(m, out(m, 0), berth.OutcomeFailed))
	require.Equal(t, record.MemberRunning, half.Members[0].State)
	require.Equal(t, record.MemberLost, less.Members[0].State)
	require.Equal(t, inHalves.Instances, m.NodeNamed("n1").Spec.GPUs[0].Instances)
	_, exist := division(m, 0)
	require.Equal(t, inHalves.Instances, exist)
}

func TestAReportOfAnOrderIsOfTheWholeOrder(t *testing.T) {
	m, rep := divided(t)
	p := out(m, 0)
	m.Refused(m.GPUs.RepartitionReported(p, &berth.OrderReported{Members: make([]berth.MemberRef, 1)}), berth.ErrInvalid, "members")
	m.Refused(report(m, p, berth.OutcomePartial), berth.ErrInvalid, "outcome")
	m.Refused(report(m, p, berth.OutcomePartial+1), berth.ErrInvalid, "outcome")
	m.Started(rep)
	m.Refused(report(m, p, berth.OutcomeFailed), berth.ErrConflict, "outcome")
	require.Same(t, p, out(m, 0))
	m.NoRefusal(report(m, p, berth.OutcomeDone))
	known(t, m)
}

// expire has the deadline of the order about n1/0 pass.
func expire(t *testing.T, m *roomtest.Machine) {
	t.Helper()
	p := out(m, 0)
	m.Later(p.Order.Deadline.Sub(m.State.Now) - 1)
	_, due := m.State.DueTimer()
	require.False(t, due)
	m.Later(1)
	timer, due := m.State.DueTimer()
	require.True(t, due)
	require.Equal(t, record.TimerRepartition, timer.Kind)
	m.State.SetTimer(timer)
	m.GPUs.ExpireRepartition(timer.Repartition)
	_, due = m.State.DueTimer()
	require.False(t, due)
}

func TestAnOrderThatIsNotReportedMayHaveBeenCarriedOut(t *testing.T) {
	m, rep := divided(t)
	m.Plan(m.Wait(whole("planned")), []string{"n1"})
	m.State.ClearFreed()
	expire(t, m)
	unknown(t, m)
	require.EqualValues(t, 1, m.State.Totals.OrdersExpired)
	require.True(t, rep.Holds(), "it may be coming up")
	require.Nil(t, m.State.Jobs["planned"].Replicas.At(0).Reserved)
	require.True(t, m.NodeNamed("n1").Freed)
	_, exist := division(m, 0)
	require.Equal(t, inHalves.Instances, exist)

	m.State.ClearFreed()
	m.Started(rep)
	known(t, m)
	require.True(t, m.NodeNamed("n1").Freed)
}

// What runs beside proves nothing, nor does one that is still being started.
func TestOnlyAMemberThatNeedsAnOrderProvesIt(t *testing.T) {
	m, rep := divided(t)
	expire(t, m)
	m.GPUs.Prove(rep)
	unknown(t, m)
	m.Started(bind(m, whole("beside"), 1))
	unknown(t, m)

	// An instance that was there before the order proves nothing of those that it creates.
	m, half, less := lessened(t)
	expire(t, m)
	m.GPUs.Prove(half)
	unknown(t, m)
	m.Started(less)
	known(t, m)
}

func TestAnOrderThatAMemberProvedIsNotInDoubt(t *testing.T) {
	m, rep := divided(t)
	m.Started(rep)
	expire(t, m)
	known(t, m)
	require.Equal(t, berth.GPUModeMIG, m.NodeNamed("n1").Spec.GPUs[0].Mode)
}

func TestAnOrderThatNobodyNeedsAnyMoreIsTakenBack(t *testing.T) {
	m, rep := divided(t)
	m.State.CloseOrder(rep)
	m.Books.UnbookAll(rep, record.MemberUnplaced, record.MemberBinding)
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseBindFailed}, false)
	expire(t, m)
	unknown(t, m)
	require.Nil(t, kept(m, 0).Overdue())
	require.Equal(t, berth.GPUModeWhole, m.NodeNamed("n1").Spec.GPUs[0].Mode)
	kind, _ := division(m, 0)
	require.Equal(t, gang.PartitioningNone, kind)
}

func TestHowAGPUIsDividedEndsTheDoubt(t *testing.T) {
	m, _ := divided(t)
	expire(t, m)
	m.State.ClearFreed()
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG, Instances: inHalves.Instances}))
	known(t, m)
	require.True(t, m.NodeNamed("n1").Freed)
}

// Invariant 4, of a GPU that failed while an order about it was out.
func TestAGPUThatFailsEndsItsOrder(t *testing.T) {
	m, rep := divided(t)
	n := m.NodeNamed("n1")
	fail := func() {
		n.Spec.GPUs[0].Failed = true
		m.GPUs.Abandon(n, 0)
		m.Books.SettleGPU(n, 0)
		m.Books.Recount(n, n.CapacityNow())
		m.Upkeep.CountSound(n)
		m.Life.SettleAll(m.Books.Lose(n, berth.Cause{}, func(*record.Member) bool { return true }), berth.Cause{})
	}
	fail()
	require.Equal(t, record.MemberLost, rep.Members[0].State)
	unknown(t, m)
	n.Spec.GPUs[0].Failed = false
	m.Books.SettleGPU(n, 0)
	m.Books.Recount(n, n.CapacityNow())
	m.Upkeep.CountSound(n)
	require.False(t, takes(m, 0), "repaired, it may be divided in any way")

	m, _ = divided(t)
	expire(t, m)
	n = m.NodeNamed("n1")
	fail()
	require.Nil(t, kept(m, 0).Overdue())
	unknown(t, m)
}

func TestHowAGPUIsDividedIsRefusedWhereItCannotBe(t *testing.T) {
	m := machine(t)
	told := func(node berth.NodeID, gpu int, p record.Partitioning) *berth.Error {
		return m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: node, GPU: gpu, Mode: p.Mode, Instances: p.Instances})
	}
	m.Refused(told("other", 0, inHalves), berth.ErrUnknown, "node")
	m.Refused(told("n1", 2, inHalves), berth.ErrInvalid, "gpu")
	m.Refused(told("n1", -1, inHalves), berth.ErrInvalid, "gpu")
	m.Refused(told("n1", 0, record.Partitioning{}), berth.ErrInvalid, "mode")
	m.Refused(told("n1", 0, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@0:4", "3g.40gb@0:4")}), berth.ErrInvalid, "instances")

	m.NoRefusal(told("n1", 1, inHalves))
	bind(m, half("lower"), 1, "3g.40gb@0:4")
	bind(m, half("upper"), 1, "3g.40gb@4:4")
	err := told("n1", 1, record.Partitioning{Mode: berth.GPUModeMIG, Instances: layout("3g.40gb@0:4")})
	m.Refused(err, berth.ErrConflict, "instances")
	require.Contains(t, err.Reason, "upper")

	bind(m, shared("share", berth.ShareMPS), 0)
	m.Refused(told("n1", 0, record.Partitioning{Mode: berth.GPUModeMPS}), berth.ErrConflict, "gpu")
	require.NotNil(t, out(m, 0))
}

// Of several members that are in the way the first one is named, whatever came first.
func TestTheFirstMemberInTheWayIsNamed(t *testing.T) {
	m := machine(t)
	for _, id := range []berth.JobID{"b", "a", "c"} {
		spec := shared(id, berth.ShareMPS)
		spec.Groups[0].Claim.Share.GPUMilli = 300
		bind(m, spec, 0)
	}
	done(m, 0)
	err := m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeWhole})
	m.Refused(err, berth.ErrConflict, "mode")
	require.Equal(t, "job a holds the GPU in mode mps", err.Reason)
}

// Where instances come with their members, none has to be told.
func TestInstancesThatComeWithTheirMembersAreNotTold(t *testing.T) {
	m := machine(t, perClaim)
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG}))
	bind(m, half("half"), 0, "3g.40gb@4:4")
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG}))
	_, exist := division(m, 0)
	require.Equal(t, layout("3g.40gb@4:4"), exist)
}

// A plan and a hold count on GPUs as they are.
func TestHowAGPUIsDividedEndsWhatCountsOnIt(t *testing.T) {
	m := machine(t)
	rep := m.Wait(half("held"))
	m.GPUs.HoldGPU(&record.GPUHold{Rep: rep, Node: m.NodeNamed("n1"), GPUHoldPart: record.GPUHoldPart{GPU: 0, Until: m.State.Now.Add(berth.Hour)}})
	planned, hopeless := m.Wait(whole("planned")), m.Wait(roomtest.Job("hopeless", "a", 2, 2))
	m.Plan(planned, []string{"n1"})
	hopeless.Reserve.Note().HopelessAt = m.Agenda.Despair()
	m.Backlog.Due.NoteEntries(hopeless)
	require.True(t, m.Backlog.Due.CannotPlan(hopeless))
	instances := layout("3g.40gb@0:4", "3g.40gb@4:4")
	m.NoRefusal(m.GPUs.GPUPartitioned(berth.GPUPartitioned{Node: "n1", GPU: 0, Mode: berth.GPUModeMIG, Instances: instances}))
	instances[0] = instances[1]
	require.Equal(t, inHalves.Instances, m.NodeNamed("n1").Spec.GPUs[0].Instances, "they are the caller's own")
	require.Nil(t, rep.GPUHold)
	require.Nil(t, planned.Reserved)
	require.False(t, m.Backlog.Due.CannotPlan(hopeless), "there may be more to plan with")
	known(t, m)
}
