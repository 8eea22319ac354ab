package preempt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// This file is the policies that are compared with the core's own. Under each of them the
// core places, and preempts nobody; when a replica finds no place, a gang is chosen by the
// policy's order and stopped from outside, as an operator's controller would. So what
// differs is the choice of victims, and how they go.

// A policy is a line of the comparison.
type policy struct {
	name   string
	config berth.Config
	// before orders gangs by which is stopped first; nil: none is, but by the core.
	before func(a, b *job) int
	// asks: a gang that is stopped writes a checkpoint first.
	asks bool
	// deaf: nobody writes checkpoints on request.
	deaf bool
	// patience is how long a replica waits before a gang is stopped for it.
	patience berth.Duration
	// rigid: no gang is elastic.
	rigid bool
}

// byPriority stops the gang of the lowest priority, of those the one that runs for the
// shortest time: how kube-scheduler chooses among nodes, each of which has one victim here.
func byPriority(a, b *job) int {
	return cmp.Or(cmp.Compare(a.priority, b.priority), newestFirst(a, b))
}

// newestFirst stops the gang that started last.
func newestFirst(a, b *job) int {
	return cmp.Or(cmp.Compare(b.began, a.began), strings.Compare(string(a.spec.ID), string(b.spec.ID)))
}

// evict sees to the replicas that wait and for which nothing is becoming free, in the order
// of their arrival: each has a gang stopped. A gang has whole nodes, so one is enough, and
// what is left of its nodes serves the next ones.
func (r *run) evict() error {
	if r.policy.before == nil || len(r.waiting) == 0 {
		return nil
	}
	soon := slices.Clone(r.free)
	for n := range soon {
		soon[n] += r.going[n]
	}
	for _, replica := range r.waiting {
		if takeTightest(soon, replica.each) || r.sim.Now() < replica.arrived.Add(r.policy.patience) {
			continue
		}
		victim := r.victim()
		if victim == nil {
			return nil
		}
		r.condemn(victim, replica)
		for i := range victim.members {
			if victim.members[i].state != absent {
				soon[victim.members[i].node] += victim.each
			}
		}
		takeTightest(soon, replica.each)
	}
	return nil
}

// takeTightest takes GPUs of the node that has the fewest to spare.
func takeTightest(free []int, gpus int) bool {
	best := -1
	for n, f := range free {
		if f >= gpus && (best < 0 || f < free[best]) {
			best = n
		}
	}
	if best >= 0 {
		free[best] -= gpus
	}
	return best >= 0
}

// victim is the gang that the policy stops first; nil: none is left.
func (r *run) victim() *job {
	var first *job
	for _, j := range r.gangs {
		if j.ended || j.dying || j.order != 0 || j.in(running) == 0 {
			continue
		}
		if first == nil || r.policy.before(j, first) < 0 {
			first = j
		}
	}
	return first
}

// condemn stops a gang for a replica, after its checkpoint if the policy asks for one.
func (r *run) condemn(j, replica *job) {
	r.settle(j)
	r.noteEviction(j, j.in(running)*j.each, replica)
	for i := range j.members {
		if j.members[i].state == running {
			r.move(j, i, going, 0)
		}
	}
	j.dying = true
	if !r.policy.asks {
		r.kill(j)
		return
	}
	r.write(j)
	r.later(j, j.spec.Checkpoint.Cost, func() error {
		r.written(j)
		r.kill(j)
		return nil
	})
}

// kill stops a gang, and tells the core that all its members are dead when they are.
func (r *run) kill(j *job) {
	r.halt(j)
	r.later(j, stopTakes, func() error {
		j.dying = false
		dead := berth.MemberFailed{Job: j.spec.ID, Incarnation: j.incarnation, Reason: "stopped"}
		for i := range j.members {
			if j.members[i].state == going {
				r.move(j, i, absent, 0)
				dead.Members = append(dead.Members, berth.MemberRef{Index: i})
			}
		}
		return r.tell(dead)
	})
}
