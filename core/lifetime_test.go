package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// Promise R3: what went leaves nothing behind, however much of it there was. More
// products and kinds of node come and go here than the core could hold at once.
func TestR3_ProductsComeAndGo(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	empty, err := sched.Snapshot()
	require.NoError(t, err)
	for i := range 5000 {
		node := berth.Node{ID: "n", GPUs: []berth.GPU{{Product: fmt.Sprint("product-", i)}}}
		require.NoError(t, sched.Apply(0, berth.NodeJoined{Node: node}))
		require.NoError(t, sched.Apply(0, berth.NodeLost{Node: "n"}))
	}
	_, err = sched.Schedule(0) // looks at what changed
	require.NoError(t, err)
	require.NoError(t, sched.Check())
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(empty), string(after))
	limit := quota.Amounts{quota.GPUMilliOf("one more"): 1000}
	require.NoError(t, sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: "q", Limit: limit}}))
}

// Promise D3: a core takes its own snapshot back, even where it holds as many
// replicas as it may and not all of those that its jobs ask for.
func TestD3_FullToTheLimit(t *testing.T) {
	sched, err := core.New(berth.Config{Limits: berth.Limits{Replicas: 5}})
	require.NoError(t, err)
	apply := func(e berth.Event) {
		t.Helper()
		require.NoError(t, sched.Apply(0, e))
	}
	apply(berth.NodeJoined{Node: berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "T4"}}}})
	apply(queueSet("team-a", ""))
	apply(berth.JobSubmitted{Job: serviceJob("s", 5)})
	_, err = sched.Schedule(0)
	require.NoError(t, err)
	apply(berth.JobCancelled{Job: "s"}) // four were pending and go at once
	apply(berth.JobSubmitted{Job: serviceJob("a", 4)})
	snapshot, err := sched.Snapshot()
	require.NoError(t, err)
	back, err := core.Restore(snapshot)
	require.NoError(t, err)
	require.NoError(t, back.Check())
}

// Promise R2, where a refusal comes late: an update that needs a kind of node for
// which there is no room any more has taken the node out already.
func TestR2_RefusedUpdateKeepsWhatWasFreed(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	apply := func(e berth.Event) {
		t.Helper()
		require.NoError(t, sched.Apply(0, e))
	}
	node := func(id, pool string, gpus int) berth.Node {
		return berth.Node{ID: berth.NodeID(id), Pool: pool, GPUs: slices.Repeat([]berth.GPU{{Product: "T4"}}, gpus)}
	}
	apply(queueSet("team-a", ""))
	apply(berth.JobSubmitted{Job: gangJob("waits", 1, 2)})
	for i := range 4095 {
		apply(berth.NodeJoined{Node: node(fmt.Sprint("n", i), fmt.Sprint("pool-", i), 1)})
	}
	_, err = sched.Schedule(0)
	require.NoError(t, err)
	apply(berth.NodeJoined{Node: node("keeps", "big", 2)})
	apply(berth.NodeCordoned{Node: "keeps"}) // so that its kind of node stays
	apply(berth.NodeJoined{Node: node("helps", "big", 2)})
	before, err := sched.Snapshot()
	require.NoError(t, err)
	err = sched.Apply(0, berth.NodeUpdated{Node: node("helps", "one too many", 2)})
	require.ErrorIs(t, err, berth.ErrLimit)
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.True(t, string(before) == string(after))
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	require.Len(t, orders, 1)
}

// What is drained elsewhere is looked for a place when it was to be, and not because an update was
// refused.
func TestR2_RefusedUpdateBesideADrain(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	apply := func(e berth.Event) {
		t.Helper()
		require.NoError(t, sched.Apply(0, e))
	}
	node := func(id, pool string, gpus int) berth.Node {
		return berth.Node{ID: berth.NodeID(id), Pool: pool, GPUs: slices.Repeat([]berth.GPU{{Product: "T4"}}, gpus)}
	}
	apply(queueSet("team-a", ""))
	apply(berth.NodeJoined{Node: node("drained", "drained", 8)})
	apply(berth.JobSubmitted{Job: gangJob("runs", 1, 8)})
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	apply(berth.OrderReported{Order: orders[0].Header().ID, Outcome: berth.OutcomeDone})
	for i := range 4094 {
		apply(berth.NodeJoined{Node: node(fmt.Sprint("n", i), fmt.Sprint("pool-", i), 1)})
	}
	for _, id := range []string{"keeps", "helps"} { // the one keeps the kind of the other
		apply(berth.NodeJoined{Node: node(id, "big", 2)})
	}
	apply(berth.NodeDraining{Node: "drained"})
	_, err = sched.Schedule(0)
	require.NoError(t, err)
	_, due := sched.NextWake()
	require.False(t, due)
	before, err := sched.Snapshot()
	require.NoError(t, err)
	require.ErrorIs(t, sched.Apply(1000, berth.NodeUpdated{Node: node("helps", "one too many", 2)}), berth.ErrLimit)
	_, due = sched.NextWake()
	require.False(t, due)
	after, err := sched.Snapshot()
	require.NoError(t, err)
	require.True(t, string(before) == string(after))
}
