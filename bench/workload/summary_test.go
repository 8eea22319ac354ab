package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

func TestSummarize(t *testing.T) {
	job := func(at berth.Time, runtime berth.Duration, queue berth.QueueID, groups ...berth.Group) sim.Arrival {
		return sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{Queue: queue, Groups: groups}}}
	}
	group := func(replicas int, c berth.Claim) berth.Group { return berth.Group{Members: replicas, Claim: c} }
	service := job(9, 0, "b", group(2, berth.Claim{GPUs: 4}))
	event := service.Event.(berth.JobSubmitted)
	event.Job.Service = &berth.Service{Replicas: 3}
	service.Event = event

	s := workload.Summarize(sim.FromSlice([]sim.Arrival{
		{Event: berth.NodeJoined{Node: berth.Node{GPUs: make([]berth.GPU, 3)}}},
		job(5, 2*berth.Hour, "b", group(2, berth.Claim{GPUs: 4}), group(1, berth.Claim{CPUMilli: 1})),
		job(6, berth.Hour, "a", group(1, berth.Claim{Share: &berth.Share{GPUMilli: 250}})),
		job(7, berth.Hour, "b", group(1, berth.Claim{CPUMilli: 1})),
		job(8, berth.Hour, "b", group(8, berth.Claim{MIG: "1g.10gb"})),
		service,
	}))
	require.Equal(t, workload.Summary{
		Nodes: 1, GPUs: 3, Jobs: 5, First: 5, Last: 9, Endless: 1, GPUHours: 24.25,
		MedianRuntime: berth.Hour, MeanRuntime: 75 * berth.Minute,
		Sizes:  []workload.SizeSummary{{Milli: 0, Jobs: 1}, {Milli: 250, Jobs: 1, GPUHours: 0.25}, {Milli: 8000, Jobs: 2, GPUHours: 24}, {Milli: 24_000, Jobs: 1}},
		Queues: []workload.QueueSummary{{Name: "a", Jobs: 1, GPUHours: 0.25}, {Name: "b", Jobs: 4, GPUHours: 24}},
	}, s)
	require.Equal(t, workload.Summary{}, workload.Summarize(sim.FromSlice(nil)))
}
