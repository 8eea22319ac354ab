package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

const twoJobs = phillyHeader + "2017-10-09 07:01:55,66.0,16,66.0,aa\n2017-10-09 07:02:55,66.0,1,66.0,bb\n"

// TestTraceTellsTheFleetFirst: nodes, then the queues in their order, then jobs, and a
// queue that nobody named before its first job.
func TestTraceTellsTheFleetFirst(t *testing.T) {
	node := berth.Node{ID: "n", GPUs: []berth.GPU{{Product: "P100"}}}
	parent, child := quota.Queue{Name: "all"}, quota.Queue{Name: "aa", Parent: "all"}
	list, err := readTrace(workload.ReadPhilly).all(t, twoJobs, workload.Options{
		Nodes: []berth.Node{node}, Queues: []quota.Queue{parent, child}, GPUsPerNode: 4,
		Change: func(j *berth.Job) { j.Checkpoint.Supported = true },
	})
	require.NoError(t, err)
	require.Len(t, list, 6)
	require.Equal(t, []sim.Arrival{
		{Event: berth.NodeJoined{Node: node}},
		{Event: berth.QueueSet{Queue: parent}},
		{Event: berth.QueueSet{Queue: child}},
	}, list[:3])
	require.Equal(t, 4, jobOf(t, list[3]).Groups[0].Members)
	require.True(t, jobOf(t, list[3]).Checkpoint.Supported)
	require.Equal(t, sim.Arrival{At: berth.Time(berth.Minute), Event: berth.QueueSet{Queue: quota.Queue{Name: "bb"}}}, list[4])
	require.Equal(t, berth.QueueID("bb"), jobOf(t, list[5]).Queue)
}

// TestChangeMayMoveAJob to another queue, which is then the one that is set.
func TestChangeMayMoveAJob(t *testing.T) {
	list, err := readTrace(workload.ReadPhilly).all(t, twoJobs, workload.Options{
		Change: func(j *berth.Job) { j.Queue = "one" },
	})
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, berth.QueueSet{Queue: quota.Queue{Name: "one"}}, list[0].Event)
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []workload.Options{{GPUsPerNode: -1}, {GPUsPerNode: 65}, {ProcessorsPerGPU: 4097}} {
		_, err := readTrace(workload.ReadPhilly).all(t, twoJobs, o)
		require.ErrorIs(t, err, workload.ErrOptions)
	}
}
