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
	want := counts{
		blocked: len(c.blocked), limited: len(c.quotaBlocked), freedNodes: len(c.freedNodes), windows: len(c.windows), fresh: len(c.fresh),
	}
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
	if !c.agenda.agrees(want) {
		return fmt.Errorf("the agenda is %+v, and the records have %+v", c.agenda, want)
	}
	return nil
}

func increase(n *int, by bool) {
	if by {
		*n++
	}
}
