package workload_test

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
)

// A few jobs of the form of the Philly trace, on two machines of eight GPUs.
func ExampleReadPhilly() {
	jobs := strings.NewReader(`timestamp,duration,num_gpus,gpu_time,cluster
2017-10-03 09:30:00,3600.0,16,57600.0,vision
2017-10-03 09:00:00,7200.0,4,28800.0,speech
`)
	fleet := make([]berth.Node, 2)
	for i := range fleet {
		fleet[i] = berth.Node{ID: berth.NodeID(fmt.Sprintf("node-%d", i)), GPUs: make([]berth.GPU, 8)}
		for g := range fleet[i].GPUs {
			fleet[i].GPUs[g].Product = "P100"
		}
	}
	trace, err := workload.ReadPhilly("jobs.csv", jobs, workload.Options{Nodes: fleet})
	if err != nil {
		fmt.Println(err)
		return
	}
	sched, _ := core.New(berth.Config{})
	s := sim.New(sched, trace, sim.Options{Scheduled: func(now berth.Time, actions []berth.Order) {
		for _, a := range actions {
			fmt.Println(now.Sub(0), "bind", a.(berth.Bind).Job)
		}
	}})
	if err := s.Run(berth.Time(0).Add(berth.Day)); err != nil || trace.Err() != nil {
		fmt.Println(err, trace.Err())
	}
	// Output:
	// 0s bind philly-3
	// 2h0m0s bind philly-2
}
