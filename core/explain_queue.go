package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// standing tells where a queue and those above it stand, the widest first.
func (c *Core) standing(i quota.Index) []berth.QueueStanding {
	var list []berth.QueueStanding
	c.demands()
	for _, s := range c.quota.Standing(nil, i) {
		list = append(list, berth.QueueStanding{
			Queue: berth.QueueID(c.quota.Name(s.Queue)), Position: s.Position, Of: s.Of, NextMilli: s.Next, NextCoveredMilli: s.NextCovered, Owed: s.Owed, Priority: s.Priority,
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
