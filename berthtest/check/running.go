package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file asserts that what runs within a guarantee goes last. Every queue on the way down to a
// victim of another queue, from where it parts from the beneficiary's, is left what it states as
// its guarantee in gangs that run and stay. The exception are gangs that do not fit in it, beside
// the others: then what is left of those that run fills as much of the guarantee as before.
//
// What is planned for a queue counts for nothing, nor does a place that is kept for a gang of it,
// nor what is being started: a plan may end, a place may be lost and a start may fail, and then the
// queue would have given what it was guaranteed for nothing. A gang that moves for the same
// beneficiary stays: it is not taken back, and goes where its place is kept.
//
// That follows from events and orders alone, so that it is judged with no report of the fleet, and
// whatever else is under way. Nothing is said of a queue above one that does not lend all of its
// guarantee.

// mostInOneOrder is how many preemptions of one pass are judged: they were made one after the
// other, in an order that no order tells.
const mostInOneOrder = 5

// keepsWhatRuns judges the preemptions of the pass.
func (c *Checker) keepsWhatRuns() error {
	reclaims := func(r *preemption) bool { return len(c.reclaimed(r)) > 0 }
	if c.ownPolicy || len(c.opened) > mostInOneOrder || !slices.ContainsFunc(c.opened, reclaims) {
		return nil
	}
	w := c.imagine(c.opened, nil, nil)
	defer w.forget()
	return w.anyOrderKeeps(c.opened)
}

// anyOrderKeeps looks for an order of preemptions in which each leaves what runs within guarantees.
// It returns what is wrong about the first that it tries.
func (w *world) anyOrderKeeps(left []*preemption) (first error) {
	for i, r := range left {
		gone := len(w.gone)
		err := w.leavesWhatRuns(r)
		for _, v := range r.victims { // those that move are on their way from now on
			w.vanish(v.all())
		}
		if err == nil {
			err = w.anyOrderKeeps(slices.Concat(left[:i], left[i+1:]))
		}
		if w.back(gone, len(w.here)); err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// reclaimed are the victims of a preemption that are of another queue and do not move.
func (c *Checker) reclaimed(r *preemption) []victim {
	rep := c.find(r.beneficiary)
	return slices.DeleteFunc(r.evicted(), func(v victim) bool { return rep == nil || v.job.queue == rep.job.queue })
}

// leavesWhatRuns asserts that the victims of a preemption leave every queue its guarantee.
func (w *world) leavesWhatRuns(r *preemption) error {
	list, before := w.reclaimed(r), slices.Clip(w.gone)
	for _, v := range list {
		w.vanish(v.all())
	}
	defer w.back(len(before), len(w.here))
	for _, v := range list {
		_, path := parting(w.find(r.beneficiary).job.queue, v.job.queue)
		seen := "what is taken back leaves the guarantees"
		for _, q := range path {
			guarantee, stated := q.spec.Guarantee[quota.GPUMilli]
			left := w.runs(q)
			if !stated || left >= guarantee || q.keepsBelow() {
				continue
			}
			seen = "taken back as a whole"
			if most, now, known := w.fillsRunning(q, guarantee, list, before); known && now < most {
				return broken(PromiseS4, "%s is evicted for %s, and leaves queue %s with %d that run, of %d guaranteed; what runs filled %d of that, and fills %d now",
					v, r.beneficiary, q.spec.Name, left, guarantee, most, now)
			}
		}
		w.saw(seen)
	}
	return nil
}

// runs is what the gangs of a queue hold that run and stay.
func (w *world) runs(q *queue) int64 {
	sum := int64(0)
	for rep := range w.replicas() {
		if rep.job.queue.below(q.spec.Name) && w.ran(rep) {
			sum += w.held(slices.DeleteFunc(slices.Clone(rep.members), func(m *member) bool { return m.node == nil || m.state == binding || m.state == broke }))
		}
	}
	return sum
}

// ran reports whether a replica ran when victims were chosen.
func (w *world) ran(rep *replica) bool {
	return rep.state == berth.ReplicaRunning || rep.preemption != nil && slices.Contains(w.opened, rep.preemption)
}

// keepsBelow reports whether a queue below one does not lend all of its guarantee.
func (q *queue) keepsBelow() bool {
	return slices.ContainsFunc(q.children, func(child *queue) bool { return len(child.spec.LendingLimit) > 0 || child.keepsBelow() })
}
