package scale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A gang of very many members that has to leave all its nodes at once is looked at once, and not
// for each of its members: that took a minute and more.
func TestAGangLeavesManyNodesInOnePass(t *testing.T) {
	const nodes = 4000
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	tell(t, sched, berth.QueueSet{Queue: quota.Queue{Name: "train"}})
	window := berth.Reservation{ID: "window", From: berth.Time(berth.Day), Until: berth.Time(2 * berth.Day), Clear: true}
	gpus := make([]berth.GPU, gpusPerNode)
	for i := range gpus {
		gpus[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10}
	}
	for i := range nodes {
		id := berth.NodeID(nodeName(i))
		window.Nodes = append(window.Nodes, id)
		tell(t, sched, berth.NodeJoined{Node: berth.Node{ID: id, GPUs: gpus, CPUMilli: cpuMilli, MemoryMiB: memoryMiB}})
	}
	tell(t, sched, berth.JobSubmitted{Job: jobOf("gang", "train", nodes*gpusPerNode, 1)})
	for _, o := range pass(t, sched) {
		tell(t, sched, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
	}
	tell(t, sched, berth.ReservationSet{Reservation: window})
	pass(t, sched)
	at, due := sched.NextWake()
	require.True(t, due)

	start := time.Now()
	orders, err := sched.Schedule(at)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.Equal(t, berth.CauseDrained, orders[0].Header().Cause.Code)
	tell(t, sched, berth.ReservationRemoved{Reservation: "window"})
	require.Less(t, time.Since(start), 5*time.Second)
}
