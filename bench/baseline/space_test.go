package baseline_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
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

// A job goes to the pools and products that it asks for, and waits where these have no room.
func TestSelectors(t *testing.T) {
	s := baseline.New(baseline.FIFO{}, baseline.BestFit)
	for _, n := range []struct{ id, pool, product string }{{"a", "old", "V100"}, {"b", "new", "A100"}, {"c", "new", "V100"}} {
		gpus := []berth.GPU{{Product: n.product}}
		require.NoError(t, s.Apply(0, berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(n.id), Pool: n.pool, GPUs: gpus}}))
	}
	require.NoError(t, s.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "q"}}))
	submit := func(id berth.JobID, selector berth.Selector) {
		groups := []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}, Selector: selector}}
		require.NoError(t, s.Apply(0, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: groups}}))
	}
	submit("any old product of the new pool", berth.Selector{Pools: []string{"new"}, Products: []string{"V100"}})
	submit("new", berth.Selector{Pools: []string{"new"}})
	submit("a second A100", berth.Selector{Products: []string{"A100"}})
	orders, err := s.Schedule(0)
	require.NoError(t, err)
	var nodes []berth.NodeID
	for _, o := range orders {
		nodes = append(nodes, o.(berth.Bind).Members[0].Node)
	}
	require.Equal(t, []berth.NodeID{"c", "b"}, nodes, "the third waits, though a is free")
}
