package report_test

import (
	"fmt"
	"os"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

func Example() {
	gpu := berth.GPU{Product: "T4", MemoryMiB: 16384}
	job := berth.Job{ID: "tune", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}
	sched, _ := core.New(berth.Config{})
	var s *sim.Simulation
	c := report.NewCollector(func() berth.Scheduler { return s.Scheduler() })
	s = sim.New(sched, sim.FromSlice([]sim.Arrival{
		{Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{gpu, gpu}}}},
		{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}},
		{Event: berth.JobSubmitted{Job: job}, Runtime: berth.Hour},
	}), sim.Options{Applied: c.Applied, Scheduled: c.Scheduled})

	end := berth.Time(2 * berth.Hour)
	if err := s.Run(end); err != nil {
		fmt.Println(err)
	}
	run, _ := c.Finish(end)
	_ = report.WriteTable(os.Stdout, run)
	// Output:
	// jobs and replicas   submitted  finished  running  waiting  so far  evicted  failed  wait p50  p99  max  GPU hours  lost
	// batch                       1         1        0        0       -        0       0        0s   0s   0s          1     0
	// all                         1         1        0        0       -        0       0        0s   0s   0s          1     0
	//
	// "finished": or cancelled or scaled down by the owner; "waiting" at the end, the first of them for "so far";
	// "evicted": lost a place to another job, "failed": to hardware, and waited for the next; a wait is until the first place,
	// or so far; "lost" GPU hours were held and brought nothing: work since the last checkpoint, and restarts
	//
	// GPU allocation    25.0 % on average of 2 GPUs; 1 at the peak
	// fragmentation     0.0 % on average free, but too fragmented for any waiting job
	// events            5 accepted, 0 refused
	// passes            3 gave 1 order
	// decisions         1 searches for a place, found or not
}
