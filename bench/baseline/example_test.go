package baseline_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

// shortestFirst is a policy of one's own: first the job that is expected to run for the shortest
// time.
type shortestFirst struct{}

func (shortestFirst) Pass(p *baseline.Pass) {
	list := p.Waiting()
	slices.SortStableFunc(list, func(a, b *baseline.Job) int { return cmp.Compare(a.Expected(), b.Expected()) })
	for _, j := range list {
		if at := p.Place(j); at != nil {
			p.Start(j, at)
		}
	}
}

// A policy is a page, and the checker watches it.
func Example() {
	submit := func(id berth.JobID, minutes berth.Duration) sim.Arrival {
		j := berth.Job{ID: id, Queue: "q", ExpectedRuntime: minutes * berth.Minute, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}
		return sim.Arrival{Event: berth.JobSubmitted{Job: j}, Runtime: minutes * berth.Minute}
	}
	w := &life.Workload{
		Nodes:  []berth.Node{{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}},
		Queues: []quota.Queue{{Name: "q"}},
		Jobs:   []sim.Arrival{submit("long", 60), submit("short", 5), submit("middling", 20)},
	}
	book, _, err := life.Play(baseline.New(shortestFirst{}, baseline.BestFit), w, life.Options{Checker: check.NewForAnyPolicy(berth.Config{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range book.Jobs {
		fmt.Println(j.ID, "waits for", j.Wait())
	}
	// Output:
	// long waits for 25m0s
	// short waits for 0s
	// middling waits for 5m0s
}
