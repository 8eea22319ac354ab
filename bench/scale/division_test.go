package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newDivisible makes a core whose GPUs may be divided; every second node is empty and the others
// are held.
func newDivisible(tb testing.TB, gpus int, geometry berth.Geometry) *core.Core {
	tb.Helper()
	sched, err := core.New(berth.Config{
		Levels: []string{"spine", "leaf"},
		Policy: berth.Policy{Geometry: []berth.Geometry{geometry}},
	})
	require.NoError(tb, err)
	hardware := make([]berth.GPU, gpusPerNode)
	for i := range hardware {
		hardware[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}, MIGTable: "H100-80GB"}
	}
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "running", Guarantee: quota.Amounts{quota.GPUMilli: int64(gpus) * 1000}}})
	for i := range gpus / gpusPerNode {
		name := nodeName(i)
		tell(tb, sched, berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(name), Domains: domains(i), GPUs: hardware, CPUMilli: cpuMilli, MemoryMiB: memoryMiB,
		}})
		if i%2 == 0 {
			continue
		}
		tell(tb, sched, berth.JobObserved{Job: jobOf(name, "running", 1, gpusPerNode), Running: []berth.ObservedReplica{{
			Incarnation: 1, Members: []berth.MemberPlacement{{Node: berth.NodeID(name), GPUs: 1<<gpusPerNode - 1}},
		}}})
	}
	return sched
}

// claimParts submits so many jobs of one instance each, of six profiles in turns.
func claimParts(tb testing.TB, sched *core.Core, many int) {
	for i := range many {
		job := jobOf(fmt.Sprintf("part-%06d", i), "running", 1, 0)
		profiles := []string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}
		job.Groups[0].Claim = berth.Claim{MIG: profiles[i%len(profiles)], CPUMilli: 1000, MemoryMiB: 1000}
		tell(tb, sched, berth.JobSubmitted{Job: job})
	}
}

// BenchmarkClaims is all passes until many claims of instances have their places, or have to wait;
// ns/pass-max is the longest of them. What GPUs are to become is done at once.
func BenchmarkClaims(b *testing.B) {
	for _, geometry := range []berth.Geometry{
		{Kind: berth.GeometryAdaptive}, {Kind: berth.GeometryAdaptive, PerHour: 10_000}, {Kind: berth.GeometryPerClaim}, {Kind: berth.GeometryPerClaim, PerHour: 10_000},
	} {
		for _, size := range []struct{ gpus, claims int }{{small, 1000}, {large, 10_000}} {
			b.Run(fmt.Sprintf("%v/per-hour=%d/gpus=%d/claims=%d", geometry.Kind, geometry.PerHour, size.gpus, size.claims), func(b *testing.B) {
				longest, passes, orders := time.Duration(0), 0, 0
				for b.Loop() {
					b.StopTimer()
					sched := newDivisible(b, size.gpus, geometry)
					rest(b, sched)
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
			longest, passes, bound := time.Duration(0), 0, 0
			for b.Loop() {
				b.StopTimer()
				free := make([]int, size.gpus/gpusPerNode)
				for i := range free {
					free[i] = gpusPerNode
				}
				sched := newCore(b, free)
				for i := range size.jobs {
					members, each := 1, 1<<(i%4)
					if i%100 == 99 {
						members, each = 1<<(i/100%7), gpusPerNode
					}
					tell(b, sched, berth.JobSubmitted{Job: jobOf(fmt.Sprintf("cold-%06d", i), "running", members, each)})
				}
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
