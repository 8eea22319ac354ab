package life_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/quota"
)

const second = berth.Second

// machine is three nodes of 8 GPUs, and the queues a and b, each with a guarantee of 8.
func machine(t *testing.T, change ...func(*berth.Config)) *roomtest.Machine {
	var config berth.Config
	for _, c := range change {
		c(&config)
	}
	m := roomtest.New(t, config)
	m.Nodes(3, 8)
	m.Queue("a", 8)
	m.Queue("b", 8)
	return m
}

// elastic is a job whose gang runs with fewer members than it wants.
func elastic(id berth.JobID, members, least, gpus int) berth.Job {
	j := roomtest.Job(id, "a", members, gpus)
	j.Groups[0].MinMembers = least
	return j
}

// saving is a job that writes a checkpoint when it is asked.
func saving(j berth.Job) berth.Job {
	j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Minute}
	return j
}

// bind places a gang that waits, a member on each node that is named, with a Bind that is out.
func bind(t *testing.T, m *roomtest.Machine, rep *record.Replica, nodes ...string) {
	t.Helper()
	rep.Members = make([]record.Member, rep.Job.Members())
	where := m.Where(rep, nodes)
	require.True(t, m.Books.PlaceAt(where))
	for i := range where {
		m.Books.Book(rep, i, where[i].Hold, record.MemberPlaced)
	}
	m.Backlog.Unawait(rep)
	m.Life.LeavePending(rep)
	m.State.SetEnd(rep, m.State.EndIfPlaced(rep))
	m.Life.BeginNext(rep)
	rep.Order = berth.Bind{OrderHeader: m.State.Order(rep, berth.Minute, berth.Cause{Code: berth.CauseFits}), Members: m.State.Placements(rep, record.MemberBinding)}
	m.State.OpenOrder(rep)
}

// reported ends the Bind of a gang: the members that are listed failed, and the others run.
func reported(m *roomtest.Machine, rep *record.Replica, failed ...int) {
	for _, flat := range failed {
		rep.Members[flat].State = record.MemberFailed
	}
	for flat := range rep.Members {
		if at := &rep.Members[flat]; at.State == record.MemberBinding {
			at.State, at.Ran = record.MemberRunning, true
		}
	}
	m.State.CloseOrder(rep)
	m.Life.Settle(rep, berth.Cause{Code: berth.CauseBindFailed})
}

// mend gives each gang that needs an order one, as a pass does: a Release, or the end of a request.
func mend(m *roomtest.Machine) []berth.Order {
	return m.Pass(func() {
		for {
			rep, some := m.State.NextTodo()
			switch {
			case !some:
				return
			case rep.Asked():
				m.Life.WithdrawRequest(rep)
			default:
				rep.Order = m.Life.DescribeStops(rep, berth.Release{OrderHeader: m.State.Order(rep, berth.Minute, rep.Release.Get().Cause)})
				m.State.OpenOrder(rep)
			}
		}
	})
}

// Settle: the members decide in which state a gang is.

func TestAGangRunsOnceItsMinimumDoes(t *testing.T) {
	m := machine(t)
	rep := m.Wait(elastic("train", 3, 2, 8))
	bind(t, m, rep, "n1", "n2", "n3")
	require.Equal(t, berth.ReplicaBinding, rep.State)
	require.Equal(t, berth.Incarnation(1), rep.Incarnation)
	require.Equal(t, 1, m.Life.States[berth.ReplicaBinding])
	m.Later(second)
	reported(m, rep, 2)
	require.Equal(t, berth.ReplicaRunning, rep.State)
	require.Equal(t, m.State.Now, rep.Started)
	require.Equal(t, record.MemberAbsent, rep.Members[2].State, "the failed member gives its place back")
	require.True(t, m.State.Fleet.FreeMask(2) == 0xff)
	require.Len(t, rep.Entries, 1, "and is waited for")
	require.True(t, rep.Entries[0].Grows)
	require.Equal(t, 1, m.Life.Stretching)
}

func TestAGangWithTooFewMembersAfterABindIsRepaired(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("train", "a", 2, 8))
	bind(t, m, rep, "n1", "n2")
	reported(m, rep, 1)
	require.Equal(t, berth.ReplicaRepairing, rep.State)
	require.True(t, m.State.Todo.Has(rep), "the next pass repairs it or takes it back")
	require.Equal(t, berth.CauseBindFailed, rep.Release.Get().Cause.Code)
	require.Equal(t, record.MemberFailed, rep.Members[1].State, "the failed member keeps its place until then")
}

// Nobody is left to repair around.
// A snapshot may have counted lives up to the highest number. The next one keeps it: 0 would be
// none.
func TestTheHighestIncarnationStays(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("j", "a", 1, 8))
	rep.Incarnation = math.MaxUint32
	bind(t, m, rep, "n1")
	require.Equal(t, berth.Incarnation(math.MaxUint32), rep.Incarnation)
}

func TestAGangOfWhichNothingStartedWaitsAgainAfterABackoff(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("train", "a", 2, 8))
	bind(t, m, rep, "n1", "n2")
	m.Later(second)
	reported(m, rep, 0, 1)
	require.Equal(t, berth.ReplicaPending, rep.State)
	require.Nil(t, rep.Members)
	require.Nil(t, rep.Entries, "as long as it backs off")
	require.Equal(t, m.State.Now, rep.PendingSince)
	require.Equal(t, 1, m.State.Backoffs)
	ready := rep.Retry.Get().ReadyAt
	require.Equal(t, m.State.Now.Add(m.State.Config.Policy.RetryBackoff), ready)
	m.Life.BackoffOver(rep)
	m.State.StopTimer(record.Timer{At: ready, Kind: record.TimerBackoff, Rep: rep})
	require.Len(t, rep.Entries, 1)
}

func TestABackoffDoublesUpToItsBound(t *testing.T) {
	m := machine(t, func(c *berth.Config) { c.Policy.RetryBackoff, c.Policy.MaxRetryBackoff = second, 5*second })
	rep := m.Wait(roomtest.Job("train", "a", 1, 8))
	m.Backlog.Unawait(rep)
	for _, want := range []berth.Duration{second, 2 * second, 4 * second, 5 * second, 5 * second} {
		m.Life.BackOff(rep)
		require.Equal(t, m.State.Now.Add(want), rep.Retry.Get().ReadyAt)
		require.Equal(t, 1, m.State.Backoffs, "a new one is in the stead of the old one")
	}
	rep.Retry.Note().Attempts = 1000
	m.Life.BackOff(rep)
	require.Equal(t, m.State.Now.Add(5*second), rep.Retry.Get().ReadyAt)
}

func TestWhileABindIsOutItsReportDecides(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("train", "a", 2, 8))
	bind(t, m, rep, "n1", "n2")
	hit := m.Books.Lose(m.NodeNamed("n2"), berth.Cause{Code: berth.CauseHardwareLost}, func(*record.Member) bool { return true })
	m.Life.SettleAll(hit, berth.Cause{Code: berth.CauseHardwareLost, Detail: "fire"})
	require.Equal(t, berth.ReplicaBinding, rep.State)
	require.Equal(t, record.MemberLost, rep.Members[1].State)
	require.Equal(t, "fire", rep.Release.Get().Cause.Detail, "noted, should it come to a Release")
	require.True(t, rep.Retry.Get().LostHardware, "it may be placed on hot spares from then on")
	reported(m, rep)
	require.Equal(t, berth.ReplicaRepairing, rep.State)
}

func TestAGangThatStillHasItsMinimumGoesOnAndIsNotSaidToHaveLostHardware(t *testing.T) {
	m := machine(t)
	rep := m.Run(elastic("train", 2, 1, 8), "n1", "n2")
	hit := m.Books.Lose(m.NodeNamed("n2"), berth.Cause{Code: berth.CauseHardwareLost}, func(*record.Member) bool { return true })
	m.Life.SettleAll(hit, berth.Cause{Code: berth.CauseHardwareLost})
	require.Equal(t, berth.ReplicaRunning, rep.State)
	require.False(t, rep.Retry.Get().LostHardware)
	require.Len(t, rep.Entries, 1)
}

func TestAGangWithTooFewMembersLeftIsTakenBack(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 2, 8), "n1", "n2")
	hit := m.Books.Lose(m.NodeNamed("n2"), berth.Cause{Code: berth.CauseHardwareLost}, func(*record.Member) bool { return true })
	m.Life.SettleAll(hit, berth.Cause{Code: berth.CauseHardwareLost})
	require.Equal(t, berth.ReplicaReleasing, rep.State)
	require.Equal(t, record.MemberStopping, rep.Members[0].State)
	require.True(t, m.State.Leaving.Has(rep))
	require.True(t, m.State.Todo.Has(rep))
	require.True(t, rep.Resumes(), "it goes on as soon as it can")
	require.NoError(t, m.Check())

	orders := mend(m)
	require.Len(t, orders, 1)
	require.Equal(t, berth.CauseHardwareLost, orders[0].Header().Cause.Code)
	m.Stopped(rep)
	require.Equal(t, berth.ReplicaPending, rep.State)
	require.False(t, m.State.Leaving.Has(rep))
	require.Len(t, rep.Entries, 1, "without a backoff: it is at no fault")
}

// Ends.

func TestTheLastGangTakesItsJobWithIt(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseCancelled}, true)
	require.True(t, rep.Release.Get().Gone)
	mend(m)
	m.Stopped(rep)
	require.Empty(t, m.State.Jobs)
	require.Zero(t, m.State.Quota.Used(rep.Job.Queue, quota.GPUMilli))
	require.Zero(t, m.Life.States[berth.ReplicaReleasing])
	waits := m.Wait(roomtest.Job("waits", "a", 1, 8))
	m.Life.TakeBack(waits, berth.Cause{Code: berth.CauseCancelled}, true)
	require.Empty(t, m.State.Jobs, "what holds nothing is gone at once")
}

// A Release that is out goes on; only what comes after it changes.
func TestAGangThatIsReleasedAlreadyIsNotReleasedAgain(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CausePreempted}, false)
	mend(m)
	order := rep.Order
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CauseCancelled}, true)
	require.Equal(t, order, rep.Order)
	require.Equal(t, berth.CausePreempted, rep.Release.Get().Cause.Code)
	require.True(t, rep.Release.Get().Gone)
}

func TestAJobThatIsForgottenLeavesItsHighestIncarnation(t *testing.T) {
	m := machine(t)
	spec := roomtest.Job("web", "a", 1, 1)
	spec.Service = &berth.Service{Replicas: 3}
	rep := m.Wait(spec)
	require.EqualValues(t, 3, rep.Job.Live)
	batch := rep.Job.Batches()[0]
	batch.Incarnation = 7
	m.Life.ForgetBatch(batch, 1)
	require.EqualValues(t, 1, rep.Job.Live)
	require.Equal(t, berth.Incarnation(7), rep.Job.Former, "a number that is used again begins after it")
	m.Life.Forget(rep)
	require.NotNil(t, m.State.Jobs["web"], "a service without replicas may have some again")
	m.Life.ForgetJob(rep.Job)
	require.Empty(t, m.State.Jobs)
}

func TestAGangTimeoutIsDueOnlyWhileAGangWaits(t *testing.T) {
	m := machine(t)
	spec := roomtest.Job("train", "a", 1, 8)
	spec.GangTimeout = berth.Minute
	rep := m.Wait(spec)
	timer, some := m.State.Timers.Min()
	require.True(t, some)
	require.Equal(t, record.Timer{At: m.State.Now.Add(berth.Minute), Kind: record.TimerGang, Rep: rep}, timer)
	bind(t, m, rep, "n1")
	m.Started(rep)
	require.Zero(t, m.State.Timers.Len())
}

// Invariant 1: which gangs are on their way out.

func TestAVictimThatWritesACheckpointIsAskedAndThenStopped(t *testing.T) {
	m := machine(t)
	victim := m.Run(saving(roomtest.Job("victim", "a", 1, 8)), "n1")
	to := m.Wait(roomtest.Job("to", "a", 1, 8))
	m.Plan(to, []string{"n1"}, victim)
	require.True(t, victim.Asked())
	require.Equal(t, berth.ReplicaRunning, victim.State)
	require.True(t, m.State.Leaving.Has(victim))
	require.Same(t, to, victim.Beneficiary)
	require.Equal(t, berth.Cause{Code: berth.CausePreempted, Beneficiary: to.Ref()}, victim.Order.Header().Cause)
	require.NoError(t, m.Check())

	m.Later(berth.Minute)
	m.NoRefusal(m.Life.CheckpointReported(victim, &berth.OrderReported{Outcome: berth.OutcomeDone}))
	require.Equal(t, berth.ReplicaReleasing, victim.State)
	require.Equal(t, m.State.Now, victim.Eviction.Get().Checkpointed)
	require.Equal(t, 1, victim.Eviction.Get().Evictions)
}

// What nobody's place is made for any more goes on, and the checkpoint was written all the same.
func TestACheckpointThatWasAskedForIsNotedThoughTheGangGoesOn(t *testing.T) {
	m := machine(t)
	victim := m.Run(saving(roomtest.Job("victim", "a", 1, 8)), "n1")
	to := m.Wait(roomtest.Job("to", "a", 1, 8))
	res := m.Plan(to, []string{"n1"}, victim)
	m.Backlog.EndReservation(res)
	require.True(t, victim.Stray())
	m.Later(berth.Minute)
	m.NoRefusal(m.Life.CheckpointReported(victim, &berth.OrderReported{Outcome: berth.OutcomeDone}))
	require.Equal(t, m.State.Now, victim.Eviction.Get().Checkpointed)
	require.Equal(t, berth.ReplicaRunning, victim.State)
	require.Nil(t, victim.Order)
	require.False(t, m.State.Leaving.Has(victim))
	require.False(t, m.State.Todo.Has(victim))
	require.Zero(t, victim.Eviction.Get().Evictions)
}

func TestARequestThatNobodyNeedsIsWithdrawn(t *testing.T) {
	m := machine(t)
	victim := m.Run(saving(roomtest.Job("victim", "a", 1, 8)), "n1")
	to := m.Wait(roomtest.Job("to", "a", 1, 8))
	res := m.Plan(to, []string{"n1"}, victim)
	asked := victim.Order.Header().ID
	m.Backlog.EndReservation(res)
	require.True(t, m.State.Todo.Has(victim))
	m.State.HandOver()
	orders := mend(m)
	require.Len(t, orders, 1)
	require.Equal(t, asked, orders[0].(berth.Withdraw).Request)
	require.Nil(t, victim.Order)
}

func TestACheckpointThatFailedIsSaidInTheRelease(t *testing.T) {
	m := machine(t)
	victim := m.Run(saving(roomtest.Job("victim", "a", 1, 8)), "n1")
	m.Plan(m.Wait(roomtest.Job("to", "b", 1, 8)), []string{"n1"}, victim)
	require.Equal(t, "queue b", victim.Order.Header().Cause.Detail)
	m.Refused(m.Life.CheckpointReported(victim, &berth.OrderReported{Outcome: berth.OutcomePartial}), berth.ErrInvalid, "outcome")
	m.Refused(m.Life.CheckpointReported(victim, &berth.OrderReported{Outcome: berth.OutcomeDone, Members: []berth.MemberRef{{}}}), berth.ErrInvalid, "outcome")
	m.NoRefusal(m.Life.CheckpointReported(victim, &berth.OrderReported{Outcome: berth.OutcomeFailed, Reason: "disk full"}))
	require.Equal(t, "queue b; it wrote no checkpoint: disk full", victim.Release.Get().Cause.Detail)
	require.Zero(t, victim.Eviction.Get().Checkpointed)
	require.Equal(t, berth.CauseReclaimed, victim.Release.Get().Cause.Code)
}

func TestAVictimThatWritesNoCheckpointIsStoppedAtOnce(t *testing.T) {
	m := machine(t)
	victim := m.Run(roomtest.Job("victim", "a", 1, 8), "n1")
	m.Plan(m.Wait(roomtest.Job("to", "a", 1, 8)), []string{"n1"}, victim)
	require.Equal(t, berth.ReplicaReleasing, victim.State)
	require.Equal(t, int64(1), m.State.Totals.ReplicasEvicted)
}

// A gang that gives up a part of its surplus goes on, and its Release names the beneficiaries.
func TestAReleaseOfSurplusSaysWhatIsLeftAndNamesTheBeneficiaries(t *testing.T) {
	m := machine(t)
	gives := m.Run(elastic("gives", 6, 1, 4), "n1", "n1", "n2", "n2", "n3", "n3")
	one, two := m.Wait(roomtest.Job("one", "a", 1, 4)), m.Wait(roomtest.Job("two", "a", 1, 4))
	for i, to := range []*record.Replica{one, two} {
		res := m.Plan(to, []string{"n3"}[:0])
		res.Plan.AddVictim(to, gives)
		m.Life.Ask(record.Piece{Rep: gives, Flats: []int{5 - i}}, to)
	}
	require.Equal(t, berth.ReplicaRunning, gives.State)
	require.True(t, m.State.Leaving.Has(gives))
	require.Nil(t, gives.Beneficiary, "it is no victim as a whole")
	require.Equal(t, int64(1), m.State.Totals.ReplicasShrunk, "one Release for both")
	orders := mend(m)
	require.Len(t, orders, 1)
	r := orders[0].(berth.Release)
	require.Equal(t, one.Ref(), r.Cause.Beneficiary)
	require.Len(t, r.Members, 2)
	require.Equal(t, []berth.GroupSize{{Members: 4}}, r.Remaining)
	require.Len(t, r.SurplusEvictions, 2)
	require.Equal(t, one.Ref(), r.SurplusEvictions[0].Beneficiary, "that of the cause comes first")
	require.Equal(t, []berth.MemberRef{{Index: 5}}, r.SurplusEvictions[0].Members)
	require.Equal(t, []berth.MemberRef{{Index: 4}}, r.SurplusEvictions[1].Members)
	m.Stopped(gives)
	require.Equal(t, berth.ReplicaRunning, gives.State)
	require.False(t, m.State.Leaving.Has(gives))
	require.Zero(t, gives.Eviction.Get().Evictions, "it was not evicted")
}

// Departure.

func TestAGangThatIsToLeaveIsAskedByItsDeadline(t *testing.T) {
	m := machine(t)
	rep := m.Run(saving(roomtest.Job("train", "a", 1, 8)), "n1")
	n := m.NodeNamed("n1")
	n.Reason = "firmware"
	cause := leaveBy(m, "n1", m.State.Now.Add(berth.Minute))
	require.Equal(t, "node n1 is being drained: firmware", cause.Detail)
	m.Life.Depart(rep, cause, m.State.Now.Add(berth.Minute))
	require.True(t, rep.Leaves)
	require.True(t, rep.Asked())
	require.Equal(t, m.State.Now.Add(berth.Minute), rep.Order.Header().Deadline, "less than the grace of its class")
	require.NoError(t, m.Check())

	// Of a deadline that comes sooner it has to be told: the next pass asks anew.
	m.Life.DrainAnew(n)
	require.True(t, rep.Leaves)
	n.DrainBy = m.State.Now.Add(second)
	m.Life.DrainAnew(n)
	require.False(t, rep.Leaves)
	require.True(t, rep.Stray())
	mend(m)

	// The drain is called off.
	m.Life.Depart(rep, cause, 0)
	require.Equal(t, m.State.GraceOf(rep), rep.Order.Header().Deadline.Sub(m.State.Now))
	m.Life.MayStay(rep)
	require.True(t, rep.Leaves, "the node is being drained yet")
	m.Upkeep.SetDraining(n, false)
	m.Life.MayStay(rep)
	require.False(t, rep.Leaves)
	require.False(t, m.State.Leaving.Has(rep))
}

// leaveBy has a node be drained, and returns the cause of those that leave it.
func leaveBy(m *roomtest.Machine, node string, at berth.Time) berth.Cause {
	n := m.NodeNamed(node)
	m.Upkeep.SetDraining(n, true)
	n.DrainBy = at
	return life.DrainCause(state.Drain{Node: n, By: at})
}

// Backoffs and what is kept for a gang meanwhile; see failure.go.

func TestAGangComesBackToWhereItsMembersDied(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 2, 8), "n1", "n2")
	m.Later(berth.Hour)
	m.Life.MembersDied(rep, []int{0, 1}, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
	require.Equal(t, berth.ReplicaPending, rep.State)
	require.True(t, rep.Returns())
	require.True(t, m.State.Returning.Has(rep))
	stood := rep.Retry.Get().Stood
	require.Len(t, stood, 2)
	require.Equal(t, berth.NodeID("n2"), stood[1].Node)
	require.NoError(t, m.Check())

	m.Life.LosePlaces("n3", 0)
	require.False(t, rep.Retry.Get().LostHardware)
	m.Life.LosePlaces("n1", berth.GPUSetOf(7))
	require.True(t, rep.Retry.Get().LostHardware, "a GPU on which a member died is lost")

	m.Life.BackoffsOver()
	require.NotEmpty(t, rep.Retry.Get().Stood, "not yet")
	m.Later(m.State.Config.Policy.RetryBackoff)
	m.State.StopTimer(record.Timer{At: m.State.Now, Kind: record.TimerBackoff, Rep: rep})
	m.Life.BackoffsOver()
	require.Empty(t, rep.Retry.Get().Stood)
	require.False(t, m.State.Returning.Has(rep))
	require.Len(t, rep.Entries, 1)
}

// Rule: no place is kept if the job is at fault, or if it crashes in a loop.
func TestNoPlaceIsKeptForAJobAtFaultOrInALoop(t *testing.T) {
	for name, c := range map[string]struct {
		fault   berth.Fault
		crashes int
		ran     berth.Duration
		keeps   bool
	}{
		"the first crash":                     {berth.FaultUnset, 0, second, true},
		"the second crash soon after a start": {berth.FaultUnset, 1, second, false},
		"a crash after a long life":           {berth.FaultUnset, 1, berth.Hour, true},
		"the job is at fault":                 {berth.FaultJob, 0, berth.Hour, false},
		"the node is at fault":                {berth.FaultNode, 0, berth.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			rep := m.Run(roomtest.Job("train", "a", 2, 8), "n1", "n2")
			rep.Retry.Note().Crashes = c.crashes
			m.Later(c.ran)
			m.Life.MembersDied(rep, []int{1}, c.fault, berth.Cause{Code: berth.CauseMemberFailed})
			require.Equal(t, berth.ReplicaReleasing, rep.State, "one member is to be stopped yet")
			require.Equal(t, c.keeps, rep.Resumes())
			require.Equal(t, c.keeps, len(rep.Retry.Get().Stood) > 0)
			mend(m)
			m.Stopped(rep)
			require.Equal(t, c.keeps, rep.Returns())
			require.NotZero(t, rep.Retry.Get().ReadyAt, "it backs off in any case")
			require.Equal(t, c.fault == berth.FaultNode, len(rep.Retry.Get().Avoid) > 0)
		})
	}
}

func TestAPlaceThatIsKeptElsewhereEndsIfTheJobIsAtFault(t *testing.T) {
	for _, fault := range []berth.Fault{berth.FaultJob, berth.FaultUnset} {
		m := machine(t)
		rep := m.Run(saving(roomtest.Job("train", "a", 1, 8)), "n1")
		m.Life.Depart(rep, leaveBy(m, "n1", 0), 0)
		require.True(t, m.Search.ReserveMove(rep, m.Where(rep, []string{"n2"})))
		m.Later(berth.Hour)
		m.Life.MembersDied(rep, []int{0}, fault, berth.Cause{Code: berth.CauseMemberFailed})
		require.Equal(t, berth.ReplicaPending, rep.State)
		require.Equal(t, fault != berth.FaultJob, rep.Moving != nil)
		require.Equal(t, fault != berth.FaultJob, len(m.Backlog.Reservations) > 0)
	}
}

func TestAMemberThatDiesOfAnElasticGangIsStartedAgainAfterABackoff(t *testing.T) {
	m := machine(t)
	rep := m.Run(elastic("train", 2, 1, 8), "n1", "n2")
	m.Later(berth.Hour)
	m.Life.MembersDied(rep, []int{1}, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
	require.Equal(t, berth.ReplicaRunning, rep.State)
	require.Nil(t, rep.Entries)
	require.NotZero(t, rep.Retry.Get().ReadyAt)
	require.Len(t, rep.Retry.Get().Stood, 1)
	require.False(t, rep.Returns(), "no place is kept for a part of a gang that runs")
}

// The Bind that is out decides about a member that dies before it is reported.
func TestAMemberThatDiesWhileItIsStartedKeepsItsPlaceUntilTheReport(t *testing.T) {
	m := machine(t)
	rep := m.Wait(roomtest.Job("train", "a", 2, 8))
	bind(t, m, rep, "n1", "n2")
	m.Life.MembersDied(rep, []int{0}, berth.FaultUnset, berth.Cause{Code: berth.CauseMemberFailed})
	require.Equal(t, record.MemberFailed, rep.Members[0].State)
	require.Equal(t, berth.ReplicaBinding, rep.State)
	require.Empty(t, rep.Retry.Get().Stood)
}

// Checkpoints that jobs write by themselves.

func TestACheckpointWrittenIsOfALifeThatRuns(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	m.Later(berth.Hour)
	written := berth.CheckpointWritten{Job: "train", Incarnation: 1}
	m.NoRefusal(m.Life.CheckpointWritten(written))
	require.Equal(t, m.State.Now, rep.Eviction.Get().Checkpointed)
	require.True(t, rep.Eviction.Get().Tells)

	older := written
	older.At = m.State.Now.Add(-berth.Minute)
	m.NoRefusal(m.Life.CheckpointWritten(older))
	require.Equal(t, m.State.Now, rep.Eviction.Get().Checkpointed, "an older one changes nothing")

	for _, at := range []berth.Time{rep.Started - 1, m.State.Now + 1} {
		bad := written
		bad.At = at
		m.Refused(m.Life.CheckpointWritten(bad), berth.ErrInvalid, "at")
	}
	m.Refused(m.Life.CheckpointWritten(berth.CheckpointWritten{Job: "other", Incarnation: 1}), berth.ErrUnknown, "job")

	starts := m.Wait(roomtest.Job("starts", "a", 1, 8))
	bind(t, m, starts, "n2")
	m.Refused(m.Life.CheckpointWritten(berth.CheckpointWritten{Job: "starts", Incarnation: 1}), berth.ErrConflict, "incarnation")
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CausePreempted}, false)
	m.Refused(m.Life.CheckpointWritten(written), berth.ErrStale, "incarnation")
}

// Invariant 2: the beneficiary of a victim lists it.

func TestChecksFindAVictimThatItsBeneficiaryDoesNotKnow(t *testing.T) {
	m := machine(t)
	victim := m.Run(saving(roomtest.Job("victim", "a", 1, 8)), "n1")
	res := m.Plan(m.Wait(roomtest.Job("to", "a", 1, 8)), []string{"n1"}, victim)
	require.NoError(t, m.Life.CheckVictims())
	m.Break()
	res.Plan.Victims = nil
	require.ErrorContains(t, m.Life.CheckVictims(), "does not know of it")
	m.State.NoteLeaving(victim, false)
	require.ErrorContains(t, m.Life.CheckVictims(), "on its way out")
}

// Invariants 3 and 4, and what else CheckLife compares: each is broken once.
func TestChecksFindWhatDoesNotGoTogether(t *testing.T) {
	for says, spoil := range map[string]func(*roomtest.Machine, *record.Replica){
		"running replicas: 2":                        func(m *roomtest.Machine, _ *record.Replica) { m.Life.States[berth.ReplicaRunning]++ },
		"replicas to repair":                         func(m *roomtest.Machine, _ *record.Replica) { m.Life.States[berth.ReplicaRepairing]++ },
		"running replicas that may shrink":           func(m *roomtest.Machine, _ *record.Replica) { m.Life.Stretching++ },
		"replicas that back off":                     func(m *roomtest.Machine, _ *record.Replica) { m.State.Backoffs++ },
		"and not so in its queue":                    func(m *roomtest.Machine, rep *record.Replica) { m.Books.Exit(rep) },
		"needs an order: false, is in the set: true": func(m *roomtest.Machine, rep *record.Replica) { m.State.NoteTodo(rep, true) },
		"is not so in the index":                     func(m *roomtest.Machine, rep *record.Replica) { m.State.NoteReturning(rep, true) },
		"and no members of it died": func(_ *roomtest.Machine, rep *record.Replica) {
			rep.Retry.Note().Stood = make([]berth.MemberPlacement, 1)
		},
		"it wrote a checkpoint at":                     func(m *roomtest.Machine, rep *record.Replica) { rep.Eviction.Note().Checkpointed = m.State.Now + 1 },
		"it leaves, and is not asked for a checkpoint": func(m *roomtest.Machine, rep *record.Replica) { rep.Leaves = true; m.State.NoteLeaving(rep, true) },
		"is neither asked for a checkpoint nor stopped": func(m *roomtest.Machine, rep *record.Replica) {
			rep.Beneficiary = rep
			m.State.NoteLeaving(rep, true)
		},
		"is a victim and is not stopped": func(_ *roomtest.Machine, rep *record.Replica) { rep.Members[0].Beneficiary = rep },
	} {
		t.Run(says, func(t *testing.T) {
			m := machine(t)
			m.Break()
			spoil(m, m.Run(roomtest.Job("train", "a", 1, 8), "n1"))
			err := m.Life.CheckLife()
			if err == nil {
				err = m.Life.CheckVictims()
			}
			require.ErrorContains(t, err, says)
		})
	}
}

// When nothing is due any more.
func TestAGangThatEndsIsExpectedToEndNoMore(t *testing.T) {
	m := machine(t)
	rep := m.Run(roomtest.Job("train", "a", 1, 8), "n1")
	require.NotZero(t, rep.EndsAt)
	m.Life.TakeBack(rep, berth.Cause{Code: berth.CausePreempted}, false)
	require.Equal(t, m.State.Now.Add(m.State.Config.Policy.ReleaseTimeout), rep.EndsAt, "its members may hold on for as long")
	mend(m)
	m.Stopped(rep)
	require.Zero(t, rep.EndsAt)
	require.Equal(t, agenda.Never, m.Agenda.NextMove)
}
