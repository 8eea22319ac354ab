package berth

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/gang"
)

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
				rep.stalledAt = c.agenda.stall()
			}
			if s.Hopeless {
				rep.hopelessAt = c.agenda.despair()
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
	case s.Moving != nil && (!rep.mayArrive() || s.Moving.Remnant != (len(s.Moving.Where) == 0)):
		return refuse(ErrInvalid, "moving", "is set for a replica that does not move")
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
	for _, set := range [...]struct {
		field string
		saved *savedWindow
		at    **window
	}{{"reserved", s.Reserved, &rep.reserved}, {"moving", s.Moving, &rep.moving}} {
		if set.saved == nil || len(set.saved.Victims)+len(set.saved.Where) > 0 {
			continue // rooms, when all replicas are there
		}
		w, err := c.restoreWindow(set.saved.kindOf(set.saved == s.Moving), rep, set.saved)
		if err != nil {
			return err.in(set.field)
		}
		*set.at = w
		c.addWindow(w)
	}
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
	w.from, w.until, w.nodes = s.From, s.Until, nodes
	return w, nil
}

// saveWindow saves the reservation of a gang; nil: it has none.
func (c *Core) saveWindow(w *window) *savedWindow {
	if w == nil {
		return nil
	}
	saved := &savedWindow{From: w.from, Until: w.until, Nodes: w.nodeIDs(), Remnant: w.isPart()}
	if !w.isPlanned() {
		return saved
	}
	saved.Cause = w.kind.cause()
	j := w.rep.job
	counts := make([]int, len(j.spec.Groups))
	for _, m := range w.preemption.where {
		saved.Where = append(saved.Where, MemberPlacement{
			Group: j.spec.Groups[m.Group].Name, Index: counts[m.Group],
			Node: c.nodes[m.Hold.Node].spec.ID, GPUs: GPUSet(m.Hold.GPUs),
			ShareMilli: int(m.Hold.Share.Milli), ShareMemoryMiB: m.Hold.Share.MemoryMiB, Instance: m.Hold.Instance,
		})
		counts[m.Group]++
	}
	for _, victim := range w.preemption.victims {
		saved.Victims = append(saved.Victims, victim.ref())
	}
	return saved
}

// restoreYields restores for whom members are stopped while their gangs go on.
func (c *Core) restoreYields(s *savedJob) *Error {
	for i := range s.Replicas {
		rep := c.jobs[s.Job.ID].replicas[s.Replicas[i].Replica]
		for k := range s.Replicas[i].Members {
			saved := &s.Replicas[i].Members[k]
			if saved.For == (ReplicaRef{}) {
				continue
			}
			m := &rep.members[rep.job.flat(saved.Ref())]
			if m.yieldsTo = c.lookup(saved.For); m.yieldsTo == nil || m.yieldsTo == rep || m.state != memberStopping {
				return refuse(ErrInvalid, "for", fmt.Sprintf("%v is not known, or the member is not being stopped", saved.For)).in(index("members", k)).in(index("replicas", i))
			}
		}
	}
	return nil
}

// checkYields refuses members that yield to somebody who does not know of it, and places that
// are kept for those who run and need not go.
func (c *Core) checkYields(s *savedJob) *Error {
	for i := range s.Replicas {
		rep := c.jobs[s.Job.ID].replicas[s.Replicas[i].Replica]
		if rep.moving != nil && rep.state == Running && !rep.leaves && rep.yieldsTo == nil {
			return refuse(ErrInvalid, "moving", "is set for a replica that need not go").in(index("replicas", i))
		}
		for flat := range rep.members {
			to := rep.members[flat].yieldsTo
			if to != nil && (to.room() == nil || !slices.Contains(to.room().preemption.victims, rep)) {
				return refuse(ErrInvalid, "members", fmt.Sprintf("one yields to %v, which does not wait for it", to.ref())).in(index("replicas", i))
			}
		}
	}
	return nil
}

// restorePreemptions restores for which replicas of a job room is being made, and which of
// them move.
func (c *Core) restorePreemptions(s *savedJob) *Error {
	for i := range s.Replicas {
		rep := c.jobs[s.Job.ID].replicas[s.Replicas[i].Replica]
		if saved := s.Replicas[i].Reserved; saved != nil && len(saved.Victims)+len(saved.Where) > 0 {
			w, err := c.restoreRoom(saved.kindOf(false), rep, saved)
			if err != nil {
				return err.in("reserved").in(index("replicas", i))
			}
			rep.reserved = w
			c.addWindow(w)
			for _, victim := range w.preemption.victims {
				if !victim.yieldsFor(rep) {
					victim.yieldsTo = rep
				}
				c.noteLeaving(victim, true)
			}
		}
		if saved := s.Replicas[i].Moving; saved != nil && len(saved.Victims)+len(saved.Where) > 0 {
			w, err := c.restoreRoom(saved.kindOf(true), rep, saved)
			if err == nil && len(w.preemption.victims) > 0 {
				err = refuse(ErrInvalid, "victims", "there are none of a move")
			}
			if err != nil {
				return err.in("moving").in(index("replicas", i))
			}
			rep.moving = w
			c.addWindow(w)
		}
	}
	return nil
}

// restoreRoom makes the window anew in which room is being made for a replica.
func (c *Core) restoreRoom(kind reservationKind, rep *replica, s *savedWindow) (*window, *Error) {
	p, err := c.restorePreemption(rep, s)
	switch {
	case err != nil:
		return nil, err
	case s.Cause != kind.cause():
		return nil, refuse(ErrInvalid, "cause", fmt.Sprintf("%q is not that of a gang for which room was made, or which moves", s.Cause))
	case s.Remnant:
		return nil, refuse(ErrInvalid, "remnant", "is set beside where")
	}
	w, err := c.restoreWindow(kind, rep, s)
	if err != nil {
		return nil, err
	}
	w.preemption = p
	return w, nil
}

func (c *Core) restorePreemption(rep *replica, s *savedWindow) (*preemption, *Error) {
	var where []gang.Member
	var victims []*replica
	for i := range s.Where {
		at := &s.Where[i]
		g := rep.job.spec.group(at.Group)
		if g < 0 || i > 0 && len(where) > 0 && g < where[i-1].Group || !slices.Contains(s.Nodes, at.Node) {
			return nil, refuse(ErrInvalid, index("where", i), "names no group, one out of order, or a node that is not set aside")
		}
		if err := c.checkPlacement(&rep.job.spec.Groups[g].Claim, at); err != nil {
			return nil, err.in(index("where", i))
		}
		hold := c.holdOf(rep.job, at)
		c.owners.releaseShare(hold.Share) // as long as the job waits, its shape retains it
		where = append(where, gang.Member{Group: g, Hold: hold})
	}
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		if n := countGroup(where, g); n < group.min() || n > group.Replicas || n%group.unit() != 0 {
			return nil, refuse(ErrInvalid, "where", fmt.Sprintf("has %d members of group %q", n, group.Name))
		}
	}
	for i, ref := range s.Victims {
		victim := c.lookup(ref)
		switch {
		case victim == nil, victim == rep, victim.yieldsTo != nil:
			return nil, refuse(ErrInvalid, index("victims", i), fmt.Sprintf("%v is not known, or yields to somebody else", ref))
		case victim.state != Releasing && !victim.asked() && !victim.yieldsFor(rep):
			return nil, refuse(ErrInvalid, index("victims", i), fmt.Sprintf("%v is neither asked for a checkpoint nor stopped", ref))
		case i > 0 && compareReplicas(victims[i-1], victim) >= 0:
			return nil, refuse(ErrInvalid, index("victims", i), fmt.Sprintf("%v is out of order", ref))
		}
		victims = append(victims, victim)
	}
	p := c.newPreemption(where)
	p.victims = victims
	return p, nil
}

func countGroup(members []gang.Member, group int) int {
	n := 0
	for i := range members {
		if members[i].Group == group {
			n++
		}
	}
	return n
}

// lookup finds a replica, or returns nil.
func (c *Core) lookup(ref ReplicaRef) *replica {
	j := c.jobs[ref.Job]
	if j == nil || ref.Replica < 0 || ref.Replica >= len(j.replicas) {
		return nil
	}
	return j.replicas[ref.Replica]
}

// restoreStrays has the next pass tell those that need not yield any more.
func (c *Core) restoreStrays(jobs []savedJob) {
	for i := range jobs {
		for _, s := range jobs[i].Replicas {
			if rep := c.jobs[jobs[i].Job.ID].replicas[s.Replica]; rep.stray() {
				c.noteTodo(rep, true)
			}
		}
	}
}
