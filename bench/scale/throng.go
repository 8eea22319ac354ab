package scale

import (
	"fmt"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newThrong is a core with a full fleet that belongs to many queues in equal parts, a job to each
// node, and with jobs of 20 shapes that wait in all of them. Each queue has its share, so that
// nothing is to be taken from anybody.
func newThrong(tb builder, gpus, queues, pending int) *core.Core {
	tb.Helper()
	sched := newCore(tb, make([]int, 0))
	queue := func(i int) string { return fmt.Sprintf("queue-%05d", i%queues) }
	for q := range queues {
		tell(tb, sched, berth.QueueSet{Queue: quota.Queue{Name: queue(q)}})
	}
	hardware := make([]berth.GPU, gpusPerNode)
	for i := range hardware {
		hardware[i] = berth.GPU{Product: "H100-80GB", MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}}
	}
	for i := range gpus / gpusPerNode {
		name := nodeName(i)
		tell(tb, sched, berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(name), Domains: domains(i), GPUs: hardware, CPUMilli: cpuMilli, MemoryMiB: memoryMiB,
		}})
		tell(tb, sched, berth.JobObserved{Job: jobOf(name, queue(i), 1, gpusPerNode), Running: []berth.ObservedReplica{{
			Incarnation: 1, Members: []berth.MemberPlacement{{Node: berth.NodeID(name), GPUs: 1<<gpusPerNode - 1}},
		}}})
	}
	for i := range pending {
		shape := i / queues % shapes
		tell(tb, sched, berth.JobSubmitted{Job: jobOf(fmt.Sprintf("waits-%07d", i), queue(i), 1+shape/4, 1<<(shape%4))})
	}
	rest(tb, sched)
	return sched
}

// rest runs passes until nothing is due at this instant, and counts them. What they order is done.
func rest(tb builder, sched *core.Core) (passes int, longest time.Duration) {
	tb.Helper()
	for {
		began := time.Now()
		orders := pass(tb, sched)
		longest = max(longest, time.Since(began))
		passes++
		for _, o := range orders {
			tell(tb, sched, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
		}
		if at, due := sched.NextWake(); !due || at > sched.Now() {
			return passes, longest
		}
		if passes == 10_000 {
			tb.Fatal("it does not rest")
		}
	}
}
