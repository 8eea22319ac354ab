package sim_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// One GPU and two jobs of ten minutes each: the second waits for the first.
func Example() {
	at := func(minute berth.Duration) berth.Time { return berth.Time(minute * berth.Minute) }
	job := func(id berth.JobID) berth.Event {
		one := []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}
		return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: one}}
	}
	workload := sim.FromSlice([]sim.Arrival{
		{Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}}},
		{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}},
		{At: at(1), Event: job("first"), Runtime: 10 * berth.Minute},
		{At: at(2), Event: job("second"), Runtime: 10 * berth.Minute},
	})
	sched, err := core.New(berth.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := sim.New(sched, workload, sim.Options{
		StartDelay: 30 * berth.Second,
		Scheduled: func(now berth.Time, actions []berth.Order) {
			for _, a := range actions {
				fmt.Println(berth.Duration(now), a.Kind(), a.Header().Job)
			}
		},
	})
	if err := s.Run(at(60)); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%+v\n", sched.Report().GPUs)
	// Output:
	// 1m0s bind first
	// 11m30s bind second
	// 1, of which 0 held, 1 free
}
