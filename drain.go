package berth

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A single member that needs a large part of a GPU loses to smaller ones for ever: there
// is always another that fits in what becomes free. So a GPU may be kept from
// newcomers until what is in the way has ended. That has its price too, what stands idle
// on it meanwhile, and is done when what the member has waited comes to that.

// A drain keeps one GPU for a member that waits.
type drain struct {
	rep   *replica
	node  *node
	gpu   int
	until Time
	// retryAt is when the rates allow to change it, if they did not when it was clear;
	// zero: it was not.
	retryAt Time
}

// drainFor keeps a GPU for a wish, if that pays now.
func (c *Core) drainFor(w *wish) bool {
	if len(c.drains) >= c.config.Policy.ReservedGangs {
		return false
	}
	best, ready := offer{}, false
	for _, n := range c.nodes {
		if n == nil || n.geometry.Kind == Fixed || n.geometry.DrainLimit < 0 || n.table == nil || n.cordoned {
			continue
		}
		g := &w.request.Groups[0]
		if !c.qualifies(n, g) {
			continue
		}
		for gpu := range n.spec.GPUs {
			if c.untouchable(n, gpu) {
				continue
			}
			price, ok := c.drainPrice(n, gpu, &g.Claim)
			if !ok {
				continue
			}
			if at := max(w.paysAt(price, 1), c.changeable(n, gpu)); at > c.now {
				w.later(at)
				continue
			}
			if o := (offer{node: n, gpu: gpu, price: price}); !ready || o.compare(best) < 0 {
				best, ready = o, true
			}
		}
	}
	if ready {
		c.keep(&drain{rep: w.rep, node: best.node, gpu: best.gpu, until: c.now.Add(best.node.geometry.DrainLimit)})
	}
	return ready
}

// drainPrice is what it costs to wait until a GPU can serve a claim: what stands idle
// until then, and the change. False: it will not in time, or could now.
func (c *Core) drainPrice(n *node, gpu int, claim *gang.Claim) (int64, bool) {
	at, busy := c.clearAt(n, gpu, claim)
	if at <= c.now || at == never || at > c.now.Add(n.geometry.DrainLimit) {
		return 0, false
	}
	return max(1000-busy, 0)*int64(at.Sub(c.now)) + int64(n.geometry.Cost)*1000, true
}

// clearAt is when enough of what holds a GPU is expected to have ended for a claim, and
// how many thousandths of it are held now.
func (c *Core) clearAt(n *node, gpu int, claim *gang.Claim) (at Time, busy int64) {
	type held struct {
		at Time
		gang.Hold
	}
	var list []held
	n.membersOn(gpu, func(m *member, rep *replica) {
		list = append(list, held{c.expectedEnd(rep), m.hold})
		busy += chargeOf(&m.hold, n).GPUMilli / int64(GPUSet(m.hold.GPUs).Len())
	})
	slices.SortFunc(list, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.Instance.Compare(b.Instance))
	})
	instances := len(claim.Instances) > 0
	_, _, state := c.fleet.Divided(n.index, gpu)
	at = c.now
	for _, h := range list {
		if instances && h.Instance != (mig.Placement{}) {
			if _, fits := profileOn(n, claim, func(p int) bool { return n.table.lattice.Fits(state, p) }); fits {
				return at, busy
			}
			next, err := n.table.lattice.Remove(state, h.Instance)
			must(err)
			state = next
		}
		at = max(at, h.at)
	}
	return at, busy
}

// keep closes a GPU for a drain.
func (c *Core) keep(d *drain) {
	c.attach(d)
	c.spoil(d.node)
	c.lessen()
	c.totals.Drains++
}

func (c *Core) attach(d *drain) {
	d.rep.drain = d
	d.node.gpus[d.gpu].drain = d
	at, _ := slices.BinarySearchFunc(c.drains, d, compareDrains)
	c.drains = slices.Insert(c.drains, at, d)
	c.settleGPU(d.node, d.gpu)
}

func compareDrains(d, e *drain) int { return compareReplicas(d.rep, e.rep) }

// lapse ends the drain of a GPU, if there is one.
func (c *Core) lapse(n *node, gpu int) {
	if d := n.gpus[gpu].drain; d != nil {
		c.endDrain(d)
	}
}

// endDrain opens a GPU again.
func (c *Core) endDrain(d *drain) {
	i := slices.Index(c.drains, d)
	c.drains = slices.Delete(c.drains, i, i+1)
	d.rep.drain = nil
	d.node.gpus[d.gpu].drain = nil
	c.settleGPU(d.node, d.gpu)
	c.reopened(d.node)
}

// tendDrains starts the members whose GPUs are clear, and gives up what took too long.
func (c *Core) tendDrains() {
	if len(c.drains) == 0 {
		return
	}
	list := slices.Clone(c.drains)
	slices.SortFunc(list, func(d, e *drain) int { return compareEntries(d.rep.entries[0], e.rep.entries[0]) })
	for _, d := range list {
		switch {
		case d.rep.drain != d:
		case d.until <= c.now:
			d.rep.reshapeAt = c.now.Add(d.node.geometry.Interval)
			c.endDrain(d)
		case d.node.freed, d.retryAt != 0 && d.retryAt <= c.now:
			c.tryDrained(d)
		}
	}
}

// tryDrained places a member on the GPU that is kept for it, if it fits by now.
func (c *Core) tryDrained(d *drain) {
	e, n := d.rep.entries[0], d.node
	s := e.bucket.shape
	c.compile(s)
	request, ok := c.affordable(e.bucket)
	if !ok || !c.qualifies(n, &request.Groups[0]) {
		return
	}
	n.gpus[d.gpu].drain = nil
	c.settleGPU(n, d.gpu)
	w := c.wishOf(e, request)
	only := *request
	only.Groups = slices.Clone(request.Groups)
	match := only.Groups[0].Match
	only.Groups[0].Match = func(i topology.Node) bool { return i == n.index && (match == nil || match(i)) }
	w.request = &only
	o, changes := c.offer(&w, n, d.gpu, &only.Groups[0].Claim)
	var staged []offer
	d.retryAt = 0
	if at := c.changeable(n, d.gpu); changes && at > c.now {
		d.retryAt = at
	} else if changes {
		c.stage(n, d.gpu, o.to)
		staged = []offer{o}
	}
	if !c.tryStaged(&w, staged) { // placed, it has given the drain up
		n.gpus[d.gpu].drain = d
		c.settleGPU(n, d.gpu)
	}
}
