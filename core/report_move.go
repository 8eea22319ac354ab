package core

import (
	"slices"

	"github.com/berth-sched/berth"
)

// reportDraining lists the nodes that are being drained. O(nodes), if there are any.
func (c *Core) reportDraining() []berth.DrainReport {
	if c.agenda.draining == 0 {
		return nil
	}
	drained := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n == nil || !n.Drains })
	slices.SortFunc(drained, compareNodes)
	var list []berth.DrainReport
	for _, n := range drained {
		r := berth.DrainReport{Node: n.spec.ID, Reason: n.Reason, Deadline: n.DrainBy, Left: len(n.members)}
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
func (c *Core) departure(rep *replica) *berth.Departure {
	d := &berth.Departure{}
	switch by, from := rep.drainedBy(); {
	case rep.release.Gone:
		return nil
	case rep.leaves, rep.moving != nil && rep.asked():
		h := rep.order.Header()
		d.Cause, d.By = h.Cause, h.Deadline
	case rep.State == berth.Running && from != nil:
		d.Cause, d.By = drainCause(from), by
	case rep.resumes():
		d.Cause = rep.release.Cause
	case rep.moving != nil:
		d.Cause.Code = berth.CauseResumed
	default:
		return nil
	}
	if rep.moving != nil && rep.moving.isPlanned() {
		d.To = rep.moving.nodeIDs()
	}
	return d
}
