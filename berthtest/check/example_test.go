package check_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/quota"
)

// A checker is told of a core that gives one GPU to two jobs.
func Example() {
	c := check.New(berth.Config{})
	events := []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n7", GPUs: []berth.GPU{{Product: "H100"}}}},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
	}
	for _, id := range []berth.JobID{"a", "b"} {
		one := []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}
		events = append(events, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: one}})
	}
	for _, event := range events {
		fmt.Println(event.Kind(), c.Applied(0, event))
	}
	var orders []berth.Order
	for i, id := range []berth.JobID{"a", "b"} {
		orders = append(orders, berth.Bind{
			OrderHeader: berth.OrderHeader{
				ID: berth.OrderID(i + 1), Job: id, Incarnation: 1,
				Deadline: berth.Time(2 * berth.Minute), Cause: berth.Cause{Code: berth.CauseFits},
			},
			Members: []berth.MemberPlacement{{Node: "n7", GPUs: berth.GPUSetOf(0)}},
			Claims:  []berth.GroupClaim{{Claim: berth.Claim{GPUs: 1}}},
		})
	}
	fmt.Println(c.Scheduled(0, orders))
	// Output:
	// nodeJoined <nil>
	// queueSet <nil>
	// jobSubmitted <nil>
	// jobSubmitted <nil>
	// S1: GPU 0 of node n7 is held by a/0[0] and by b/0[0]
}
