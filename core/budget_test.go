package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// What waits for a budget costs a pass nothing: no search, and no memory, though all of the fleet
// is free.
func TestWhatWaitsForABudgetCostsAPassNothing(t *testing.T) {
	sched := newExample()
	mustApply(sched, morning, berth.PolicyChanged{Policy: berth.Policy{Budgets: []berth.Budget{{Queue: "research"}}}})
	for i := range 2000 {
		mustApply(sched, morning, training(berth.JobID(fmt.Sprintf("j%d", i)), 1+i%7))
	}
	_, err := sched.Schedule(morning)
	require.NoError(t, err)
	r := sched.Report()
	require.Equal(t, berth.WaitingCount{Budget: 2000}, r.Waiting)
	require.Zero(t, r.Totals.PlacementAttempts)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, err = sched.Schedule(morning) }))
	require.NoError(t, err)
	_, due := sched.NextWake()
	require.False(t, due, "the budget has no end")
	require.NoError(t, sched.Check())
}

// A snapshot has what was used of each budget, and one that counts at another rate than that of
// what its queue uses is refused, as is one with more accounts than budgets.
func TestASnapshotHasWhatWasUsedOfABudget(t *testing.T) {
	sched := newExample()
	mustApply(sched, morning, berth.PolicyChanged{Policy: berth.Policy{Budgets: []berth.Budget{{Queue: "research", GPUMilliHours: 8000}}}}, training("a", 1))
	_, err := sched.Schedule(morning)
	require.NoError(t, err)
	saved, err := sched.Snapshot()
	require.NoError(t, err)
	again, err := core.Restore(saved)
	require.NoError(t, err)
	at, _ := again.NextWake()
	require.Equal(t, morning.Add(2*berth.Minute), at, "its Bind")
	require.Equal(t, morning.Add(berth.Hour), again.Report().Budgets[0].UsedUpAt)
	const account = `"budgets":[{"rateMilli":8000,"high":-1,"low":18432605318509551616}]`
	require.Contains(t, string(saved), account)
	for _, c := range []struct{ text, field string }{
		{`"budgets":[{"rateMilli":7000,"high":-1,"low":18434372662909551616}]`, "budgets[0].rateMilli"},
		{`"budgets":[{"rateMilli":8000,"high":-2,"low":1}]`, "budgets[0]"},
		{`"budgets":[{},{}]`, "budgets"},
	} {
		_, err := core.Restore([]byte(strings.Replace(string(saved), account, c.text, 1)))
		var refused *berth.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.field, refused.Field)
	}
}
