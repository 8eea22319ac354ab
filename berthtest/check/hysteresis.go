package check

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file is about the hysteresis of preemption: the gain exceeds the cost, the rate limits hold,
// and no job is evicted again within its cooldown.

// calm is what is known of past evictions.
type calm struct {
	// told are the victims of this pass.
	victimsNow []*replica
	// full is when as many may have to in the fleet as the policy ever lets.
	full berth.Time
}

// inForceHysteresis fills in the defaults that the comments of berth.Preemption and
// berth.GainPolicy state.
func inForceHysteresis(p berth.Preemption) berth.Preemption {
	p.MaxMinRuntime = cmp.Or(p.MaxMinRuntime, 24*berth.Hour)
	p.Cooldown = max(0, cmp.Or(p.Cooldown, 5*berth.Minute))
	w := &p.Gain
	w.Interactive = max(0, cmp.Or(w.Interactive, berth.Hour))
	w.LatencyCritical = max(0, cmp.Or(w.LatencyCritical, 24*berth.Hour))
	w.Turn = max(0, cmp.Or(w.Turn, 10*berth.Minute))
	w.Queueing = max(0, cmp.Or(w.Queueing, 5*berth.Minute))
	w.WaitMilli = max(0, cmp.Or(w.WaitMilli, 1000))
	p.RateLimit.Evictions, p.QueueRateLimit.Evictions = max(0, p.RateLimit.Evictions), max(0, p.QueueRateLimit.Evictions)
	return p
}

// grace is how long a replica has to write a checkpoint.
func (c *Checker) grace(rep *replica) berth.Duration {
	for _, g := range c.policy.Preemption.Grace {
		if g.Class == rep.job.spec.Class && g.Timeout > 0 {
			return g.Timeout
		}
	}
	return c.policy.Preemption.CheckpointTimeout
}

// tooYoung reports whether a replica has not run for as long as it may at least, whatever
// the beneficiary.
func (c *Checker) tooYoung(rep *replica) bool {
	return c.now < rep.started.Add(c.leastRun(rep))
}

// leastRun is for how long a replica may run at least: as the policy says for its queue or the
// nearest one above that is named, or for all; longer if its job says so, up to the policy's bound.
func (c *Checker) leastRun(rep *replica) berth.Duration {
	p := &c.policy.Preemption
	least, named := p.MinRuntime, false
	for q := rep.job.queue; q != nil && !named; q = q.parent {
		for _, entry := range p.Queues {
			if entry.Queue == q.spec.Name {
				least, named = entry.MinRuntime, true
				c.saw("ran for the least time of a queue")
			}
		}
	}
	own := rep.job.spec.MinRuntime
	if p.MaxMinRuntime >= 0 && own > p.MaxMinRuntime {
		own = p.MaxMinRuntime
	}
	return max(own, least)
}

// inCooldown reports whether a replica is within its minimum run time or cooldown. A beneficiary
// within the guarantee of its queue does not wait for the cooldown.
func (c *Checker) inCooldown(rep *replica) bool {
	cooldown := c.policy.Preemption.Cooldown
	for range min(rep.evicted, 4) - 1 {
		cooldown *= 2
	}
	least := c.leastRun(rep) + cooldown
	return rep.evicted > 0 && c.now < rep.started.Add(least)
}

// evictedNow counts that a replica is evicted in the end. One that was reclaimed rests; one for
// which another of its queue is evicted may have to, if its place is taken.
func (c *Checker) evictedNow(rep *replica, cause berth.CauseCode) {
	if other := c.find(rep.preemption.beneficiary); other != nil && cause == berth.CausePreempted {
		other.mayRest = true
	}
	if c.now.Sub(rep.started) >= 24*berth.Hour {
		rep.rest, rep.restsUntil = 0, 0
	}
	if cause == berth.CauseReclaimed {
		rep.restsUntil = math.MaxInt64
		if rep.rest < 80*berth.Minute {
			rep.rest = max(10*berth.Minute, 2*rep.rest)
			rep.restsUntil = (c.now.Add(rep.rest) + berth.Time(berth.Minute-1)) / berth.Time(berth.Minute) * berth.Time(berth.Minute)
		}
	}
	if c.now.Sub(rep.started) >= 16*c.policy.Preemption.Cooldown {
		rep.evicted = 0
	}
	if rep.evicted++; rep.evicted > 1 {
		c.saw("was evicted again")
	}
}

// keepsRates: no more are evicted in a pass than the rates of the fleet and of their queue
// allow; or it was full, and they are those of one room.
func (c *Checker) keepsRates() error {
	if len(c.victimsNow) == 0 {
		return nil
	}
	p := &c.policy.Preemption
	if !admit(&c.full, p.RateLimit, c.now, c.victimsNow) {
		return broken(PromiseRates, "%d are evicted in the pass at %d, the first for %s; by the rate of %d in %v it is full at %d",
			len(c.victimsNow), c.now, c.victimsNow[0].preemption.beneficiary, p.RateLimit.Evictions, p.RateLimit.Per, c.full)
	}
	for i, rep := range c.victimsNow {
		q := rep.job.queue
		if slices.ContainsFunc(c.victimsNow[:i], func(other *replica) bool { return other.job.queue == q }) {
			continue
		}
		list := slices.DeleteFunc(slices.Clone(c.victimsNow), func(other *replica) bool { return other.job.queue != q })
		if !admit(&q.full, p.QueueRateLimit, c.now, list) {
			return broken(PromiseRates, "%d of queue %s are evicted in the pass at %d; by the rate of %d in %v it is full at %d",
				len(list), q.spec.Name, c.now, p.QueueRateLimit.Evictions, p.QueueRateLimit.Per, q.full)
		}
	}
	if p.RateLimit.Evictions+p.QueueRateLimit.Evictions > 0 {
		c.saw("evicted at a rate")
	}
	return nil
}

// admit counts evictions on a bucket that is full at an instant, or reports false.
func admit(full *berth.Time, r berth.RateLimit, now berth.Time, list []*replica) bool {
	if r.Evictions == 0 {
		return true
	}
	each := (int64(r.Per) + int64(r.Evictions) - 1) / int64(r.Evictions)
	*full = max(*full, now)
	missing := (int64(*full-now) + each - 1) / each // of what it can hold
	one := !slices.ContainsFunc(list, func(rep *replica) bool { return rep.preemption != list[0].preemption })
	if int64(len(list)) > int64(r.Evictions)-missing && !(one && *full == now) {
		return false
	}
	*full = full.Add(berth.Duration(each * int64(len(list))))
	return true
}

// isWorthIt: a gang gains more than its victims lose, or they lose nothing; but for what it is
// owed of others, once it has waited for that.
func (w *world) isWorthIt(rep *replica, asked int64, r *preemption) error {
	k := &w.policy.Preemption.Gain
	if k.IgnoreCost || w.ownGain || r.moved() > 0 {
		return nil
	}
	if r.victims[0].job.queue != rep.job.queue && (w.fair == nil || w.owes(rep, asked) && w.collects(rep, r.from)) {
		return nil
	}
	queueing := k.Queueing
	if rep.job.spec.Service == nil {
		queueing = min(queueing, w.lengthOf(rep.job))
	}
	price, class := big.NewInt(0), berth.ClassBatch
	for _, victim := range r.victims {
		price.Add(price, w.price(victim, r.from, queueing))
		class = max(class, victim.job.spec.Class)
	}
	worth := []berth.Duration{0, k.Interactive, k.LatencyCritical}
	waited := (int64(r.from-rep.pendingSince)*int64(k.WaitMilli) + 999) / 1000
	gain := gpuTime(cmp.Or(asked, 1000), k.Turn+max(0, worth[rep.job.spec.Class]-worth[class])+berth.Duration(waited))
	if price.Sign() > 0 && gain.Cmp(price) <= 0 {
		return broken(PromiseGain, "%d are evicted for %s, which gains %v GPU-milliseconds, and they lose %v", len(r.victims), rep, gain, price)
	}
	w.saw("worth what is lost")
	if r.from > rep.pendingSince && gpuTime(cmp.Or(asked, 1000), k.Turn+max(0, worth[rep.job.spec.Class]-worth[class])).Cmp(price) <= 0 {
		w.saw("worth what is lost by its wait alone")
	}
	return nil
}

// owes reports whether what is asked is guaranteed to the queue that asks.
func (w *world) owes(rep *replica, asked int64) bool {
	leaf := rep.job.queue
	return w.fair != nil && leaf.used[quota.GPUMilli]+asked <= w.fair.Guaranteed(w.index(leaf))
}

// collects reports whether a gang takes at an instant what is guaranteed to its queue, at any cost.
func (c *Checker) collects(rep *replica, at berth.Time) bool {
	p := &c.policy.Preemption
	return p.Gain.IgnoreCost || at >= rep.pendingSince.Add(p.GuaranteeWithin)
}

// spares reports whether a gang certainly loses all that it has done when it is stopped for one of
// another queue, which has not waited for its guarantee for long enough, or is owed none.
func (w *world) spares(rep *replica, victim victim, from berth.Time) bool {
	spec := &victim.job.spec
	if w.policy.Preemption.StopUnsaved || spec.Service != nil || spec.Checkpoint.Supported || spec.Checkpoint.Interval > 0 || victim.tells || !victim.whole() || rep.job.spec.Class > spec.Class {
		return false
	}
	return !w.collects(rep, from) || !w.policy.Preemption.Gain.IgnoreCost && w.fair != nil && !w.withinGuarantee
}

// gpuTime is so many thousandths of GPUs for a time, in GPU-milliseconds, rounded up.
func gpuTime(milli int64, span berth.Duration) *big.Int {
	product := new(big.Int).Mul(big.NewInt(milli), big.NewInt(int64(span)))
	product.Add(product, big.NewInt(999))
	return product.Div(product, big.NewInt(1000))
}

// price is what a victim loses that is stopped at an instant and waits then. One that goes on
// loses what it costs to resize, for each unit of it.
func (w *world) price(v victim, at berth.Time, queueing berth.Duration) *big.Int {
	if v.whole() {
		return gpuTime(w.held(v.all()), w.lost(v.replica, at)+queueing)
	}
	sum := big.NewInt(0)
	for _, unit := range v.units() {
		sum.Add(sum, gpuTime(w.held(unit.all()), v.job.spec.Checkpoint.RestartCost))
	}
	return sum
}

// lost is for how long the work of a replica is in vain that is stopped at an instant.
func (c *Checker) lost(rep *replica, at berth.Time) berth.Duration {
	k := &rep.job.spec.Checkpoint
	if k.Supported {
		return k.Cost + k.RestartCost
	}
	if rep.job.spec.Service != nil {
		return k.RestartCost
	}
	since := at.Sub(max(rep.started, rep.checkpointed))
	if k.Interval > 0 && !rep.tells {
		since %= k.Interval
	}
	return since + k.RestartCost
}

// checkpointWritten takes when a gang that runs wrote a checkpoint by itself.
func (c *Checker) checkpointWritten(e berth.CheckpointWritten) error {
	rep := c.find(gangKey{e.Job, e.Replica})
	if rep == nil {
		return broken(PromiseEvents, "a checkpoint of %s/%d was accepted, which does not exist", e.Job, e.Replica)
	}
	if e.Incarnation != rep.incarnation || rep.state != berth.ReplicaRunning {
		return broken(PromiseS9, "a checkpoint of incarnation %d of %s was accepted, which is %s in incarnation %d", e.Incarnation, rep, rep.state, rep.incarnation)
	}
	at := cmp.Or(e.At, c.now)
	if at > c.now || at < rep.started {
		return broken(PromiseEvents, "a checkpoint of %s was accepted as of %d, which runs since %d", rep, at, rep.started)
	}
	c.saw("checkpoint told")
	if rep.asked() {
		c.saw("checkpoint told while asked")
	}
	rep.checkpointed, rep.tells = max(rep.checkpointed, at), true
	return nil
}

// checkpointRefused: what a gang that runs tells of its life is taken.
func (c *Checker) checkpointRefused(e berth.CheckpointWritten, err error) error {
	rep := c.find(gangKey{e.Job, e.Replica})
	if rep == nil || e.Incarnation != rep.incarnation || rep.state != berth.ReplicaRunning || e.At > c.now || e.At != 0 && e.At < rep.started {
		return c.lifeRefused(e.Job, e.Replica, e.Incarnation, err)
	}
	return broken(PromiseR5, "a checkpoint of %s as of %d was refused, which runs since %d: %v", rep, e.At, rep.started, err)
}
