package answer

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// standing tells where a queue and those above it stand, the widest first.
func (an *Answers) standing(i quota.QueueIndex) []berth.QueueStanding {
	var list []berth.QueueStanding
	an.backlog.Demands()
	for _, s := range an.state.Quota.Standing(nil, i) {
		list = append(list, berth.QueueStanding{
			Queue: berth.QueueID(an.state.Quota.Name(s.Queue)), Position: s.Position, Siblings: s.Siblings, NextMilli: s.Next, NextCoveredMilli: s.NextCovered, WithinGuarantee: s.WithinGuarantee, Priority: s.Priority,
			UsedMilli: s.Used, CoveredMilli: s.Covered, GuaranteedMilli: s.Guaranteed,
			Weight: s.Weight, WeightFactorMilli: int64(s.Tilt) * 1000 / 4096, AverageMilli: s.Average,
			FairMilli: an.books.Shares.Of(s.Queue),
		})
	}
	return list
}

// positions tells where the replicas of a job that wait for a place stand among all that
// wait in their queue, from 1. Those of a batch stand behind its head, in order of number.
// O((what waits in the queue) x log replicas).
func (an *Answers) positions(j *record.Job) map[*record.Replica]int {
	var own []*record.Entry
	for rep := range j.Replicas.All() {
		if rep.Entries != nil {
			own = append(own, rep.Entries[0])
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, record.CompareEntries)
	before := make([]int, len(own)) // others between it and the one before it
	for _, b := range an.books.Queues[j.Queue].List {
		for _, e := range b.Entries.Items() {
			if at, _ := slices.BinarySearchFunc(own, e, record.CompareEntries); e.Rep.Job != j && at < len(own) {
				before[at] += e.Many()
			}
		}
	}
	list := make(map[*record.Replica]int, len(own))
	for i, sum := 0, 0; i < len(own); i++ {
		list[own[i].Rep] = sum + before[i] + 1
		sum += before[i] + own[i].Many()
	}
	return list
}
