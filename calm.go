package berth

import (
	"fmt"
	"slices"
)

// What keeps preemption calm: for how long who had to yield is spared afterwards, how many may
// have to yield in a time, and how long each class has to write a checkpoint.

// A Rate is how often at the most somebody has to yield. The zero value is no limit.
type Rate struct {
	// Evictions in a span of Per. From rest, so many may have to yield at once; from then
	// on one for every Per/Evictions, rounded up to a millisecond.
	Evictions int `json:"evictions,omitempty"`
	// Per is at least a millisecond for each.
	Per Duration `json:"per,omitempty"`
}

// A Grace is how long the jobs of a class have to write a checkpoint.
type Grace struct {
	Class Class `json:"class"`
	// Timeout; zero: Preemption.CheckpointTimeout.
	Timeout Duration `json:"timeout"`
}

// graceFor is how long a job of a class has to write a checkpoint.
func (p *Preemption) graceFor(class Class) Duration {
	for _, g := range p.Grace {
		if g.Class == class && g.Timeout > 0 {
			return g.Timeout
		}
	}
	return p.CheckpointTimeout
}

// graceOf is how long a replica has to write a checkpoint.
func (c *Core) graceOf(rep *replica) Duration {
	return c.config.Policy.Preemption.graceFor(rep.job.spec.Class)
}

// maxRespite is how often a respite doubles at the most. Who ran for twice as long as that
// respite has forgotten that it had to yield before.
const maxRespite = 3

// sparedUntil is until when a replica that runs is spared by the policy and its own job; who
// takes what its queue is guaranteed need not wait for its respite.
func (c *Core) sparedUntil(rep *replica, owed bool) Time {
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
	rep.yield.Evictions = min(rep.yield.Evictions+1, maxAttempts)
}

// A meter holds evictions to a rate. It is the generic cell rate algorithm (ITU-T
// Recommendation I.371, as virtual scheduling), a token bucket that is one instant: when it
// will be full again. It departs from it in two points. Those who yield for one
// beneficiary go together or not at all; and more of them than the bucket holds may go
// when it is full, and then it is as much longer until it is full again.
type meter struct {
	// full is when as many may yield at once as the rate ever lets.
	full Time
	// held is until when it is kept for one that needs more than there is now, as it is the
	// first in policy order: else small ones would always be served before it.
	held Time
}

// each is after how long one more may yield.
func (r Rate) each() Duration {
	return (r.Per + Duration(r.Evictions) - 1) / Duration(r.Evictions)
}

// ready is when so many may yield together at the earliest.
func (m *meter) ready(r Rate, now Time, evictions int) Time {
	if r.Evictions == 0 {
		return now
	}
	early := r.each() * Duration(max(0, r.Evictions-evictions))
	return max(now, m.held, m.full.Add(-early))
}

// take counts evictions that may be from an instant on. If that is yet to come because of
// this meter, what there is is kept for them until then.
func (m *meter) take(r Rate, now, at Time, evictions int) {
	switch {
	case r.Evictions == 0:
	case at <= now:
		m.full = max(m.full, now).Add(r.each() * Duration(evictions))
	case m.ready(r, now, evictions) > now:
		m.held = at
	}
}

// evictionsReady is when the next one may have to yield, by the rate of the fleet.
func (c *Core) evictionsReady() Time {
	return c.evictions.ready(c.config.Policy.Preemption.Rate, c.now, 1)
}

// victimsReady is when victims may yield together at the earliest, by the rates of the fleet
// and of their queues.
func (c *Core) victimsReady(victims []*replica) Time {
	p := &c.config.Policy.Preemption
	at := c.evictions.ready(p.Rate, c.now, len(victims))
	for _, q := range c.queuesOf(victims) {
		at = max(at, q.evictions.ready(p.QueueRate, c.now, countOf(q, victims)))
	}
	return at
}

// meterVictims counts victims on the meters of the fleet and of their queues, if those let
// all of them yield now. If not, what there is is kept for them until then.
func (c *Core) meterVictims(victims []*replica) (at Time) {
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

// checkCalm refuses rates, graces and a respite that make no sense.
func (p *Preemption) checkCalm() *Error {
	for _, f := range []struct {
		name string
		rate Rate
	}{{"rate", p.Rate}, {"queueRate", p.QueueRate}} {
		if err := f.rate.check(); err != nil {
			return err.in(f.name)
		}
	}
	for i, g := range p.Grace {
		field := index("grace", i)
		if int(g.Class) >= classNames.Len() {
			return refuse(ErrInvalid, field+".class", fmt.Sprintf("%d is out of range", g.Class))
		}
		if slices.ContainsFunc(p.Grace[:i], func(other Grace) bool { return other.Class == g.Class }) {
			return refuse(ErrDuplicate, field+".class", fmt.Sprintf("%s comes twice", g.Class))
		}
		if err := checkSpan(g.Timeout); err != nil {
			return err.in(field + ".timeout")
		}
	}
	return checkOptional("respite", p.Respite)
}

func (r Rate) check() *Error {
	if r.Evictions < 0 || r.Evictions > maxOrdinal {
		return refuse(ErrInvalid, "evictions", fmt.Sprintf("%d is outside 0..%d", r.Evictions, maxOrdinal))
	}
	if err := checkSpan(r.Per); err != nil {
		return err.in("per")
	}
	if r.Per < Duration(r.Evictions) {
		return refuse(ErrInvalid, "per", fmt.Sprintf("%v is shorter than a millisecond for each of %d evictions", r.Per, r.Evictions))
	}
	return nil
}

// checkOptional is checkSpan for what is switched off by -1.
func checkOptional(field string, d Duration) *Error {
	if err := checkSpan(max(d, 0)); err != nil || d < -1 {
		return refuse(ErrInvalid, field, fmt.Sprintf("%d ms is outside -1..%d", int64(d), maxSpan))
	}
	return nil
}
