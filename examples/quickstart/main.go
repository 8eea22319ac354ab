// The program quickstart is the loop around the scheduling core, with a pretend
// executor: whatever it starts has ended by the next minute. It prints
//
//	0s: start train[0] on node-a, GPUs 0-3
//	0s: start train[1] on node-b, GPUs 0-3
//	0s: tune waits: the gang (2 GPUs) does not fit now; no preemption would free enough for it
//	1m0s: start tune[0] on node-a, GPUs 0-1
package main

import (
	"fmt"
	"log"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// morning is 2026-01-02 at 09:00 UTC; zero is an instant that nobody set.
const morning berth.Time = 1_767_344_400_000

func main() {
	sched, err := core.New(berth.Config{})
	if err != nil {
		log.Fatal(err)
	}
	events := []berth.Event{
		node("node-a"), node("node-b"),
		berth.QueueSet{Queue: quota.Queue{Name: "research"}},
		job("train", 2, 4), // a gang of two members with four GPUs each
		job("tune", 1, 2),
	}
	for now := morning; len(events) > 0; now = now.Add(berth.Minute) {
		for _, event := range events {
			if err := sched.Apply(now, event); err != nil {
				log.Print(err) // refused: nothing has changed
			}
		}
		orders, err := sched.Schedule(now)
		if err != nil {
			log.Fatal(err)
		}
		events = nil
		for _, order := range orders {
			events = append(events, carryOut(order)...) // what comes of it is news again
		}
		if e, err := sched.Explain("tune"); err == nil && e.Replicas[0].Reason != nil {
			fmt.Printf("%v: tune waits: %v\n", now.Sub(morning), e.Replicas[0].Reason)
		}
	}
}

// carryOut pretends to do what an order says, and returns what comes of it.
func carryOut(order berth.Order) []berth.Event {
	h := order.Header()
	done := berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}
	switch o := order.(type) {
	case berth.Bind:
		for _, m := range o.Members {
			fmt.Printf("%v: start %s[%d] on %s, GPUs %v\n", h.At.Sub(morning), h.Job, m.Index, m.Node, m.GPUs)
		}
		return []berth.Event{done, berth.JobFinished{Job: h.Job, Incarnation: h.Incarnation}}
	case berth.Release, berth.RequestCheckpoint, berth.Repartition:
		return []berth.Event{done} // stopped, written, divided
	}
	return nil // a Withdraw or a Drop: it only tells
}

func node(id berth.NodeID) berth.Event {
	return berth.NodeJoined{Node: berth.Node{ID: id, GPUs: berth.EqualGPUs(4, berth.GPU{Product: "H100-80GB", MemoryMiB: 81559})}}
}

func job(id berth.JobID, members, gpus int) berth.Event {
	group := berth.Group{Members: members, Claim: berth.WholeGPUs(gpus)}
	return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "research", Groups: []berth.Group{group}}}
}
