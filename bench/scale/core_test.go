package scale

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// living submits a job, has a pass bind it, reports that it runs and that it has
// finished: a whole life through the public API.
func living(tb testing.TB, gpus, members, each int) decision {
	free := fill(gpus)
	if members > 1 {
		free = fillForGang(gpus)
	}
	core := newCore(tb, free)
	job := jobOf("job", "running", members, each)
	return func() bool {
		tell(tb, core, berth.JobSubmitted{Job: job})
		actions := pass(tb, core)
		if len(actions) != 1 {
			return false
		}
		bind := actions[0].Header()
		tell(tb, core, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
		tell(tb, core, berth.JobFinished{Job: job.ID, Incarnation: bind.Incarnation})
		return true
	}
}

var lives = []struct {
	name          string
	members, each int
}{{"one-GPU", 1, 1}, {"one-node", 1, 8}, {"gang-of-512", 64, 8}}

// BenchmarkLife measures whole lives on each fleet. One op is a life: three events,
// a pass, an order.
func BenchmarkLife(b *testing.B) {
	for _, l := range lives {
		for _, gpus := range []int{small, large} {
			b.Run(fmt.Sprintf("%s/gpus=%d", l.name, gpus), func(b *testing.B) {
				live := living(b, gpus, l.members, l.each)
				b.ReportAllocs()
				for b.Loop() {
					if !live() {
						b.Fatal("does not fit")
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			})
		}
	}
}

// BenchmarkLifeRatio is BenchmarkDecisionRatio for whole lives.
func BenchmarkLifeRatio(b *testing.B) {
	for _, l := range lives {
		b.Run(l.name, func(b *testing.B) {
			benchmarkRatio(b, living(b, small, l.members, l.each), living(b, large, l.members, l.each))
		})
	}
}

// A life allocates what the core has to keep and to hand out, and no more on a
// large fleet than on a small one.
func TestLivesAllocateTheSameOnEveryFleet(t *testing.T) {
	for _, l := range lives {
		var allocs [2]float64
		for i, gpus := range []int{small, large} {
			live := living(t, gpus, l.members, l.each)
			for range 100 {
				require.True(t, live())
			}
			allocs[i] = testing.AllocsPerRun(100, func() { live() })
		}
		require.InDelta(t, allocs[0], allocs[1], 1, "%s", l.name) // the odd growth of a map
	}
}
