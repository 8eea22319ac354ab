package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-sched/berth"
)

// BenchmarkCompletionToRest is what it takes after the end of a job until nothing is due: to tell
// it, the pass that gives its place to another, and all that may look for victims thereupon.
func BenchmarkCompletionToRest(b *testing.B) {
	for _, size := range []struct{ gpus, queues, pending int }{{small, 25, 2500}, {4 * small, 100, 10_000}, {large, 1000, 100_000}} {
		b.Run(fmt.Sprintf("gpus=%d/queues=%d/pending=%d", size.gpus, size.queues, size.pending), func(b *testing.B) {
			sched := newThrong(b, size.gpus, size.queues, size.pending)
			number, passes, longest := 0, 0, time.Duration(0)
			for b.Loop() {
				if _, err := sched.Schedule(sched.Now().Add(10 * berth.Minute)); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				rest(b, sched)
				b.StartTimer()
				tell(b, sched, berth.JobFinished{Job: berth.JobID(nodeName(number)), Incarnation: 1})
				many, most := rest(b, sched)
				number, passes, longest = number+1, passes+many, max(longest, most)
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
			b.ReportMetric(float64(longest.Nanoseconds()), "longest-ns")
		})
	}
}
