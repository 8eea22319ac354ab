package scale

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

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
		require.LessOrEqual(t, allocs[0], l.most, l.name)
	}
}

// Lives of a few patterns in turns allocate as those of one: what the last jobs asked for is known.
func TestLivesOfAFewPatternsAllocateAsThoseOfOne(t *testing.T) {
	var allocs [2]float64
	for i, patterns := range []int{1, 4} {
		sched, number := newCore(t, fill(small)), 0
		live := func() {
			tell(t, sched, berth.JobSubmitted{Job: jobOf("job", "running", 1, 1+number%patterns)})
			require.True(t, liveOn(t, sched, pass(t, sched)))
			number++
		}
		for range 100 {
			live()
		}
		allocs[i] = testing.AllocsPerRun(100, live)
	}
	require.InDelta(t, allocs[0], allocs[1], 2)
}
