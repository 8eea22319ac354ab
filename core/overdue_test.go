package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// overdue is a core at an instant with a job on each of so many nodes that should run for 100 hours
// and began at a given minute, of a given priority, and a job that waits.
func overdue(t *testing.T, now berth.Time, nodes int, began func(i int) (minute, priority int)) *core.Core {
	t.Helper()
	h := newHarbour(t, berth.Config{})
	_, err := h.core.Schedule(berth.Time(20 * berth.Hour))
	require.NoError(t, err)
	h.nodes("n", nodes)
	for i := range nodes {
		minute, priority := began(i)
		job := overdueJob(fmt.Sprintf("runs-%04d", i))
		job.Priority = int32(priority)
		h.tell(berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
			Incarnation: 1, Started: berth.Time(minute) * berth.Time(berth.Minute),
			Members: []berth.MemberPlacement{{Node: berth.NodeID(fmt.Sprintf("n-%02d", i)), GPUs: 255}},
		}}})
	}
	h.tell(berth.JobSubmitted{Job: overdueJob("waits")})
	_, err = h.core.Schedule(now)
	require.NoError(t, err)
	return h.core
}

func overdueJob(id string) berth.Job {
	return berth.Job{ID: berth.JobID(id), Queue: "q", ExpectedRuntime: 100 * berth.Hour, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}}}
}

// TestOverdueInOrder: what should have ended is found in the order in which it is expected to end,
// alike by a walk from what is late for the shortest time and by a look at everything.
func TestOverdueInOrder(t *testing.T) {
	for seed := range drawn.Seeds(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := overdue(t, berth.Time(100*berth.Hour+5*berth.Minute), 40, func(int) (int, int) { return random.IntN(8), random.IntN(2) })
		fast, slow := core.Overdue(c)
		require.NotEmpty(t, slow)
		require.Equal(t, slow, fast)
	}
}

// TestPlanOfOverdue: a plan looks at as much of what is overdue as it needs, not at all of it.
func TestPlanOfOverdue(t *testing.T) {
	var allocs [2]float64
	for i, nodes := range [...]int{50, 800} {
		c := overdue(t, berth.Time(120*berth.Hour), nodes, func(i int) (int, int) { return i, 0 })
		allocs[i] = testing.AllocsPerRun(20, func() {
			_, err := c.Explain("waits")
			require.NoError(t, err)
		})
	}
	require.InDelta(t, allocs[0], allocs[1], 20)
}

// TestPlanOfMoreOverdueThanItLooksAt: a plan that is cut short still sees what ends first.
func TestPlanOfMoreOverdueThanItLooksAt(t *testing.T) {
	now := berth.Time(120 * berth.Hour)
	c := overdue(t, now, 40, func(i int) (int, int) { return i, 0 })
	expected := func() berth.Time {
		x, err := c.Explain("waits")
		require.NoError(t, err)
		return x.Replicas[0].Reason.ExpectedStart.Earliest
	}
	whole := expected()
	core.LowerBounds(c, func(b *core.Bounds) { b.Ends = 2 })
	require.Greater(t, whole, now)
	require.Equal(t, whole, expected())
}
