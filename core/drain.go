package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
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
	rep  *replica
	node *node
	drainPart
}

// drainFor keeps a GPU for a wish, if that pays now.
func (c *Core) drainFor(w *wish) bool {
	if w.rep.drain != nil || len(c.drains) >= c.config.Policy.ReservedGangs {
		return false
	}
	if w.rep.look.DrainAt > c.now {
		w.later(w.rep.look.DrainAt)
		return false
	}
	best, ready := offer{}, false
	for _, n := range c.nodes {
		if n == nil || !n.pliable() || n.geometry.DrainLimit < 0 || n.closed() {
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
			clear, idle, late, ok := c.clearAt(n, gpu, &g.Claim)
			if !ok {
				continue
			}
			if at := c.drainPaysAt(w, n, gpu, clear, idle); at > c.now {
				if !late { // else the end recedes as fast as it is waited for
					w.later(at)
				}
				continue
			}
			if o := (offer{node: n, gpu: gpu, price: idle * int64(clear.Sub(c.now))}); !ready || o.compare(best) < 0 {
				best, ready = o, true
			}
		}
	}
	if ready {
		c.keep(&drain{w.rep, best.node, drainPart{GPU: best.gpu, Until: c.now.Add(best.node.geometry.DrainLimit)}})
	}
	return ready
}

// drainPaysAt is when a GPU may be kept for a wish: when the rates allow it, when it is
// clear within the limit from then, and when what the member has waited comes to what
// stands idle until the GPU is clear, and the change. The one rises and the other
// falls as time goes by.
func (c *Core) drainPaysAt(w *wish, n *node, gpu int, clear berth.Time, idle int64) berth.Time {
	// At t: milli x (t - since) = idle x (clear - t) + cost x 1000
	since := w.rep.PendingSince
	each := w.milli + idle
	wait := (idle*int64(clear.Sub(since)) + int64(n.geometry.Cost)*1000 + each - 1) / each
	return max(since.Add(berth.Duration(wait)), clear.Add(-n.geometry.DrainLimit), c.changeable(n, gpu))
}

// clearAt is when enough of what holds a GPU is expected to have ended for a claim, and
// how many thousandths of it stand idle as it is. late: some should have ended already.
// False: it never will be clear, or is now.
func (c *Core) clearAt(n *node, gpu int, claim *gang.Claim) (at berth.Time, idle int64, late, ok bool) {
	type held struct {
		at   berth.Time
		late bool
		gang.Hold
	}
	var list []held
	idle = 1000
	n.membersOn(gpu, func(m *member, rep *replica) {
		list = append(list, held{c.expectedEnd(rep), rep.endsAt != 0 && rep.endsAt <= c.now, m.hold})
		idle -= chargeOf(&m.hold, n).GPUMilli / int64(berth.GPUSet(m.hold.GPUs).Len())
	})
	slices.SortFunc(list, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.Instance.Compare(b.Instance))
	})
	_, _, state := c.fleet.Divided(n.index, gpu)
	for _, h := range list {
		late = late || h.late
		if at = max(at, h.at); h.Instance == (mig.Placement{}) || len(claim.Instances) == 0 {
			continue // all of them have to end
		}
		next, err := n.table.lattice.Remove(state, h.Instance)
		must(err)
		state = next
		if _, fits := profileOn(n, claim, func(p int) bool { return n.table.lattice.Fits(state, p) }); fits {
			break
		}
	}
	return at, max(idle, 0), late, at > c.now && at != never
}

// keep closes a GPU for a drain.
func (c *Core) keep(d *drain) {
	c.attach(d)
	c.spoil(d.node)
	c.agenda.lessen()
	c.totals.Drains++
}

func (c *Core) attach(d *drain) {
	d.rep.drain = d
	d.node.gpus[d.GPU].drain = d
	at, _ := slices.BinarySearchFunc(c.drains, d, compareDrains)
	c.drains = slices.Insert(c.drains, at, d)
	c.settleGPU(d.node, d.GPU)
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
	d.node.gpus[d.GPU].drain = nil
	c.settleGPU(d.node, d.GPU)
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
		if d.rep.drain == d && (d.node.Freed || d.RetryAt != 0 && d.RetryAt <= c.now) {
			c.tryDrained(d)
		}
		if d.rep.drain == d && d.Until <= c.now {
			d.rep.look.DrainAt = c.now.Add(d.node.geometry.Interval)
			c.endDrain(d)
		}
	}
}

// tryDrained places a member on the GPU that is kept for it, if it fits by now.
func (c *Core) tryDrained(d *drain) {
	e, n := d.rep.entries[0], d.node
	s := e.bucket.shape
	d.RetryAt = 0
	c.compile(s)
	request, ok := c.affordable(e.bucket)
	if !ok || !c.qualifies(n, &request.Groups[0]) {
		return
	}
	n.gpus[d.GPU].drain = nil
	c.settleGPU(n, d.GPU)
	w := c.wishOf(e, request)
	only := *request
	only.Groups = slices.Clone(request.Groups)
	match := only.Groups[0].Match
	only.Groups[0].Match = func(i topology.Node) bool { return i == n.index && (match == nil || match(i)) }
	w.request = &only
	o, changes := c.offer(&w, n, d.GPU, &only.Groups[0].Claim)
	var staged []offer
	if at := c.changeable(n, d.GPU); changes && at > c.now {
		d.RetryAt = at
	} else if changes {
		c.stage(n, d.GPU, o.to)
		staged = []offer{o}
	}
	outcome := c.tryStaged(&w)
	c.unstageRest(staged)
	if outcome != fits { // placed, it has given the drain up
		n.gpus[d.GPU].drain = d
		c.settleGPU(n, d.GPU)
	}
}
