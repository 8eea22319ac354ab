package core_test

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/quota"
)

// leastLeft is best fit: a member goes where the least is left of GPUs and of cores, each GPU
// counting as much as 16 cores.
type leastLeft struct{}

func (leastLeft) Name() string { return "least-left" }

func (leastLeft) Score(_ *berth.Group, places []berth.Place) {
	for i := range places {
		p := &places[i]
		left := p.HostLeft[countable.CPUMilli] / 16
		for _, milli := range p.Left {
			left += int64(milli)
		}
		p.Score = -left // the same is taken wherever it goes
	}
}

// An embedder's own rule chooses among the places that are allowed. The core alone takes the node
// with the fewest free GPUs, and of these the first by name.
func Example_scorer() {
	for _, scorer := range []berth.Scorer{nil, leastLeft{}} {
		sched, err := core.New(berth.Config{Scorer: scorer})
		if err != nil {
			panic(err)
		}
		mustApply(sched, morning, berth.QueueSet{Queue: quota.Queue{Name: "research"}})
		for _, node := range []berth.Node{{ID: "n1", CPUMilli: 128_000}, {ID: "n2", CPUMilli: 64_000}} {
			node.GPUs = []berth.GPU{{Product: "L4"}, {Product: "L4"}}
			mustApply(sched, morning, berth.NodeJoined{Node: node})
		}
		mustApply(sched, morning, berth.JobSubmitted{Job: berth.Job{
			ID: "notebook", Queue: "research",
			Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1).WithHost(8000, 0)}},
		}})
		pass(sched, morning)
	}
	// Output:
	// 0s: bind notebook n1[0] (fits)
	// 0s: bind notebook n2[0] (fits)
}
