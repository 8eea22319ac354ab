package berth

import (
	"fmt"
	"slices"
)

// health checks what is kept about hardware that failed, and about spares, against the nodes.
func (v *verifier) health() error {
	c := v.c
	due, watched, sound := never, 0, map[string]int{}
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		if n.sound() {
			sound[n.spec.Pool]++
		}
		if err := v.trust(n); err != nil {
			return fmt.Errorf("node %s: %w", n.spec.ID, err)
		}
		if n.probation != 0 || n.trial != 0 {
			watched++
		}
		for _, at := range []Time{n.probation, n.trial} {
			if at != 0 {
				due = min(due, at)
			}
		}
	}
	if watched != len(c.watched) || due != c.agenda.healthDue || !slices.IsSortedFunc(c.watched, compareNodes) {
		return fmt.Errorf("%d nodes are watched, the first until %d; it should be %d, until %d", len(c.watched), c.agenda.healthDue, watched, due)
	}
	for _, p := range c.spares {
		if p.sound != sound[p.pool] {
			return fmt.Errorf("pool %q: %d nodes count as sound, and %d are", p.pool, p.sound, sound[p.pool])
		}
		if p.free() != p.wanted() && !c.agenda.sparesDue && v.couldStandBy(p) != (p.free() > p.wanted()) {
			return fmt.Errorf("pool %q has %d spares of %d, and no pass looks for more", p.pool, p.free(), p.wanted())
		}
	}
	return v.losses()
}

// trust checks that a node is in the windows that it is to be in.
func (v *verifier) trust(n *node) error {
	c := v.c
	p := c.sparesOf(n.spec.Pool)
	switch {
	case (n.probation != 0 || n.trial != 0) != slices.Contains(c.watched, n):
		return fmt.Errorf("on probation until %d, on trial until %d, and wrongly watched", n.probation, n.trial)
	case (n.trial != 0) != (c.trials != nil && slices.Contains(n.windows, c.trials)):
		return fmt.Errorf("on trial until %d, and wrongly set aside", n.trial)
	case n.spare != (p != nil && p.window != nil && slices.Contains(n.windows, p.window)):
		return fmt.Errorf("a spare: %v, and wrongly set aside", n.spare)
	case n.spare && (n.trial != 0 || n.standsIn), n.spare && len(n.members) > 0 && !c.agenda.sparesDue:
		return fmt.Errorf("it is a spare, and in use or on trial")
	case n.standsIn && len(n.members) == 0:
		return fmt.Errorf("it stands in, and holds nobody")
	case p != nil && n.counted != n.sound():
		return fmt.Errorf("sound: %v, and not counted so", n.sound())
	}
	return nil
}

// couldStandBy reports whether a pool has a node that could be a spare, and is none.
func (v *verifier) couldStandBy(p *sparePool) bool {
	return slices.ContainsFunc(v.c.nodes, func(n *node) bool {
		return n != nil && n.spec.Pool == p.pool && v.c.mayStandBy(n)
	})
}

func (v *verifier) losses() error {
	m := &v.c.lost
	if len(m.byID) != m.fading.Len() || len(m.byID) > v.c.config.Limits.Nodes {
		return fmt.Errorf("%d nodes that were lost are remembered, %d of them to be forgotten", len(m.byID), m.fading.Len())
	}
	var err error
	m.fading.Ascend(func(r *lossRecord) bool {
		if m.byID[r.id] != r || len(r.losses) == 0 || !slices.IsSorted(r.losses) {
			err = fmt.Errorf("what is remembered of node %s is not where it says, or out of order", r.id)
		}
		return err == nil
	})
	return err
}
