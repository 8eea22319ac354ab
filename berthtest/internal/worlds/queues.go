package worlds

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file draws queues: trees of up to three levels in which everything that a queue
// may state is stated by some, and changes of it.

// quotas tells of organisations, their teams and the projects of these.
func (g *Generator) quotas() {
	for o := range 1 + g.IntN(2) {
		g.family(quota.Queue{Name: berth.QueueID(fmt.Sprintf("org%d", o))}, "team", "project")
	}
	var tell func(parent berth.QueueID)
	tell = func(parent berth.QueueID) {
		for _, name := range slices.Sorted(maps.Keys(g.told)) {
			if q := g.told[name]; q.Parent == parent {
				g.at(0, berth.QueueSet{Queue: q})
				tell(name)
			}
		}
	}
	tell("")
}

// family draws a queue and those below it, and returns what it is promised.
func (g *Generator) family(q quota.Queue, below ...string) quota.Amounts {
	sum, children := quota.Amounts{}, 0
	if len(below) > 0 {
		children = one(g, 0, 1, 2, 2)
		for i := range children {
			child := quota.Queue{Name: berth.QueueID(fmt.Sprintf("%s-%s%d", q.Name, below[0], i)), Parent: q.Name}
			for r, amount := range g.family(child, below[1:]...) {
				sum[r] += amount
			}
		}
	}
	q = g.queue(q.Name, q.Parent, 2+len(below))
	for r, amount := range sum {
		if guarantee, stated := q.Guarantee[r]; stated {
			q.Guarantee[r] = max(guarantee, amount)
		}
	}
	maps.Copy(sum, q.Guarantee)
	for r, limit := range q.Limit {
		q.Limit[r] = max(limit, sum[r])
	}
	g.told[q.Name] = q
	g.queues = append(g.queues, q.Name)
	if children == 0 || g.Chance(5) { // elsewhere they are refused
		g.leaves = append(g.leaves, q.Name)
	}
	return sum
}

func gpus(n int) quota.Amounts { return quota.Amounts{quota.GPUMilli: int64(n) * 1000} }

// queue draws what a queue states that is guaranteed up to so many GPUs. It may not go
// with what those above and below it are guaranteed.
func (g *Generator) queue(name, parent berth.QueueID, most int) quota.Queue {
	q := quota.Queue{Name: name, Parent: parent, Weight: int64(g.IntN(4)), Priority: one(g, int32(0), 0, 0, -1, 1, 7)}
	if !g.plain && g.Chance(35) {
		return q
	}
	q.Limit = g.limit()
	q.Guarantee = one(g, nil, gpus(g.IntN(most+1)), gpus(most),
		quota.Amounts{quota.GPUMilli: 1500, quota.CPUMilli: 3000}, quota.Amounts{quota.GPUMilli: 2000, quota.GPUMilliOf("H100"): 1000})
	q.BorrowingLimit = one(g, nil, nil, nil, nil, gpus(1), gpus(3), quota.Amounts{quota.GPUMilliOf("H100"): 1000, quota.CPUMilli: 9000})
	q.LendingLimit = one(g, nil, nil, gpus(0), gpus(1), quota.Amounts{quota.CPUMilli: 1000, quota.GPUMilliOf("H100"): 0})
	return q
}

// otherwise draws a queue anew, or one thing of it.
func (g *Generator) otherwise(name berth.QueueID) quota.Queue {
	before := g.told[name]
	drawn := g.queue(name, before.Parent, 4)
	after := before
	switch g.IntN(7) {
	case 0:
		after = drawn
	case 6:
		after.Guarantee, after.Limit = nil, gpus(g.IntN(3))
	case 1:
		after.Limit = drawn.Limit
	case 2:
		after.Guarantee = drawn.Guarantee
	case 3:
		after.LendingLimit = gpus(g.IntN(4))
	case 4:
		after.BorrowingLimit = drawn.BorrowingLimit
	case 5:
		after.Weight, after.Priority = drawn.Weight, drawn.Priority
	}
	return after
}

func (g *Generator) limit() quota.Amounts {
	return one(g, nil, nil, nil, nil, nil, nil,
		gpus(g.IntN(12)),
		quota.Amounts{quota.GPUMilliOf("H100"): int64(1000 * (1 + g.IntN(6))), quota.GPUMilli: 20_000},
		quota.Amounts{quota.CPUMilli: 20_000, quota.MemoryMiB: 40_000})
}
