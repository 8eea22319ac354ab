package core

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
)

// A savedReservation is one made in advance. Nodes are those that the core picked.
type savedReservation struct {
	Reservation berth.Reservation `json:"reservation"`
	Nodes       []berth.NodeID    `json:"nodes,omitempty"`
}

// A savedWindow is the reservation of a gang.
type savedWindow struct {
	spanPart
	Nodes []berth.NodeID `json:"nodes"`
	// Where the gang is to be, if room is being made for it, and who has to go; Cause is that
	// of its Bind.
	Where []berth.MemberPlacement `json:"where,omitempty"`
	Cause berth.CauseCode         `json:"cause,omitempty"`
	// Remnant: it has what the gang has left of its place.
	Remnant bool               `json:"remnant,omitempty"`
	Victims []berth.ReplicaRef `json:"victims,omitempty"`
}

func (c *Core) saveReservations() []savedReservation {
	var list []savedReservation
	for _, w := range c.windows {
		if !w.isAdvance() {
			continue
		}
		saved := savedReservation{Reservation: *w.advance}
		if w.advance.GPUs > 0 {
			saved.Nodes = w.nodeIDs()
		}
		list = append(list, saved)
	}
	return list
}

func (c *Core) restoreReservations(list []savedReservation) *berth.Error {
	for i := range list {
		if err := c.restoreReservation(&list[i]); err != nil {
			return refusal.In(err, errtext.Index("reservations", i))
		}
	}
	return nil
}

func (c *Core) restoreReservation(s *savedReservation) *berth.Error {
	if c.advance(s.Reservation.ID) != nil {
		return refusal.Of(berth.ErrDuplicate, "reservation.id", fmt.Sprintf("%q comes twice", s.Reservation.ID))
	}
	if err := c.checkReserved(&s.Reservation); err != nil {
		return refusal.In(err, "reservation")
	}
	if err := c.checkReservationQueue(&s.Reservation); err != nil {
		return refusal.In(err, "reservation")
	}
	w := c.advanceWindow(s.Reservation)
	if s.Reservation.GPUs > 0 {
		nodes, err := c.restoreWindowNodes(s.Nodes)
		if err != nil {
			return refusal.In(err, "nodes")
		}
		w.nodes = nodes
	}
	if !c.roomToSetAside(w.nodes) {
		return refusal.Of(berth.ErrLimit, "nodes", "there are too many kinds of node")
	}
	c.addWindow(w)
	return nil
}

// saveWindows saves what a replica has set aside.
func (c *Core) saveWindows(rep *replica, s *savedReplica) {
	s.Reserved, s.Moving = c.saveWindow(rep.reserved), c.saveWindow(rep.moving)
	if rep.exclusive != nil {
		s.Exclusive = rep.exclusive.domains
	}
}

// saveWindow saves the place that is set aside for a gang; nil: there is none.
func (c *Core) saveWindow(w *window) *savedWindow {
	if w == nil {
		return nil
	}
	saved := &savedWindow{spanPart: w.spanPart, Nodes: w.nodeIDs(), Remnant: w.isPart()}
	if w.isPlanned() {
		c.saveRoom(w, saved)
	}
	return saved
}

// restoreWindows sets aside again what replicas had. Rooms come when all replicas have theirs.
func (c *Core) restoreWindows(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if err := checkWindows(rep, s); err != nil {
			return err
		}
		if err := c.restoreExclusive(rep, s); err != nil {
			return err
		}
		for _, set := range rep.places(s) {
			if set.saved == nil || set.saved.isRoom() {
				continue
			}
			w, err := c.restoreWindow(set.kind(), rep, set.saved)
			if err != nil {
				return refusal.In(err, set.field)
			}
			*set.at = w
			c.addWindow(w)
		}
		return nil
	})
}

// checkWindows refuses places that are set aside for a replica that has no use for them.
func checkWindows(rep *replica, s *savedReplica) *berth.Error {
	switch {
	case s.Reserved != nil && (rep.State != berth.Pending || rep.entries == nil):
		return refusal.Of(berth.ErrInvalid, "reserved", "is set for a replica that does not wait")
	case s.Moving != nil && (!rep.mayArrive() || s.Moving.Remnant != (len(s.Moving.Where) == 0)):
		return refusal.Of(berth.ErrInvalid, "moving", "is set for a replica that does not move")
	case len(s.Exclusive) > 0 && (rep.job.spec.Topology.Exclusive == "" || rep.State == berth.Pending):
		return refusal.Of(berth.ErrInvalid, "exclusive", "is set for a replica that has none")
	}
	return nil
}

// A savedPlace is a place that is set aside for a replica, and where it goes.
type savedPlace struct {
	field string
	moves bool
	saved *savedWindow
	at    **window
}

func (rep *replica) places(s *savedReplica) [2]savedPlace {
	return [...]savedPlace{{"reserved", false, s.Reserved, &rep.reserved}, {"moving", true, s.Moving, &rep.moving}}
}

// kind is that of the reservation.
func (p *savedPlace) kind() reservationKind { return p.saved.kindOf(p.moves) }

// restoreExclusive gives a gang the domains back that it has for itself.
func (c *Core) restoreExclusive(rep *replica, s *savedReplica) *berth.Error {
	if len(s.Exclusive) == 0 {
		return nil
	}
	w := exclusiveWindow(rep)
	w.domains = s.Exclusive
	w.nodes = c.nodesOf(w.domains)
	if !c.roomToSetAside(w.nodes) {
		return refusal.Of(berth.ErrLimit, "exclusive", "there are too many kinds of node")
	}
	rep.exclusive = w
	c.addWindow(w)
	return nil
}

// restoreWindow makes the window of a replica anew.
func (c *Core) restoreWindow(kind reservationKind, rep *replica, s *savedWindow) (*window, *berth.Error) {
	nodes, err := c.restoreWindowNodes(s.Nodes)
	switch {
	case err != nil:
		return nil, refusal.In(err, "nodes")
	case len(nodes) == 0:
		return nil, refusal.Of(berth.ErrInvalid, "nodes", "is empty")
	case !c.roomToSetAside(nodes):
		return nil, refusal.Of(berth.ErrLimit, "nodes", "there are too many kinds of node")
	}
	w := gangWindow(kind, rep)
	w.spanPart, w.nodes = s.spanPart, nodes
	return w, nil
}

// restoreWindowNodes finds nodes that are saved in order of name.
func (c *Core) restoreWindowNodes(ids []berth.NodeID) ([]*node, *berth.Error) {
	var list []*node
	for i, id := range ids {
		n := c.nodeByID[id]
		if n == nil || i > 0 && id <= ids[i-1] {
			return nil, refusal.Of(berth.ErrInvalid, "", fmt.Sprintf("node %q is not in the fleet, or out of order", id))
		}
		list = append(list, n)
	}
	return list, nil
}
