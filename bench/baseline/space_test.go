package baseline_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/internal/drawn"
)

// A dumb buddy finds the smallest block, of a power of two of GPUs and aligned to it, that is
// wholly free and in no larger one that is.
func dumbBuddy(free berth.GPUSet, gpus int) (size int) {
	whole := func(from, size int) bool {
		for i := from; i < from+size; i++ {
			if !free.Has(i) {
				return false
			}
		}
		return true
	}
	for size := 1; size <= 64; size *= 2 {
		for from := 0; size >= gpus && from < 64; from += size {
			if whole(from, size) && (size == 64 || !whole(from/(2*size)*(2*size), 2*size)) {
				return size
			}
		}
	}
	return 0
}

func TestFitsTakeFreeGPUs(t *testing.T) {
	drawn.Check(t, func(r *rapid.T) {
		free := berth.GPUSet(rapid.Uint64().Draw(r, "free") | rapid.Uint64().Draw(r, "more"))
		gpus := rapid.IntRange(1, 16).Draw(r, "gpus")
		chosen, waste, fits := baseline.BestFit(free, gpus)
		require.Equal(r, free.Len() >= gpus, fits)
		if fits {
			require.Equal(r, free.Len(), waste)
			require.Zero(r, chosen&^free)
			require.Equal(r, gpus, chosen.Len())
		}
		chosen, waste, fits = baseline.Buddy(free, gpus)
		require.Equal(r, dumbBuddy(free, gpus), waste)
		require.Equal(r, waste > 0, fits)
		if fits {
			require.Zero(r, chosen&^free)
			require.Equal(r, gpus, chosen.Len())
			first := bits.TrailingZeros64(uint64(chosen))
			require.Less(r, 63-bits.LeadingZeros64(uint64(chosen)), first-first%waste+waste, "in one block")
		}
	})
}
