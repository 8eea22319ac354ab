package life_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// endsAfter is a job that may run for so long.
func endsAfter(limit berth.Duration, j berth.Job) berth.Job {
	j.MaxRuntime = limit
	return j
}

// looksAt moves the clock to the instant at which the limit of a replica is looked at, and does.
func looksAt(t *testing.T, m *roomtest.Machine, rep *record.Replica, after berth.Duration) {
	t.Helper()
	require.Equal(t, rep.Started.Add(after), rep.LimitAt())
	m.Later(rep.LimitAt().Sub(m.State.Now))
	timer, due := m.State.DueTimer()
	require.True(t, due)
	require.Equal(t, record.TimerLimit, timer.Kind)
	m.Life.LimitDue(timer.Rep)
}

func TestAJobEndsAtItsLimit(t *testing.T) {
	m := machine(t)
	rep := m.Run(endsAfter(berth.Hour, roomtest.Job("train", "a", 1, 8)), "n1")
	looksAt(t, m, rep, berth.Hour)
	require.Equal(t, berth.ReplicaReleasing, rep.State)
	require.True(t, rep.Release.Get().Gone, "it does not come back")
	require.Equal(t, berth.CauseMaxRuntime, mend(m)[0].Header().Cause.Code)
	require.EqualValues(t, 1, m.State.Totals.JobsOverrun)
	m.Stopped(rep)
	require.Empty(t, m.State.Jobs)
}

func TestALastCheckpointIsAskedForInTime(t *testing.T) {
	m := machine(t)
	rep := m.Run(endsAfter(berth.Hour, saving(roomtest.Job("train", "a", 1, 8))), "n1")
	looksAt(t, m, rep, 59*berth.Minute)
	require.True(t, rep.Overruns())
	require.Zero(t, rep.LimitAt(), "the deadline of the request is the end")
	end, _ := rep.RunsUntil()
	require.Equal(t, end, rep.Order.Header().Deadline)
	m.Life.MayStay(rep)
	require.True(t, rep.Overruns(), "it need not leave a node, but it has to end")
	cause := rep.Order.Header().Cause
	m.State.CloseOrder(rep)
	m.Life.Answered(rep, cause)
	require.True(t, rep.Release.Get().Gone)
	require.EqualValues(t, 1, m.State.Totals.JobsOverrun)
	require.Zero(t, m.State.Totals.ReplicasEvicted)
}

func TestAGangWithAnOrderOutIsAskedOnceThatIsOver(t *testing.T) {
	m := machine(t)
	rep := m.Run(endsAfter(berth.Hour, saving(roomtest.Job("train", "a", 1, 8))), "n1")
	m.Pass(func() { m.Life.Depart(rep, leaveBy(m, "n1", 0), 0) })
	m.Later(59 * berth.Minute)
	timer, _ := m.State.DueTimer() // the deadline of the request, which this test leaves alone
	require.Equal(t, record.TimerDeadline, timer.Kind)
	looksAt(t, m, rep, 59*berth.Minute)
	require.Equal(t, rep.Started.Add(berth.Hour), rep.LimitAt(), "it is stopped then in any case")
	m.Upkeep.SetDraining(m.NodeNamed("n1"), false)
	m.Life.MayStay(rep)
	require.True(t, rep.Stray())
	orders := mend(m)
	require.IsType(t, berth.Withdraw{}, orders[0])
	require.Equal(t, berth.CauseMaxRuntime, orders[1].Header().Cause.Code)
	require.True(t, rep.Overruns())

	// A drain leaves it less time: it is asked anew.
	leaveBy(m, "n1", m.State.Now.Add(second))
	m.Life.DrainAnew(m.NodeNamed("n1"))
	require.Len(t, mend(m), 2)
	require.Equal(t, m.State.Now.Add(second), rep.Order.Header().Deadline)
}

// What Check says of the books, Restore says of a snapshot.
func TestALimitThatIsNotLookedAtIsFound(t *testing.T) {
	for says, spoil := range map[string]func(*record.Replica){
		"never":      func(rep *record.Replica) { rep.Eviction.Note().LimitAt = 0 },
		"too early":  func(rep *record.Replica) { rep.Eviction.Note().LimitAt-- },
		"too late":   func(rep *record.Replica) { rep.Eviction.Note().LimitAt++ },
		"of no job":  func(rep *record.Replica) { rep.Job.Spec.MaxRuntime = 0 },
		"waiting":    func(rep *record.Replica) { rep.State = berth.ReplicaPending },
		"before all": func(rep *record.Replica) { rep.Eviction.Note().LimitAt = -1 },
	} {
		t.Run(says, func(t *testing.T) {
			m := machine(t)
			m.Break()
			rep := m.Run(endsAfter(berth.Hour, roomtest.Job("train", "a", 1, 8)), "n1")
			require.NoError(t, m.Life.CheckLife())
			spoil(rep)
			require.Error(t, m.Life.CheckLife())
		})
	}
}
