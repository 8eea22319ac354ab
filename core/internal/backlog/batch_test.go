package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// service is a service of so many replicas of one member with so many GPUs.
func service(id berth.JobID, queue berth.QueueID, replicas, gpus int) berth.Job {
	j := roomtest.Job(id, queue, 1, gpus)
	j.Class, j.Service = berth.ClassInteractive, &berth.Service{Replicas: replicas}
	return j
}

func numbers(list []*record.Entry) (numbers []int) {
	for _, e := range list {
		numbers = append(numbers, e.Rep.Number)
	}
	return numbers
}

// Of a service that waits only the first replica is a record; the others count all the same.
func TestAServiceWaitsAsOneRecordAndABatch(t *testing.T) {
	m := machine(t)
	rep := m.Wait(service("serves", "a", 1000, 8))
	b := bucketOf(rep)
	require.Equal(t, 1, b.Entries.Len())
	require.Equal(t, 1000, b.Waiting())
	require.Equal(t, 1000, queueOf(m, "a").Waiting)
	require.Equal(t, int64(8_000_000), queueOf(m, "a").WaitingMilli)
	require.Equal(t, 999, rep.Entries[0].Batch.Len())
}

func TestLookingAtTheFirstMakesRecordsOfAsMany(t *testing.T) {
	m := machine(t)
	rep := m.Wait(service("serves", "a", 10, 8))
	b := bucketOf(rep)
	require.Equal(t, []int{0, 1, 2}, numbers(m.Backlog.First(b, 3)))
	require.Equal(t, 3, b.Entries.Len())
	require.Equal(t, 10, b.Waiting())
	require.Equal(t, []int{0}, numbers(m.Backlog.First(b, 1)), "what is a record stays one")
	require.Equal(t, 3, b.Entries.Len())
}

func TestTheNextOfABatchTakesThePlaceOfTheOneBeforeIt(t *testing.T) {
	m := machine(t)
	rep := m.Wait(service("serves", "a", 3, 8))
	b := bucketOf(rep)
	for left := 2; left >= 0; left-- {
		m.Life.Forget(b.Entries.Min().Rep)
		require.Equal(t, left, b.Waiting())
		if left > 0 {
			require.Equal(t, 3-left, b.Entries.Min().Rep.Number)
		}
		require.NoError(t, m.Check())
	}
}

func TestABatchIsCutFromItsEnd(t *testing.T) {
	m := machine(t)
	rep := m.Wait(service("serves", "a", 10, 8))
	batch := rep.Entries[0].Batch
	m.Backlog.CutBatch(batch, 4)
	require.Equal(t, 4, queueOf(m, "a").Waiting)
	m.Backlog.CutBatch(batch, 4)
	require.Equal(t, 4, queueOf(m, "a").Waiting, "there is nobody from 4 on")
	m.Backlog.CutBatch(batch, 1)
	require.Nil(t, rep.Entries[0].Batch)
	require.Equal(t, int64(8000), queueOf(m, "a").WaitingMilli)
}

// Those of a batch would fare on nodes that are set aside as the one before them did.
func TestThoseOfAFreshBatchThatAreSkippedAreFreshNoLonger(t *testing.T) {
	m := machine(t)
	other := m.Wait(roomtest.Job("other", "b", 1, 8))
	m.Reserve(other, m.State.Now.Add(berth.Hour), "n1")
	rep := m.Wait(service("serves", "a", 10, 8))
	m.Backlog.Block(bucketOf(rep).Shape)
	m.Backlog.Freshen(rep.Entries[0])
	batch := rep.Entries[0].Batch
	batch.Fresh = true
	m.Backlog.Skip(batch, 4)
	require.Equal(t, 4, batch.Len())
	require.False(t, batch.Fresh)
	require.Equal(t, []int{0, 5}, numbers(m.Backlog.Fresh), "the rest stays fresh, behind a record of its own")
	require.Equal(t, 4, m.Backlog.Fresh[1].Batch.Len())
	require.Equal(t, 10, bucketOf(rep).Waiting())

	m.Backlog.EndReservation(other.Reserved)
	require.Empty(t, m.Backlog.Fresh)
	require.False(t, m.State.Jobs["serves"].Batches()[1].Fresh, "nothing is set aside")
}

// While one has a plan, the next of its batch bids: for that it becomes a record.
func TestTheNextOfABatchBidsWhileTheFirstHasAPlan(t *testing.T) {
	m := machine(t)
	first := m.Wait(service("serves", "a", 10, 8))
	b := bucketOf(first)
	require.Same(t, first.Entries[0], m.Backlog.Bidder(b))
	m.Plan(first, []string{"n1"})
	require.Equal(t, 1, m.Backlog.Bidder(b).Rep.Number)
	require.Equal(t, 2, b.Entries.Len())
}
