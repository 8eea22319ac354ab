package backlog

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// CheckWindows checks what is set aside: that windows and nodes agree, and that each
// window has somebody whose it is.
func (bl *Backlog) CheckWindows() error {
	for i, w := range bl.Windows {
		if i > 0 && bl.Windows[i-1].Name >= w.Name {
			return fmt.Errorf("window %s is out of order", w.Name)
		}
		if err := bl.checkWindow(w); err != nil {
			return err
		}
	}
	return bl.state.EachNode(func(n *record.Node) error {
		for _, w := range n.Windows {
			if !slices.Contains(bl.Windows, w) || !slices.Contains(w.Nodes, n) {
				return fmt.Errorf("window %s does not know of it", w.Name)
			}
		}
		return nil
	})
}

func (bl *Backlog) checkWindow(w *record.Window) error {
	switch {
	case !w.Agrees():
		return fmt.Errorf("window %s is nobody's, or not what its kind says", w.Name)
	case w.IsReservation() && (w.Rep.State != berth.Pending || w.Rep.Entries == nil):
		return fmt.Errorf("window %s is for a gang that does not wait", w.Name)
	case w.IsMove() && (!w.Rep.MayArrive() || w.IsPart() && w.Rep.State == berth.Running || w.IsPlanned() && len(w.Preemption.Victims) > 0):
		return fmt.Errorf("window %s is for a gang that does not move", w.Name)
	case w.IsPlanned() && !slices.IsSortedFunc(w.Preemption.Victims, record.CompareReplicas):
		return fmt.Errorf("window %s: the victims are out of order", w.Name)
	case w.IsPlanned() && slices.ContainsFunc(w.Preemption.Victims, func(victim *record.Replica) bool { return !victim.YieldsFor(w.Rep) }):
		return fmt.Errorf("window %s: a victim does not yield", w.Name)
	case !slices.IsSortedFunc(w.Nodes, record.CompareNodes):
		return fmt.Errorf("the nodes of window %s are out of order", w.Name)
	}
	for _, n := range w.Nodes {
		if bl.state.Nodes[n.Index] != n || !slices.Contains(n.Windows, w) {
			return fmt.Errorf("node %s does not know of window %s", n.Spec.ID, w.Name)
		}
	}
	return nil
}
