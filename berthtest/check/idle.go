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

// An idleness says since when a replica is quiet, when it was warned, and when something is due; 0:
// not. It stays as it is: it is to give up its surplus.
type idleness struct {
	since, warned, at berth.Time
	stays             bool
}

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

// dealsWith is what is done to a replica if it is idle for too long.
func (c *Checker) dealsWith(rep *replica) berth.IdleAction {
	j, action := &rep.job.spec, c.policy.Idle.Action
	spared := j.NonPreemptible || j.Lend != nil || action == berth.IdleStop && j.Service != nil ||
		action == berth.IdleShrink && (!rep.elastic() || j.Topology.Exclusive != "")
	if spared {
		return berth.IdleWarn
	}
	return action
}

// awaitEnd has a replica that was warned, and was asked to end, end when its grace is over.
func (c *Checker) awaitEnd(rep *replica) {
	if rep.idle.at == 0 && rep.idle.warned != 0 && c.dealsWith(rep) == berth.IdleStop {
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
			ends = c.policy.Idle.Grace <= 0 && c.dealsWith(rep) != berth.IdleWarn && (!rep.ends() || rep.hastened)
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
	until, action := berth.Time(0), c.dealsWith(rep)
	if action != berth.IdleWarn {
		until = max(c.now, 1).Add(max(c.policy.Idle.Grace, 0))
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
		rep.idle.warned, rep.idle.stays = max(c.now, 1), action == berth.IdleShrink
		if !rep.ends() || rep.hastened {
			rep.idle.at = until
		}
		if rep.idle.stays {
			c.endPreemption(rep.key()) // it grows no more
		}
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

// givesUpSurplus: a gang that is idle and was warned gives up what it has above its minimum, all of
// it.
func (c *Checker) givesUpSurplus(rep *replica, r *berth.Release) error {
	if err := c.mustEndIdle(rep, r.OrderHeader); err != nil {
		return err
	}
	if rep.order != nil || !rep.idle.stays {
		return broken(PromiseOrders, "order %d stops a part of %s, whose order is out, or which keeps what it has", r.ID, rep)
	}
	if err := rep.letGo(r); err != nil {
		return err
	}
	if m := rep.spareUnit(); m != nil {
		return broken(PromiseIdle, "order %d leaves %s above its minimum", r.ID, m)
	}
	c.shrunk(rep, berth.Cause{Code: berth.CauseIdleSurplus})
	c.saw("gives up its surplus as it is idle")
	return nil
}

// spareUnit finds a member of a unit that a gang could go on without; nil: there is none.
func (rep *replica) spareUnit() *member {
	for g := range rep.job.spec.Groups {
		group := &rep.job.spec.Groups[g]
		size := 1
		if len(group.Topology.Segments) > 0 {
			size = group.Topology.Segments[0].Size
		}
		var units [][]*member
		runs, whole := 0, 0
		for own := range slices.Chunk(rep.members[rep.job.offsets[g]:rep.job.offsets[g+1]], size) {
			unit := slices.DeleteFunc(slices.Clone(own), func(m *member) bool { return m.state != running })
			if units, runs = append(units, unit), runs+len(unit); len(unit) == size {
				whole += size
			}
		}
		counts, most := runs, 0 // of a gang with too few whole units, all members count
		if whole >= minimum(group) {
			counts, most = whole, size
		}
		for _, unit := range units {
			gone := len(unit)
			if gone < most {
				gone = 0 // it counts for nothing
			}
			if len(unit) > 0 && minimum(group) < group.Members && counts-gone >= minimum(group) {
				return unit[0]
			}
		}
	}
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
		case c.toEnd[rep] && rep.idle.stays && rep.spareUnit() == nil:
			c.saw("idle without a surplus")
			rep.idle.at = 0
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
		if rep.idle.stays && rep.spareUnit() == nil { // nobody knows whether it was looked at
			want.Until = r.Idle[i].Until
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
