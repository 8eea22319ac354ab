package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
)

// BenchmarkClaims is all passes until many claims of instances have their places, or have to wait;
// ns/pass-max is the longest of them. What GPUs are to become is done at once.
func BenchmarkClaims(b *testing.B) {
	for _, geometry := range []berth.Geometry{
		{Kind: berth.GeometryAdaptive}, {Kind: berth.GeometryAdaptive, PerHour: 10_000}, {Kind: berth.GeometryPerClaim}, {Kind: berth.GeometryPerClaim, PerHour: 10_000},
	} {
		for _, size := range []struct{ gpus, claims int }{{small, 1000}, {large, 10_000}} {
			b.Run(fmt.Sprintf("%v/per-hour=%d/gpus=%d/claims=%d", geometry.Kind, geometry.PerHour, size.gpus, size.claims), func(b *testing.B) {
				leaveOut(b, size.gpus > small)
				longest, passes, orders := time.Duration(0), 0, 0
				for b.Loop() {
					b.StopTimer()
					sched := newDivisible(b, size.gpus, geometry.Kind, geometry.PerHour)
					claimParts(b, sched, size.claims)
					b.StartTimer()
					for range 8 { // as long as a wait that outweighs the cost of a change
						p, l := rest(b, sched)
						passes, longest = passes+p, max(longest, l)
						_, err := sched.Schedule(sched.Now().Add(10 * berth.Minute))
						require.NoError(b, err)
					}
					b.StopTimer()
					orders = int(sched.Report().Replicas.Running)
					b.StartTimer()
				}
				b.ReportMetric(float64(longest.Nanoseconds()), "ns/pass-max")
				b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
				b.ReportMetric(float64(orders), "running")
			})
		}
	}
}

// BenchmarkColdStart is all passes in which jobs of mixed sizes find their places on an empty
// fleet, and the longest of them.
func BenchmarkColdStart(b *testing.B) {
	for _, size := range []struct{ gpus, jobs, budget int }{{small, 3125, 10_000}, {large, 100_000, 10_000}, {large, 100_000, 1000}} {
		b.Run(fmt.Sprintf("gpus=%d/jobs=%d/budget=%d", size.gpus, size.jobs, size.budget), func(b *testing.B) {
			leaveOut(b, size.gpus > small)
			longest, passes, bound := time.Duration(0), 0, 0
			for b.Loop() {
				b.StopTimer()
				sched := newCold(b, size.gpus, 1, size.jobs)
				tell(b, sched, berth.PolicyChanged{Policy: berth.Policy{PassBudget: size.budget}})
				bound = 0
				b.StartTimer()
				for at, due := sched.Now(), true; due && at <= sched.Now(); at, due = sched.NextWake() {
					began := time.Now()
					bound += len(pass(b, sched))
					longest = max(longest, time.Since(began))
					passes++
				}
			}
			b.ReportMetric(float64(longest.Nanoseconds()), "ns/pass-max")
			b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
			b.ReportMetric(float64(bound), "bound")
		})
	}
}
