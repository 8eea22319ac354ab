package scale

import (
	"fmt"
	"testing"

	"github.com/berth-sched/berth"
)

// newVaried is a core with a fleet of which a tenth of the GPUs is free, in crumbs, and with jobs
// that wait for capacity: of so many shapes, none of which fits on any crumb.
func newVaried(tb testing.TB, gpus, shapes, pending int) *crowd {
	tb.Helper()
	c := newCrowd(tb, gpus, 0)
	for i := range pending {
		shape := i % shapes
		job := jobOf(fmt.Sprintf("waits-%07d", i), fmt.Sprintf("queue-%03d", shape%queues), 1+shape%16, 3+shape%6)
		job.Groups[0].Claim.MemoryMiB += int64(shape)
		tell(tb, c.core, berth.JobSubmitted{Job: job})
	}
	for range 1000 {
		pass(tb, c.core)
		if at, due := c.core.NextWake(); !due || at > c.core.Now() {
			return c
		}
	}
	tb.Fatal("it does not rest")
	return nil
}

// BenchmarkReport is the report of a fleet for which little and much waits, of few shapes and many.
func BenchmarkReport(b *testing.B) {
	for _, size := range []struct{ gpus, shapes, pending int }{
		{small, 1000, 1000}, {large, 1, 1000}, {large, 20, 100_000}, {large, 1000, 100_000}, {large, 20_000, 20_000}, {large, 100_000, 100_000},
	} {
		b.Run(fmt.Sprintf("gpus=%d/shapes=%d/pending=%d", size.gpus, size.shapes, size.pending), func(b *testing.B) {
			c := newVaried(b, size.gpus, size.shapes, size.pending)
			b.ReportAllocs()
			for b.Loop() {
				c.core.Report()
			}
		})
	}
}
