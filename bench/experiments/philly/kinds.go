package philly

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// This file divides virtual clusters by kinds of node. A guarantee counts GPUs, wherever they
// are. Where one queue is guaranteed those of both kinds of node, it may use all of it on nodes of
// eight, and what others are owed there cannot be taken back: a virtual cluster of large gangs then
// waits though GPUs are free on nodes of two. So the core has a queue for each kind: for the jobs
// that need nodes of it, with as many GPUs guaranteed as the share has in such nodes.

// byKind is a workload with the queues of each virtual cluster by kind of node.
func byKind(w *life.Workload, shares []life.Share) *life.Workload {
	divided := &life.Workload{Nodes: w.Nodes}
	for i := range shares {
		for _, n := range nodeKinds {
			gpus := int64(shares[i].Nodes[n.gpus] * n.gpus)
			divided.Queues = append(divided.Queues, quota.Queue{
				Name: berth.QueueID(kindOf(shares[i].Queue, n.gpus)), Weight: max(gpus, 1), Guarantee: quota.Amounts{quota.GPUMilli: gpus * 1000},
			})
		}
	}
	for _, a := range w.Jobs {
		e := a.Event.(berth.JobSubmitted)
		largest := 0
		for _, g := range e.Job.Groups {
			largest = max(largest, g.Claim.GPUs)
		}
		kind := nodeKinds[0].gpus
		for _, n := range nodeKinds {
			if largest <= n.gpus {
				kind = min(kind, n.gpus)
			}
		}
		e.Job.Queue = berth.QueueID(kindOf(e.Job.Queue, kind))
		divided.Jobs = append(divided.Jobs, sim.Arrival{At: a.At, Runtime: a.Runtime, Event: e})
	}
	return divided
}

func kindOf(queue berth.QueueID, gpus int) string { return fmt.Sprintf("%s/%d", queue, gpus) }

// joinKinds makes the book of such a workload one of virtual clusters again.
func joinKinds(book *life.Book) {
	for _, j := range book.Jobs {
		name, _, _ := strings.Cut(string(j.Queue), "/")
		j.Queue = berth.QueueID(name)
	}
	for s := range book.Slots {
		kinds := book.Slots[s].Queues
		joined := make([]life.QueueSlot, len(kinds)/len(nodeKinds))
		for i, k := range kinds {
			q := &joined[i/len(nodeKinds)]
			q.Held, q.Wanted = q.Held+k.Held, q.Wanted+k.Wanted
		}
		book.Slots[s].Queues = joined
	}
}
