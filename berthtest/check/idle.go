package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/protocol"
	"github.com/berth-sched/berth/quota"
)

// This file is about GPUs that are held and left idle, as the comment of IdlePolicy states it:
// which replicas are warned, and when, and which jobs end. It keeps its own account of activity.

// idles is what is known of what is left idle.
type idles struct {
	// quietOnes are those of which the last report says so.
	quietOnes set
	// toWarn has those that the pass in progress has to warn, and since when they are quiet. toEnd
	// has those that it may end: true where it has to, as nothing else is going on.
	toWarn map[*replica]berth.Time
	toEnd  map[*replica]bool
}

func newIdles() idles {
	return idles{quietOnes: set{}, toWarn: map[*replica]berth.Time{}, toEnd: map[*replica]bool{}}
}

// An idleness says since when a replica is quiet, when it was warned, and when it is to end; 0:
// not.
type idleness struct{ since, warned, at berth.Time }

// noteIdleness notes whether a replica is quiet, by what it told last.
func (c *Checker) noteIdleness(rep *replica) {
	p, j := &c.policy.Idle, &rep.job.spec
	holds := !isBorrower(j) && slices.ContainsFunc(j.Groups, func(g berth.Group) bool { return wantsGPU(&g) })
	if p.QuietFor <= 0 || !rep.quiet.told || rep.activeMilli > int64(p.QuietMilli) || rep.state != berth.ReplicaRunning || !holds {
		rep.idle = idleness{}
		c.quietOnes.remove(rep)
		return
	}
	rep.idle.since = cmp.Or(rep.idle.since, max(c.now, 1))
	c.quietOnes.add(rep)
}

// isIdle reports whether a replica has been quiet for long enough.
func (c *Checker) isIdle(rep *replica) bool {
	return rep.idle.since != 0 && c.now.Sub(rep.idle.since) >= c.policy.Idle.QuietFor
}

// mayEndIdle reports whether the job of a replica may be ended because it is idle.
func (c *Checker) mayEndIdle(rep *replica) bool {
	j := &rep.job.spec
	return c.policy.Idle.Action == berth.IdleStop && j.Service == nil && !j.NonPreemptible && j.Lend == nil
}

// awaitEnd has a replica that was warned end when its grace is over.
func (c *Checker) awaitEnd(rep *replica) {
	if rep.idle.at == 0 && rep.idle.warned != 0 && c.mayEndIdle(rep) && (!rep.ends() || rep.hastened) {
		rep.idle.at = rep.idle.warned.Add(max(c.policy.Idle.Grace, 0))
	}
}

// beginIdle notes which replicas a pass has to warn, and may end.
func (c *Checker) beginIdle() {
	clear(c.toWarn)
	clear(c.toEnd)
	for _, rep := range c.quietOnes.sorted() {
		ends := rep.idle.at != 0 && rep.idle.at <= c.now
		if rep.idle.warned == 0 && c.isIdle(rep) {
			c.toWarn[rep] = rep.idle.since
			ends = c.policy.Idle.Grace <= 0 && c.mayEndIdle(rep) && !rep.ends()
		}
		if ends {
			c.toEnd[rep] = rep.order == nil && !rep.has(stopping) && rep.preemption == nil
		}
	}
}

// warned: a replica is warned that is idle and was not, and is told what comes of it.
func (c *Checker) warned(w berth.WarnIdle) error {
	rep, err := c.named(w.OrderHeader)
	if err != nil {
		return err
	}
	since, due := c.toWarn[rep]
	until, action := berth.Time(0), berth.IdleWarn
	if c.mayEndIdle(rep) {
		until, action = max(c.now, 1).Add(max(c.policy.Idle.Grace, 0)), berth.IdleStop
	}
	switch {
	case !due:
		return broken(PromiseIdle, "order %d warns %s, which is quiet since %d and was warned at %d", w.ID, rep, rep.idle.since, rep.idle.warned)
	case w.Since != since || int64(w.ActiveMilli) != rep.activeMilli || w.Until != until || w.Action != action:
		return broken(PromiseIdle, "order %d warns %s, quiet since %d with %d, that it is to %v at %d; it says %+v", w.ID, rep, since, rep.activeMilli, action, until, w)
	case w.Deadline != 0:
		return broken(PromiseDeadlines, "order %d is a warning, and is due by %d", w.ID, w.Deadline)
	case w.Cause.Code != berth.CauseIdle:
		return broken(PromiseCauses, "order %d warns a replica because of %q", w.ID, w.Cause.Code)
	case w.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", w.ID, w.Incarnation, rep, rep.incarnation)
	}
	c.saw("warned while " + rep.doing())
	delete(c.toWarn, rep)
	if rep.idle.since != 0 {
		rep.idle.warned = max(c.now, 1)
		c.awaitEnd(rep)
	}
	return nil
}

// mustEndIdle: a gang that is told to end because it is idle was warned in time, and has nothing
// else going on.
func (c *Checker) mustEndIdle(rep *replica, h berth.OrderHeader) error {
	_, due := c.toEnd[rep]
	switch {
	case !due || rep.has(stopping) || rep.idle.warned == 0:
		return broken(PromiseIdle, "order %d has %s end, which is quiet since %d, was warned at %d and may run until %d", h.ID, rep, rep.idle.since, rep.idle.warned, rep.idle.at)
	case h.Incarnation != rep.incarnation:
		return broken(PromiseIncarnations, "order %d is to incarnation %d of %s, which is in incarnation %d", h.ID, h.Incarnation, rep, rep.incarnation)
	}
	c.saw("told to end as it is idle")
	delete(c.toEnd, rep)
	rep.idle.at = 0
	return nil
}

// endsForGood ends the job of a gang for good.
func (c *Checker) endsForGood(rep *replica) {
	rep.job.cancelled = true
	c.signal(rep, protocol.SignalCancel)
}

// keepsIdle: after a pass each replica that is idle was warned, and none goes on that is to end and
// has nothing else going on. One that had is looked at again later.
func (c *Checker) keepsIdle() error {
	for _, rep := range inOrder(maps.Keys(c.toWarn)) {
		if rep.state == berth.ReplicaRunning {
			return broken(PromiseIdle, "%s is quiet since %d, and was not warned", rep, rep.idle.since)
		}
	}
	for _, rep := range inOrder(maps.Keys(c.toEnd)) {
		switch {
		case rep.state != berth.ReplicaRunning:
		case c.toEnd[rep]:
			return broken(PromiseIdle, "%s was warned at %d, is to end at %d, and was not told", rep, rep.idle.warned, rep.idle.at)
		default:
			c.saw("idle with something else going on")
			rep.idle.at = c.now.Add(c.policy.ReleaseTimeout)
		}
	}
	return nil
}

// againstActivity holds what a report says of activity, and of what is idle, against the checker's
// own counts.
func (c *Checker) againstActivity(r *berth.FleetReport) error {
	var fleet berth.ActivityCount
	queues, tenants, pools := map[berth.QueueID]berth.ActivityCount{}, map[berth.TenantID]berth.ActivityCount{}, map[string]berth.ActivityCount{}
	idle := map[*replica]int64{}
	for _, n := range c.nodes {
		for _, m := range n.members {
			held := c.cost(m)[quota.GPUMilli]
			if held == 0 {
				continue
			}
			own := berth.ActivityCount{HeldMilli: held}
			if m.rep.quiet.told {
				own.ToldMilli, own.ActiveMilli = held, held*m.rep.activeMilli/1000
			}
			if c.isIdle(m.rep) {
				own.IdleMilli = held
				idle[m.rep] += held
			}
			fleet = sum(fleet, own)
			tenants[m.rep.job.spec.Tenant] = sum(tenants[m.rep.job.spec.Tenant], own)
			pools[n.spec.Pool] = sum(pools[n.spec.Pool], own)
			for q := m.rep.job.queue; q != nil; q = q.parent {
				queues[q.spec.Name] = sum(queues[q.spec.Name], own)
			}
		}
	}
	if err := firstDifference("the report", [2]any{r.Activity, fleet}, [2]any{len(r.Tenants), len(tenants)}, [2]any{len(r.Pools), len(pools)}, [2]any{len(r.Idle), len(idle)}); err != nil {
		return err
	}
	for _, t := range r.Tenants {
		if err := firstDifference("the report of tenant "+string(t.Tenant), [2]any{t.ActivityCount, tenants[t.Tenant]}); err != nil {
			return err
		}
	}
	for _, p := range r.Pools {
		if err := firstDifference("the report of pool "+p.Pool, [2]any{p.ActivityCount, pools[p.Pool]}); err != nil {
			return err
		}
	}
	for _, q := range r.Queues {
		if err := firstDifference("the report of queue "+string(q.Queue), [2]any{q.Activity, queues[q.Queue]}); err != nil {
			return err
		}
	}
	for i, rep := range inOrder(maps.Keys(idle)) {
		want := berth.IdleReport{
			Job: rep.job.spec.ID, Replica: rep.number, Queue: rep.job.queue.spec.Name, Tenant: rep.job.spec.Tenant, GPUMilli: idle[rep],
			Idleness: berth.Idleness{Since: rep.idle.since, ActiveMilli: int(rep.activeMilli), Warned: rep.idle.warned, Until: rep.idle.at},
		}
		if r.Idle[i] != want {
			return broken(PromiseIdle, "the report has %+v as idle; it is %+v", r.Idle[i], want)
		}
	}
	return nil
}

func sum(a, b berth.ActivityCount) berth.ActivityCount {
	return berth.ActivityCount{
		HeldMilli: a.HeldMilli + b.HeldMilli, ToldMilli: a.ToldMilli + b.ToldMilli,
		ActiveMilli: a.ActiveMilli + b.ActiveMilli, IdleMilli: a.IdleMilli + b.IdleMilli,
	}
}
