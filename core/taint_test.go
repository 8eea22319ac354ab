package core_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/limits"
)

// Nodes with other taints are of another kind, and there are so many: a taint that would make one
// more is refused, and changes nothing. The order in which a node lists its taints makes no kind.
func TestTaintsMakeKindsOfNodes(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	tainted := func(id string, keys ...string) berth.Node {
		n := berth.Node{ID: berth.NodeID(id), CPUMilli: 1000}
		for _, key := range keys {
			n.Taints = append(n.Taints, berth.Taint{Key: key, Effect: berth.TaintNoSchedule})
		}
		return n
	}
	for i := range limits.MaxKinds - 1 {
		require.NoError(t, sched.Apply(1, berth.NodeJoined{Node: tainted(fmt.Sprint("n", i), fmt.Sprint("t", i))}))
	}
	require.NoError(t, sched.Apply(1, berth.NodeJoined{Node: tainted("one", "a", "b")}))
	require.NoError(t, sched.Apply(1, berth.NodeJoined{Node: tainted("two", "b", "a")}))
	before, err := sched.Snapshot()
	require.NoError(t, err)
	require.ErrorIs(t, sched.Apply(1, berth.NodeUpdated{Node: tainted("two", "b", "c")}), berth.ErrLimit)
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.NoError(t, sched.Apply(1, berth.NodeUpdated{Node: tainted("two", "t0")}))
	require.NoError(t, sched.Apply(1, berth.NodeUpdated{Node: tainted("one", "c")}), "its kind goes with it")
	require.NoError(t, sched.Check())
}
