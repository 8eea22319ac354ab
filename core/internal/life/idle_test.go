package life_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// idle is a machine with a gang that runs and says that it does nothing: it is warned after an
// hour, and ten minutes later something is done.
func idle(t *testing.T, action berth.IdleAction, j berth.Job) (*roomtest.Machine, *record.Replica) {
	t.Helper()
	m := machine(t)
	policy := m.State.Config.Policy
	policy.Idle = berth.IdlePolicy{QuietMilli: 50, QuietFor: berth.Hour, Grace: 10 * berth.Minute, Action: action}
	m.State.SetPolicy(policy)
	rep := m.Run(j, "n1")
	tells(m, rep, 10)
	return m, rep
}

func tells(m *roomtest.Machine, rep *record.Replica, milli int) {
	m.NoRefusal(m.Life.ActivityReported(berth.ActivityReported{Job: rep.Job.Spec.ID, Replica: rep.Number, Incarnation: rep.Incarnation, ActiveMilli: milli}))
}

// idleDue moves the clock to the instant at which an idle replica is looked at, and does.
func idleDue(t *testing.T, m *roomtest.Machine, after berth.Duration) []berth.Order {
	t.Helper()
	m.Later(after)
	timer, due := m.State.DueTimer()
	require.True(t, due)
	require.Equal(t, record.TimerIdle, timer.Kind)
	return m.Pass(func() { m.Life.IdleDue(timer.Rep) })
}

func TestAnIdleJobIsWarnedAndEnds(t *testing.T) {
	m, rep := idle(t, berth.IdleStop, saving(roomtest.Job("notebook", "a", 1, 8)))
	warning := idleDue(t, m, berth.Hour)[0].(berth.WarnIdle)
	require.Equal(t, m.State.Now.Add(10*berth.Minute), warning.Until)
	require.Equal(t, warning.Until, m.Life.Idleness(rep).Until)
	idleDue(t, m, 10*berth.Minute)
	require.True(t, rep.Ends())
	tells(m, rep, 900)
	require.True(t, rep.Ends(), "to write a checkpoint is activity")
	m.Life.MayStay(rep)
	require.True(t, rep.Ends(), "it need not leave a node, but it has to end")
	m.State.CloseOrder(rep)
	m.Life.Answered(rep, berth.Cause{Code: berth.CauseIdle})
	require.True(t, rep.Release.Get().Gone)
	require.EqualValues(t, 1, m.State.Totals.JobsIdle)
	m.Stopped(rep)
	require.Empty(t, m.State.Jobs)
}

func TestABusyJobIsNotIdleAnyMore(t *testing.T) {
	m, rep := idle(t, berth.IdleStop, roomtest.Job("notebook", "a", 1, 8))
	idleDue(t, m, berth.Hour)
	require.NotNil(t, m.Life.Idleness(rep))
	tells(m, rep, 51)
	require.Nil(t, m.Life.Idleness(rep))
	_, due := m.State.Timers.Min()
	require.False(t, due)
	tells(m, rep, 50)
	require.Len(t, idleDue(t, m, berth.Hour), 1, "it is warned anew")
}
