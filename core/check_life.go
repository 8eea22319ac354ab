package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// checkLife checks that what runs is in its queue, and what needs an order is in the set of
// those that do.
func (c *Core) checkLife() error {
	todo, running, stretching, listed := 0, 0, 0, 0
	if err := c.eachReplica(func(rep *replica) error {
		due := rep.order == nil && (rep.State == berth.Repairing || rep.has(memberStopping)) || rep.stray()
		if due {
			todo++
		}
		runs := rep.State == berth.Running
		if runs {
			running++
			if rep.job.isElastic() {
				stretching++
			}
		}
		switch {
		case c.todo.Has(rep) != due:
			return fmt.Errorf("needs an order: %v, is in the set: %v", due, !due)
		case c.queues[rep.job.queue].running.Has(rep) != runs:
			return fmt.Errorf("runs: %v, and not so in its queue", runs)
		case rep.yield.Checkpointed > c.now || rep.yield.Evictions < 0:
			return fmt.Errorf("it wrote a checkpoint at %d, and had to yield %d times", rep.yield.Checkpointed, rep.yield.Evictions)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, q := range c.queues {
		if q != nil {
			listed += q.running.Len()
		}
	}
	return agree(
		tally{"replicas that need an order", c.todo.Len(), todo},
		tally{"running replicas in queues", listed, running},
		tally{"running replicas that may shrink", c.stretching, stretching},
	)
}

// checkYields checks what goes with replicas that are on their way out, in whole or in part.
func (c *Core) checkYields() error {
	leaving := 0
	if err := c.eachReplica(func(rep *replica) error {
		out := rep.has(memberStopping) || rep.yieldsTo != nil || rep.leaves
		if out {
			leaving++
		}
		switch {
		case c.leaving.Has(rep) != out:
			return fmt.Errorf("on its way out: %v, and not so in the index", out)
		case rep.leaves && !rep.asked():
			return fmt.Errorf("it leaves, and is not asked for a checkpoint")
		case rep.moving == nil && rep.State == berth.Releasing && rep.resumes() && !c.agenda.homeless && c.agenda.nextMove > c.now:
			return fmt.Errorf("it is to resume, and nobody looks for a place")
		case rep.yieldsTo != nil && rep.State != berth.Releasing && !rep.asked():
			return fmt.Errorf("it yields, and is neither asked for a checkpoint nor stopped")
		}
		return checkYield(rep)
	}); err != nil {
		return err
	}
	return agree(tally{"replicas on their way out", c.leaving.Len(), leaving})
}

// checkYield checks that whoever a replica, or a member of it, yields to knows of it.
func checkYield(rep *replica) error {
	if err := yieldKnown(rep, rep.yieldsTo); err != nil {
		return err
	}
	for flat := range rep.members {
		m := &rep.members[flat]
		if m.imagined || m.yieldsTo != nil && m.state != memberStopping {
			return fmt.Errorf("member %d yields and is not stopped, or is imagined gone", flat)
		}
		if err := yieldKnown(rep, m.yieldsTo); err != nil {
			return err
		}
	}
	return nil
}

// yieldKnown checks that a replica is a victim of the one that it, or a member of it, yields
// to; nil: to nobody.
func yieldKnown(rep, to *replica) error {
	if to != nil && (to.room() == nil || !slices.Contains(to.room().preemption.victims, rep)) {
		return fmt.Errorf("it yields to %v, which does not know of it", to.ref())
	}
	return nil
}
