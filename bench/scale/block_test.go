package scale

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachBlockFleet runs a benchmark on each fleet, idle and busy.
func eachBlockFleet(b *testing.B, run func(b *testing.B, free []int)) {
	for _, nodes := range blockFleets {
		b.Run(fmt.Sprintf("idle/nodes=%d", nodes), func(b *testing.B) { run(b, fillBlocks(nodes, false)) })
		b.Run(fmt.Sprintf("busy/nodes=%d", nodes), func(b *testing.B) { run(b, fillBlocks(nodes, true)) })
	}
}

func repeat(b *testing.B, decide decision) {
	b.ReportAllocs()
	for b.Loop() {
		if !decide() {
			b.Fatal("does not fit")
		}
	}
}

// BenchmarkBlockGangSearch is the search alone. One op is a place found and given back.
func BenchmarkBlockGangSearch(b *testing.B) {
	eachBlockFleet(b, func(b *testing.B, free []int) {
		repeat(b, searchingBlocks(b, free))
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/gang")
	})
}

// BenchmarkBlockGangLife is a whole life through the core: three events and a pass.
// ns/pass is the pass that places the gang and gives the order.
func BenchmarkBlockGangLife(b *testing.B) {
	eachBlockFleet(b, func(b *testing.B, free []int) {
		live, passes := livingInBlocks(b, free)
		live() // what grows has grown
		*passes = 0
		repeat(b, live)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/gang")
		b.ReportMetric(float64(passes.Nanoseconds())/float64(b.N), "ns/pass")
	})
}

// The busy fleets are as busy as they are said to be, and the search in them allocates
// nothing.
func TestBlockGangs(t *testing.T) {
	for _, nodes := range blockFleets {
		free, total := fillBlocks(nodes, true), 0
		for _, n := range free {
			total += n
		}
		require.InDelta(t, 0.3, float64(total)/float64(nodes*gpusPerNode), 0.01, nodes)
		decide := searchingBlocks(t, free)
		for range 100 {
			require.True(t, decide(), nodes)
		}
		require.Zero(t, testing.AllocsPerRun(100, func() { decide() }), nodes)
		live, _ := livingInBlocks(t, free)
		require.True(t, live(), nodes)
	}
}
