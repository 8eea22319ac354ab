package life_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
)

// lent is a machine with a service that is quiet, and a job that borrows a GPU of it.
func lent(t *testing.T) (m *roomtest.Machine, lender, borrower *record.Replica) {
	t.Helper()
	m = machine(t)
	policy := m.State.Config.Policy
	policy.Lending = berth.Lending{QuietMilli: 50, QuietFor: berth.Minute}
	m.State.SetPolicy(policy)
	spec := roomtest.Job("lender", "a", 1, 8)
	spec.Lend = &berth.Lend{Within: 4 * berth.Minute, MemoryMiB: 1000}
	lender = m.Run(spec, "n1")
	tells(m, lender, 10)
	m.Life.SettleLoans()
	require.Zero(t, lender.Members[0].Lent, "it is quiet for too short a time")
	m.Later(berth.Minute)
	timer, due := m.State.DueTimer()
	require.True(t, due)
	require.Equal(t, record.TimerLending, timer.Kind)
	m.Life.LendingDue(timer.Rep)
	m.Life.SettleLoans()
	require.NotZero(t, lender.Members[0].Lent)

	spec = saving(roomtest.Job("borrower", "a", 1, 0))
	spec.Groups[0].Claim = berth.BorrowedGPU(1000)
	borrower = m.Observe(m.State.Now, spec, []berth.MemberPlacement{{Node: "n1", GPUs: berth.GPUSetOf(3), Borrowed: true}})
	m.Life.SettleLoans()
	require.Zero(t, borrower.Idle.Get().GiveBackBy)
	return m, lender, borrower
}

func TestABorrowerGivesBackInHalfTheSpan(t *testing.T) {
	m, lender, borrower := lent(t)
	tells(m, lender, 900)
	m.Life.SettleLoans()
	require.Zero(t, lender.Members[0].Lent)
	by := m.State.Now.Add(2 * berth.Minute)
	require.Equal(t, by, borrower.Idle.Get().GiveBackBy)
	orders := m.Pass(func() {
		timer, due := m.State.DueTimer()
		require.True(t, due)
		m.Life.LendingDue(timer.Rep)
	})
	request := orders[0].(berth.RequestCheckpoint)
	require.Equal(t, berth.CauseGivenBack, request.Cause.Code)
	require.Equal(t, by, request.Deadline)
	tells(m, lender, 10)
	m.Life.SettleLoans()
	require.Equal(t, by, borrower.Idle.Get().GiveBackBy, "it goes all the same")
}

func TestAQuietLenderIsLentForLongerByPolicy(t *testing.T) {
	m, lender, borrower := lent(t)
	policy := m.State.Config.Policy
	policy.Lending.QuietFor = berth.Hour
	m.State.SetPolicy(policy)
	m.Life.WeighActivities(false)
	m.Life.SettleLoans()
	require.Zero(t, lender.Members[0].Lent, "not quiet for an hour yet: newcomers get nothing")
	require.Zero(t, borrower.Idle.Get().GiveBackBy, "the one that is there stays")
}
