package scale

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newSingles makes a core with so many nodes that are full of single-GPU jobs, which began in a
// random order: the worst case for a search that goes by it. They are of a queue that has
// borrowed all of it (lent) or owns it.
func newSingles(tb testing.TB, nodes int, lent bool) *core.Core {
	tb.Helper()
	free := make([]int, nodes)
	for i := range free {
		free[i] = gpusPerNode
	}
	sched := newCore(tb, free)
	all := quota.Amounts{quota.GPUMilli: int64(nodes) * gpusPerNode * 1000}
	train, serve := quota.Queue{Name: "train", Guarantee: all}, quota.Queue{Name: "serve"}
	if lent {
		train.Guarantee, serve.Guarantee = nil, all
	}
	tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: "running"}})
	tell(tb, sched, berth.QueueSet{Queue: train})
	tell(tb, sched, berth.QueueSet{Queue: serve})
	random := rand.New(rand.NewPCG(7, uint64(nodes)))
	_, err := sched.Schedule(berth.Time(4 * berth.Hour))
	require.NoError(tb, err)
	for i := range nodes * gpusPerNode {
		job := jobOf(fmt.Sprintf("train-%06d", i), "train", 1, 1)
		job.Checkpoint = berth.Checkpoint{
			Supported: true, Cost: berth.Duration(5_000 + random.Int64N(60_000)), RestartCost: berth.Duration(30_000 + random.Int64N(120_000)),
		}
		tell(tb, sched, berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
			Incarnation: 1, Started: berth.Time(random.Int64N(int64(berth.Hour))),
			Members: []berth.MemberPlacement{{Node: berth.NodeID(nodeName(i / gpusPerNode)), GPUs: 1 << (i % gpusPerNode)}},
		}}})
	}
	pass(tb, sched)
	return sched
}

// burst submits a gang of a higher class that needs victims, and returns it.
func burst(tb testing.TB, sched *core.Core, name string, lent bool, members, gpus int) berth.JobID {
	queue := "train"
	if lent {
		queue = "serve"
	}
	job := jobOf(name, queue, members, gpus)
	job.Class = berth.ClassLatencyCritical
	tell(tb, sched, berth.JobSubmitted{Job: job})
	return job.ID
}

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

// bursts submits so many jobs of a higher class with distinct demands, of one node to four.
func bursts(tb testing.TB, sched *core.Core, name string, lent bool, jobs int) (gpus int, ids []berth.JobID) {
	for i := range jobs {
		members, each := 1+i/8%4, 1+i%8
		queue := "train"
		if lent {
			queue = "serve"
		}
		job := jobOf(fmt.Sprintf("%s-%04d", name, i), queue, members, each)
		job.Class = berth.ClassLatencyCritical
		job.Groups[0].Claim.CPUMilli += int64(i)
		tell(tb, sched, berth.JobSubmitted{Job: job})
		ids = append(ids, job.ID)
		gpus += members * each
	}
	return gpus, ids
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
