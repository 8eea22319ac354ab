package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// reserving is a machine with so many reservations for gangs of each size at the most. All that
// waits there may get one at once.
func reserving(t *testing.T, most int) *roomtest.Machine {
	m := roomtest.New(t, berth.Config{Policy: berth.Policy{ReservedGangs: most, ReserveAfter: 1, Stretch: berth.Off}})
	m.Nodes(4, 8)
	m.Queue("a", 8)
	m.Queue("b", 8)
	return m
}

// A reserver looks at what is due whenever something has come.
type reserver struct{ *roomtest.Machine }

func (r *reserver) waits(j berth.Job) *record.Replica {
	rep := r.Wait(j)
	r.Later(1)
	r.Backlog.Due.SyncHeads()
	return rep
}

func TestReservationsAreCountedBySize(t *testing.T) {
	m := reserving(t, 4)
	small, large := m.Wait(roomtest.Job("small", "a", 1, 8)), m.Wait(roomtest.Job("large", "a", 2, 8))
	planned := m.Wait(roomtest.Job("planned", "a", 2, 8))
	m.Reserve(small, m.State.Now, "n1")
	m.Reserve(large, m.State.Now, "n1", "n2")
	m.Plan(planned, []string{"n3", "n4"})
	require.Equal(t, 1, m.Backlog.ReservedGangs(due.OneNode))
	require.Equal(t, 1, m.Backlog.ReservedGangs(due.SeveralNodes), "a plan does not count")
}

// The last that has a reservation is the last in an order, and one that is not in it is behind it.
func TestTheLastReservedIsTheLastInTheOrder(t *testing.T) {
	m := reserving(t, 4)
	var entries []*record.Entry
	for _, id := range []berth.JobID{"w", "x", "y", "z"} {
		entries = append(entries, m.Wait(roomtest.Job(id, "a", 1, 8)).Entries[0])
	}
	reserved, last := m.Backlog.LastReserved(due.OneNode, entries)
	require.Zero(t, reserved)
	require.Equal(t, -1, last.At)
	m.Reserve(entries[0].Rep, m.State.Now, "n1")
	m.Reserve(entries[1].Rep, m.State.Now, "n2")
	reserved, last = m.Backlog.LastReserved(due.OneNode, []*record.Entry{entries[1], entries[0]})
	require.Equal(t, 2, reserved)
	require.Equal(t, entries[0], last.Entry)
	require.Equal(t, 1, last.At)
	m.Reserve(entries[3].Rep, m.State.Now, "n3")
	m.Reserve(entries[2].Rep, m.State.Now, "n4")
	_, last = m.Backlog.LastReserved(due.OneNode, entries[:2])
	require.Equal(t, entries[3], last.Entry, "of those behind it the last to be served")
	require.Equal(t, 2, last.At)
}

// As long as fewer have a reservation than may, any head may get one; then only one that outranks a
// holder.
func TestOneMoreMayReserveIfFewerHaveOneOrItOutranksAHolder(t *testing.T) {
	for name, c := range map[string]struct {
		job  berth.Job
		want bool
	}{
		"of the same rank":                    {roomtest.Job("waits", "a", 2, 8), false},
		"of a higher priority":                {urgent(roomtest.Job("waits", "a", 2, 8)), true},
		"of another queue, within its":        {roomtest.Job("waits", "b", 1, 8), false},
		"of another queue, urgent":            {urgent(roomtest.Job("waits", "c", 2, 8)), false},
		"of another queue, of a higher class": {of(berth.ClassInteractive, roomtest.Job("waits", "c", 2, 8)), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := reserver{reserving(t, 1)}
			m.Queue("c", 0)
			m.Agenda.FreedQuota()
			require.False(t, m.Backlog.AnyMayReserve(due.SeveralNodes), "nothing waits")
			holder := m.waits(roomtest.Job("holder", "a", 2, 8)) // it borrows
			require.True(t, m.Backlog.AnyMayReserve(due.SeveralNodes))
			m.Reserve(holder, m.State.Now, "n1", "n2")
			m.waits(c.job)
			require.Equal(t, c.want, m.Backlog.AnyMayReserve(due.SeveralNodes))
		})
	}
}

func TestHeadsBeyondTheirQuotaAreFound(t *testing.T) {
	m := reserver{reserving(t, 4)}
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(8)})
	m.waits(roomtest.Job("within", "a", 1, 8))
	require.Empty(t, m.Backlog.HeadsBeyondQuota())
	beyond := m.waits(roomtest.Job("beyond", "a", 2, 8))
	m.waits(roomtest.Job("of-another", "b", 2, 8))
	require.Equal(t, []*record.Entry{beyond.Entries[0]}, m.Backlog.HeadsBeyondQuota())
	require.False(t, m.Backlog.WithinQuota(bucketOf(beyond)))
	m.Reserve(beyond, m.State.Now, "n1", "n2")
	m.Backlog.Due.SyncHeads()
	require.Empty(t, m.Backlog.HeadsBeyondQuota(), "it has one")
}
