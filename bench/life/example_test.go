package life_test

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// Two policies are judged by the same jobs on the same fleet: what a short, interactive job
// waits for, with preemption and without.
func Example() {
	submit := func(at berth.Time, id berth.JobID, class berth.Class, runtime berth.Duration) sim.Arrival {
		return sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{
			ID: id, Queue: "research", Class: class,
			Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Minute},
			Groups:     []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}},
		}}}
	}
	workload := &life.Workload{
		Nodes:  []berth.Node{{ID: "n1", GPUs: []berth.GPU{{Product: "H100-80GB"}}}},
		Queues: []quota.Queue{{Name: "research"}},
		Jobs: []sim.Arrival{
			submit(0, "llm", berth.ClassBatch, 10*berth.Hour),
			submit(berth.Time(berth.Hour), "notebook", berth.ClassInteractive, 10*berth.Minute),
		},
	}
	for _, mode := range []berth.PreemptionMode{berth.PreemptionOn, berth.PreemptionOff} {
		sched, err := core.New(berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Mode: mode}}})
		if err != nil {
			panic(err)
		}
		book, _, err := life.Play(sched, workload, life.Options{})
		if err != nil {
			panic(err)
		}
		for _, job := range book.Jobs {
			fmt.Printf("preemption %v: %s waited %v, delayed %v\n", mode == berth.PreemptionOn, job.ID, job.Wait(), job.Delay())
		}
	}
	// Output:
	// preemption true: llm waited 0s, delayed 10m0s
	// preemption true: notebook waited 1m0s, delayed 1m0s
	// preemption false: llm waited 0s, delayed 0s
	// preemption false: notebook waited 9h0m0s, delayed 9h0m0s
}
