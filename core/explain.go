package core

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// Explain tells where a job stands: for each replica that waits, why, and what
// would let it start. It may look at all nodes. Cost: O(nodes x groups) for each
// distinct request that waits for capacity.
func (c *Core) Explain(id berth.JobID) (berth.Explanation, error) {
	j := c.jobs[id]
	if j == nil {
		return berth.Explanation{}, &berth.Error{Event: "explain", Field: "job", Kind: berth.ErrUnknown, Reason: fmt.Sprintf("job %q is not known", id)}
	}
	c.tellCapacity()
	out := berth.Explanation{Job: id, Queue: j.spec.Queue, Class: j.spec.Class, Cancelled: j.Cancelled}
	reasons := map[*shape]berth.Reason{}
	positions := c.positions(j)
	for _, rep := range j.replicas {
		if rep != nil {
			out.Replicas = append(out.Replicas, c.explainReplica(rep, reasons))
			out.Replicas[len(out.Replicas)-1].Position = positions[rep]
			if rep.entries != nil && out.Standing == nil {
				out.Standing = c.standing(j.queue)
			}
		}
	}
	return out, nil
}

func (c *Core) explainReplica(rep *replica, reasons map[*shape]berth.Reason) berth.ReplicaExplanation {
	out := berth.ReplicaExplanation{
		Replica: rep.Number, State: rep.State, Incarnation: rep.Incarnation, Since: rep.PendingSince,
		Members: c.placements(rep, memberBinding, memberRunning, memberFailed, memberStopping),
	}
	if rep.State == berth.Running {
		out.Since = rep.Started
		if rep.job.spec.ExpectedRuntime > 0 {
			out.ExpectedEnd = rep.Started.Add(rep.job.spec.ExpectedRuntime)
		}
	}
	out.Bandwidth = c.bandwidth(rep)
	out.Fate = c.fate(rep)
	if rep.order != nil {
		out.Order = rep.order.Header().ID
	}
	if to := rep.makesRoomFor(); to != nil {
		out.YieldsTo = to.ref()
	}
	out.Departure = c.departure(rep)
	switch {
	case rep.retry.ReadyAt != 0:
		out.Reason = &berth.Reason{
			Code: berth.ReasonBackoff, Until: rep.retry.ReadyAt,
			Text:  fmt.Sprintf("it failed %d times in a row", rep.retry.Attempts),
			Relax: "nothing: the core tries again by itself",
		}
	case rep.entries != nil:
		e := rep.entries[0]
		reason, known := reasons[e.bucket.shape]
		if !known || rep.reserved != nil || rep.retry.Struck {
			reason = c.reason(e)
			if e.bucket.slot < 0 {
				c.explainYielding(e, &reason)
			}
			if w := rep.reserved; w != nil {
				report := c.reportWindow(w)
				reason.Reserved, reason.ExpectedStart = &report, max(w.From, c.now)
			} else if !rep.retry.Struck { // who may use spares
				reasons[e.bucket.shape] = reason
			}
		}
		out.Reason = &reason
	}
	return out
}
