package berth

import (
	"fmt"
)

// An Explanation tells where a job stands.
type Explanation struct {
	Job   JobID   `json:"job"`
	Queue QueueID `json:"queue"`
	Class Class   `json:"class"`
	// Cancelled: the job is on its way out.
	Cancelled bool                 `json:"cancelled,omitempty"`
	Replicas  []ReplicaExplanation `json:"replicas"`
	// Standing of the queue among its siblings, and of each queue above it, the widest
	// first; nil if no replica waits.
	Standing []QueueStanding `json:"standing,omitempty"`
}

// A ReplicaExplanation tells where one replica stands.
type ReplicaExplanation struct {
	Replica     int         `json:"replica"`
	State       State       `json:"state"`
	Incarnation Incarnation `json:"incarnation,omitempty"`
	// Since is when it last became pending or, while Running, when it began to run.
	Since Time `json:"since"`
	// ExpectedEnd is Since plus the job's expected run time; zero: unknown.
	ExpectedEnd Time `json:"expectedEnd,omitempty"`
	// Members that hold something.
	Members []MemberPlacement `json:"members,omitempty"`
	// Bandwidth that the placement is expected to give; nil while it has none.
	Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
	// Fate names the jobs that go with it if its GPUs go; nil: it shares none.
	Fate *Fate `json:"fate,omitempty"`
	// Order that is out about the replica; zero: none.
	Order ActionID `json:"order,omitempty"`
	// YieldsTo is the replica for which it has to make room, or the first of those for which
	// members above its minimum have to.
	YieldsTo ReplicaRef `json:"yieldsTo,omitzero"`
	// Departure is set if it has to leave its place for another.
	Departure *Departure `json:"departure,omitempty"`
	// Position among those of its queue that wait, from 1, in the order of service; zero:
	// it does not wait.
	Position int `json:"position,omitempty"`
	// Reason why it waits for a place, for a gang that runs short: why the first
	// group that does has to wait; nil if it does not wait.
	Reason *Reason `json:"reason,omitempty"`
}

// Explain tells where a job stands: for each replica that waits, why, and what
// would let it start. It may look at all nodes. Cost: O(nodes x groups) for each
// distinct request that waits for capacity.
func (c *Core) Explain(id JobID) (Explanation, error) {
	j := c.jobs[id]
	if j == nil {
		return Explanation{}, &Error{Event: "explain", Field: "job", Kind: ErrUnknown, Reason: fmt.Sprintf("job %q is not known", id)}
	}
	c.tellCapacity()
	out := Explanation{Job: id, Queue: j.spec.Queue, Class: j.spec.Class, Cancelled: j.Cancelled}
	reasons := map[*shape]Reason{}
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

func (c *Core) explainReplica(rep *replica, reasons map[*shape]Reason) ReplicaExplanation {
	out := ReplicaExplanation{
		Replica: rep.Number, State: rep.State, Incarnation: rep.Incarnation, Since: rep.PendingSince,
		Members: c.placements(rep, memberBinding, memberRunning, memberFailed, memberStopping),
	}
	if rep.State == Running {
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
		out.Reason = &Reason{
			Code: ReasonBackoff, Until: rep.retry.ReadyAt,
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
