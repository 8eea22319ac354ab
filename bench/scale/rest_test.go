package scale

import (
	"testing"
	"time"
)

// BenchmarkCompletionToRest is what it takes after the end of a job until nothing is due: to tell
// it, the pass that gives its place to another, and all that may look for victims thereupon.
func BenchmarkCompletionToRest(b *testing.B) {
	for _, size := range []throngSize{{small, 25, 20, 2500}, {4 * small, 100, 20, 10_000}, {large, 1000, 20, 100_000}} {
		b.Run(size.String(), func(b *testing.B) {
			leaveOut(b, size.gpus > small)
			finish := finishing(newThrongOf(b, size))
			passes, longest := 0, time.Duration(0)
			for b.Loop() {
				many, most := finish(b)
				passes, longest = passes+many, max(longest, most)
			}
			b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
			b.ReportMetric(float64(longest.Nanoseconds()), "longest-ns")
		})
	}
}
