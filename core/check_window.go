package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
)

// checkWindows checks what is set aside: that windows and nodes agree, and that each
// window has somebody whose it is.
func (c *Core) checkWindows() error {
	for i, w := range c.windows {
		if i > 0 && c.windows[i-1].name >= w.name {
			return fmt.Errorf("window %s is out of order", w.name)
		}
		if err := c.checkWindow(w); err != nil {
			return err
		}
	}
	return c.eachNode(func(n *node) error {
		for _, w := range n.windows {
			if !slices.Contains(c.windows, w) || !slices.Contains(w.nodes, n) {
				return fmt.Errorf("window %s does not know of it", w.name)
			}
		}
		return nil
	})
}

func (c *Core) checkWindow(w *window) error {
	switch {
	case !w.agrees():
		return fmt.Errorf("window %s is nobody's, or not what its kind says", w.name)
	case w.isReservation() && (w.rep.State != berth.Pending || w.rep.entries == nil):
		return fmt.Errorf("window %s is for a gang that does not wait", w.name)
	case w.isMove() && (!w.rep.mayArrive() || w.isPart() && w.rep.State == berth.Running || w.isPlanned() && len(w.preemption.victims) > 0):
		return fmt.Errorf("window %s is for a gang that does not move", w.name)
	case w.isPlanned() && !slices.IsSortedFunc(w.preemption.victims, compareReplicas):
		return fmt.Errorf("window %s: the victims are out of order", w.name)
	case w.isPlanned() && slices.ContainsFunc(w.preemption.victims, func(victim *replica) bool { return !victim.yieldsFor(w.rep) }):
		return fmt.Errorf("window %s: a victim does not yield", w.name)
	case !slices.IsSortedFunc(w.nodes, compareNodes):
		return fmt.Errorf("the nodes of window %s are out of order", w.name)
	}
	for _, n := range w.nodes {
		if c.nodes[n.index] != n || !slices.Contains(n.windows, w) {
			return fmt.Errorf("node %s does not know of window %s", n.spec.ID, w.name)
		}
	}
	return nil
}

// checkPlaces checks what replicas have set aside, and that no plan is left in them.
func (c *Core) checkPlaces() error {
	return c.eachReplica(func(rep *replica) error {
		switch {
		case rep.bid.RipeAt != 0 && (rep.State != berth.Pending || rep.entries == nil):
			return fmt.Errorf("others may be worth stopping for it at %d, and it does not wait", rep.bid.RipeAt)
		case !rep.setsAside():
			return fmt.Errorf("what it has set aside is over, or of another kind")
		case rep.imagined:
			return fmt.Errorf("it is imagined ended")
		}
		return nil
	})
}
