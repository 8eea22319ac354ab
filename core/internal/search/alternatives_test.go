package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// orElse gives a job another gang that it may run as, of members with 8 GPUs each.
func orElse(j berth.Job, members ...int) berth.Job {
	for _, n := range members {
		j.Alternatives = append(j.Alternatives, berth.Alternative{Groups: roomtest.Job("", "", n, 8).Groups})
	}
	return j
}

// A job is started as the first of its options that fits, and waits as none of them any more.
func TestAJobStartsAsTheFirstOfItsOptionsThatFits(t *testing.T) {
	m := busy(t, berth.Policy{})
	m.Finished(m.State.Jobs["on-n1"].Replicas.At(0))
	m.Finished(m.State.Jobs["on-n2"].Replicas.At(0))
	rep := m.Wait(orElse(roomtest.Job("options", "a", 3, 8), 2, 1))
	place(m)
	require.Equal(t, berth.ReplicaBinding, rep.State)
	require.Equal(t, 1, rep.Job.Alternative())
	require.Equal(t, 2, rep.Job.Members(), "its members are those of the alternative")
	require.Equal(t, 1, rep.Order.(berth.Bind).Alternative)
	require.Empty(t, rep.Entries)
	require.Len(t, rep.Job.Full().Groups, 1)
	require.Equal(t, 3, rep.Job.Full().Groups[0].Members, "the job itself is as it was told")
}

// Of a job that fits as none of its options the reservation is for the first, or for the one that
// starts the soonest; and one that starts as another option has none any more.
func TestAReservationIsForTheOptionThatTheJobChooses(t *testing.T) {
	for _, c := range []struct {
		choose berth.Choice
		want   int
		nodes  []berth.NodeID
	}{
		{berth.ChooseFirst, 0, []berth.NodeID{"n1", "n2", "n3"}},
		{berth.ChooseSoonest, 1, []berth.NodeID{"n1", "n2"}},
	} {
		m := busy(t, soon)
		job := orElse(roomtest.Job("options", "a", 3, 8), 2)
		job.Choose = c.choose
		rep := m.Wait(job)
		reserve(m)
		require.NotNil(t, rep.Reserved)
		require.Equal(t, c.want, rep.Job.Alternative(), c.choose)
		require.Equal(t, c.nodes, rep.Reserved.NodeIDs(), c.choose)
		require.Same(t, rep.Entries[c.want], m.Backlog.EntryOf(rep.Reserved))

		m.Finished(m.State.Jobs["on-n3"].Replicas.At(0))
		m.Finished(m.State.Jobs["on-n4"].Replicas.At(0))
		m.Pass(m.Search.ServeReserved, m.Search.Wake, m.Search.Place)
		require.Equal(t, 1, rep.Job.Alternative(), c.choose)
		require.Equal(t, berth.ReplicaBinding, rep.State, c.choose)
		require.Nil(t, rep.Reserved, c.choose)
	}
}

// An option that can never fit, or that quota holds back, is passed over for a reservation.
func TestAReservationIsForAnOptionThatCanFit(t *testing.T) {
	m := busy(t, soon)
	never := m.Wait(orElse(roomtest.Job("never", "a", 9, 8), 2))
	reserve(m)
	require.NotNil(t, never.Reserved)
	require.Equal(t, 1, never.Job.Alternative())

	m = busy(t, soon)
	m.Queue("a", 0)
	limited := roomtest.Job("limited", "a", 9, 8)
	rep := m.Wait(orElse(limited, 9, 9))
	reserve(m)
	require.Nil(t, rep.Reserved, "as none of them")
}
