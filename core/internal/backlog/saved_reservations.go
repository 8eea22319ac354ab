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
	for _, w := range bl.Reservations {
		if !w.IsAdvance() {
			continue
		}
		saved := record.SavedReservation{Reservation: *w.Advance}
		if w.Advance.GPUs > 0 {
			saved.Nodes = w.NodeIDs()
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
	if bl.advance(s.Reservation.ID) != nil {
		return refusal.Of(berth.ErrDuplicate, "reservation.id", fmt.Sprintf("%q comes twice", errtext.Short(s.Reservation.ID)))
	}
	if err := cmp.Or(bl.checkReserved(&s.Reservation), bl.checkReservationQueue(&s.Reservation)); err != nil {
		return refusal.In(err, "reservation")
	}
	w := bl.advanceReservation(s.Reservation)
	if s.Reservation.GPUs > 0 {
		var err *berth.Error
		if w.Nodes, err = bl.restoreReservationNodes(s.Nodes); err != nil {
			return refusal.In(err, "nodes")
		}
	}
	if !bl.MaySetAside(w.Nodes) {
		return refusal.Of(berth.ErrLimit, "nodes", "there are too many kinds of node")
	}
	bl.AddReservation(w)
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
func (bl *Backlog) saveGangReservation(w *record.Reservation) *record.SavedGangReservation {
	if w == nil {
		return nil
	}
	saved := &record.SavedGangReservation{SpanPart: w.SpanPart, Nodes: w.NodeIDs(), Partial: w.IsPartial()}
	if w.IsPlanned() {
		bl.savePlan(w, saved)
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
			w, err := bl.restoreGangReservation(set.Kind(), rep, set.Saved)
			if err != nil {
				return refusal.In(err, set.Field)
			}
			*set.At = w
			bl.AddReservation(w)
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
	w := exclusiveReservation(rep)
	w.Domains = s.Exclusive
	w.Nodes = bl.nodesOf(w.Domains)
	if !bl.MaySetAside(w.Nodes) {
		return refusal.Of(berth.ErrLimit, "exclusive", "there are too many kinds of node")
	}
	rep.Exclusive = w
	bl.AddReservation(w)
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
	w := record.GangReservation(kind, rep)
	w.SpanPart, w.Nodes = s.SpanPart, nodes
	return w, nil
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
func (bl *Backlog) savePlan(w *record.Reservation, saved *record.SavedGangReservation) {
	saved.Cause, saved.OfQueue = w.Kind.Cause(), w.Plan.OfQueue
	j := w.Rep.Job
	counts := make([]int, len(j.Spec.Groups))
	for _, m := range w.Plan.Where {
		saved.Where = append(saved.Where, berth.MemberPlacement{
			Group: j.Spec.Groups[m.Group].Name, Index: counts[m.Group],
			Node: bl.state.Nodes[m.Hold.Node].Spec.ID, GPUs: berth.GPUSet(m.Hold.GPUs),
			ShareMilli: int(m.Hold.Share.GPUMilli), ShareMemoryMiB: m.Hold.Share.MemoryMiB, Instance: m.Hold.Instance,
		})
		counts[m.Group]++
	}
	for _, victim := range w.Plan.Victims {
		saved.Victims = append(saved.Victims, victim.Ref())
	}
}
