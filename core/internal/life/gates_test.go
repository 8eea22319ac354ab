package life_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// atGate has a job of one GPU wait at its gate, which has begun unless it begins later.
func atGate(m *roomtest.Machine, id berth.JobID, change func(*berth.Job)) *record.Replica {
	spec := roomtest.Job(id, "a", 1, 1)
	change(&spec)
	j, err := m.Admission.NewJob(&spec)
	m.NoRefusal(err)
	j.Gate, err = m.State.NewGate(j)
	m.NoRefusal(err)
	m.Books.Admit(j)
	rep := m.State.NewReplicaAt(j, 0)
	m.Life.Pend(rep)
	m.Life.SettleGates()
	return rep
}

// Invariant 7: a slot is one job's until the job is forgotten, and goes to the highest rank then.
func TestASlotGoesToTheHighestRank(t *testing.T) {
	m := machine(t)
	of := func(priority int32) func(*berth.Job) {
		return func(j *berth.Job) { j.Priority, j.Array = priority, &berth.Array{Name: "sweep", Width: 1} }
	}
	first, low, high := atGate(m, "first", of(0)), atGate(m, "low", of(1)), atGate(m, "the high", of(2))
	require.Nil(t, first.Job.Gate)
	require.NotNil(t, first.Entries)
	require.Equal(t, 2, m.Life.Gated)
	m.Life.Forget(first)
	require.Equal(t, 2, m.Life.Gated, "gates open together")
	m.Life.SettleGates()
	require.Nil(t, high.Job.Gate)
	require.NotNil(t, low.Job.Gate)
	require.Nil(t, low.Entries)
	m.Life.Forget(low) // its end frees no slot
	m.Life.SettleGates()
	m.Life.Forget(high)
	require.Zero(t, m.Life.Gated)
	require.Empty(t, m.State.Slots)
}

// Invariant 7: a job that asks for more than its user has left holds back none that asks for less,
// and a job needs room below all caps. Jobs that are alike wait in one lane, so that one of them is
// asked for all.
func TestASmallerJobPassesALargerOne(t *testing.T) {
	m := machine(t)
	m.State.Config.Policy.Caps = []berth.QueueCaps{{Queue: "a", MaxJobs: 3, MaxGPUMilliPerUser: 2000}}
	of := func(user string, gpus int) func(*berth.Job) {
		return func(j *berth.Job) { j.User, j.Groups[0].Claim.GPUs = user, gpus }
	}
	first, large, other := atGate(m, "1", of("ada", 1)), atGate(m, "2", of("ada", 2)), atGate(m, "3", of("ada", 2))
	small, bob := atGate(m, "4", of("ada", 1)), atGate(m, "5", of("bob", 2))
	late := atGate(m, "6", of("eve", 1))
	for _, rep := range []*record.Replica{first, small, bob} {
		require.Nil(t, rep.Job.Gate, rep.Job.Spec.ID)
	}
	for _, rep := range []*record.Replica{large, other, late} {
		require.NotNil(t, rep.Job.Gate, rep.Job.Spec.ID)
	}
	require.Len(t, m.State.Lanes, 2)
	m.Life.Forget(first) // one GPU of ada, and one job of the queue
	m.Life.SettleGates()
	require.NotNil(t, large.Job.Gate)
	require.Nil(t, late.Job.Gate)
	m.Life.Forget(small)
	m.Life.SettleGates()
	require.Nil(t, large.Job.Gate)
	require.NotNil(t, other.Job.Gate)
}

// Invariant 7: each predecessor is awaited, and one that does not complete breaks the gate.
func TestAGateBreaksForGood(t *testing.T) {
	m := machine(t)
	a, b := m.Wait(roomtest.Job("a", "a", 1, 1)), m.Wait(roomtest.Job("b", "a", 1, 1))
	after := []berth.Dependency{{Job: "a", Kind: berth.DependencyAny}, {Job: "b"}}
	rep := atGate(m, "c", func(j *berth.Job) { j.After = after })
	require.Equal(t, []berth.JobID{"a", "b"}, rep.Job.Gate.Awaits)
	m.Life.Forget(a)
	require.Equal(t, []berth.JobID{"b"}, rep.Job.Gate.Awaits)
	m.Life.Forget(b)
	require.Equal(t, berth.JobID("b"), rep.Job.Gate.Broken)
	timer, due := m.State.DueTimer()
	require.True(t, due)
	require.Equal(t, record.TimerGate, timer.Kind)
	why, broken := m.Life.GateDue(rep.Job)
	require.True(t, broken)
	require.Equal(t, "job b ended, and did not complete", why)
	m.State.SetTimer(timer)
}

// A begin time comes, and the job waits as if it had been submitted then.
func TestAJobCountsFromItsBeginTime(t *testing.T) {
	m := machine(t)
	rep := atGate(m, "later", func(j *berth.Job) { j.Begin = m.State.Now.Add(berth.Hour) })
	require.Nil(t, rep.Entries)
	m.Later(berth.Hour)
	timer, due := m.State.DueTimer()
	require.True(t, due)
	_, broken := m.Life.GateDue(timer.Rep.Job)
	require.False(t, broken)
	m.Life.SettleGates()
	require.NotNil(t, rep.Entries)
	require.Equal(t, m.State.Now, rep.Created)
	require.Equal(t, m.State.Now, rep.PendingSince)
}

// A lane is looked at once when other caps count, however many jobs are in it: else each gate that
// opens would have all of them looked at.
func TestARaisedCapOpensManyGatesAtOnce(t *testing.T) {
	m := machine(t)
	m.State.Config.Policy.Caps = []berth.QueueCaps{{Queue: "a", MaxJobs: 1}}
	const many = 20_000
	for i := range many {
		atGate(m, berth.JobID(fmt.Sprintf("%06d", i)), func(*berth.Job) {})
	}
	require.Equal(t, many-1, m.Life.Gated)
	m.State.Config.Policy.Caps[0].MaxJobs = many
	began := time.Now()
	m.Life.ChangeCaps()
	m.Life.SettleGates()
	require.Zero(t, m.Life.Gated)
	require.Less(t, time.Since(began), 2*time.Second) // a tenth of that is usual
}
