package backlog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/errtext"
)

// SaveReservations lists the advance reservations in order. The nodes are named where the core
// chose them.
func (bl *Backlog) SaveReservations() []record.SavedReservation {
	var list []record.SavedReservation
	for _, res := range bl.Reservations {
		if !res.IsAdvance() {
			continue
		}
		saved := record.SavedReservation{Reservation: *res.Advance, Draining: res.Draining}
		if res.Advance.GPUs > 0 {
			saved.Nodes = res.NodeIDs()
		}
		list = append(list, saved)
	}
	return list
}

// RestoreReservations restores the advance reservations. Nodes have to be known.
func (bl *Backlog) RestoreReservations(list []record.SavedReservation) *berth.Error {
	for i := range list {
		if err := bl.restoreReservation(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("reservations", i))
		}
	}
	return nil
}

func (bl *Backlog) restoreReservation(s *record.SavedReservation) *berth.Error {
	if bl.Advance(s.Reservation.ID) != nil {
		return refusal.Of(berth.ErrDuplicate, "reservation.id", fmt.Sprintf("%q comes twice", errtext.Short(s.Reservation.ID)))
	}
	if err := cmp.Or(bl.checkReserved(&s.Reservation), bl.checkReservationQueue(&s.Reservation)); err != nil {
		return refusal.In(err, "reservation")
	}
	if s.Draining && !s.Reservation.Clear {
		return refusal.Of(berth.ErrInvalid, "draining", "is set for a reservation that clears no nodes")
	}
	res := bl.advanceReservation(s.Reservation)
	res.Draining = s.Draining
	if s.Reservation.GPUs > 0 {
		var err *berth.Error
		if res.Nodes, err = bl.restoreReservationNodes(s.Nodes); err != nil {
			return refusal.In(err, "nodes")
		}
	}
	if !bl.MaySetAside(res.Nodes) {
		return refusal.Of(berth.ErrLimit, "nodes", "there are too many kinds of node")
	}
	bl.AddReservation(res)
	return nil
}

// SaveGangReservations saves what a replica has set aside.
func (bl *Backlog) SaveGangReservations(rep *record.Replica, s *record.SavedReplica) {
	s.Reserved, s.Moving = bl.saveGangReservation(rep.Reserved), bl.saveGangReservation(rep.Moving)
	if rep.Exclusive != nil {
		s.Exclusive = slices.Clone(rep.Exclusive.Domains)
	}
}

// saveGangReservation saves the place that is set aside for a gang; nil: there is none.
func (bl *Backlog) saveGangReservation(res *record.Reservation) *record.SavedGangReservation {
	if res == nil {
		return nil
	}
	saved := &record.SavedGangReservation{SpanPart: res.SpanPart, Nodes: res.NodeIDs(), Partial: res.IsPartial()}
	if res.IsPlanned() {
		bl.savePlan(res, saved)
	}
	return saved
}

// RestoreGangReservations sets aside again what replicas had. Rooms come when all replicas have
// theirs.
func (bl *Backlog) RestoreGangReservations(noted []state.Noted) *berth.Error {
	return bl.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		if err := checkWindows(rep, s); err != nil {
			return err
		}
		if err := bl.restoreExclusive(rep, s); err != nil {
			return err
		}
		for _, set := range rep.Places(s) {
			if set.Saved == nil || set.Saved.IsPlanned() {
				continue
			}
			res, err := bl.restoreGangReservation(set.Kind(), rep, set.Saved)
			if err != nil {
				return refusal.In(err, set.Field)
			}
			*set.At = res
			bl.AddReservation(res)
		}
		return nil
	})
}

// checkWindows refuses places that are set aside for a replica that has no use for them.
func checkWindows(rep *record.Replica, s *record.SavedReplica) *berth.Error {
	switch {
	case s.Reserved != nil && (rep.Entries == nil || rep.State == berth.ReplicaRunning && s.Reserved.Cause != berth.CauseVictimsGone):
		return refusal.Of(berth.ErrInvalid, "reserved", "is set for a replica that does not wait")
	case s.Moving != nil && (!rep.MayArrive() || s.Moving.Partial != (len(s.Moving.Where) == 0)):
		return refusal.Of(berth.ErrInvalid, "moving", "is set for a replica that does not move")
	case len(s.Exclusive) > 0 && (rep.Job.Spec.Topology.Exclusive == "" || rep.State == berth.ReplicaPending):
		return refusal.Of(berth.ErrInvalid, "exclusive", "is set for a replica that has none")
	}
	return nil
}

// restoreExclusive gives a gang the domains back that it has for itself.
func (bl *Backlog) restoreExclusive(rep *record.Replica, s *record.SavedReplica) *berth.Error {
	if len(s.Exclusive) == 0 {
		return nil
	}
	res := exclusiveReservation(rep)
	res.Domains = s.Exclusive
	res.Nodes = bl.nodesOf(res.Domains)
	if !bl.MaySetAside(res.Nodes) {
		return refusal.Of(berth.ErrLimit, "exclusive", "there are too many kinds of node")
	}
	rep.Exclusive = res
	bl.AddReservation(res)
	return nil
}

// restoreGangReservation makes the reservation of a replica anew.
func (bl *Backlog) restoreGangReservation(kind record.ReservationKind, rep *record.Replica, s *record.SavedGangReservation) (*record.Reservation, *berth.Error) {
	nodes, err := bl.restoreReservationNodes(s.Nodes)
	switch {
	case err != nil:
		return nil, refusal.In(err, "nodes")
	case len(nodes) == 0:
		return nil, refusal.Of(berth.ErrInvalid, "nodes", "is empty")
	case !bl.MaySetAside(nodes):
		return nil, refusal.Of(berth.ErrLimit, "nodes", "there are too many kinds of node")
	}
	res := record.GangReservation(kind, rep)
	res.SpanPart, res.Nodes = s.SpanPart, nodes
	return res, nil
}

// restoreReservationNodes finds nodes that are saved in order of name.
func (bl *Backlog) restoreReservationNodes(ids []berth.NodeID) ([]*record.Node, *berth.Error) {
	var list []*record.Node
	for i, id := range ids {
		n := bl.state.NodeByID[id]
		if n == nil || i > 0 && id <= ids[i-1] {
			return nil, refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("node %q is not in the fleet, or out of order", errtext.Short(id)))
		}
		list = append(list, n)
	}
	return list, nil
}

// savePlan saves the beneficiary and the victims of a reservation.
func (bl *Backlog) savePlan(res *record.Reservation, saved *record.SavedGangReservation) {
	saved.Cause, saved.OfQueue = res.Kind.Cause(), res.Plan.OfQueue
	j := res.Rep.Job
	counts := make([]int, len(j.Spec.Groups))
	for _, m := range res.Plan.Where {
		saved.Where = append(saved.Where, berth.MemberPlacement{
			Group: j.Spec.Groups[m.Group].Name, Index: counts[m.Group],
			Node: bl.state.Nodes[m.Hold.Node].Spec.ID, GPUs: berth.GPUSet(m.Hold.GPUs),
			ShareMilli: int(m.Hold.Share.GPUMilli), ShareMemoryMiB: m.Hold.Share.MemoryMiB, Instance: m.Hold.Instance,
		})
		counts[m.Group]++
	}
	for _, victim := range res.Plan.Victims {
		saved.Victims = append(saved.Victims, victim.Ref())
	}
}
