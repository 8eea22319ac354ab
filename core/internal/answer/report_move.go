package answer

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/life"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
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
	switch drain := an.drainOf(rep); {
	case rep.Release.Get().Gone, rep.Ends(), rep.Job.Borrows() && !rep.GivesBack():
		return nil
	case rep.Leaves, rep.Moving != nil && rep.Asked():
		h := rep.Order.Header()
		d.Cause, d.Deadline = h.Cause, h.Deadline
	case rep.State == berth.ReplicaRunning && drain.Node != nil:
		d.Cause, d.Deadline = life.DrainCause(drain), drain.By
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
	if other := rep.Relocation.Get().StandIn; other != nil && rep.State == berth.ReplicaRunning {
		d.StandIn, d.To = other.Ref(), nil
		other.EachHold(func(_ *gang.Hold, n *record.Node) { d.To = append(d.To, n.Spec.ID) })
		slices.Sort(d.To)
		d.To = slices.Compact(d.To)
	}
	return d
}

// drainOf is the first drain that a gang has to obey or, if there is none, will have to: a
// reservation that clears its nodes has not begun with that, and the gang is expected to be there
// when it does.
func (an *Answers) drainOf(rep *record.Replica) state.Drain {
	first := an.state.DrainOf(rep)
	if first.Node != nil {
		return first
	}
	end := an.state.ExpectedEnd(rep)
	rep.EachHold(func(_ *gang.Hold, n *record.Node) {
		for _, res := range n.Reservations {
			d := state.Drain{Node: n, By: an.state.EmptyBy(res), For: res}
			if an.state.NextDrain(res) != agenda.Never && !an.backlog.Admits(res, rep, end) && d.Before(first) {
				first = d
			}
		}
	})
	return first
}
