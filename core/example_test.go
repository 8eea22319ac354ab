package core_test

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// newExample is a fleet of two 8-GPU nodes under one leaf switch, and a queue.
func newExample() *core.Core {
	sched, err := core.New(berth.Config{Levels: []string{"leaf"}})
	if err != nil {
		panic(err)
	}
	for _, id := range []berth.NodeID{"n1", "n2"} {
		node := berth.Node{ID: id, Domains: []string{"leaf-0"}, CPUMilli: 112_000, MemoryMiB: 2 << 20}
		for range 8 {
			node.GPUs = append(node.GPUs, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559})
		}
		mustApply(sched, 0, berth.NodeJoined{Node: node})
	}
	mustApply(sched, 0, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	return sched
}

func mustApply(sched *core.Core, now berth.Time, e berth.Event) {
	if err := sched.Apply(now, e); err != nil {
		panic(err)
	}
}

func training(id berth.JobID, members int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "research",
		Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: 8}}},
	}}
}

// Facts go in, orders come out, and their reports are facts again.
func Example() {
	sched := newExample()
	mustApply(sched, 1000, training("llm", 2))
	actions, err := sched.Schedule(1000)
	if err != nil {
		panic(err)
	}
	for _, action := range actions {
		bind := action.(berth.Bind)
		fmt.Printf("order %d: bind %s, life %d\n", bind.ID, bind.Job, bind.Incarnation)
		for _, m := range bind.Members {
			fmt.Printf("  member %d on %s, GPUs %s\n", m.Index, m.Node, m.GPUs)
		}
		mustApply(sched, 2000, berth.OrderReported{Order: bind.ID, Outcome: berth.OutcomeDone})
	}
	mustApply(sched, 9000, berth.JobFinished{Job: "llm", Incarnation: 1})
	fmt.Println("free GPUs:", sched.Report().GPUs.FreeMilli/1000)
	// Output:
	// order 1: bind llm, life 1
	//   member 0 on n1, GPUs 0-7
	//   member 1 on n2, GPUs 0-7
	// free GPUs: 16
}

// A pending job has a reason, and the reason names what would help.
func ExampleCore_Explain() {
	sched := newExample()
	mustApply(sched, 0, training("llm", 2))
	mustApply(sched, 1, training("more", 1))
	if _, err := sched.Schedule(1); err != nil {
		panic(err)
	}
	why, err := sched.Explain("more")
	if err != nil {
		panic(err)
	}
	reason := why.Replicas[0].Reason
	fmt.Println(reason.Code)
	fmt.Println(reason.Text)
	fmt.Println(reason.Remedy)
	// Output:
	// gpus
	// 0 of 1 members of the gang (8 GPUs each) fit now
	// free GPUs for 1 more members, 8 GPUs each
}

// What would the core do if that node went? Nothing is changed by asking.
func ExampleCore_WhatIf() {
	sched := newExample()
	mustApply(sched, 0, training("llm", 1))
	actions, err := sched.Schedule(0)
	if err != nil {
		panic(err)
	}
	mustApply(sched, 1, berth.OrderReported{Order: actions[0].Header().ID, Outcome: berth.OutcomeDone})
	orders, err := sched.WhatIf(2, berth.NodeLost{Node: "n1"})
	if err != nil {
		panic(err)
	}
	for _, order := range orders {
		bind := order.(berth.Bind)
		fmt.Printf("%s would start again on %s, life %d\n", bind.Job, bind.Members[0].Node, bind.Incarnation)
	}
	// Output:
	// llm would start again on n2, life 2
}

// A refusal names the event, the field and the reason, and changes nothing.
func ExampleError() {
	sched := newExample()
	err := sched.Apply(0, berth.GPUFailed{Node: "n1", GPU: 8})
	var refused *berth.Error
	fmt.Println(errors.As(err, &refused), errors.Is(err, berth.ErrInvalid))
	fmt.Println(refused.Event, refused.Field)
	fmt.Println(err)
	// Output:
	// true true
	// gpuFailed gpu
	// berth: gpuFailed: gpu: index 8 is out of range: node "n1" has 8 GPUs
}

// A node is drained: who runs there is asked for a checkpoint, stopped, and started again where
// a place was kept for it meanwhile.
func Example_drain() {
	sched := newExample()
	job := berth.Job{
		ID: "llm", Queue: "research", Checkpoint: berth.Checkpoint{Supported: true},
		Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}},
	}
	mustApply(sched, 0, berth.JobSubmitted{Job: job})
	for now := berth.Time(0); now < 4000; now += 1000 {
		if now == 1000 {
			mustApply(sched, now, berth.NodeDraining{Node: "n1", Reason: "firmware"})
		}
		actions, err := sched.Schedule(now)
		if err != nil {
			panic(err)
		}
		for _, action := range actions {
			h := action.Header()
			fmt.Printf("%v %s: %s, %s\n", h.At.Sub(0), action.Kind(), h.Job, h.Cause.Code)
			mustApply(sched, now, berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone})
		}
		for _, node := range sched.Report().Draining {
			fmt.Printf("%v %s: %d members left\n", now.Sub(0), node.Node, node.MembersLeft)
		}
	}
	// Output:
	// 0s bind: llm, fits
	// 1s requestCheckpoint: llm, drained
	// 1s n1: 1 members left
	// 2s release: llm, drained
	// 2s n1: 0 members left
	// 3s bind: llm, resumed
	// 3s n1: 0 members left
}

// What would it take to start a job now? Here: to move a smaller one, as what is free is in
// pieces, or nothing, if another node came.
func ExampleCore_StartPlan() {
	sched := newExample()
	for _, id := range []berth.JobID{"a", "b", "c"} { // a and b fill n1, c half of n2
		mustApply(sched, 0, berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "research", Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Minute},
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 4}}},
		}})
	}
	actions, err := sched.Schedule(0)
	if err != nil {
		panic(err)
	}
	for _, action := range actions {
		mustApply(sched, 0, berth.OrderReported{Order: action.Header().ID, Outcome: berth.OutcomeDone})
	}
	mustApply(sched, 0, berth.JobFinished{Job: "b", Incarnation: 1})
	mustApply(sched, 0, training("llm", 1))
	takes, err := sched.StartPlan(0, "llm", 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(takes.Text)
	for _, m := range takes.Moves {
		fmt.Println(m.Job, "from", m.From, "to", m.To)
	}
	fmt.Println("costs", berth.Duration(takes.MovesCost), "of a GPU, and gains", berth.Duration(takes.MovesGain))
	takes, err = sched.StartPlan(0, "llm", 0, berth.JobFinished{Job: "c", Incarnation: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(takes.Text)
	// Output:
	// to move 1 of those who run
	// a from [n1] to [n2]
	// costs 4m0s of a GPU, and gains 192h0m0s
	// nothing: the next pass is expected to start it
}
