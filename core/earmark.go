package core

import (
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// earmark charges those for whom room is being made with what they are to have, and back
// (those who move with as much as they lack of it by now):
// from the moment on at which a pass has started those who could, until it is over, so
// that nobody is started on the quota that is freed for them. What is held may exceed a
// limit for as long as victims hold something too; then others wait.
func (c *Core) earmark(on bool) {
	c.earmarkAll(on)
	c.countEarmarks(on)
}

// countEarmarks notes whether what is earmarked is charged from now on. Where it is not any
// more, the queues that were charged meanwhile are counted anew.
func (c *Core) countEarmarks(on bool) {
	c.earmarked = on
	if !on {
		for _, q := range c.uncounted {
			c.countLender(q)
			if c.ledger != nil {
				c.ledger.Follow(c.quota, q)
			}
		}
		c.uncounted = c.uncounted[:0]
	}
}

// affords reports whether a queue may be charged, with what is earmarked for others and
// without: an earmark may be borne by what the queue keeps for itself, which it goes on
// to keep until it uses it.
func (c *Core) affords(q quota.Index, charge quota.Charge) bool {
	_, ok := c.quota.Fits(q, charge)
	if !ok || !c.earmarked || c.keeping == 0 || !slices.ContainsFunc(c.windows, func(w *window) bool { return w.isPlanned() && !w.unmarked }) {
		return ok
	}
	c.earmarkAll(false)
	_, ok = c.quota.Fits(q, charge)
	c.earmarkAll(true)
	return ok
}

// earmarkAll is earmarkFor for all, but for the one that is tried just now.
func (c *Core) earmarkAll(on bool) {
	for _, w := range c.windows {
		if w.isPlanned() && !w.unmarked {
			c.earmarkFor(w, on)
		}
	}
}

func (c *Core) earmarkFor(w *window, on bool) {
	for _, charge := range w.preemption.charges {
		if w.isMove() {
			charge = w.rep.lacks(charge)
		}
		if on {
			must(c.quota.Charge(w.rep.job.queue, charge))
		} else {
			must(c.quota.Discharge(w.rep.job.queue, charge))
		}
	}
}

// lacks is what a replica is charged less than what it is to have of a product.
func (rep *replica) lacks(charge quota.Charge) quota.Charge {
	rep.eachHold(func(h *gang.Hold, n *node) {
		if held := chargeOf(h, n); held.Product == charge.Product {
			charge.GPUMilli -= held.GPUMilli
			charge.Host = charge.Host.Minus(held.Host)
		}
	})
	charge.GPUMilli, charge.Host = max(0, charge.GPUMilli), charge.Host.Floor()
	return charge
}

// withoutEarmark calls a function that may start a replica, as if nothing were kept for that
// one.
func (c *Core) withoutEarmark(rep *replica, start func()) {
	w := rep.room()
	if !c.earmarked || w == nil {
		start()
		return
	}
	c.earmarkFor(w, false)
	w.unmarked = true
	start()
	if w.unmarked = false; rep.reserved == w {
		c.earmarkFor(w, true)
	}
}
