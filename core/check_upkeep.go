package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// checkTrust checks that nodes that are on probation or on trial are watched, and are in the
// windows that they are to be in.
func (c *Core) checkTrust() error {
	due, watched := never, 0
	if err := c.eachNode(func(n *node) error {
		if n.trust.Probation != 0 || n.trust.Trial != 0 {
			watched++
		}
		for _, at := range []berth.Time{n.trust.Probation, n.trust.Trial} {
			if at != 0 {
				due = min(due, at)
			}
		}
		switch {
		case (n.trust.Probation != 0 || n.trust.Trial != 0) != slices.Contains(c.watched, n):
			return fmt.Errorf("on probation until %d, on trial until %d, and wrongly watched", n.trust.Probation, n.trust.Trial)
		case c.trials != nil && !c.trials.isBurnIn():
			return fmt.Errorf("what is kept for burn-in is of another kind")
		case (n.trust.Trial != 0) != (c.trials != nil && slices.Contains(n.windows, c.trials)):
			return fmt.Errorf("on trial until %d, and wrongly set aside", n.trust.Trial)
		}
		return nil
	}); err != nil {
		return err
	}
	if watched != len(c.watched) || due != c.agenda.healthDue || !slices.IsSortedFunc(c.watched, compareNodes) {
		return fmt.Errorf("%d nodes are watched, the first until %d; it should be %d, until %d", len(c.watched), c.agenda.healthDue, watched, due)
	}
	return nil
}

// checkSpares checks the spares of pools against the nodes.
func (c *Core) checkSpares() error {
	sound := map[string]int{}
	if err := c.eachNode(func(n *node) error {
		if n.sound() {
			sound[n.spec.Pool]++
		}
		return c.checkSpare(n, c.sparesOf(n.spec.Pool))
	}); err != nil {
		return err
	}
	for _, p := range c.spares {
		if p.sound != sound[p.pool] {
			return fmt.Errorf("pool %q: %d nodes count as sound, and %d are", p.pool, p.sound, sound[p.pool])
		}
		if p.free() != p.wanted() && !c.agenda.sparesDue && c.couldStandBy(p) != (p.free() > p.wanted()) {
			return fmt.Errorf("pool %q has %d spares of %d, and no pass looks for more", p.pool, p.free(), p.wanted())
		}
	}
	return nil
}

// checkSpare checks a node against the spares of its pool; nil: it has none.
func (c *Core) checkSpare(n *node, p *sparePool) error {
	switch {
	case p != nil && p.window != nil && !p.window.isSpares():
		return fmt.Errorf("what is kept of spares is of another kind")
	case n.trust.Spare != (p != nil && p.window != nil && slices.Contains(n.windows, p.window)):
		return fmt.Errorf("a spare: %v, and wrongly set aside", n.trust.Spare)
	case n.trust.Spare && (n.trust.Trial != 0 || n.trust.StandsIn), n.trust.Spare && len(n.members) > 0 && !c.agenda.sparesDue:
		return fmt.Errorf("it is a spare, and in use or on trial")
	case n.trust.StandsIn && len(n.members) == 0:
		return fmt.Errorf("it stands in, and holds nobody")
	case p != nil && n.counted != n.sound():
		return fmt.Errorf("sound: %v, and not counted so", n.sound())
	}
	return nil
}

// couldStandBy reports whether a pool has a node that could be a spare, and is none.
func (c *Core) couldStandBy(p *sparePool) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool {
		return n != nil && n.spec.Pool == p.pool && c.mayStandBy(n)
	})
}

func (c *Core) checkLosses() error {
	if n := len(c.lost.byID); n > c.config.Limits.Nodes {
		return fmt.Errorf("%d nodes that were lost are remembered", n)
	}
	return c.lost.check()
}

// check checks that what is remembered is in order, and in both indexes.
func (m *lossMemory) check() error {
	if len(m.byID) != m.fading.Len() {
		return fmt.Errorf("%d nodes that were lost are remembered, %d of them to be forgotten", len(m.byID), m.fading.Len())
	}
	var err error
	m.fading.Ascend(func(r *lossRecord) bool {
		if m.byID[r.Node] != r || len(r.Losses) == 0 || !slices.IsSorted(r.Losses) {
			err = fmt.Errorf("what is remembered of node %s is not where it says, or out of order", r.Node)
		}
		return err == nil
	})
	return err
}
