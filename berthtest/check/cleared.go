package check

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about advance reservations that clear their nodes: from some time before they begin
// on, what runs there and is not of their queue has to leave, as from a node that is being drained.

// closesAt is when a reservation keeps out what does not belong there: when it begins or, if it
// clears its nodes, so long before that there is time for the longest checkpoint and a Release.
func (c *Checker) closesAt(r *berth.Reservation) berth.Time {
	if !r.Clear {
		return r.From
	}
	longest := c.policy.Preemption.CheckpointTimeout
	for _, g := range c.policy.Preemption.Grace {
		longest = max(longest, g.Timeout)
	}
	return r.From.Add(-longest - c.policy.ReleaseTimeout)
}

// letsIn reports whether a gang may be placed on the nodes of an advance reservation.
func (c *Checker) letsIn(r *reservation, rep *replica) bool {
	return rep.job.queue.below(r.spec.Queue) || !r.clears && c.leavesAsTold(rep, c.closesAt(&r.spec))
}

// beginClearing: a reservation clears its nodes if it is to by now. One that has begun goes on
// until it is over or told anew.
func (c *Checker) beginClearing(r *reservation) {
	if r.spec.Clear && !r.clears && c.closesAt(&r.spec) <= c.now {
		r.clears = true
		c.saw("an advance reservation clears its nodes")
	}
}

// noteClearing notes which reservations clear each node, and has gangs go on, or be asked anew,
// that were asked to leave some. While the next report is yet to tell the nodes that the core chose
// for one, all is as it was.
func (c *Checker) noteClearing() {
	for _, r := range c.booked {
		if r.clears && r.spec.GPUs > 0 && !r.told {
			return
		}
	}
	cleared := c.clearing
	c.clearing = false
	for _, r := range c.booked {
		r.emptyBy = max(r.spec.From.Add(-c.policy.ReleaseTimeout), 1)
		c.clearing = c.clearing || r.clears
	}
	if !cleared && !c.clearing {
		return
	}
	for _, n := range c.nodes {
		n.clearedFor = nil
		for _, r := range c.booked {
			if r.clears && r.has(n) {
				n.clearedFor = append(n.clearedFor, r)
			}
		}
	}
	asked := set{}
	for _, rep := range c.orders {
		asked.add(rep)
	}
	for _, rep := range asked.sorted() {
		c.hasten(rep)
	}
	c.spareDrained()
}

// leftBy is by when a gang has to leave a node; never: there is no deadline. False: it may stay.
func (n *node) leftBy(rep *replica) (by berth.Time, has bool) {
	if by, has = never, n.drains; n.drainBy != 0 {
		by = n.drainBy
	}
	for _, r := range n.clearedFor {
		if !rep.job.queue.below(r.spec.Queue) {
			by, has = min(by, r.emptyBy), true
		}
	}
	return by, has
}

// againstCleared: of a reservation that clears its nodes a report lists the jobs that have to leave
// and are still there.
func (c *Checker) againstCleared(own *reservation, r berth.ReservationReport) error {
	if r.Clear != own.spec.Clear {
		return broken(PromiseReservations, "the report has reservation %s clear its nodes: %v", r.ID, r.Clear)
	}
	if !own.clears {
		return nil
	}
	left := map[berth.JobID]bool{}
	for _, n := range c.nodes {
		for _, m := range n.members {
			if own.has(n) && !m.rep.job.queue.below(own.spec.Queue) {
				left[m.rep.job.spec.ID] = true
			}
		}
	}
	if want := slices.Sorted(maps.Keys(left)); !slices.Equal(want, r.Conflicts) {
		return broken(PromiseReservations, "the report has %v leave the nodes of reservation %s; it is %v", r.Conflicts, r.ID, want)
	}
	return nil
}
