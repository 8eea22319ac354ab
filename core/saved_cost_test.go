package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// awaited is a core on one node, for which so many jobs of few patterns wait.
func awaited(t *testing.T, jobs int) *core.Core {
	t.Helper()
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	require.NoError(t, sched.Apply(0, berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "T4"}}}}))
	require.NoError(t, sched.Apply(0, queueSet("team-a", "")))
	for i := range jobs {
		require.NoError(t, sched.Apply(0, berth.JobSubmitted{Job: gangJob(berth.JobID(fmt.Sprintf("job-%05d", i)), 2+i%4, 1)}))
	}
	_, err = sched.Schedule(0)
	require.NoError(t, err)
	return sched
}

// What one more job that waits costs in allocations: to cut, to restore, and in a what-if, which
// does both and writes and reads nothing.
func TestWhatASavedJobCosts(t *testing.T) {
	small, large := awaited(t, 1000), awaited(t, 3000)
	perJob := func(do func(*core.Core)) float64 {
		few := testing.AllocsPerRun(3, func() { do(small) })
		many := testing.AllocsPerRun(3, func() { do(large) })
		return (many - few) / 2000
	}
	text := map[*core.Core]string{small: textOf(t, small), large: textOf(t, large)}
	cut := perJob(func(c *core.Core) { c.Cut() })
	restore := perJob(func(c *core.Core) { scripted(t, c, []byte(text[c])) })
	whatIf := perJob(func(c *core.Core) {
		_, err := c.WhatIf(0, berth.NodeCordoned{Node: "n"})
		require.NoError(t, err)
	})
	t.Logf("allocations: cut %.2f, restore %.2f, what-if %.2f", cut, restore, whatIf)
	require.Less(t, cut, 2.5)
	require.Less(t, restore, 10.5)
	require.Less(t, whatIf, 7.5)
}
