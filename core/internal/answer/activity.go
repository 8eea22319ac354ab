package answer

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/quota"
)

// What is held, and how much of that is in use, as was told.

// An activity counts by queue, tenant and pool.
type activity struct {
	queues  []berth.ActivityCount
	tenants map[berth.TenantID]*berth.ActivityCount
	pools   map[string]*berth.ActivityCount
	idle    []*record.Replica // that hold something
}

// reportActivity counts what members hold. O(members).
func (an *Answers) reportActivity(r *berth.FleetReport) {
	a := activity{
		queues:  make([]berth.ActivityCount, len(an.books.Queues)),
		tenants: map[berth.TenantID]*berth.ActivityCount{}, pools: map[string]*berth.ActivityCount{},
	}
	for _, n := range an.state.Nodes {
		if n != nil && len(n.Members) > 0 && len(n.Spec.GPUs) > 0 {
			an.countActivity(&a, n)
		}
	}
	for i := range a.queues {
		addActivity(&r.Activity, &a.queues[i])
	}
	for _, tenant := range slices.Sorted(maps.Keys(a.tenants)) {
		r.Tenants = append(r.Tenants, berth.TenantCount{Tenant: tenant, ActivityCount: *a.tenants[tenant]})
	}
	for _, pool := range slices.Sorted(maps.Keys(a.pools)) {
		r.Pools = append(r.Pools, berth.PoolCount{Pool: pool, ActivityCount: *a.pools[pool]})
	}
	slices.SortFunc(a.idle, record.CompareReplicas)
	for _, rep := range slices.Compact(a.idle) {
		r.Idle = append(r.Idle, an.reportIdle(rep))
	}
	below := make([]berth.ActivityCount, len(a.queues)) // and their own
	for i := range a.queues {
		for up := quota.QueueIndex(i); up != quota.RootQueue && a.queues[i].HeldMilli > 0; up = an.state.Quota.Parent(up) {
			addActivity(&below[up], &a.queues[i])
		}
	}
	for k := range r.Queues {
		i, _ := an.state.Quota.Lookup(r.Queues[k].Queue)
		r.Queues[k].Activity = below[i]
	}
}

// countActivity counts what members hold of one node.
func (an *Answers) countActivity(a *activity, n *record.Node) {
	var last *record.Job
	var pool, tenant *berth.ActivityCount // of the last job
	for _, at := range n.Members {
		rep := at.Rep
		held := record.GPUMilliOf(&rep.Members[at.Index].Hold, n)
		if held == 0 {
			continue
		}
		count := berth.ActivityCount{HeldMilli: held}
		if p := rep.Idle.Get(); p.Reported {
			count.ToldMilli, count.ActiveMilli = held, held*int64(rep.ActiveMilli)/1000
			if rep.IsIdle(&an.state.Config.Policy.Idle, an.state.Now) {
				count.IdleMilli = held
				a.idle = append(a.idle, rep)
			}
		}
		if last == nil {
			pool = counted(a.pools, n.Spec.Pool)
		}
		if last == nil || last != rep.Job && last.Spec.Tenant != rep.Job.Spec.Tenant {
			tenant = counted(a.tenants, rep.Job.Spec.Tenant)
		}
		last = rep.Job
		addActivity(pool, &count)
		addActivity(tenant, &count)
		addActivity(&a.queues[rep.Job.Queue], &count)
	}
}

// counted is where to count under a name.
func counted[K comparable](counts map[K]*berth.ActivityCount, name K) *berth.ActivityCount {
	if counts[name] == nil {
		counts[name] = &berth.ActivityCount{}
	}
	return counts[name]
}

func (an *Answers) reportIdle(rep *record.Replica) berth.IdleReport {
	out := berth.IdleReport{Job: rep.Job.Spec.ID, Replica: rep.Number, Queue: rep.Job.Spec.Queue, Tenant: rep.Job.Spec.Tenant, Idleness: *an.life.Idleness(rep)}
	for flat := range rep.Members {
		if m := &rep.Members[flat]; m.State.Holds() {
			out.GPUMilli += record.GPUMilliOf(&m.Hold, m.Node)
		}
	}
	return out
}

// addActivity adds another count to one, field by field.
func addActivity(a, b *berth.ActivityCount) {
	a.HeldMilli += b.HeldMilli
	a.ToldMilli += b.ToldMilli
	a.ActiveMilli += b.ActiveMilli
	a.IdleMilli += b.IdleMilli
}
