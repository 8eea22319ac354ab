package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// TestTracesRunToTheEnd: every job of a trace of each form is taken, placed and ends, and
// the promises hold on the way.
func TestTracesRunToTheEnd(t *testing.T) {
	var fleet []berth.Node
	for _, name := range []berth.NodeID{"a", "b", "c"} {
		n := berth.Node{ID: name, CPUMilli: 64_000, MemoryMiB: 1 << 20, Pool: "gpu"}
		for range 8 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "a100", MemoryMiB: 80 << 10})
		}
		fleet = append(fleet, n)
	}
	const rows = 200
	for _, c := range readers {
		t.Run(c.name, func(t *testing.T) {
			jobs := 0
			trace, err := c.read("file", &lines{line: c.line, left: rows}, workload.Options{
				Nodes: fleet, Change: func(*berth.Job) { jobs++ },
			})
			require.NoError(t, err)
			sched := runChecked(t, berth.Config{}, trace)
			require.NoError(t, trace.Err())
			require.GreaterOrEqual(t, jobs, rows-1, "one line may be the header")
			require.EqualValues(t, jobs, sched.Report().Totals.JobsFinished)
		})
	}
}

// runChecked runs a workload until nothing is left to happen, under the independent checker.
func runChecked(t *testing.T, config berth.Config, w sim.Workload) *core.Core {
	t.Helper()
	sched, err := core.New(config)
	require.NoError(t, err)
	checker := check.New(sched.Config())
	s := sim.New(sched, w, sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second,
		Applied: func(now berth.Time, e berth.Event, err error) {
			require.NoError(t, err, e)
			require.NoError(t, checker.Applied(now, e))
		},
		Scheduled: func(now berth.Time, actions []berth.Order) {
			require.NoError(t, checker.Scheduled(now, actions))
		},
	})
	require.NoError(t, s.Run(1<<62))
	return sched
}
