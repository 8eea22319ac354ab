package scale

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkReport is the report of a fleet for which little and much waits, of few shapes and many.
func BenchmarkReport(b *testing.B) {
	for _, size := range []struct{ gpus, shapes, pending int }{
		{small, 1000, 1000}, {large, 1, 1000}, {large, 20, 100_000}, {large, 1000, 100_000}, {large, 20_000, 20_000}, {large, 100_000, 100_000},
	} {
		b.Run(fmt.Sprintf("gpus=%d/shapes=%d/pending=%d", size.gpus, size.shapes, size.pending), func(b *testing.B) {
			leaveOut(b, size.gpus > small)
			c := newVaried(b, size.gpus, size.shapes, size.pending)
			b.ReportAllocs()
			for b.Loop() {
				c.core.Report()
			}
		})
	}
}

// What a report allocates does not grow with the number of requests that differ.
func TestAReportAllocatesNoMoreForMoreShapes(t *testing.T) {
	var bytes [2]uint64
	for i, shapes := range []int{250, 2000} {
		c := newVaried(t, small, shapes, shapes)
		c.core.Report()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.core.Report()
		runtime.ReadMemStats(&after)
		bytes[i] = after.TotalAlloc - before.TotalAlloc
	}
	require.InDelta(t, bytes[0], bytes[1], 4096, "bytes")
}
