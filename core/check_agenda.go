package core

import (
	"fmt"
	"maps"
	"slices"
)

// checkAgenda holds the counts of the agenda against the records.
func (c *Core) checkAgenda() error {
	if err := c.agenda.valid(); err != nil {
		return fmt.Errorf("agenda: %w", err)
	}
	want := c.agenda
	want.blocked, want.looking, want.limited = len(c.blocked), 0, len(c.quotaBlocked)
	want.freedNodes, want.windows, want.fresh = len(c.freedNodes), len(c.windows), len(c.fresh)
	want.stalled, want.hopeless, want.dividing, want.pliable, want.draining = 0, 0, 0, 0, 0
	for _, s := range c.blocked {
		increase(&want.looking, s.looksAround)
	}
	for _, n := range c.nodes {
		if n != nil {
			increase(&want.dividing, n.table != nil)
			increase(&want.pliable, n.pliable())
			increase(&want.draining, n.Drains)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		for _, rep := range c.jobs[id].replicas {
			if rep != nil {
				increase(&want.stalled, c.stalled(rep))
				increase(&want.hopeless, c.hopeless(rep))
			}
		}
	}
	if want != c.agenda {
		return fmt.Errorf("the agenda is %+v, and should be %+v", c.agenda, want)
	}
	return nil
}

func increase(n *int, by bool) {
	if by {
		*n++
	}
}
