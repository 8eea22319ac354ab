package gang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/topology"
)

// A borrower stands over a GPU that is held whole and lent, and its GPU is free for others once
// both are gone, or while a plan imagines so.
func TestABorrowedGPUIsNotFree(t *testing.T) {
	f, err := NewFleet()
	require.NoError(t, err)
	n, err := f.AddNode(NodeSpec{Name: "n", GPUs: 2, GPUMemoryMiB: 80})
	require.NoError(t, err)
	whole, over := Hold{Node: n, GPUs: 1}, Hold{Node: n, GPUs: 1, Share: Over(7, 40)}
	requireRefusal(t, f, ErrUnavailable, "hold.gpus", func() error { return f.Hold(over) })
	require.NoError(t, f.Hold(whole))
	requireRefusal(t, f, ErrUnavailable, "hold.gpus", func() error { return f.Hold(over) })

	require.NoError(t, f.Lend(n, 1, 8, 60))
	requireRefusal(t, f, ErrHeld, "hold.share.owner", func() error { return f.Hold(over) })
	require.NoError(t, f.Lend(n, 1, 7, 30))
	requireRefusal(t, f, ErrCapacity, "hold.share.memoryMiB", func() error { return f.Hold(over) })
	require.NoError(t, f.Lend(n, 1, 7, 40))
	request := &Request{Groups: []Group{{Members: 2, MinMembers: 1, Claim: Claim{Share: Over(7, 40)}, Classes: []topology.NodeClass{0}}}}
	var p Placement
	require.True(t, f.Place(request, &p))
	require.Len(t, p.Members, 1, "one borrower a GPU, and no free GPU for it")
	require.Equal(t, over, p.Members[0].Hold)
	requireRefusal(t, f, ErrHeld, "hold.gpus", func() error { return f.Hold(over) })
	require.NoError(t, f.Check())

	// The lender goes first.
	require.NoError(t, f.Lend(n, 1, 0, 0))
	require.NoError(t, f.Release(whole))
	require.Equal(t, uint64(0b10), f.FreeMask(n))
	require.Equal(t, uint64(0b01), f.Borrowed(n))
	requireRefusal(t, f, ErrHeld, "hold.gpus", func() error { return f.Hold(whole) })
	f.SetVacated(n, 1, true)
	require.Equal(t, uint64(0b11), f.FreeMask(n), "a plan counts on it")
	f.SetVacated(n, 1, false)
	require.NoError(t, f.Adopt(whole), "the lender may be told after its borrower")
	require.NoError(t, f.CheckHolds([]Hold{over, whole}))
	require.NoError(t, f.Release(whole))
	require.NoError(t, f.Release(over))
	require.Equal(t, uint64(0b11), f.FreeMask(n))

	// And a borrower may be told before its lender.
	require.NoError(t, f.Adopt(over))
	require.NoError(t, f.Adopt(whole))
	require.NoError(t, f.Check())
	requireRefusal(t, f, ErrNotHeld, "hold.share", func() error { return f.Release(Hold{Node: n, GPUs: 1, Share: Over(7, 39)}) })
}
