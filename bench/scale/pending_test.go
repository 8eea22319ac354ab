package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkReserve is the pass that gives the first gangs their reservations.
func BenchmarkReserve(b *testing.B) {
	for _, gpus := range []int{small, large} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := newCrowd(b, gpus, 1000)
				b.StartTimer()
				c.reserve(b)
			}
		})
	}
}

// BenchmarkIdlePass is a pass in which nothing changed.
func BenchmarkIdlePass(b *testing.B) {
	for _, pending := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			leaveOut(b, pending > 1000)
			c := newCrowd(b, large, pending)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, c.core)
			}
		})
	}
}

// BenchmarkCompletion is what it takes to tell that a job has finished and to run
// the pass that gives its place to one of those that wait. The rest of an op, a
// report and a submission, is not in ns/completion.
func BenchmarkCompletion(b *testing.B) {
	benchmarkCompletion(b, func(*crowd) {})
}

// BenchmarkCompletionReserved is BenchmarkCompletion while the first gangs have
// reservations.
func BenchmarkCompletionReserved(b *testing.B) {
	benchmarkCompletion(b, func(c *crowd) { c.reserve(b) })
}

func benchmarkCompletion(b *testing.B, prepare func(*crowd)) {
	for _, pending := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			leaveOut(b, pending > 1000)
			c := newCrowd(b, large, pending)
			prepare(c)
			before := c.core.Report().Totals.PlacementAttempts
			number, spent := pending, time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				took, bound := c.complete(b, number)
				spent += took
				number += bound
			}
			searches := c.core.Report().Totals.PlacementAttempts - before
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/completion")
			b.ReportMetric(float64(searches)/float64(b.N), "searches/completion")
		})
	}
}

// A completion costs a search for each shape that it could have helped, however
// many jobs wait.
func TestACompletionSearchesOncePerShape(t *testing.T) {
	for _, pending := range []int{1000, 20_000} {
		c := newCrowd(t, small, pending)
		for i := range 20 {
			before := c.core.Report().Totals.PlacementAttempts
			_, bound := c.complete(t, pending+i)
			require.Equal(t, 1, bound)
			// One of them is answered with yes, and asked once more.
			require.LessOrEqual(t, c.core.Report().Totals.PlacementAttempts-before, int64(shapes+1), "%d pending", pending)
		}
		require.NoError(t, c.core.Check())
	}
}

// An idle pass searches nothing and allocates nothing, whatever waits.
func TestAnIdlePassDoesNothing(t *testing.T) {
	c := newCrowd(t, small, 100_000)
	before := c.core.Report().Totals
	require.LessOrEqual(t, before.PlacementAttempts, int64(shapes), "one search answered for all that ask the same")
	require.Zero(t, testing.AllocsPerRun(100, func() { pass(t, c.core) }))
	require.Equal(t, before, c.core.Report().Totals)
}

// complete finishes a job that leaves a node empty and runs a pass, which binds one
// that waited: or none, or several, where nodes are kept for a gang. To keep the
// crowd as it is, as many others of their kinds are submitted, from a number on. It returns
// how long the event and the pass took, and how many were bound.
func (c *crowd) complete(tb builder, number int) (spent time.Duration, bound int) {
	start := time.Now()
	c.finish(tb)
	orders := pass(tb, c.core)
	spent = time.Since(start)
	c.replace(tb, number, orders)
	return spent, len(orders)
}
