package books

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// Enter enters a replica among those that run.
func (bk *Books) Enter(rep *record.Replica) {
	q := bk.Queues[rep.Job.Queue]
	q.Enter(rep)
	if rep.Job.IsElastic() {
		q.Elastic.ReplaceOrInsert(rep)
		return
	}
	rep.RunsMilli = record.Piece{Rep: rep}.GPUMilli()
	bk.CountLot(rep, 1)
}

// Exit takes a replica out of those that run.
func (bk *Books) Exit(rep *record.Replica) {
	q := bk.Queues[rep.Job.Queue]
	q.Running.Delete(rep)
	if rep.Job.IsElastic() {
		q.Elastic.Delete(rep)
		return
	}
	bk.CountLot(rep, -1)
	rep.RunsMilli = 0
}

// CountLot counts a replica that runs and has no surplus among the lots, or not any more.
func (bk *Books) CountLot(rep *record.Replica, change int64) {
	q := bk.Queues[rep.Job.Queue]
	q.Lots = AddLot(q.Lots, rep.RunsMilli, change)
}

// AddLot adds so many of a size to lots, which go from the largest size to the smallest. A size of
// which there are none is left out.
func AddLot(lots []quota.Lot, size, count int64) []quota.Lot {
	at, found := slices.BinarySearchFunc(lots, size, func(l quota.Lot, size int64) int { return cmp.Compare(size, l.Size) })
	if !found {
		lots = slices.Insert(lots, at, quota.Lot{Size: size})
	}
	if lots[at].Count += count; lots[at].Count == 0 {
		lots = slices.Delete(lots, at, at+1)
	}
	return lots
}
