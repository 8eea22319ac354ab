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
	for i, res := range bl.Reservations {
		if i > 0 && bl.Reservations[i-1].Name >= res.Name {
			return fmt.Errorf("reservation %s is out of order", res.Name)
		}
		if err := bl.checkGangReservation(res); err != nil {
			return err
		}
	}
	return bl.state.EachNode(func(n *record.Node) error {
		for _, res := range n.Reservations {
			if !slices.Contains(bl.Reservations, res) || !slices.Contains(res.Nodes, n) {
				return fmt.Errorf("reservation %s does not know of it", res.Name)
			}
		}
		return nil
	})
}

func (bl *Backlog) checkGangReservation(res *record.Reservation) error {
	switch {
	case !res.Agrees():
		return fmt.Errorf("reservation %s has no owner, or is not of its kind", res.Name)
	case res.Draining && !(res.IsAdvance() && res.Advance.Clear):
		return fmt.Errorf("reservation %s clears nodes, and was not told to", res.Name)
	case res.IsAwaited() && (res.Rep.Entries == nil || res.Rep.State == berth.ReplicaRunning && (!res.IsPlanned() || res.Kind.Cause() != berth.CauseVictimsGone)):
		return fmt.Errorf("reservation %s is for a gang that does not wait", res.Name)
	case res.IsMove() && (!res.Rep.MayArrive() || res.IsPartial() && res.Rep.State == berth.ReplicaRunning || res.IsPlanned() && len(res.Plan.Victims) > 0):
		return fmt.Errorf("reservation %s is for a gang that does not move", res.Name)
	case res.IsBackoff() != (res.IsMove() && res.Rep.State == berth.ReplicaPending):
		return fmt.Errorf("reservation %s is for a gang that backs off, or should be", res.Name)
	case res.IsPlanned() && !slices.IsSortedFunc(res.Plan.Victims, record.CompareReplicas):
		return fmt.Errorf("reservation %s: the victims are out of order", res.Name)
	case res.IsPlanned() && slices.ContainsFunc(res.Plan.Victims, func(victim *record.Replica) bool { return !victim.IsVictimOf(res.Rep) }):
		return fmt.Errorf("reservation %s: a victim is not being evicted", res.Name)
	case res.IsPlanned() && !(res.IsAwaited() && res.Rep.State == berth.ReplicaRunning) && bl.state.TornAt(res.Rep.Job, res.Plan.Where) != "":
		return fmt.Errorf("reservation %s: %s", res.Name, bl.state.TornAt(res.Rep.Job, res.Plan.Where))
	case !slices.IsSortedFunc(res.Nodes, record.CompareNodes):
		return fmt.Errorf("the nodes of reservation %s are out of order", res.Name)
	}
	for _, n := range res.Nodes {
		if bl.state.Nodes[n.Index] != n || !slices.Contains(n.Reservations, res) {
			return fmt.Errorf("node %s does not know of reservation %s", n.Spec.ID, res.Name)
		}
	}
	return nil
}
