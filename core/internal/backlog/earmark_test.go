package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

func used(m *roomtest.Machine, queue string) int64 {
	return m.State.Quota.Used(queueOf(m, queue).Index, quota.GPUMilli) / 1000
}

func gpus(n int64) quota.Charge { return quota.Charge{GPUMilli: 1000 * n} }

// Invariant 7.
func TestEarmarksAreChargedWhileTheyAreOnAndNotOtherwise(t *testing.T) {
	m := machine(t)
	m.Plan(m.Wait(roomtest.Job("waits", "a", 2, 4)), []string{"n1", "n1"})
	mover := m.Run(checkpointing(roomtest.Job("moves", "b", 1, 6)), "n2")
	m.Life.Depart(mover, berth.Cause{}, 0)
	move(m, mover, "n3")
	m.Reserve(m.Wait(roomtest.Job("reserves", "b", 1, 8)), m.State.Now, "n4")
	m.Backlog.Earmark(true)
	require.Equal(t, int64(8), used(m, "a"))
	require.Equal(t, int64(6), used(m, "b"), "of one that moves only what it is short of, and it has it all; a reservation is no plan")
	m.Backlog.Earmark(false)
	require.Zero(t, used(m, "a"))
	require.Equal(t, int64(6), used(m, "b"))
}

func TestTheEarmarkOfAPlanThatEndsIsDischarged(t *testing.T) {
	m := machine(t)
	res := m.Plan(m.Wait(roomtest.Job("waits", "a", 1, 8)), []string{"n1"})
	mover := m.Run(roomtest.Job("moves", "b", 2, 4), "n2", "n2")
	m.Life.TakeBack(mover, berth.Cause{Code: berth.CauseHardwareLost}, false)
	m.Books.Unbook(mover, 0, record.MemberLeft) // it is short of it
	move(m, mover, "n3", "n3")
	m.Backlog.Earmark(true)
	require.Equal(t, int64(8), used(m, "b"), "its shortfall, beside what it still holds")
	m.Backlog.EndReservation(res)
	m.Backlog.EndMove(mover)
	require.Zero(t, used(m, "a"))
	require.Equal(t, int64(4), used(m, "b"))
	m.Backlog.Earmark(false)
	require.Zero(t, used(m, "a"))
}

// While one is tried, what is kept for it is not in its way; nor is what is kept for those of its
// queue in whose place it may come.
func TestWhatIsKeptForAGangIsNotInItsWay(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(16)})
	low, high := m.Wait(roomtest.Job("low", "a", 2, 8)), m.Wait(urgent(roomtest.Job("high", "a", 1, 8)))
	same, other := m.Wait(roomtest.Job("same", "a", 1, 8)), m.Wait(urgent(roomtest.Job("other", "b", 1, 8)))
	m.Plan(low, []string{"n1", "n2"})
	m.Backlog.Earmark(true)
	a := queueOf(m, "a").Index
	for rep, want := range map[*record.Replica]bool{low: true, high: true, same: false, other: false} {
		m.Backlog.WithoutEarmark(rep, func() { require.Equal(t, want, m.Backlog.Affords(a, gpus(8)), rep.Job.Spec.ID) })
		require.Equal(t, int64(16), used(m, "a"), "it is charged again")
	}
	m.Backlog.Earmark(false)
}

// What a start leaves too little for is ended.
func TestAPlanEndsThatAStartLeavesNoQuotaFor(t *testing.T) {
	for limit, want := range map[int64]bool{16: false, 24: true} {
		m := machine(t)
		m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(limit)})
		low, high := m.Wait(roomtest.Job("low", "a", 1, 8)), m.Wait(urgent(roomtest.Job("high", "a", 2, 8)))
		m.Plan(low, []string{"n1"})
		m.Backlog.Earmark(true)
		m.Backlog.WithoutEarmark(high, func() { m.Bind(high, "n2", "n3") })
		require.Equal(t, want, low.Reserved != nil, "with a limit of %d", limit)
		m.Backlog.Earmark(false)
		require.Equal(t, int64(16), used(m, "a"))
	}
}

// What is on its way out on nodes that take no more work takes its capacity with it, and what its
// queue keeps for itself stays kept: no plan may count on that.
func TestAQueueMayHaveNoMoreThanWhenAllIsGoneThatIsOnItsWayOut(t *testing.T) {
	m := machine(t)
	keeper := quota.Queue{Name: "a", Guarantee: quota.GPUs(8), LendingLimit: quota.GPUs(0)}
	m.SetQueue(keeper)
	leaves := m.Run(roomtest.Job("leaves", "a", 1, 8), "n1")
	m.Upkeep.Cordon(m.NodeNamed("n1"), true, "")
	m.Books.TellCapacity()
	m.Life.TakeBack(leaves, berth.Cause{Code: berth.CauseDrained}, false)
	b := queueOf(m, "b").Index
	require.True(t, m.Backlog.Affords(b, gpus(24)), "nothing is planned")
	m.Plan(m.Wait(roomtest.Job("waits", "b", 1, 8)), []string{"n2"})
	m.Backlog.Earmark(true)
	require.True(t, m.Backlog.Affords(b, gpus(8)))
	require.False(t, m.Backlog.Affords(b, gpus(16)), "then a has 8 of 24 for itself, and 8 are planned")
	require.Equal(t, int64(8), used(m, "a"), "it is charged again")
	m.Backlog.Earmark(false)
	require.True(t, m.Backlog.Affords(b, gpus(24)), "outside of a pass no plan counts")
}

func TestAQueueMayHaveAListOfChargesTogetherOrNot(t *testing.T) {
	m := machine(t)
	m.SetQueue(quota.Queue{Name: "a", Limit: quota.GPUs(16)})
	a := queueOf(m, "a").Index
	require.True(t, m.Backlog.AffordsAll(a, []quota.Charge{gpus(8), gpus(8)}))
	require.False(t, m.Backlog.AffordsAll(a, []quota.Charge{gpus(8), gpus(9)}))
	require.Zero(t, used(m, "a"))
}
