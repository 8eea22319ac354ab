package nvmlsrc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// An occupied machine: GPU 0 whole, an instance of GPU 1, and a process of ours on GPU 2.
func occupied(t *testing.T) (*FakeMachine, *core.Core, Occupancy) {
	p := hgx()
	require.NoError(t, p.Partition(1, layoutOf(t, "1g.10gb@2:1", "3g.40gb@4:4")...))
	require.NoError(t, p.Start(100, p.gpus[0].uuidText()))
	require.NoError(t, p.Start(101, p.gpus[1].devices[1].uuid))
	require.NoError(t, p.Start(7, p.gpus[2].uuidText()))
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	node, err := inventoryOf(t, p).Node("n1")
	require.NoError(t, err)
	for _, event := range []berth.Event{
		berth.NodeJoined{Node: node},
		berth.QueueSet{Queue: quota.Queue{Name: "others"}},
		berth.QueueSet{Queue: quota.Queue{Name: "ours", Guarantee: quota.Amounts{quota.GPUMilli: 8_000}}},
	} {
		require.NoError(t, sched.Apply(0, event))
	}
	return p, sched, Occupancy{Node: "n1", Queue: "others", Tenant: "others", Ours: func(pid int) bool { return pid < 100 }}
}

func apply(t *testing.T, sched *core.Core, now berth.Time, events []berth.Event) {
	for _, event := range events {
		require.NoError(t, sched.Apply(now, event))
	}
}

// told lists the jobs that are the occupancy's, from what the core has.
func told(o Occupancy, ids ...berth.JobID) []berth.JobID {
	var list []berth.JobID
	for _, id := range ids {
		if o.Owns(id) {
			list = append(list, id)
		}
	}
	return list
}

// What others run on is not touched, not even for a latency-critical job within its
// queue's guarantee; when they are gone it is free.
func TestOccupiedCapacityIsNotTouched(t *testing.T) {
	p, sched, o := occupied(t)
	events := o.Events(inventoryOf(t, p), 0, nil)
	require.Len(t, events, 2)
	first, second := events[0].(berth.JobObserved), events[1].(berth.JobObserved)
	require.Equal(t, berth.JobID("occupied/n1/"+p.gpus[0].uuidText()), first.Job.ID)
	require.Equal(t, berth.GPUSetOf(0), first.Running[0].Members[0].GPUs)
	require.Equal(t, berth.JobID("occupied/n1/"+p.gpus[1].uuidText()+"/3g.40gb@4:4"), second.Job.ID)
	require.Equal(t, at(t, "3g.40gb@4:4"), second.Running[0].Members[0].Instance)
	apply(t, sched, 0, events)
	ids := told(o, first.Job.ID, second.Job.ID, "somebody's", "occupied/n12/x")
	require.Len(t, ids, 2)
	require.Empty(t, o.Events(inventoryOf(t, p), 0, ids), "told once")

	for _, job := range []berth.Job{
		{ID: "whole", Queue: "ours", Class: berth.ClassLatencyCritical, Groups: []berth.Group{{Members: 7, Claim: berth.Claim{GPUs: 1}}}},
		{ID: "slice", Queue: "ours", Class: berth.ClassLatencyCritical, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{MIG: "3g.40gb"}}}},
	} {
		require.NoError(t, sched.Apply(0, berth.JobSubmitted{Job: job}))
	}
	orders, err := sched.Schedule(0)
	require.NoError(t, err)
	require.Empty(t, orders, "six GPUs are whole and free")

	p.End(100)
	p.End(101)
	events = o.Events(inventoryOf(t, p), 1000, ids)
	require.Equal(t, []berth.Event{
		berth.JobFinished{Job: first.Job.ID, Incarnation: 1}, berth.JobFinished{Job: second.Job.ID, Incarnation: 1},
	}, events)
	apply(t, sched, 1000, events)
	orders, err = sched.Schedule(1000)
	require.NoError(t, err)
	require.Len(t, orders, 2)
}

// If the GPU of such a job fails nobody is ordered to start it elsewhere.
func TestOccupiedGPUThatFails(t *testing.T) {
	p, sched, o := occupied(t)
	events := o.Events(inventoryOf(t, p), 0, nil)
	apply(t, sched, 0, events)
	require.NoError(t, sched.Apply(0, berth.GPUFailed{Node: "n1", GPU: 0}))
	require.NoError(t, sched.Apply(0, berth.GPUFailed{Node: "n1", GPU: 1}))
	for now := range berth.Time(3) {
		orders, err := sched.Schedule(now)
		require.NoError(t, err)
		for _, order := range orders {
			require.NotEqual(t, "bind", order.Kind())
		}
	}
	_, err := sched.Explain(events[0].(berth.JobObserved).Job.ID)
	require.ErrorIs(t, err, berth.ErrUnknown, "it is dropped")

	require.NoError(t, p.Fail(0, "gone"))
	require.Len(t, o.Events(inventoryOf(t, p), 3, nil), 1, "its processes are gone with it")
}

// Without a list of our own processes all are others'; a GPU without a UUID goes by its
// index.
func TestEverybodyIsSomebodyElse(t *testing.T) {
	p, _, o := occupied(t)
	o.Ours = nil
	p.gpus[2].fail(queryUUID, noPermission)
	events := o.Events(inventoryOf(t, p), 0, nil)
	require.Len(t, events, 3)
	require.Equal(t, berth.JobID("occupied/n1/gpu2"), events[2].(berth.JobObserved).Job.ID)
	require.Equal(t, mig.Placement{}, events[2].(berth.JobObserved).Running[0].Members[0].Instance)
}
