package state

import (
	"cmp"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// This file is about the nodes that a gang has to leave: those that are drained, which all have to
// leave, and those that an advance reservation clears, which all have to leave but the jobs of its
// queue.

// A Drain is why a gang has to leave a node, and by when.
type Drain struct {
	// Node that it has to leave; nil: none.
	Node *record.Node
	// By when; 0: there is no deadline.
	By berth.Time
	// For is the reservation that clears the node; nil: the node itself is drained.
	For *record.Reservation
}

// Before reports whether a drain is to be obeyed before another: the one with the earlier deadline
// or, if that is the same, that of the smaller node.
func (d Drain) Before(e Drain) bool {
	if d.Node == nil || e.Node == nil {
		return d.Node != nil
	}
	byDeadline := cmp.Compare(cmp.Or(d.By, agenda.Never), cmp.Or(e.By, agenda.Never))
	return cmp.Or(byDeadline, record.CompareNodes(d.Node, e.Node)) < 0
}

// DrainOf is the first drain that a gang has to obey, of those of the nodes that it is on.
// O(members x reservations of a node).
func (st *State) DrainOf(rep *record.Replica) (first Drain) {
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() {
			if d := st.DrainOn(rep, m.Node); d.Before(first) {
				first = d
			}
		}
	}
	return first
}

// DrainOn is the first drain of a node that a gang has to obey there.
func (st *State) DrainOn(rep *record.Replica, n *record.Node) (first Drain) {
	if n.Draining {
		first = Drain{Node: n, By: n.DrainBy}
	}
	for _, res := range n.Reservations {
		if !res.Draining || st.Belongs(rep, res) {
			continue
		}
		if d := (Drain{n, st.EmptyBy(res), res}); d.Before(first) {
			first = d
		}
	}
	return first
}

// Belongs reports whether a replica is of the queue that an advance reservation is for, or of one
// below that.
func (st *State) Belongs(rep *record.Replica, res *record.Reservation) bool {
	return res.Queue != quota.NoQueue && st.Quota.Below(rep.Job.Queue, res.Queue)
}

// EmptyBy is by when a gang is stopped that has to leave the nodes of an advance reservation: they
// are empty when it begins, if a Release is reported in time.
func (st *State) EmptyBy(res *record.Reservation) berth.Time {
	return max(res.From.Add(-st.Config.Policy.ReleaseTimeout), 1) // 0 is none
}

// ClosesAt is when the nodes of an advance reservation are closed to jobs that do not belong there:
// when it begins or, if it clears its nodes, so long before that the job with the longest time for
// a checkpoint is gone by then.
func (st *State) ClosesAt(r *berth.Reservation) berth.Time {
	if !r.Clear {
		return r.From
	}
	grace := st.Config.Policy.Preemption.CheckpointTimeout
	for _, g := range st.Config.Policy.Preemption.Grace {
		grace = max(grace, g.Timeout)
	}
	return r.From.Add(-st.Config.Policy.ReleaseTimeout).Add(-grace)
}

// ClosedFrom is from when a reservation keeps out jobs that are not admitted for another reason:
// one that clears its nodes does so from then on.
func (st *State) ClosedFrom(res *record.Reservation) berth.Time {
	switch {
	case res.Draining:
		return agenda.BeforeAll
	case res.IsAdvance():
		return st.ClosesAt(res.Advance)
	}
	return res.From
}

// NextDrain is when the nodes of a reservation are to be cleared; never: they are already, or not
// at all.
func (st *State) NextDrain(res *record.Reservation) berth.Time {
	if !res.IsAdvance() || !res.Advance.Clear || res.Draining {
		return agenda.Never
	}
	return st.ClosesAt(res.Advance)
}
