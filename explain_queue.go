package berth

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// A QueueStanding is where a queue stands among its siblings in the order of service,
// with the numbers that decide it. GPU amounts are in thousandths of a GPU.
type QueueStanding struct {
	Queue QueueID `json:"queue"`
	// Position among the siblings that have something that may be tried, from 1, and
	// how many these are; zero where the queue has nothing.
	Position int `json:"position,omitempty"`
	Of       int `json:"of,omitempty"`
	// NextMilli is what the job asks for that it would be served next; of it NextCoveredMilli
	// are under guarantees, and the rest would be borrowed. Owed: all of it is under
	// guarantees. Those queues come first.
	NextMilli        int64 `json:"nextMilli,omitempty"`
	NextCoveredMilli int64 `json:"nextCoveredMilli,omitempty"`
	Owed             bool  `json:"owed"`
	// Priority among siblings comes next.
	Priority int32 `json:"priority,omitempty"`
	// Used, how much of it is covered by guarantees, and what is guaranteed.
	UsedMilli       int64 `json:"usedMilli"`
	CoveredMilli    int64 `json:"coveredMilli,omitempty"`
	GuaranteedMilli int64 `json:"guaranteedMilli,omitempty"`
	// Weight, of which so many thousandths count, for what was used of late; and that
	// use, on average.
	Weight       int64 `json:"weight"`
	TiltMilli    int64 `json:"tiltMilli"`
	AverageMilli int64 `json:"averageMilli,omitempty"`
	// FairMilli is its fair share of the fleet: what it would get if everybody got what is
	// due to them, by what all queues use and wait for now, without those that back off.
	FairMilli int64 `json:"fairMilli"`
}

// standing tells where a queue and those above it stand, the widest first.
func (c *Core) standing(i quota.Index) []QueueStanding {
	var list []QueueStanding
	c.demands()
	for _, s := range c.quota.Standing(nil, i) {
		list = append(list, QueueStanding{
			Queue: QueueID(c.quota.Name(s.Queue)), Position: s.Position, Of: s.Of, NextMilli: s.Next, NextCoveredMilli: s.NextCovered, Owed: s.Owed, Priority: s.Priority,
			UsedMilli: s.Used, CoveredMilli: s.Covered, GuaranteedMilli: s.Guaranteed,
			Weight: s.Weight, TiltMilli: int64(s.Tilt) * 1000 / 4096, AverageMilli: s.Average,
			FairMilli: c.shares.Of(s.Queue),
		})
	}
	return list
}

// positions tells where the replicas of a job that wait for a place stand among all that
// wait in their queue, from 1. O((what waits in the queue) x log replicas).
func (c *Core) positions(j *job) map[*replica]int {
	var own []*entry
	for _, rep := range j.replicas {
		if rep != nil && rep.entries != nil {
			own = append(own, rep.entries[0])
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, compareEntries)
	before := make([]int, len(own)) // others between it and the one before it
	for _, b := range c.queues[j.queue].list {
		for _, e := range b.entries.Items() {
			if at, _ := slices.BinarySearchFunc(own, e, compareEntries); e.rep.job != j && at < len(own) {
				before[at]++
			}
		}
	}
	list := make(map[*replica]int, len(own))
	for i, sum := 0, 0; i < len(own); i++ {
		sum += before[i] + 1
		list[own[i].rep] = sum
	}
	return list
}
