package scale

import (
	"fmt"
	"testing"
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
