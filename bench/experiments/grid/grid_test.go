package grid

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/sim"
)

// A grid of some size is the beginning of a larger one, has no cell twice, and of a hundred cells
// each pair of values of two dimensions is in some.
func TestCellsSpanTheDimensions(t *testing.T) {
	all := cells(100)
	require.Equal(t, all[:12], cells(12))
	seen := map[cell]bool{}
	pairs := map[[4]int]int{}
	for _, c := range all {
		require.False(t, seen[c], c.name())
		seen[c] = true
		for a := range c {
			for b := range a {
				pairs[[4]int{a, c[a], b, c[b]}]++
			}
		}
	}
	for a := range dimensions {
		for b := range a {
			for va := range dimensions[a].values {
				for vb := range dimensions[b].values {
					even := 100 / (len(dimensions[a].values) * len(dimensions[b].values))
					require.Greater(t, 2*pairs[[4]int{a, va, b, vb}], even, "%s %s, %s %s", dimensions[a].name, dimensions[a].values[va], dimensions[b].name, dimensions[b].values[vb])
				}
			}
		}
	}
}

// What is drawn has the load of its cell until the last submission, tells of run times what the
// cell says, and asks for no more than half of the fleet.
func TestDrawnJobsAreThoseOfTheirCell(t *testing.T) {
	for _, c := range cells(40) {
		w := draw(c, 500, 7)
		require.Equal(t, w, draw(c, 500, 7))
		require.Len(t, w.Jobs, 500)
		gpus, work, saves := c.number(fleet)*gpusPerNode, 0.0, 0
		for _, a := range w.Jobs {
			job := a.Event.(berth.JobSubmitted).Job
			work += float64(gpusOf(a.Event)) * float64(a.Runtime)
			require.LessOrEqual(t, gpusOf(a.Event), gpus/2)
			switch told := job.ExpectedRuntime; c.is(known) {
			case "exact":
				require.Equal(t, a.Runtime, told)
			case "none":
				require.Zero(t, told)
			default:
				require.GreaterOrEqual(t, told, a.Runtime)
			}
			if job.Checkpoint.Supported {
				saves++
			}
		}
		span := float64(w.Jobs[len(w.Jobs)-1].At)
		require.InDelta(t, float64(c.number(load)), 100*work/span/float64(gpus), 5, c.name())
		require.Equal(t, c.is(checkpoints) == "none", saves == 0)
		require.Equal(t, c.is(checkpoints) == "all", saves == 500)
	}
}

// The bound of two jobs that want the whole fleet at once is what the better order costs, and of
// one alone nothing.
func TestLeastDelay(t *testing.T) {
	w := &life.Workload{Nodes: []berth.Node{{GPUs: berth.EqualGPUs(8, berth.GPU{})}}}
	submit := func(at berth.Time, gpus int, runs berth.Duration) {
		job := berth.Job{Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}}}
		w.Jobs = append(w.Jobs, sim.Arrival{At: at, Runtime: runs, Event: berth.JobSubmitted{Job: job}})
	}
	submit(0, 8, berth.Hour)
	require.Zero(t, leastDelay(w))
	submit(0, 8, 20*berth.Minute)
	require.InDelta(t, 10, leastDelay(w), 0.001, "the long one waits 20 minutes for the short one")
	submit(berth.Time(berth.Hour), 8, 20*berth.Minute)
	// The long one is served from 20 to 60 and from 80 to 100, at 56 2/3 in the mean: an end of
	// 86 2/3 is what the bound knows of its end at 100.
	require.InDelta(t, (86+2.0/3-60)/3, leastDelay(w), 0.001)
}

// Nobody goes below the bound.
func TestNoSchedulerGoesBelowTheLeastDelay(t *testing.T) {
	for _, c := range cells(6) {
		w := draw(c, 120, 3)
		for _, l := range append(lines(), knobs()...) {
			f, err := l.play(c, w)
			require.NoError(t, err)
			require.GreaterOrEqual(t, f.delay, leastDelay(w)-1e-6, "%s: %s", c.name(), l.Name)
			require.GreaterOrEqual(t, f.slowdown, 1.0)
			require.GreaterOrEqual(t, f.lost, -1e-9)
			if own := l.Name == "berth"; own && c.is(known) == "exact" {
				require.Equal(t, [2]float64{100, 100}, [2]float64{f.told, f.learned})
			} else if own && c.is(known) == "none" {
				require.Less(t, f.told, f.learned, "a day is no estimate")
			}
			if l.Name == mark || l.Name == "no preemption" {
				require.InDelta(t, 0, f.lost, 1e-9, "it stops nothing")
			}
		}
	}
}

func TestGrid(t *testing.T) {
	o := Options{Cells: 3, Jobs: 60, Seeds: 3, Seed: 1, Knobs: true}
	var out bytes.Buffer
	require.NoError(t, Run(context.Background(), o, &out))
	for _, text := range []string{"500", "EASY, exact", "no preemption", "95 % confidence", "as learned"} {
		require.Contains(t, out.String(), text)
	}
	o.Cells = 0
	require.ErrorIs(t, Run(context.Background(), o, io.Discard), flagline.ErrMisuse)
}
