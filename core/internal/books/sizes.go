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
	bk.CountSize(rep, 1)
	if rep.Job.Spec.NonPreemptible {
		q.NonPreemptible.ReplaceOrInsert(rep)
	}
}

// Exit takes a replica out of those that run.
func (bk *Books) Exit(rep *record.Replica) {
	q := bk.Queues[rep.Job.Queue]
	q.Running.Delete(rep)
	if rep.Job.IsElastic() {
		q.Elastic.Delete(rep)
		return
	}
	bk.CountSize(rep, -1)
	q.NonPreemptible.Delete(rep)
	rep.RunsMilli = 0
}

// CountSize counts a replica that runs and has no surplus among the sizes, or not any more.
func (bk *Books) CountSize(rep *record.Replica, change int64) {
	q := bk.Queues[rep.Job.Queue]
	q.Sizes = AddSize(q.Sizes, rep.RunsMilli, change)
}

// AddSize adds so many of a size to sizes, which go from the largest to the smallest. A size of
// which there are none is left out.
func AddSize(sizes []quota.SizeCount, size, count int64) []quota.SizeCount {
	at, found := slices.BinarySearchFunc(sizes, size, func(l quota.SizeCount, size int64) int { return cmp.Compare(size, l.Size) })
	if !found {
		sizes = slices.Insert(sizes, at, quota.SizeCount{Size: size})
	}
	if sizes[at].Count += count; sizes[at].Count == 0 {
		sizes = slices.Delete(sizes, at, at+1)
	}
	return sizes
}
