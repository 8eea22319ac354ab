package check

import (
	"slices"

	"github.com/berth-sched/berth/quota"
)

// This file is what a queue keeps when others collect what is theirs: an amount, in whichever of
// its jobs. It goes by the largest sum of jobs within the guarantee, found by listing all sums.

// maxSums bounds the sums that are listed.
const maxSums = 1 << 14

// fills is the most of a share that the jobs of a queue filled, and fill without the victims and
// with one more that joins them; 0: none does. What is being started, or will be, stays. Not known:
// where lotsOf does not know, or a gang comes back to where it stood, for which its queue is
// charged though it holds nothing, or guarantees are not all lent.
func (w *world) fills(q *queue, share, joins int64, lent []victim, before []ghost) (most, now int64, known bool) {
	if w.somebodyKeeps() {
		return 0, 0, false
	}
	for rep := range w.replicas() {
		if rep.job.queue.below(q.spec.Name) && len(rep.stood) > 0 {
			return 0, 0, false
		}
	}
	all, left, known := w.lotsOf(q, lent, before)
	rest := q.used[quota.GPUMilli]
	for _, piece := range left {
		rest -= piece
	}
	return filled(share-rest, all, append(left, joins), known)
}

// fillsRunning is the most of a share that the jobs of a queue filled that run, and fill without
// the victims. Not known: where lotsOf does not know.
func (w *world) fillsRunning(q *queue, share int64, lent []victim, before []ghost) (most, now int64, known bool) {
	all, left, known := w.lotsOf(q, lent, before)
	return filled(share-w.nonPreemptible(q), all, left, known)
}

// nonPreemptible is what the jobs of a queue hold that run and are never preempted: it stays, and
// the others fill what it leaves of a share.
func (w *world) nonPreemptible(q *queue) (milli int64) {
	for rep := range w.replicas() {
		if rep.job.spec.NonPreemptible && rep.job.queue.below(q.spec.Name) && w.ran(rep) {
			milli += w.held(rep.in(running))
		}
	}
	return milli
}

func filled(share int64, all, left []int64, known bool) (most, now int64, exact bool) {
	if !known {
		return 0, 0, false
	}
	most, known = largestSum(share, all)
	if now, some := largestSum(share, left); some && known {
		return most, now, true
	}
	return 0, 0, false
}

// lotsOf lists what the jobs of a queue hold that run, and what is left of that without the
// victims. Jobs that go as a whole or not at all count as one each, and so do the minimum of an
// elastic gang and each unit above that. What was on its way out before counts for neither, nor
// does what is never preempted. Not
// known: where a size is the core's choice, or a request was withdrawn in this pass, so that it may
// have been out when the core looked.
func (w *world) lotsOf(q *queue, lent []victim, before []ghost) (all, left []int64, known bool) {
	for rep := range w.replicas() {
		if !rep.job.queue.below(q.spec.Name) || rep.job.spec.NonPreemptible {
			continue
		}
		members := slices.DeleteFunc(w.staying(rep, before), func(m *member) bool { return m.state == binding || m.state == broke })
		if len(members) == 0 || !w.ran(rep) {
			continue
		}
		pieces, units, known := w.pieces(rep, members)
		if !known || w.told.has(rep) {
			return nil, nil, false
		}
		all = append(all, pieces...)
		gone := 0
		for _, v := range lent {
			switch {
			case v.replica != rep:
			case v.whole():
				gone = len(pieces)
			default:
				gone += len(v.units())
			}
		}
		if gone > 0 && gone < len(pieces) && gone > units {
			return nil, nil, false
		}
		left = append(left, pieces[gone:]...)
	}
	return all, left, true
}

// pieces lists what a replica is made of: so many units above its minimum, all of one size, and the
// rest.
func (w *world) pieces(rep *replica, members []*member) (sizes []int64, units int, known bool) {
	all := w.held(members)
	if !rep.elastic() {
		return []int64{all}, 0, true
	}
	if rep.job.spec.Topology.Exclusive != "" { // it gives no unit by itself, and counts by units all the same
		return nil, 0, false
	}
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		v := victim{replica: rep, members: slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return rep.job.group(m.flat) != g })}
		if len(v.members) == 0 || minimum(group) == group.Members {
			continue
		}
		list := v.units()
		for _, u := range list {
			if len(u.members) != len(list[0].members) || ofInstance(&group.Claim) || len(rep.job.spec.Groups) > 1 {
				return nil, 0, false
			}
		}
		for left := len(v.members) - minimum(group); left >= len(list[0].members); left -= len(list[0].members) {
			each := w.held(list[units].members)
			sizes, units = append(sizes, each), units+1
			all -= each
		}
	}
	return append(sizes, all), units, true
}

// largestSum is the largest sum of some amounts that does not exceed a bound; false: there are too
// many sums to list.
func largestSum(bound int64, amounts []int64) (most int64, known bool) {
	sums := map[int64]bool{0: true}
	for _, amount := range amounts {
		list := make([]int64, 0, len(sums))
		for sum := range sums {
			list = append(list, sum+amount)
		}
		for _, sum := range list {
			if sum <= bound {
				sums[sum], most = true, max(most, sum)
			}
		}
		if len(sums) > maxSums {
			return 0, false
		}
	}
	return most, true
}
