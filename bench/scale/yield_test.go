package scale

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// full is how many nodes are full of jobs that may be evicted.
const full = 500

// newFull makes a core with full nodes of mixed jobs, from single GPUs to gangs of 32
// nodes, of a queue that has borrowed all of it (lent) or owns it.
func newFull(tb testing.TB, lent bool) *core.Core {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
	require.NoError(tb, err)
	gpus := make([]berth.GPU, gpusPerNode)
	for i := range gpus {
		gpus[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	}
	all := quota.Amounts{quota.GPUMilli: full * gpusPerNode * 1000}
	train, serve := quota.Queue{Name: "train", Guarantee: all}, quota.Queue{Name: "serve"}
	if lent {
		train.Guarantee, serve.Guarantee = nil, all
	}
	tell(tb, sched, berth.QueueSet{Queue: train})
	tell(tb, sched, berth.QueueSet{Queue: serve})
	for i := range full {
		tell(tb, sched, berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(nodeName(i)), Domains: domains(i), GPUs: gpus, CPUMilli: cpuMilli, MemoryMiB: memoryMiB,
		}})
	}
	random := rand.New(rand.NewPCG(11, 12))
	number := 0
	run := func(nodes []int, each int, mask berth.GPUSet) {
		job := jobOf(fmt.Sprintf("train-%05d", number), "train", len(nodes), each)
		number++
		job.Checkpoint = berth.Checkpoint{
			Supported: random.IntN(3) > 0, Interval: berth.Hour,
			Cost: berth.Duration(5_000 + random.Int64N(60_000)), RestartCost: berth.Duration(30_000 + random.Int64N(120_000)),
		}
		running := berth.ObservedReplica{Incarnation: 1, Started: sched.Now()}
		for m, n := range nodes {
			running.Members = append(running.Members, berth.MemberPlacement{Index: m, Node: berth.NodeID(nodeName(n)), GPUs: mask})
		}
		tell(tb, sched, berth.JobObserved{Job: job, Running: []berth.ObservedReplica{running}})
	}
	for node := 0; node < full; {
		if random.IntN(50) == 0 {
			var nodes []int
			for range min(4<<random.IntN(4), full-node) {
				nodes = append(nodes, node)
				node++
			}
			run(nodes, 8, 255)
			continue
		}
		for used := 0; used < gpusPerNode; {
			each := 1 << random.IntN(4)
			for each > gpusPerNode-used {
				each /= 2
			}
			run([]int{node}, each, (1<<each-1)<<used)
			used += each
		}
		node++
	}
	_, err = sched.Schedule(sched.Now().Add(2 * berth.Hour))
	require.NoError(tb, err)
	return sched
}

// BenchmarkVictims is a pass that finds the victims of one gang among all that runs on 500
// full nodes, and asks them.
func BenchmarkVictims(b *testing.B) {
	for _, lent := range []bool{true, false} {
		for _, gang := range []struct{ members, gpus int }{{1, 1}, {64, 1}, {1, 8}, {8, 8}, {64, 8}} {
			b.Run(fmt.Sprintf("%dx%d/lent=%t", gang.members, gang.gpus, lent), func(b *testing.B) {
				sched := newFull(b, lent)
				snapshot, err := sched.Snapshot()
				require.NoError(b, err)
				victims := 0
				for b.Loop() {
					b.StopTimer()
					sched, err := core.Restore(snapshot)
					require.NoError(b, err)
					queue := "train"
					if lent {
						queue = "serve"
					}
					job := jobOf("burst", queue, gang.members, gang.gpus)
					job.Class = berth.ClassLatencyCritical
					tell(b, sched, berth.JobSubmitted{Job: job})
					b.StartTimer()
					victims = len(pass(b, sched))
				}
				require.Positive(b, victims)
				b.ReportMetric(float64(victims), "victims")
			})
		}
	}
}
