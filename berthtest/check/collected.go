package check

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// This file asserts that a guarantee is collected: in a fleet at rest no gang waits within the
// guarantee of its queue, and no elastic one stays short of a member within it, for which some
// others could go that leave their queues their guarantees in use. It looks for them in a few cheap
// ways, so that what it finds is certain, and what it does not find says nothing: whole gangs of
// other queues, on nodes that are emptied one after the other.
//
// It judges gangs whose place can be counted (see countable), of queues that state a guarantee
// as all above them do, with the default gain, no rate limit, and nothing else under way. What
// others give leaves each queue, from the leaf up to where the paths part, what it states.

// collected asserts that of one gang that waits.
func (c *Checker) collected(rep *replica) error {
	p, leaf := &c.policy.Preemption, rep.job.queue
	if !rep.waits() || !c.collects(rep, c.now) || p.Mode == berth.PreemptionOff || p.RateLimit.Evictions+p.QueueRateLimit.Evictions > 0 {
		return nil
	}
	if len(c.preemptions)+len(c.kept) > 0 || len(leaf.children) > 0 || c.somebodyKeeps() {
		return nil
	}
	w := c.imagine(nil, nil, c.gangs)
	defer w.forget()
	asked, high := w.asks(rep)
	if rep.grows() {
		asked, high = rep.job.unit(c.largest), rep.job.unit(c.largest)
	}
	if !w.known || len(w.gone) > 0 || asked != high || asked == 0 || !leaf.owed(asked) || !w.countable(rep, nil) {
		return nil
	}
	open := func(n *node) bool { return c.setAside(n, rep) == 0 }
	nodes := make([]*node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if open(n) {
			nodes = append(nodes, n)
		}
	}
	for _, order := range []func(a, b *node) int{
		func(a, b *node) int { return cmp.Compare(w.lentOn(a, leaf), w.lentOn(b, leaf)) },
		func(a, b *node) int { return cmp.Compare(len(a.members), len(b.members)) },
		func(_, _ *node) int { return 0 },
	} {
		slices.SortFunc(nodes, func(a, b *node) int { return cmp.Or(order(a, b), cmp.Compare(a.spec.ID, b.spec.ID)) })
		victims := w.empty(rep, nodes, open)
		if victims != nil && w.leaveGuarantees(rep, victims) {
			return broken(PromiseL1, "%s waits, or is to grow, within the guarantee of queue %s, and would start if %s and %d more went, which leaves every queue its own", rep, leaf.spec.Name, victims[0], len(victims)-1)
		}
	}
	c.saw("a guarantee that cannot be collected in a simple way")
	return nil
}

// lentOn is what other queues than one hold on a node.
func (w *world) lentOn(n *node, leaf *queue) int64 {
	sum := int64(0)
	for _, m := range n.members {
		if m.rep.job.queue != leaf {
			sum += w.cost(m)[quota.GPUMilli]
		}
	}
	return sum
}

// empty lists gangs of other queues without which a gang would start: those on one node after the
// other, but for those that can stay; nil: there are none.
func (w *world) empty(rep *replica, nodes []*node, open func(*node) bool) []*replica {
	gone := len(w.gone)
	defer func() { w.back(gone, len(w.here)) }()
	var victims []*replica
	for _, n := range nodes {
		for _, m := range slices.Clone(n.members) {
			if !slices.Contains(victims, m.rep) && w.mayGive(rep, m.rep) {
				victims = append(victims, m.rep)
				w.vanish(m.rep.members)
			}
		}
		if w.couldStartOn(rep, open) {
			return w.needed(rep, victims, gone, open)
		}
	}
	return nil
}

// needed are those of some victims that cannot stay.
func (w *world) needed(rep *replica, victims []*replica, gone int, open func(*node) bool) []*replica {
	for i := 0; i < len(victims); {
		fewer := slices.Delete(slices.Clone(victims), i, i+1)
		w.back(gone, len(w.here))
		for _, v := range fewer {
			w.vanish(v.members)
		}
		if w.couldStartOn(rep, open) {
			victims = fewer
		} else {
			i++
		}
	}
	return victims
}

// mayGive reports whether a replica of another queue could certainly be asked to go.
func (w *world) mayGive(rep, victim *replica) bool {
	q := victim.job.queue
	_, given := parting(rep.job.queue, q)
	return q != rep.job.queue && stated(given) && victim.state == berth.ReplicaRunning && victim.order == nil && !victim.has(stopping) &&
		!w.tooYoung(victim) && victim.job.spec.Topology.Exclusive == "" && !victim.observed
}

// owed reports whether a queue and all above it state guarantees, and are within them with so much
// more.
func (q *queue) owed(asked int64) bool {
	for ; q != nil; q = q.parent {
		if guarantee, some := q.spec.Guarantee[quota.GPUMilli]; !some || q.used[quota.GPUMilli]+asked > guarantee {
			return false
		}
	}
	return true
}

// stated reports whether all of some queues state a guarantee, or have none above them to have a
// part of: what else they keep depends on others.
func stated(list []*queue) bool {
	return !slices.ContainsFunc(list, func(q *queue) bool {
		_, some := q.spec.Guarantee[quota.GPUMilli]
		return !some && q.parent != nil
	})
}

// leaveGuarantees reports whether every queue has its guarantee in use without some gangs, or loses
// nothing.
func (w *world) leaveGuarantees(rep *replica, victims []*replica) bool {
	given := map[*queue]int64{}
	for _, v := range victims {
		_, path := parting(rep.job.queue, v.job.queue)
		for _, q := range path {
			given[q] += w.held(v.members)
		}
		if len(path) > 1 || rep.job.queue.parent != nil {
			w.saw("a guarantee judged in a hierarchy")
		}
	}
	for q, milli := range given {
		if used := q.used[quota.GPUMilli]; used-milli < min(used, q.spec.Guarantee[quota.GPUMilli]) {
			return false
		}
	}
	return len(victims) > 0
}
