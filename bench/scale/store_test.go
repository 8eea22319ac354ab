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
			leaveOut(b, size.gpus > small)
			run(b, newThrong(b, size.gpus, size.queues, size.pending))
		})
	}
}

// BenchmarkSubmit tells of one job more than wait already, which asks for what others ask for, or
// for what nobody does.
func BenchmarkSubmit(b *testing.B) {
	for _, distinct := range []bool{false, true} {
		b.Run(fmt.Sprintf("pending=100000/distinct=%v", distinct), func(b *testing.B) {
			leaveOut(b, true)
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

// BenchmarkHeap is what a core keeps of each GPU of a full fleet, and of each job that waits.
func BenchmarkHeap(b *testing.B) {
	b.Run(fmt.Sprintf("gpus=%d/pending=100000", large), func(b *testing.B) {
		leaveOut(b, true)
		for b.Loop() {
			perGPU, perJob := keeping(b, throngSize{large, 1000, shapes, 100_000})
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

// What a GPU and a job that waits keep does not depend on how many there are, and what they have in
// common is kept once.
func TestGPUsAndJobsThatWaitKeepLittle(t *testing.T) {
	for _, size := range []throngSize{{small, 32, shapes, 3200}, {4 * small, 125, shapes, 12_500}} {
		perGPU, perJob := keeping(t, size)
		for range 3 { // now and then a few kilobytes of the test itself count
			gpu, job := keeping(t, size)
			perGPU, perJob = min(perGPU, gpu), min(perJob, job)
		}
		require.Less(t, perGPU, 400.0, size)
		require.Less(t, perJob, 880.0, size)
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
		})/float64(counts.Events), 12.5)
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
		})/jobs, 18.0)
	}
}

// newThrong is a throng of 20 shapes.
func newThrong(tb builder, gpus, queues, pending int) *core.Core {
	tb.Helper()
	return newThrongOf(tb, throngSize{gpus, queues, shapes, pending})
}
