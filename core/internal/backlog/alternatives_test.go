package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// A job with alternatives waits as each of its options, in their order, as one replica. Its queue
// wants the most that one of them asks for.
func TestAJobWaitsAsEachOfItsOptions(t *testing.T) {
	m := machine(t)
	job := roomtest.Job("options", "a", 2, 8)
	for _, members := range []int{3, 1} {
		job.Alternatives = append(job.Alternatives, berth.Alternative{Groups: roomtest.Job("", "", members, 8).Groups})
	}
	rep := m.Wait(job)
	require.Len(t, rep.Entries, 3)
	for option, members := range []int{2, 3, 1} {
		e := rep.Entries[option]
		require.Equal(t, option, e.Part())
		require.Equal(t, members, e.Bucket.Shape.Spec.Groups[0].Members)
		if option > 0 {
			require.Negative(t, record.CompareEntries(rep.Entries[option-1], e))
		}
	}
	q := queueOf(m, "a")
	require.Equal(t, 1, q.Waiting, "one replica waits")
	require.EqualValues(t, 3*8*1000, q.WaitingMilli)
	then := m.Wait(roomtest.Job("then", "a", 2, 8))
	require.Equal(t, 1, q.Before(then.Entries[0]), "one replica is before it")

	m.Backlog.Unawait(rep)
	require.EqualValues(t, 2*8*1000, q.WaitingMilli)
	require.Len(t, q.List, 1, "it waits nowhere")
	m.Backlog.Await(rep)
	require.Len(t, rep.Entries, 3)
}

// While an entry is tried its job is what it waits for there, and again what it was where that does
// not start it.
func TestAJobIsWhatIsTried(t *testing.T) {
	m := machine(t)
	job := roomtest.Job("options", "a", 2, 8)
	job.Alternatives = []berth.Alternative{{Groups: roomtest.Job("", "", 1, 8).Groups}}
	rep := m.Wait(job)
	m.Backlog.Try(rep.Entries[1], func() { require.Equal(t, 1, rep.Job.Members()) })
	require.Equal(t, 2, rep.Job.Members())
	m.Backlog.Try(rep.Entries[1], func() { m.Bind(rep, "n1") })
	require.Equal(t, 1, rep.Job.Members(), "it runs as that")
}
