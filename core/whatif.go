package core

import (
	"github.com/berth-sched/berth"
)

// WhatIf answers what a pass at an instant would order if the given facts were
// told first. It works on a copy and leaves the core byte-identical. A fact that
// would be refused ends it with that refusal.
//
// Cost: O(state), for the copy.
func (c *Core) WhatIf(now berth.Time, events ...berth.Event) ([]berth.Action, error) {
	b, err := c.Snapshot()
	if err != nil {
		return nil, err
	}
	twin, err := restore(b, c.config.Gain, c.tables)
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
