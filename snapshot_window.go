package berth

import "fmt"

// nodeIDs lists the nodes of a window.
func (w *window) nodeIDs() []NodeID {
	list := make([]NodeID, len(w.nodes))
	for i, n := range w.nodes {
		list[i] = n.spec.ID
	}
	return list
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

// restoreStalled marks the replicas that wait for something to become free, or for more
// to plan with, after all that Restore itself has made free.
func (c *Core) restoreStalled(jobs []savedJob) {
	for i := range jobs {
		for _, s := range jobs[i].Replicas {
			rep := c.jobs[jobs[i].Job.ID].replicas[s.Replica]
			if s.Stalled {
				rep.stalled = true
				c.stalled = append(c.stalled, rep)
			}
			if s.Hopeless {
				rep.hopeless = true
				c.hopeless = append(c.hopeless, rep)
			}
		}
	}
}

// restoreWindows restores what a replica has set aside.
func (c *Core) restoreWindows(rep *replica, s *savedReplica) *Error {
	switch {
	case s.EndsAt < 0 || s.ReserveAt < 0:
		return refuse(ErrInvalid, "endsAt", "is before the epoch, or reserveAt is")
	case s.EndsAt != 0 && rep.state == Pending:
		return refuse(ErrInvalid, "endsAt", "is set for a replica that holds nothing")
	case s.EndsAt == 0 && rep.holds() && rep.job.spec.Service == nil:
		return refuse(ErrInvalid, "endsAt", "is missing for a replica that holds something")
	case s.Reserved != nil && (rep.state != Pending || rep.entries == nil):
		return refuse(ErrInvalid, "reserved", "is set for a replica that does not wait")
	case len(s.Exclusive) > 0 && (rep.job.spec.Topology.Exclusive == "" || rep.state == Pending):
		return refuse(ErrInvalid, "exclusive", "is set for a replica that has none")
	}
	if s.EndsAt != 0 {
		c.setEnd(rep, s.EndsAt)
	}
	rep.reserveAt = s.ReserveAt
	if len(s.Exclusive) > 0 {
		w := exclusiveWindow(rep)
		w.domains = s.Exclusive
		w.nodes = c.nodesOf(w.domains)
		if !c.roomToSetAside(w.nodes) {
			return refuse(ErrLimit, "exclusive", "there are too many kinds of node")
		}
		rep.exclusive = w
		c.addWindow(w)
	}
	if s.Reserved == nil {
		return nil
	}
	nodes, err := c.restoreWindowNodes(s.Reserved.Nodes)
	switch {
	case err != nil:
		return err.in("reserved.nodes")
	case len(nodes) == 0:
		return refuse(ErrInvalid, "reserved.nodes", "is empty")
	case !c.roomToSetAside(nodes):
		return refuse(ErrLimit, "reserved.nodes", "there are too many kinds of node")
	}
	w := gangWindow(rep)
	w.from, w.until, w.nodes = s.Reserved.From, s.Reserved.Until, nodes
	rep.reserved = w
	c.addWindow(w)
	return nil
}
