package core_test

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// morning is the instant at which the examples begin, 2026-01-02 at 09:00 UTC. Zero would be an
// instant that nobody set.
const morning berth.Time = 1_767_344_400_000

// newExample is a fleet of two 8-GPU nodes under one leaf switch, and a queue.
func newExample() *core.Core {
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	if err != nil {
		panic(err)
	}
	mustApply(
		sched, morning, hgx("n1"), hgx("n2"),
		berth.QueueSet{Queue: quota.Queue{Name: "research"}},
	)
	return sched
}

// hgx is the arrival of a node with eight GPUs.
func hgx(id berth.NodeID) berth.Event {
	node := berth.Node{ID: id, Domains: []string{"leaf-0"}, CPUMilli: 112_000, MemoryMiB: 2 << 20}
	for range 8 {
		node.GPUs = append(node.GPUs, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559, MIGTable: "H100-80GB"})
	}
	return berth.NodeJoined{Node: node}
}

// training is the submission of a gang that writes checkpoints when asked: so many members
// with eight GPUs each.
func training(id berth.JobID, members int) berth.JobSubmitted {
	return berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "research", Checkpoint: berth.Checkpoint{Supported: true},
		Groups: []berth.Group{{Members: members, Claim: berth.WholeGPUs(8)}},
	}}
}

func mustApply(sched *core.Core, now berth.Time, events ...berth.Event) {
	for _, event := range events {
		if err := sched.Apply(now, event); err != nil {
			panic(err)
		}
	}
}

// pass runs a pass, prints its orders, and reports each of them as done.
func pass(sched *core.Core, now berth.Time) {
	orders, err := sched.Schedule(now)
	if err != nil {
		panic(err)
	}
	for _, order := range orders {
		h := order.Header()
		fmt.Printf("%v: %s %s", now.Sub(morning), order.Kind(), h.Job)
		if bind, ok := order.(berth.Bind); ok {
			for _, m := range bind.Members {
				fmt.Printf(" %s[%s]", m.Node, m.GPUs)
			}
		}
		fmt.Printf(" (%s)\n", h.Cause.Code)
		if !h.Deadline.IsZero() { // a report is expected
			mustApply(sched, now, berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
		}
	}
}

// Events go in, orders come out, and their reports are events again.
func Example() {
	sched := newExample()
	mustApply(sched, morning.Add(berth.Second), training("llm", 2))
	orders, err := sched.Schedule(morning.Add(berth.Second))
	if err != nil {
		panic(err)
	}
	for _, order := range orders {
		bind := order.(berth.Bind)
		fmt.Printf("order %d: bind %s, incarnation %d\n", bind.ID, bind.Job, bind.Incarnation)
		for _, m := range bind.Members {
			fmt.Printf("  member %d on %s, GPUs %s\n", m.Index, m.Node, m.GPUs)
		}
		mustApply(sched, morning.Add(2*berth.Second), berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
	}
	mustApply(sched, morning.Add(9*berth.Second), berth.JobFinished{Job: "llm", Incarnation: 1})
	fmt.Println("free GPUs:", sched.Report().GPUs.FreeMilli/1000)
	// Output:
	// order 1: bind llm, incarnation 1
	//   member 0 on n1, GPUs 0-7
	//   member 1 on n2, GPUs 0-7
	// free GPUs: 16
}

// A pending job has a reason, and the reason names what would help.
func ExampleCore_Explain() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 2))
	mustApply(sched, morning.Add(berth.Millisecond), training("more", 1))
	if _, err := sched.Schedule(morning.Add(berth.Millisecond)); err != nil {
		panic(err)
	}
	why, err := sched.Explain("more")
	if err != nil {
		panic(err)
	}
	reason := why.Replicas[0].Reason
	fmt.Println(reason.Code)
	fmt.Println(reason)
	fmt.Println(reason.Remedy)
	// Output:
	// gpus
	// the gang (8 GPUs) does not fit now; no preemption would free enough for it
	// free GPUs for 1 more member (8 GPUs)
}

// What would the core do if that node went? Nothing is changed by asking.
func ExampleCore_WhatIf() {
	sched := newExample()
	mustApply(sched, morning, training("llm", 1))
	pass(sched, morning)
	orders, err := sched.WhatIf(morning.Add(2*berth.Millisecond), berth.NodeLost{Node: "n1"})
	if err != nil {
		panic(err)
	}
	for _, order := range orders {
		bind := order.(berth.Bind)
		fmt.Printf("%s would start again on %s, incarnation %d\n", bind.Job, bind.Members[0].Node, bind.Incarnation)
	}
	// Output:
	// 0s: bind llm n1[0-7] (fits)
	// llm would start again on n2, incarnation 2
}

// A refusal names the event, the field and the reason, and changes nothing.
func Example_refusal() {
	sched := newExample()
	err := sched.Apply(morning, berth.GPUFailed{Node: "n1", GPU: 8})
	var refused *berth.Error
	fmt.Println(errors.As(err, &refused), errors.Is(err, berth.ErrInvalid))
	fmt.Println(refused.Event, refused.Field)
	fmt.Println(err)
	// Output:
	// true true
	// gpuFailed gpu
	// berth: gpuFailed: gpu: index 8 is out of range: node "n1" has 8 GPUs
}

// What would it take to start a job now? Here: to move a smaller one, because the free GPUs
// are in pieces; or nothing, if a job ended.
func ExampleCore_StartPlan() {
	sched := newExample()
	for _, id := range []berth.JobID{"a", "b", "c"} { // a and b fill n1, c half of n2
		mustApply(sched, morning, berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "research", Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Minute},
			Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(4)}},
		}})
	}
	pass(sched, morning)
	mustApply(sched, morning, berth.JobFinished{Job: "b", Incarnation: 1}, training("llm", 1))
	plan, err := sched.StartPlan(morning, "llm", 0)
	if err != nil {
		panic(err)
	}
	for _, m := range plan.Moves {
		fmt.Println("move", m.Job, "from", m.From, "to", m.To)
	}
	fmt.Println("cost", berth.Duration(plan.MovesCost), "of a GPU, gain", berth.Duration(plan.MovesGain))
	plan, err = sched.StartPlan(morning, "llm", 0, berth.JobFinished{Job: "c", Incarnation: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println("without c it fits:", plan.Fits)
	// Output:
	// 0s: bind a n1[0-3] (fits)
	// 0s: bind b n1[4-7] (fits)
	// 0s: bind c n2[0-3] (fits)
	// move a from [n1] to [n2]
	// cost 4m0s of a GPU, gain 192h0m0s
	// without c it fits: true
}
