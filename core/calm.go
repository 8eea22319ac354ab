package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/limits"
)

// graceFor is how long a job of a class has to write a checkpoint.
func graceFor(p *berth.Preemption, class berth.Class) berth.Duration {
	for _, g := range p.Grace {
		if g.Class == class && g.Timeout > 0 {
			return g.Timeout
		}
	}
	return p.CheckpointTimeout
}

// graceOf is how long a replica has to write a checkpoint.
func (c *Core) graceOf(rep *replica) berth.Duration {
	return graceFor(&c.config.Policy.Preemption, rep.job.spec.Class)
}

// maxRespite is how often a respite doubles at the most. Who ran for twice as long as that
// respite has forgotten that it had to yield before.
const maxRespite = 3

// sparedUntil is until when a replica that runs is spared by the policy and its own job; who
// takes what its queue is guaranteed need not wait for its respite.
func (c *Core) sparedUntil(rep *replica, owed bool) berth.Time {
	p := &c.config.Policy.Preemption
	least := max(rep.job.spec.MinRuntime, p.MinRuntime)
	if rep.yield.Evictions > 0 && !owed {
		least += max(0, p.Respite) << min(rep.yield.Evictions-1, maxRespite)
	}
	return rep.Started.Add(least)
}

// noteEviction counts how often in a row a replica has had to yield.
func (c *Core) noteEviction(rep *replica) {
	if c.now.Sub(rep.Started) >= max(0, c.config.Policy.Preemption.Respite)<<(maxRespite+1) {
		rep.yield.Evictions = 0
	}
	rep.yield.Evictions = min(rep.yield.Evictions+1, limits.MaxAttempts)
}

// A meter holds evictions to a rate. It is the generic cell rate algorithm (ITU-T
// Recommendation I.371, as virtual scheduling), a token bucket that is one instant: when it
// will be full again. It departs from it in two points. Those who yield for one
// beneficiary go together or not at all; and more of them than the bucket holds may go
// when it is full, and then it is as much longer until it is full again.
type meter struct {
	// full is when as many may yield at once as the rate ever lets.
	full berth.Time
	// held is until when it is kept for one that needs more than there is now, as it is the
	// first in policy order: else small ones would always be served before it.
	held berth.Time
}

// interval is after how long one more may yield.
func interval(r berth.Rate) berth.Duration {
	return (r.Per + berth.Duration(r.Evictions) - 1) / berth.Duration(r.Evictions)
}

// ready is when so many may yield together at the earliest.
func (m *meter) ready(r berth.Rate, now berth.Time, evictions int) berth.Time {
	if r.Evictions == 0 {
		return now
	}
	early := interval(r) * berth.Duration(max(0, r.Evictions-evictions))
	return max(now, m.held, m.full.Add(-early))
}

// take counts evictions that may be from an instant on. If that is yet to come because of
// this meter, what there is is kept for them until then.
func (m *meter) take(r berth.Rate, now, at berth.Time, evictions int) {
	switch {
	case r.Evictions == 0:
	case at <= now:
		m.full = max(m.full, now).Add(interval(r) * berth.Duration(evictions))
	case m.ready(r, now, evictions) > now:
		m.held = at
	}
}

// evictionsReady is when the next one may have to yield, by the rate of the fleet.
func (c *Core) evictionsReady() berth.Time {
	return c.evictions.ready(c.config.Policy.Preemption.Rate, c.now, 1)
}

// victimsReady is when victims may yield together at the earliest, by the rates of the fleet
// and of their queues.
func (c *Core) victimsReady(victims []*replica) berth.Time {
	p := &c.config.Policy.Preemption
	at := c.evictions.ready(p.Rate, c.now, len(victims))
	for _, q := range c.queuesOf(victims) {
		at = max(at, q.evictions.ready(p.QueueRate, c.now, countOf(q, victims)))
	}
	return at
}

// meterVictims counts victims on the meters of the fleet and of their queues, if those let
// all of them yield now. If not, what there is is kept for them until then.
func (c *Core) meterVictims(victims []*replica) (at berth.Time) {
	at = c.victimsReady(victims)
	p := &c.config.Policy.Preemption
	c.evictions.take(p.Rate, c.now, at, len(victims))
	for _, q := range c.queuesOf(victims) {
		q.evictions.take(p.QueueRate, c.now, at, countOf(q, victims))
	}
	return at
}

// queuesOf lists the queues of replicas, each once.
func (c *Core) queuesOf(reps []*replica) []*queue {
	var list []*queue
	for _, rep := range reps {
		if q := c.queues[rep.job.queue]; !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// countOf counts the replicas of a queue.
func countOf(q *queue, reps []*replica) int {
	n := 0
	for _, rep := range reps {
		if rep.job.queue == q.index {
			n++
		}
	}
	return n
}
