package workload_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
)

// A month of a cluster of which only a summary is published, at half the load.
func ExampleSynthetic() {
	venus, err := workload.FindProfile("venus")
	if err != nil {
		fmt.Println(err)
		return
	}
	month := workload.Synthetic{Profile: venus, Seed: 1, Span: 30 * berth.Day, LoadPercent: 50}
	jobs, err := month.Workload()
	if err != nil {
		fmt.Println(err)
		return
	}
	s := workload.Summarize(jobs)
	fmt.Printf("%d nodes with %d GPUs, %d queues\n", s.Nodes, s.GPUs, len(s.Queues))
	fmt.Printf("%.0f thousand jobs, %.0f %% of them with one GPU\n",
		float64(s.Jobs)/1000, 100*float64(s.Sizes[0].Jobs)/float64(s.Jobs))
	// Output:
	// 128 nodes with 1022 GPUs, 15 queues
	// 10 thousand jobs, 60 % of them with one GPU
}
