package backlog

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// CheckReservations checks what is set aside: that reservations and nodes agree, and that each
// reservation has an owner.
func (bl *Backlog) CheckReservations() error {
	for i, w := range bl.Reservations {
		if i > 0 && bl.Reservations[i-1].Name >= w.Name {
			return fmt.Errorf("reservation %s is out of order", w.Name)
		}
		if err := bl.checkGangReservation(w); err != nil {
			return err
		}
	}
	return bl.state.EachNode(func(n *record.Node) error {
		for _, w := range n.Reservations {
			if !slices.Contains(bl.Reservations, w) || !slices.Contains(w.Nodes, n) {
				return fmt.Errorf("reservation %s does not know of it", w.Name)
			}
		}
		return nil
	})
}

func (bl *Backlog) checkGangReservation(w *record.Reservation) error {
	switch {
	case !w.Agrees():
		return fmt.Errorf("reservation %s has no owner, or is not of its kind", w.Name)
	case w.IsAwaited() && (w.Rep.Entries == nil || w.Rep.State == berth.ReplicaRunning && (!w.IsPlanned() || w.Kind.Cause() != berth.CauseVictimsGone)):
		return fmt.Errorf("reservation %s is for a gang that does not wait", w.Name)
	case w.IsMove() && (!w.Rep.MayArrive() || w.IsPartial() && w.Rep.State == berth.ReplicaRunning || w.IsPlanned() && len(w.Plan.Victims) > 0):
		return fmt.Errorf("reservation %s is for a gang that does not move", w.Name)
	case w.IsBackoff() != (w.IsMove() && w.Rep.State == berth.ReplicaPending):
		return fmt.Errorf("reservation %s is for a gang that backs off, or should be", w.Name)
	case w.IsPlanned() && !slices.IsSortedFunc(w.Plan.Victims, record.CompareReplicas):
		return fmt.Errorf("reservation %s: the victims are out of order", w.Name)
	case w.IsPlanned() && slices.ContainsFunc(w.Plan.Victims, func(victim *record.Replica) bool { return !victim.IsVictimOf(w.Rep) }):
		return fmt.Errorf("reservation %s: a victim is not being evicted", w.Name)
	case w.IsPlanned() && !(w.IsAwaited() && w.Rep.State == berth.ReplicaRunning) && bl.state.TornAt(w.Rep.Job, w.Plan.Where) != "":
		return fmt.Errorf("reservation %s: %s", w.Name, bl.state.TornAt(w.Rep.Job, w.Plan.Where))
	case !slices.IsSortedFunc(w.Nodes, record.CompareNodes):
		return fmt.Errorf("the nodes of reservation %s are out of order", w.Name)
	}
	for _, n := range w.Nodes {
		if bl.state.Nodes[n.Index] != n || !slices.Contains(n.Reservations, w) {
			return fmt.Errorf("node %s does not know of reservation %s", n.Spec.ID, w.Name)
		}
	}
	return nil
}
