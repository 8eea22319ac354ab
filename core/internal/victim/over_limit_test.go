package victim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/roomtest"
	"github.com/berth-sched/berth/quota"
)

// over names what goes so that a queue is within a limit.
func over(m *roomtest.Machine, q quota.Queue) []string {
	return named(m.Victims.OverLimit(m.SetQueue(q).Index))
}

// What goes is enough, none of it could be left out, and nothing is changed by the choice.
func TestAQueueComesWithinItsLimitByAsLittleAsIsNeeded(t *testing.T) {
	m := machine(t, 4)
	m.SetQueue(quota.Queue{Name: "q"})
	m.RunSince(0, job("first", "q", 1, 2), "n1")
	m.RunSince(1, job("small", "q", 1, 1), "n1")
	m.RunSince(2, job("large", "q", 2, 4), "n2", "n3")
	m.RunSince(3, stretches("wide", "q", 4, 2, 1), "n4", "n4", "n4", "n4")
	limit := func(gpus int64) quota.Queue { return quota.Queue{Name: "q", Limit: quota.GPUs(gpus)} }
	require.Empty(t, over(m, limit(15)))
	require.Equal(t, []string{"wide[3]"}, over(m, limit(14)), "a surplus first, the last member")
	require.Equal(t, []string{"wide[2 3]"}, over(m, limit(13)))
	require.Equal(t, []string{"small", "wide[2 3]"}, over(m, limit(12)), "of gangs the large one is spared")
	require.Equal(t, []string{"wide"}, over(m, limit(11)), "with its surplus, which would not be enough")
	require.Equal(t, []string{"large", "wide"}, over(m, limit(3)))
	require.Equal(t, []string{"first", "large", "small", "wide"}, over(m, limit(0)))
	require.NoError(t, m.State.EachReplica(func(rep *record.Replica) error {
		require.False(t, rep.Imagined)
		return nil
	}))
}

// Queues that borrow give before others, ranks count within that, and what may not be stopped
// stays.
func TestWhatGoesForALimitGoesByRank(t *testing.T) {
	m := machine(t, 3)
	m.SetQueue(quota.Queue{Name: "org"})
	m.SetQueue(quota.Queue{Name: "own", Parent: "org", Guarantee: quota.GPUs(4)})
	m.SetQueue(quota.Queue{Name: "lent", Parent: "org"})
	m.Run(job("own", "own", 1, 4), "n1")
	high := job("high", "lent", 1, 1)
	high.Class = berth.ClassInteractive
	m.Run(high, "n2")
	m.Run(roomtest.WithPriority(job("low", "lent", 1, 1), -1), "n2")
	m.Run(job("middle", "lent", 1, 1), "n2")
	firm := job("firm", "lent", 1, 1)
	firm.NonPreemptible = true
	m.Run(firm, "n2")
	limit := func(gpus int64) quota.Queue { return quota.Queue{Name: "org", Limit: quota.GPUs(gpus)} }
	require.Equal(t, []string{"low"}, over(m, limit(7)))
	require.Equal(t, []string{"low", "middle"}, over(m, limit(6)))
	require.Equal(t, []string{"high", "low", "middle"}, over(m, limit(5)))
	require.Equal(t, []string{"own"}, over(m, limit(4)), "beside the job that is never preempted it has no room, and without it all others have")
}
