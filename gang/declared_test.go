package gang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
)

// A hold of nothing declared is one, also where the caller says so in amounts that are all 0.
func TestAHoldOfNothingDeclared(t *testing.T) {
	f, err := NewFleet()
	require.NoError(t, err)
	n, err := f.AddNode(NodeSpec{Name: "n", GPUs: 1, GPUMemoryMiB: 80})
	require.NoError(t, err)
	h := Hold{Node: n, GPUs: 1, Declared: &countable.Declared{}}
	require.NoError(t, f.Hold(h))
	require.NoError(t, f.Check())
	require.NoError(t, f.Release(h))
	require.NoError(t, f.Check())
}
