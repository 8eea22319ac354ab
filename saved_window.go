package berth

import "fmt"

// A savedReservation is one made in advance. Nodes are those that the core picked.
type savedReservation struct {
	Reservation Reservation `json:"reservation"`
	Nodes       []NodeID    `json:"nodes,omitempty"`
}

// A savedWindow is the reservation of a gang.
type savedWindow struct {
	spanPart
	Nodes []NodeID `json:"nodes"`
	// Where the gang is to be, if room is being made for it, and who has to go; Cause is that
	// of its Bind.
	Where []MemberPlacement `json:"where,omitempty"`
	Cause CauseCode         `json:"cause,omitempty"`
	// Remnant: it has what the gang has left of its place.
	Remnant bool         `json:"remnant,omitempty"`
	Victims []ReplicaRef `json:"victims,omitempty"`
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

func (c *Core) restoreReservations(list []savedReservation) *Error {
	for i := range list {
		if err := c.restoreReservation(&list[i]); err != nil {
			return err.in(index("reservations", i))
		}
	}
	return nil
}

func (c *Core) restoreReservation(s *savedReservation) *Error {
	if c.advance(s.Reservation.ID) != nil {
		return refuse(ErrDuplicate, "reservation.id", fmt.Sprintf("%q comes twice", s.Reservation.ID))
	}
	if err := c.checkReserved(&s.Reservation); err != nil {
		return err.in("reservation")
	}
	if err := c.checkReservationQueue(&s.Reservation); err != nil {
		return err.in("reservation")
	}
	w := c.advanceWindow(s.Reservation)
	if s.Reservation.GPUs > 0 {
		nodes, err := c.restoreWindowNodes(s.Nodes)
		if err != nil {
			return err.in("nodes")
		}
		w.nodes = nodes
	}
	if !c.roomToSetAside(w.nodes) {
		return refuse(ErrLimit, "nodes", "there are too many kinds of node")
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
func (c *Core) restoreWindows(jobs []savedJob) *Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *Error {
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
				return err.in(set.field)
			}
			*set.at = w
			c.addWindow(w)
		}
		return nil
	})
}

// checkWindows refuses places that are set aside for a replica that has no use for them.
func checkWindows(rep *replica, s *savedReplica) *Error {
	switch {
	case s.Reserved != nil && (rep.State != Pending || rep.entries == nil):
		return refuse(ErrInvalid, "reserved", "is set for a replica that does not wait")
	case s.Moving != nil && (!rep.mayArrive() || s.Moving.Remnant != (len(s.Moving.Where) == 0)):
		return refuse(ErrInvalid, "moving", "is set for a replica that does not move")
	case len(s.Exclusive) > 0 && (rep.job.spec.Topology.Exclusive == "" || rep.State == Pending):
		return refuse(ErrInvalid, "exclusive", "is set for a replica that has none")
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
func (c *Core) restoreExclusive(rep *replica, s *savedReplica) *Error {
	if len(s.Exclusive) == 0 {
		return nil
	}
	w := exclusiveWindow(rep)
	w.domains = s.Exclusive
	w.nodes = c.nodesOf(w.domains)
	if !c.roomToSetAside(w.nodes) {
		return refuse(ErrLimit, "exclusive", "there are too many kinds of node")
	}
	rep.exclusive = w
	c.addWindow(w)
	return nil
}

// restoreWindow makes the window of a replica anew.
func (c *Core) restoreWindow(kind reservationKind, rep *replica, s *savedWindow) (*window, *Error) {
	nodes, err := c.restoreWindowNodes(s.Nodes)
	switch {
	case err != nil:
		return nil, err.in("nodes")
	case len(nodes) == 0:
		return nil, refuse(ErrInvalid, "nodes", "is empty")
	case !c.roomToSetAside(nodes):
		return nil, refuse(ErrLimit, "nodes", "there are too many kinds of node")
	}
	w := gangWindow(kind, rep)
	w.spanPart, w.nodes = s.spanPart, nodes
	return w, nil
}

// restoreWindowNodes finds nodes that are saved in order of name.
func (c *Core) restoreWindowNodes(ids []NodeID) ([]*node, *Error) {
	var list []*node
	for i, id := range ids {
		n := c.nodeByID[id]
		if n == nil || i > 0 && id <= ids[i-1] {
			return nil, refuse(ErrInvalid, "", fmt.Sprintf("node %q is not in the fleet, or out of order", id))
		}
		list = append(list, n)
	}
	return list, nil
}
