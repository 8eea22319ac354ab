package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/quota"
)

// A ratesPart is when the fleet, and queues, may have as many yield at once as their
// rates ever let.
type ratesPart struct {
	Evictions      *savedMeter  `json:"evictions,omitempty"`
	QueueEvictions []savedMeter `json:"queueEvictions,omitempty"`
}

// A savedMeter is the meter of a queue, or of the fleet.
type savedMeter struct {
	Queue berth.QueueID `json:"queue,omitempty"`
	Full  berth.Time    `json:"full,omitempty"`
	Held  berth.Time    `json:"held,omitempty"`
}

// saveMeters saves the meters that ever counted anything.
func (c *Core) saveMeters() ratesPart {
	var s ratesPart
	if c.evictions != (meter{}) {
		s.Evictions = &savedMeter{Full: c.evictions.full, Held: c.evictions.held}
	}
	for _, name := range c.quota.Queues() {
		i, _ := c.quota.Lookup(name)
		if q := c.queues[i]; q.evictions != (meter{}) {
			s.QueueEvictions = append(s.QueueEvictions, savedMeter{berth.QueueID(name), q.evictions.full, q.evictions.held})
		}
	}
	return s
}

func (c *Core) restoreMeters(s *ratesPart) *berth.Error {
	if m := s.Evictions; m != nil {
		if m.Queue != "" || m.Full < 0 || m.Held < 0 {
			return refusal.Of(berth.ErrInvalid, "evictions", "names a queue, or an instant before the epoch")
		}
		c.evictions = meter{m.Full, m.Held}
	}
	for i := range s.QueueEvictions {
		m := &s.QueueEvictions[i]
		q, known := c.quota.Lookup(string(m.Queue))
		if !known || q == quota.Root || min(m.Full, m.Held) < 0 || i > 0 && cmp.Compare(s.QueueEvictions[i-1].Queue, m.Queue) >= 0 {
			return refusal.Of(berth.ErrInvalid, errtext.Index("queueEvictions", i), fmt.Sprintf("%q is no queue, or out of order, or an instant is before the epoch", m.Queue))
		}
		c.queues[q].evictions = meter{m.Full, m.Held}
	}
	return nil
}

// restoreLife enters replicas among those that run, and those that are on their way out.
func (c *Core) restoreLife(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		if rep.leaves = s.Leaves; rep.leaves && !rep.asked() {
			return refusal.Of(berth.ErrInvalid, "leaves", "is set for a replica that was not asked for a checkpoint")
		}
		if rep.leaves || rep.has(memberStopping) {
			c.noteLeaving(rep, true)
		}
		if rep.State == berth.Running {
			c.noteRunning(rep, true)
		}
		if rep.order == nil && (rep.State == berth.Repairing || rep.has(memberStopping)) {
			c.noteTodo(rep, true)
		}
		return nil
	})
}

// restoreYields restores for whom members are stopped while their gangs go on.
func (c *Core) restoreYields(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, s *savedReplica) *berth.Error {
		for k := range s.Members {
			saved := &s.Members[k]
			if saved.For == (berth.ReplicaRef{}) {
				continue
			}
			m := &rep.members[rep.job.flat(saved.Ref())]
			if m.yieldsTo = c.lookup(saved.For); m.yieldsTo == nil || m.yieldsTo == rep || m.state != memberStopping {
				return refusal.In(refusal.Of(berth.ErrInvalid, "for", fmt.Sprintf("%v is not known, or the member is not being stopped", saved.For)), errtext.Index("members", k))
			}
		}
		return nil
	})
}

// restoreStrays refuses members that yield to somebody who does not know of it, and places
// that are kept for those who run and need not go. The next pass tells those that need not
// yield any more.
func (c *Core) restoreStrays(jobs []savedJob) *berth.Error {
	return c.eachSaved(jobs, func(rep *replica, _ *savedReplica) *berth.Error {
		if rep.moving != nil && rep.State == berth.Running && !rep.leaves && rep.yieldsTo == nil {
			return refusal.Of(berth.ErrInvalid, "moving", "is set for a replica that need not go")
		}
		for flat := range rep.members {
			to := rep.members[flat].yieldsTo
			if to != nil && (to.room() == nil || !slices.Contains(to.room().preemption.victims, rep)) {
				return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("one yields to %v, which does not wait for it", to.ref()))
			}
		}
		if rep.stray() {
			c.noteTodo(rep, true)
		}
		return nil
	})
}
