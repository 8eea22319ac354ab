package answer

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
)

// reportDraining lists the nodes that are being drained. O(nodes), if there are any.
func (an *Answers) reportDraining() []berth.DrainReport {
	if an.agenda.Draining == 0 {
		return nil
	}
	drained := slices.DeleteFunc(slices.Clone(an.state.Nodes), func(n *record.Node) bool { return n == nil || !n.Draining })
	slices.SortFunc(drained, record.CompareNodes)
	var list []berth.DrainReport
	for _, n := range drained {
		r := berth.DrainReport{Node: n.Spec.ID, Reason: n.Reason, Deadline: n.DrainBy, MembersLeft: len(n.Members)}
		var there []*record.Replica
		for _, at := range n.Members {
			there = append(there, at.Rep)
		}
		slices.SortFunc(there, record.CompareReplicas)
		for _, rep := range slices.Compact(there) {
			r.Replicas = append(r.Replicas, rep.Ref())
		}
		list = append(list, r)
	}
	return list
}

// departure tells why and where a replica has to go; nil: it has not, or nothing is kept for
// it where it waits.
func (an *Answers) departure(rep *record.Replica) *berth.Departure {
	d := &berth.Departure{}
	switch by, from := rep.DrainedBy(); {
	case rep.Release.Get().Gone, rep.Ends(), rep.Job.Borrows() && !rep.GivesBack():
		return nil
	case rep.Leaves, rep.Moving != nil && rep.Asked():
		h := rep.Order.Header()
		d.Cause, d.Deadline = h.Cause, h.Deadline
	case rep.State == berth.ReplicaRunning && from != nil:
		d.Cause, d.Deadline = life.DrainCause(from), by
	case rep.Resumes():
		d.Cause = rep.Release.Get().Cause
	case rep.Moving != nil:
		d.Cause.Code = berth.CauseResumed
	default:
		return nil
	}
	if rep.Moving != nil && rep.Moving.IsPlanned() {
		d.To = rep.Moving.NodeIDs()
	}
	return d
}
