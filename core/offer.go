package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
)

// An offer is what a GPU could become for members that wait.
type offer struct {
	node   *node
	gpu    int
	to     partitioning
	price  int64 // GPU-milliseconds, in thousandths
	serves int   // members
}

func (o offer) compare(p offer) int {
	return cmp.Or(
		cmp.Compare(o.price, p.price), cmp.Compare(p.serves, o.serves),
		compareNodes(o.node, p.node), cmp.Compare(o.gpu, p.gpu),
	)
}

// offers lists what GPUs could become for a wish, the cheapest first.
func (c *Core) offers(w *wish) []offer {
	var list []offer
	for _, n := range c.nodes {
		if n == nil || !n.pliable() || n.closed() {
			continue
		}
		for i := range w.request.Groups {
			g := &w.request.Groups[i]
			if !w.bucket.shape.spec.Groups[i].Claim.Device() || !c.qualifies(n, g) {
				continue
			}
			for gpu := range n.spec.GPUs {
				if c.untouchable(n, gpu) {
					continue
				}
				o, ok := c.offer(w, n, gpu, &g.Claim)
				if at := c.changeable(n, gpu); ok && at > c.now {
					w.later(at)
				} else if ok {
					list = append(list, o)
				}
			}
			break
		}
	}
	slices.SortFunc(list, offer.compare)
	return list
}

// qualifies reports whether members of a group may go to a node, and its host has room
// for one.
func (c *Core) qualifies(n *node, g *gang.Group) bool {
	return slices.Contains(g.Classes, n.hardware()) && (g.Match == nil || g.Match(n.index)) &&
		g.Claim.Host.Within(c.fleet.HostFree(n.index).Floor())
}

// untouchable reports whether a GPU cannot be looked at as another now.
func (c *Core) untouchable(n *node, gpu int) bool {
	s := &n.gpus[gpu]
	return n.spec.GPUs[gpu].Failed || s.Unknown || s.order != nil || s.drain != nil
}

// offer is what a GPU could become for members with a claim, and what that costs. The
// claim is for an instance, a whole GPU or a share.
func (c *Core) offer(w *wish, n *node, gpu int, claim *gang.Claim) (offer, bool) {
	o := offer{node: n, gpu: gpu, serves: 1}
	now := n.partitioning(gpu)
	_, exist, held := c.fleet.Divided(n.index, gpu)
	cost := int64(n.geometry.Cost)
	switch {
	case n.geometry.Kind == berth.Fixed, now.mode != berth.ModeMIG && n.holds(gpu):
		return o, false
	case len(claim.Instances) == 0:
		o.price = cost * 1000
		if now.mode != berth.ModeMIG || held != 0 {
			return o, false
		}
	case n.geometry.Kind == berth.PerClaim:
		p, ok := profileOn(n, claim, func(p int) bool { return n.table.lattice.Fits(0, p) })
		if now.mode == berth.ModeMIG || !ok {
			return o, false
		}
		o.to.mode, o.price, o.serves = berth.ModeMIG, cost*1000, n.table.lattice.Free(0, p)
	default:
		touched, ok := c.layoutFor(w, n, exist, held, claim, &o)
		if !ok {
			return o, false
		}
		if o.price = cost * touched; now.mode != berth.ModeMIG {
			o.price = cost * 1000
		}
	}
	if n.hasBase() && n.atBase(gpu) {
		o.price *= 2 // there and back
	}
	return o, true
}

// profileOn is the first profile of a claim on a node of which something holds.
func profileOn(n *node, claim *gang.Claim, holds func(p int) bool) (int, bool) {
	for _, profile := range claim.Instances {
		if profile.Class == n.hardware() && holds(profile.Index) {
			return profile.Index, true
		}
	}
	return 0, false
}

// layoutFor finds the layout with instances for as many members as wait, and can be had,
// with the least destroyed. It returns the thousandths of the GPU that are touched
// for them.
func (c *Core) layoutFor(w *wish, n *node, exist, held mig.State, claim *gang.Claim, o *offer) (touched int64, ok bool) {
	l := n.table.lattice
	p, ok := profileOn(n, claim, func(p int) bool { return l.Fits(held, p) })
	if !ok {
		return 0, false
	}
	counts := make([]int, l.Profiles())
	counts[p] = min(w.many, l.Free(held, p))
	to, steps, ok := l.PlanFor(exist, held, counts)
	if !ok || len(steps) == 0 {
		return 0, false
	}
	for _, step := range steps {
		touched += n.table.milli(step.Placement)
	}
	o.serves = counts[p]
	o.to = partitioning{berth.ModeMIG, l.Layout(n.table.filled(to, p))}
	return touched, true
}

// filled adds what is most in demand to a state until nothing fits, and of equals one
// profile before the others: what is repartitioned anyway should serve as many as it
// can.
func (t *table) filled(s mig.State, profile int) mig.State {
	for {
		best := -1
		for p := range t.weights {
			if t.lattice.Fits(s, p) && (best < 0 || t.weights[p] > t.weights[best] || t.weights[p] == t.weights[best] && p == profile) {
				best = p
			}
		}
		if best < 0 {
			return s
		}
		_, s, _ = t.lattice.Place(s, best)
	}
}
