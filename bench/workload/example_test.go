package workload_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

func Example() {
	morning := workload.Reference{Seed: 1, Nodes: 32, Span: 8 * berth.Hour}
	sched, _ := core.New(morning.Config())
	s := sim.New(sched, morning.Workload(), sim.Options{})
	if err := s.Run(berth.Time(0).Add(morning.Length())); err != nil {
		fmt.Println(err)
	}
	report := sched.Report()
	fmt.Println(report.Nodes.All, "nodes with", report.GPUs.AllMilli/1000, "GPUs")
	// Output: 32 nodes with 256 GPUs
}
