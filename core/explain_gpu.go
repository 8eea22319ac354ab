package core

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// describeFraction says what a fraction has to have.
func describeFraction(f *berth.Fraction) string {
	switch {
	case f.MinMemoryMiB == 0:
		return fmt.Sprintf("one instance with %d SMs", f.MinSMs)
	case f.MinSMs == 0:
		return "one instance with " + berth.Amount(quota.Memory, f.MinMemoryMiB)
	}
	return fmt.Sprintf("one instance with %d SMs and %s", f.MinSMs, berth.Amount(quota.Memory, f.MinMemoryMiB))
}

// explainGeometry adds what a change of a GPU has to do with the wait.
func (c *Core) explainGeometry(e *entry, request *gang.Request, reason *berth.Reason) {
	out := c.outOfReach(e.rep, request)
	if reason.Code == berth.ReasonTooLarge && (e.rep.drain != nil || out > 0 || c.couldHold(request)) {
		reason.Code = berth.ReasonGeometry
		reason.Text = "no GPU that takes newcomers is divided so that it fits"
		reason.Relax = "GPUs that are divided otherwise"
	}
	if out > 0 {
		reason.Text += fmt.Sprintf("; GPUs that might do but are kept for others, on their way to another mode, or divided nobody knows how: %d", out)
	}
	switch d := e.rep.drain; {
	case d != nil:
		reason.Kept, reason.Until = &berth.GPURef{Node: d.node.spec.ID, GPU: d.GPU}, d.Until
		reason.Text += fmt.Sprintf("; GPU %d of node %s is kept for it until it is clear, for another %v at most", d.GPU, d.node.spec.ID, d.Until.Sub(c.now))
	case c.agenda.pliable > 0 && e.rep.look.PayAt > c.now && e.rep.look.PayAt != never:
		reason.Until = e.rep.look.PayAt
		reason.Text += fmt.Sprintf("; GPUs may be repartitioned for it in %v, when it has waited for what that costs and the rates allow it", e.rep.look.PayAt.Sub(c.now))
	}
}

// couldHold reports whether each group of a request would fit if its GPUs were divided for
// it, as far as that may come to pass and whatever they are used for now.
func (c *Core) couldHold(request *gang.Request) bool {
	for i := range request.Groups {
		g := &request.Groups[i]
		room := 0
		for _, n := range c.nodes {
			if n != nil && n.pliable() && slices.Contains(g.Classes, n.hardware()) {
				room += n.couldHold(&g.Claim)
			}
		}
		if room < g.Count {
			return false
		}
	}
	return true
}

// couldHold is how many members with a claim the node's GPUs could hold if they were
// divided for them.
func (n *node) couldHold(claim *gang.Claim) int {
	each := 1
	switch p, ok := profileOn(n, claim, func(int) bool { return true }); {
	case ok:
		each = n.table.lattice.Free(0, p)
	case claim.GPUs > 1:
		return len(n.gpus) / claim.GPUs
	case claim.Share.Milli > 0:
		each = 1000 / int(claim.Share.Milli)
	}
	return len(n.gpus) * each
}

// outOfReach counts the GPUs on which a replica might go but for what is under way there for
// others.
func (c *Core) outOfReach(rep *replica, request *gang.Request) int {
	count := 0
	for _, n := range c.nodes {
		if n == nil || n.closed() || !slices.ContainsFunc(request.Groups, func(g gang.Group) bool { return c.qualifies(n, &g) }) {
			continue
		}
		for g := range n.gpus {
			if s := &n.gpus[g]; !n.spec.GPUs[g].Failed && (s.Unknown || s.drain != nil && s.drain.rep != rep || s.order != nil && !n.holds(g)) {
				count++
			}
		}
	}
	return count
}
