package berth

import "slices"

// A DrainReport describes a node that is being drained.
type DrainReport struct {
	Node   NodeID `json:"node"`
	Reason string `json:"reason,omitempty"`
	// Deadline by which it has to be empty; zero: there is none.
	Deadline Time `json:"deadline,omitempty"`
	// Left counts the members that hold something there, Replicas names those they belong to,
	// by job and number. With neither the node is empty.
	Left     int          `json:"left"`
	Replicas []ReplicaRef `json:"replicas,omitempty"`
}

// A Departure tells of a replica that has to leave its place, or has left it, for another.
type Departure struct {
	// Cause why it has to go; of one that has left, that of the Bind to come.
	Cause Cause `json:"cause"`
	// To has the nodes that are kept for it; empty: there is no other place for it yet.
	To []NodeID `json:"to,omitempty"`
	// By is when it is stopped at the latest, or asked for a checkpoint before that, if
	// there is no place for it until then; zero: it is being stopped, or goes on until there is
	// one.
	By Time `json:"by,omitempty"`
}

// reportDraining lists the nodes that are being drained. O(nodes), if there are any.
func (c *Core) reportDraining() []DrainReport {
	if c.agenda.draining == 0 {
		return nil
	}
	drained := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n == nil || !n.Drains })
	slices.SortFunc(drained, compareNodes)
	var list []DrainReport
	for _, n := range drained {
		r := DrainReport{Node: n.spec.ID, Reason: n.Reason, Deadline: n.DrainBy, Left: len(n.members)}
		var there []*replica
		for _, at := range n.members {
			there = append(there, at.rep)
		}
		slices.SortFunc(there, compareReplicas)
		for _, rep := range slices.Compact(there) {
			r.Replicas = append(r.Replicas, rep.ref())
		}
		list = append(list, r)
	}
	return list
}

// departure tells why and where a replica has to go; nil: it has not, or nothing is kept for
// it where it waits.
func (c *Core) departure(rep *replica) *Departure {
	d := &Departure{}
	switch by, from := rep.drainedBy(); {
	case rep.release.Gone:
		return nil
	case rep.leaves, rep.moving != nil && rep.asked():
		h := rep.order.Header()
		d.Cause, d.By = h.Cause, h.Deadline
	case rep.State == Running && from != nil:
		d.Cause, d.By = drainCause(from), by
	case rep.resumes():
		d.Cause = rep.release.Cause
	case rep.moving != nil:
		d.Cause.Code = CauseResumed
	default:
		return nil
	}
	if rep.moving != nil && rep.moving.isPlanned() {
		d.To = rep.moving.nodeIDs()
	}
	return d
}
