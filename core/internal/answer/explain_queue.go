package answer

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// queuePositions tells where a queue and those above it stand, the topmost first.
func (an *Answers) queuePositions(i quota.QueueIndex) []berth.QueuePosition {
	var list []berth.QueuePosition
	an.books.TellDemands()
	for _, s := range an.state.Quota.Positions(nil, i) {
		list = append(list, berth.QueuePosition{
			Queue: an.state.Quota.Name(s.Queue), Position: s.Position, Siblings: s.Siblings, NextMilli: s.Next, NextCoveredMilli: s.NextCovered, WithinGuarantee: s.WithinGuarantee, Priority: s.Priority,
			UsedMilli: s.Used, CoveredMilli: s.Covered, GuaranteedMilli: s.Guaranteed, Share: an.queueShare(s.Queue),
			Weight: s.Weight, WeightFactorMilli: int64(s.Tilt) * 1000 / 4096, AverageMilli: s.Average,
			FairMilli: an.books.Shares.Of(s.Queue),
		})
	}
	return list
}

// positions tells where the replicas of a job that wait for a place stand among all that
// wait in their queue, from 1. Those of a batch stand behind its head, in order of number.
// O(replicas x log(what waits in the queue) + batches in the queue).
func (an *Answers) positions(j *record.Job) map[*record.Replica]int {
	var own, further []*record.Entry // the first of each replica, and the others
	for rep := range j.Replicas.All() {
		if rep.Entries != nil {
			own, further = append(own, rep.Entries[0]), append(further, rep.Entries[1:]...)
			further = slices.DeleteFunc(further, (*record.Entry).IsAlternative)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, record.CompareEntries)
	behind := an.behind(j, own)
	list := make(map[*record.Replica]int, len(own))
	for _, e := range further {
		at, _ := slices.BinarySearchFunc(own, e, record.CompareEntries)
		for i := at; i < len(own); i++ {
			behind[i]-- // a replica stands where its first entry does
		}
	}
	for i, e := range own {
		list[e.Rep] = an.books.Queues[j.Queue].Before(e) + behind[i] + 1
	}
	return list
}

// behind counts the replicas in batches behind entries that stand before each of some.
func (an *Answers) behind(j *record.Job, own []*record.Entry) []int {
	more := make([]int, len(own)+1)
	for _, b := range an.books.Queues[j.Queue].List {
		if b.Behind == 0 {
			continue
		}
		for _, e := range b.Entries.Items() {
			if e.Batch != nil {
				at, found := slices.BinarySearchFunc(own, e, record.CompareEntries)
				if found {
					at++
				}
				more[at] += e.Batch.Len()
			}
		}
	}
	for i := 1; i < len(own); i++ {
		more[i] += more[i-1]
	}
	return more[:len(own)]
}
