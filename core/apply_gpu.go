package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/upkeep"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
)

// checkRegeometry refuses a policy in which instances would begin or cease to come and go
// with their members while a GPU is being repartitioned: what the order is to create
// would be nobody's.
func (c *Core) checkRegeometry(policy *berth.Policy) *berth.Error {
	for _, id := range slices.Sorted(maps.Keys(c.gpus.Repartitions)) {
		p := c.gpus.Repartitions[id]
		geometry := state.GeometryOf(policy, p.Node.Spec.Pool)
		if p.TouchesMIG() && (geometry.Kind == berth.GeometryPerClaim) != (p.Node.Geometry.Kind == berth.GeometryPerClaim) {
			return refusal.Of(berth.ErrConflict, "geometry", fmt.Sprintf("order %d for GPU %d of node %s is outstanding, so pool %q cannot become %s yet",
				id, p.Order.GPU, p.Order.Node, p.Node.Spec.Pool, geometry.Kind))
		}
	}
	return nil
}

// nextChange is when a pass has something to do about GPUs even if no event comes.
func (c *Core) nextChange() berth.Time {
	at := agenda.Never
	for _, d := range c.backlog.GPUHolds {
		at = min(at, d.Until)
		if d.RetryAt != 0 {
			at = min(at, d.RetryAt)
		}
	}
	for _, g := range c.gpus.Astray {
		if back, ok := c.gpus.BackAt(g); ok {
			at = min(at, back)
		}
	}
	return at
}

// rank weighs the profiles of every table by what waits and what was given lately, so
// that what is placed leaves open what is in demand.
func (c *Core) rank() {
	if !c.agenda.RankDue(c.state.Now) {
		return
	}
	c.catalogue.ForgetChanges(c.state.Now)
	c.agenda.Ranked(c.state.Now.Add(catalogue.RankEvery), len(c.catalogue.Pools) > 0)
	demand := c.waitingInstances()
	for _, name := range slices.Sorted(maps.Keys(c.catalogue.Tables)) {
		t := c.catalogue.Tables[name]
		if t.Nodes == 0 {
			clear(t.Recent)
			clear(t.Weights)
			c.books.SetRanking(t.Lattice, nil)
			continue
		}
		wanted := demand[t]
		for p := range t.Recent {
			if wanted != nil {
				wanted[p] += int64(t.Recent[p])
			}
			t.Recent[p] = t.Recent[p] / 16 * catalogue.RecentKept
		}
		if weights := catalogue.Weighed(wanted); weights != nil && !slices.Equal(weights, t.Weights) {
			t.Weights = weights
			c.books.SetRanking(t.Lattice, mig.NewRanking(t.Lattice, weights))
		}
	}
}

// waitingInstances counts, by table and profile, the instances that members wait for,
// in units of demand: the cheapest that serves each.
func (c *Core) waitingInstances() map[*catalogue.Table][]int64 {
	demand := map[*catalogue.Table][]int64{}
	for _, name := range slices.Sorted(maps.Keys(c.catalogue.Tables)) {
		t := c.catalogue.Tables[name]
		demand[t] = make([]int64, len(t.Recent))
	}
	for _, key := range slices.Sorted(maps.Keys(c.state.Shapes)) {
		s := c.state.Shapes[key]
		waiting := 0
		for _, b := range s.Buckets {
			waiting += b.Waiting()
		}
		if waiting == 0 {
			continue
		}
		for i := range s.Spec.Groups {
			g := &s.Spec.Groups[i]
			if !g.Claim.WantsInstance() {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(c.catalogue.Tables)) {
				if profiles := c.catalogue.Tables[name].Profiles(&g.Claim); len(profiles) > 0 {
					demand[c.catalogue.Tables[name]][profiles[0]] += catalogue.DemandUnit * int64(waiting) * int64(record.Least(g))
				}
			}
		}
	}
	return demand
}

// xidReported condemns a GPU if the fault is the hardware's, and counts it.
func (c *Core) xidReported(e berth.XidReported) *berth.Error {
	n, err := c.gpus.KnownGPU(e.Node, e.GPU)
	if err != nil {
		return err
	}
	if e.Xid < 1 || e.Xid > limits.MaxOrdinal {
		return refusal.Of(berth.ErrInvalid, "xid", fmt.Sprintf("%d is outside 1..%d", e.Xid, limits.MaxOrdinal))
	}
	if err := refusal.Text(e.Reason); err != nil {
		return refusal.In(err, "reason")
	}
	c.state.Totals.Xids++
	x := berth.LookupXid(e.Xid)
	if x.Effect == berth.XidCondemns || x.Effect == berth.XidSuspect && n.Trust.BurnInUntil != 0 {
		c.condemn(n, e.GPU, upkeep.DescribeXid(&x, e.Reason))
	}
	return nil
}
