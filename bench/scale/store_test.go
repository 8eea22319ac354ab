package scale

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// BenchmarkSnapshot is a snapshot of a full fleet for which much waits.
func BenchmarkSnapshot(b *testing.B) {
	eachThrong(b, func(b *testing.B, sched *core.Core) {
		b.ReportAllocs()
		for b.Loop() {
			snapshot, err := sched.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(snapshot)))
		}
	})
}

// BenchmarkRestore makes a core of such a snapshot.
func BenchmarkRestore(b *testing.B) {
	eachThrong(b, func(b *testing.B, sched *core.Core) {
		snapshot, err := sched.Snapshot()
		require.NoError(b, err)
		b.SetBytes(int64(len(snapshot)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := core.Restore(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// eachThrong runs a benchmark on full fleets of two sizes.
func eachThrong(b *testing.B, run func(*testing.B, *core.Core)) {
	for _, size := range []struct{ gpus, queues, pending int }{{small, 32, 3125}, {large, 1000, 100_000}} {
		b.Run(fmt.Sprintf("gpus=%d/pending=%d", size.gpus, size.pending), func(b *testing.B) {
			run(b, newThrong(b, size.gpus, size.queues, size.pending))
		})
	}
}

// BenchmarkSubmit tells of one job more than wait already, which asks for what others ask for, or
// for what nobody does.
func BenchmarkSubmit(b *testing.B) {
	for _, distinct := range []bool{false, true} {
		b.Run(fmt.Sprintf("pending=100000/distinct=%v", distinct), func(b *testing.B) {
			sched := newThrong(b, large, 1000, 100_000)
			number := 0
			b.ReportAllocs()
			for b.Loop() {
				number++
				job := jobOf(fmt.Sprintf("more-%07d", number), fmt.Sprintf("queue-%05d", number%1000), 1+number%5, 1+number%8)
				if distinct {
					job.Groups[0].Claim.MemoryMiB += int64(number)
				}
				tell(b, sched, berth.JobSubmitted{Job: job})
			}
		})
	}
}

// wait adds jobs that wait, of 20 shapes in all queues, as newThrong does.
func wait(tb testing.TB, sched *core.Core, queues, pending int) {
	tb.Helper()
	for i := range pending {
		shape := i / queues % shapes
		tell(tb, sched, berth.JobSubmitted{Job: jobOf(fmt.Sprintf("waits-%07d", i), fmt.Sprintf("queue-%05d", i%queues), 1+shape/4, 1<<(shape%4))})
	}
	rest(tb, sched)
}

// eightGPUs is what a node has.
func eightGPUs() []berth.GPU {
	gpus := make([]berth.GPU, gpusPerNode)
	for i := range gpus {
		gpus[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	}
	return gpus
}

// logOfLives is the journal of a fleet on which jobs come, run and end, so many between two passes.
func logOfLives(tb testing.TB, gpus, lives, batch int) ([]byte, journal.Counts) {
	tb.Helper()
	sched, err := core.New(berth.Config{Levels: []string{"spine", "leaf"}})
	require.NoError(tb, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	require.NoError(tb, err)
	now := berth.Time(0)
	tell := func(e berth.Event) {
		err := sched.Apply(now, e)
		require.NoError(tb, err)
		w.Applied(now, e, err)
	}
	tell(berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	for i := range gpus / gpusPerNode {
		tell(berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(nodeName(i)), Domains: domains(i), GPUs: eightGPUs(), CPUMilli: cpuMilli, MemoryMiB: memoryMiB,
		}})
	}
	for number := 0; number < lives; number += batch {
		for i := range batch {
			tell(berth.JobSubmitted{Job: jobOf(fmt.Sprintf("job-%07d", number+i), "research", 1, 1<<((number+i)%4))})
		}
		orders, err := sched.Schedule(now)
		require.NoError(tb, err)
		require.Len(tb, orders, batch)
		w.Scheduled(now, orders)
		now = now.Add(berth.Second)
		for _, o := range orders {
			tell(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
		now = now.Add(berth.Second)
		for _, o := range orders {
			tell(berth.JobFinished{Job: o.Header().Job, Incarnation: o.Header().Incarnation})
		}
	}
	require.NoError(tb, w.Flush())
	return out.Bytes(), w.Counts()
}

// BenchmarkReplay replays a journal of whole lives: three events and an order each.
func BenchmarkReplay(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("gpus=%d/batch=%d", small, batch), func(b *testing.B) {
			text, counts := logOfLives(b, small, 64*300, batch)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := journal.Replay(bytes.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(counts.Events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// heap is what is in use after a collection, in bytes.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkHeap is what a core keeps of each GPU of a full fleet, and of each job that waits.
func BenchmarkHeap(b *testing.B) {
	eachHeap := func(gpus, queues, pending int) (perGPU, perJob float64) {
		empty := heap()
		sched := newThrong(b, gpus, queues, 0)
		full := heap()
		wait(b, sched, queues, pending)
		waits := heap()
		runtime.KeepAlive(sched)
		return (full - empty) / float64(gpus), (waits - full) / float64(pending)
	}
	b.Run(fmt.Sprintf("gpus=%d/pending=100000", large), func(b *testing.B) {
		for b.Loop() {
			perGPU, perJob := eachHeap(large, 1000, 100_000)
			b.ReportMetric(perGPU, "B/GPU")
			b.ReportMetric(perJob, "B/job")
		}
	})
}

// Lives that are over leave nothing behind: what is in use after many is what was in use after few.
func TestLivesThatAreOverLeaveNothing(t *testing.T) {
	live := living(t, small, 1, 1)
	after := func(lives int) float64 {
		for range lives {
			require.True(t, live())
		}
		return heap()
	}
	few := after(2000)
	require.InDelta(t, few, after(40_000), 64<<10, "%.0f bytes before", few)
	runtime.KeepAlive(live)
}

// What a job keeps does not depend on how many wait, and what jobs have in common is kept once.
func TestAJobThatWaitsKeepsLittle(t *testing.T) {
	for _, pending := range []int{5000, 20_000} {
		sched := newThrong(t, small, 32, 0)
		before := heap()
		wait(t, sched, 32, pending)
		require.Less(t, (heap()-before)/float64(pending), 1350.0, "%d wait", pending)
		runtime.KeepAlive(sched)
	}
}

// A submission allocates what the core keeps of a job, however many wait.
func TestASubmissionAllocatesWhatIsKept(t *testing.T) {
	for _, pending := range []int{2000, 20_000} {
		sched := newThrong(t, small, 32, pending)
		jobs := make([]berth.Job, 102)
		for i := range jobs {
			jobs[i] = jobOf(fmt.Sprintf("more-%07d", i), "queue-00001", 1, 1)
		}
		next := 0
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			tell(t, sched, berth.JobSubmitted{Job: jobs[next]})
			next++
		}), 7.0, "%d wait", pending)
	}
}

// A replay, a snapshot and a restore allocate in proportion: for each event, for each job.
func TestStoringAllocatesInProportion(t *testing.T) {
	for _, many := range []int{1000, 4000} {
		text, counts := logOfLives(t, 512, many/50*50, 50)
		require.Less(t, testing.AllocsPerRun(1, func() {
			_, err := journal.Replay(bytes.NewReader(text))
			require.NoError(t, err)
		})/float64(counts.Events), 16.0)
		sched := newThrong(t, many*gpusPerNode/4, 32, many)
		var snapshot []byte
		jobs := float64(many + many/4)
		require.Less(t, testing.AllocsPerRun(1, func() {
			var err error
			snapshot, err = sched.Snapshot()
			require.NoError(t, err)
		})/jobs, 20.0)
		require.Less(t, testing.AllocsPerRun(1, func() {
			_, err := core.Restore(snapshot)
			require.NoError(t, err)
		})/jobs, 32.0)
	}
}
