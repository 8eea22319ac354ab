package berth_test

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// newExample is a fleet of two 8-GPU nodes under one leaf switch, and a queue.
func newExample() *berth.Core {
	core, err := berth.New(berth.Config{Levels: []string{"leaf"}})
	if err != nil {
		panic(err)
	}
	for _, id := range []berth.NodeID{"n1", "n2"} {
		node := berth.Node{ID: id, Domains: []string{"leaf-0"}, CPUMilli: 112_000, MemoryMiB: 2 << 20}
		for range 8 {
			node.GPUs = append(node.GPUs, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559})
		}
		mustApply(core, 0, berth.NodeJoined{Node: node})
	}
	mustApply(core, 0, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
	return core
}

func mustApply(core *berth.Core, now berth.Time, e berth.Event) {
	if err := core.Apply(now, e); err != nil {
		panic(err)
	}
}

func training(id berth.JobID, members int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: id, Queue: "research",
		Groups: []berth.Group{{Replicas: members, Claim: berth.Claim{GPUs: 8}}},
	}}
}

// Facts go in, orders come out, and their reports are facts again.
func Example() {
	core := newExample()
	mustApply(core, 1000, training("llm", 2))
	actions, err := core.Schedule(1000)
	if err != nil {
		panic(err)
	}
	for _, action := range actions {
		bind := action.(berth.Bind)
		fmt.Printf("order %d: bind %s, life %d\n", bind.ID, bind.Job, bind.Incarnation)
		for _, m := range bind.Members {
			fmt.Printf("  member %d on %s, GPUs %s\n", m.Index, m.Node, m.GPUs)
		}
		mustApply(core, 2000, berth.ActionReported{Action: bind.ID, Outcome: berth.Done})
	}
	mustApply(core, 9000, berth.JobFinished{Job: "llm", Incarnation: 1})
	fmt.Println("free GPUs:", core.Report().GPUs.Free/1000)
	// Output:
	// order 1: bind llm, life 1
	//   member 0 on n1, GPUs 0-7
	//   member 1 on n2, GPUs 0-7
	// free GPUs: 16
}

// A pending job has a reason, and the reason names what would help.
func ExampleCore_Explain() {
	core := newExample()
	mustApply(core, 0, training("llm", 2))
	mustApply(core, 1, training("more", 1))
	if _, err := core.Schedule(1); err != nil {
		panic(err)
	}
	why, err := core.Explain("more")
	if err != nil {
		panic(err)
	}
	reason := why.Replicas[0].Reason
	fmt.Println(reason.Code)
	fmt.Println(reason.Text)
	fmt.Println(reason.Relax)
	// Output:
	// gpus
	// 0 of 1 members of the gang (8 GPUs each) fit now
	// free GPUs for 1 more members, 8 GPUs each
}

// What would the core do if that node went? Nothing is changed by asking.
func ExampleCore_WhatIf() {
	core := newExample()
	mustApply(core, 0, training("llm", 1))
	actions, err := core.Schedule(0)
	if err != nil {
		panic(err)
	}
	mustApply(core, 1, berth.ActionReported{Action: actions[0].Header().ID})
	orders, err := core.WhatIf(2, berth.NodeLost{Node: "n1"})
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
	core := newExample()
	err := core.Apply(0, berth.GPUFailed{Node: "n1", GPU: 8})
	var refused *berth.Error
	fmt.Println(errors.As(err, &refused), errors.Is(err, berth.ErrInvalid))
	fmt.Println(refused.Event, refused.Field)
	fmt.Println(err)
	// Output:
	// true true
	// gpuFailed gpu
	// berth: gpuFailed: gpu: index 8 is out of range: node "n1" has 8 GPUs
}
