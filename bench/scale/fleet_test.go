package scale

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The fleets are what the benchmarks say they are.
func TestFills(t *testing.T) {
	for _, gpus := range []int{small, large} {
		for name, free := range map[string][]int{"fill": fill(gpus), "crumbs": fillInCrumbs(gpus)} {
			total := 0
			for _, n := range free {
				total += n
			}
			require.Equal(t, gpus/10, total, "%s of %d", name, gpus)
		}
		whole := 0
		for _, n := range fillFor(gpus, 64) {
			if n == gpusPerNode {
				whole++
			}
		}
		require.GreaterOrEqual(t, whole, 64, gpus)
	}
}

// leaveOut skips a state that takes long to build where the short form was asked for.
func leaveOut(b *testing.B, isLarge bool) {
	if testing.Short() && isLarge {
		b.Skip("the short form leaves it out")
	}
}
