package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/errtext"
)

// WhatIf answers what a pass at an instant would order if the given events were told first. It
// works on a copy and leaves the core byte-identical. An event that would be refused ends it
// with that refusal.
//
// Cost: O(state), for the copy, which is made of the values of a snapshot, without its text.
func (c *Core) WhatIf(now berth.Time, events ...berth.Event) ([]berth.Order, error) {
	twin, err := c.twin()
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if err := twin.Apply(now, e); err != nil {
			return nil, err
		}
	}
	return twin.Schedule(now)
}

// StartPlan answers what it would take to start a replica that waits at an instant, if these
// events were told first: which gangs to move, which victims to evict and at what cost, or why
// nothing helps. It has no effect. Without events, and now, it looks at the core itself; else
// at a copy for which all that is due by then has fallen due, which costs O(state) more. A job
// that is not known, also because its gang timeout is over by then, or an event that would be
// refused, is refused.
func (c *Core) StartPlan(now berth.Time, id berth.JobID, replica int, events ...berth.Event) (berth.StartPlan, error) {
	twin := c
	if len(events) > 0 || now != c.state.Now {
		var err error
		if twin, err = c.twin(); err != nil {
			return berth.StartPlan{}, err
		}
		for _, e := range events {
			if err := twin.Apply(now, e); err != nil {
				return berth.StartPlan{}, err
			}
		}
		if err := twin.checkInstant(now); err != nil {
			err.Event = "whatItTakes"
			return berth.StartPlan{}, err
		}
		twin.state.SetClock(now)
		twin.books.Tick()
		twin.expire()
		twin.settle()
	}
	var rep *record.Replica
	if j := twin.state.Jobs[id]; j != nil {
		rep = j.Replica(replica)
	}
	if rep == nil {
		return berth.StartPlan{}, &berth.Error{Event: "whatItTakes", Field: "job", Kind: berth.ErrUnknown, Reason: fmt.Sprintf("job %q has no replica %d", errtext.Short(id), replica)}
	}
	return twin.answer.StartPlan(rep), nil
}

// twin makes a core of what a snapshot of this one has.
func (c *Core) twin() (*Core, error) { return restore(c.save(), c.catalogue.Tables) }
