package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// BenchmarkVictimsOfSingles is a pass that finds the victims of one gang on fleets full of
// single-GPU jobs, and asks them for checkpoints; then the gang is cancelled, and they are told
// to go on.
func BenchmarkVictimsOfSingles(b *testing.B) {
	for _, nodes := range []int{500, 4_000, 16_384} {
		for _, lent := range []bool{true, false} {
			var sched *core.Core
			for _, gang := range []struct{ members, gpus int }{{1, 1}, {1, 4}, {1, 8}, {64, 8}} {
				b.Run(fmt.Sprintf("nodes=%d/%dx%d/lent=%t", nodes, gang.members, gang.gpus, lent), func(b *testing.B) {
					if sched == nil {
						sched = newSingles(b, nodes, lent)
						b.ResetTimer()
					}
					b.ReportAllocs()
					victims, n := 0, 0
					for b.Loop() {
						b.StopTimer()
						id := burst(b, sched, fmt.Sprintf("burst-%d-%d-%d", gang.members, gang.gpus, n), lent, gang.members, gang.gpus)
						n++
						b.StartTimer()
						victims = len(pass(b, sched))
						b.StopTimer()
						tell(b, sched, berth.JobCancelled{Job: id})
						pass(b, sched)
						b.StartTimer()
					}
					require.Equal(b, gang.members*gang.gpus, victims)
					b.ReportMetric(float64(victims), "victims")
				})
			}
		}
	}
}

// BenchmarkVictimsOfMany is all passes until many gangs of distinct demands have their victims;
// ns/pass-max is the longest of them.
func BenchmarkVictimsOfMany(b *testing.B) {
	for _, nodes := range []int{500, 4_000, 16_384} {
		for _, lent := range []bool{true, false} {
			var sched *core.Core
			for _, jobs := range []int{64, 1000} {
				if jobs*20 > nodes*gpusPerNode {
					continue
				}
				b.Run(fmt.Sprintf("nodes=%d/jobs=%d/lent=%t", nodes, jobs, lent), func(b *testing.B) {
					if sched == nil {
						sched = newSingles(b, nodes, lent)
						burst(b, sched, "first", lent, 1, 1)
						pass(b, sched)
						b.ResetTimer()
					}
					longest, passes, n := time.Duration(0), 0, 0
					for b.Loop() {
						b.StopTimer()
						gpus, ids := bursts(b, sched, fmt.Sprintf("burst-%d-%d", jobs, n), lent, jobs)
						n++
						victims := 0
						passes = 0
						for at, due := sched.Now(), true; due && at <= sched.Now(); at, due = sched.NextWake() {
							b.StartTimer()
							began := time.Now()
							victims += len(pass(b, sched))
							longest = max(longest, time.Since(began))
							b.StopTimer()
							passes++
						}
						require.Equal(b, gpus, victims)
						for _, id := range ids {
							tell(b, sched, berth.JobCancelled{Job: id})
						}
						pass(b, sched)
						b.StartTimer()
					}
					b.ReportMetric(float64(longest.Nanoseconds()), "ns/pass-max")
					b.ReportMetric(float64(passes), "passes")
				})
			}
		}
	}
}

// Victims are found among more jobs than a search can look at, whose order of age has nothing to do
// with where they stand.
func TestVictimsOnAFullFleet(t *testing.T) {
	for _, lent := range []bool{true, false} {
		sched := newSingles(t, 1000, lent)
		for _, gang := range []struct{ members, gpus int }{{1, 8}, {64, 8}} {
			burst(t, sched, fmt.Sprintf("burst-%d", gang.members), lent, gang.members, gang.gpus)
			require.Len(t, pass(t, sched), gang.members*gang.gpus, "%d x %d GPUs, lent: %t", gang.members, gang.gpus, lent)
		}
	}
}
