package check

import "github.com/berth-sched/berth"

// This file is about how often a gang comes back to the queue, as the comment of Job.MaxRequeues
// states it.

// comesBackFor counts that a gang comes back for a cause.
func (c *Checker) comesBackFor(rep *replica, cause berth.CauseCode) {
	if rep.requeued == nil {
		rep.requeued = map[berth.CauseCode]int{}
	}
	if rep.requeued[cause]++; rep.overCap() {
		c.limited.add(rep)
	}
}

// overCap reports whether a gang has come back for one cause more often than it may.
func (rep *replica) overCap() bool {
	for _, most := range rep.job.spec.MaxRequeues {
		if rep.requeued[most.Cause] > most.Requeues {
			return true
		}
	}
	return false
}
