package life_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// Eight jobs tell ten hours. Seven run for one, and the last for nineteen, which is within a factor
// of two. From the fifth on the core expects an hour.
func TestForesight(t *testing.T) {
	w := &life.Workload{
		Nodes:  []berth.Node{{ID: "n", GPUs: berth.EqualGPUs(1, berth.GPU{Product: "H100", MemoryMiB: 81_920})}},
		Queues: []quota.Queue{{Name: "q"}},
	}
	for i := range 8 {
		job := berth.Job{ID: berth.JobID('a' + rune(i)), Queue: "q", ExpectedRuntime: 10 * berth.Hour, Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}
		runs := berth.Hour
		if i == 7 {
			runs = 19 * berth.Hour
		}
		w.Jobs = append(w.Jobs, sim.Arrival{At: berth.Time(i) * berth.Time(berth.Day), Runtime: runs, Event: berth.JobSubmitted{Job: job}})
	}
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	seen := life.Foresee(sched)
	_, _, err = life.Play(seen, w, life.Options{})
	require.NoError(t, err)
	told, learned := seen.Shares()
	require.InDelta(t, 100*1.0/8, told, 1e-9, "the last")
	require.InDelta(t, 100*3.0/8, learned, 1e-9, "those after four, but for the last")
}
