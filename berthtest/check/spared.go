package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about hot spares. Which nodes are spares the core chooses, and no order tells:
// the checker knows it from reports. It asserts that there are no more of them than the policy
// wants, and in a fleet without anything left to do as many as there are nodes for; that they
// are sound, trusted and idle but for gangs that may be there; that they are spread; and that only
// gangs that lost hardware get there.

// spared is what is known of spares.
type spared struct {
	// spares are the nodes that were, in the latest report.
	spares map[berth.NodeID]bool
	// lodgers are the gangs placed in the latest pass in pools with hot spares, by node.
	lodgers map[berth.NodeID][]lodger
}

// A lodger is a replica that was placed on a node. struck: it had lost hardware, and had not
// run since.
type lodger struct {
	rep    *replica
	struck bool
}

func newSpared() spared {
	return spared{spares: map[berth.NodeID]bool{}, lodgers: map[berth.NodeID][]lodger{}}
}

// sound reports whether a node is one of those of which spares are a part.
func (n *node) sound() bool { return len(n.gpus) > 0 && n.failed == 0 && !n.closed() }

// wants is how many spares a pool is to have, and whether the policy speaks of it.
func (c *Checker) wants(pool string) (int, bool) {
	i := slices.IndexFunc(c.policy.HotSpares, func(s berth.HotSpares) bool { return s.Pool == pool && s.NodesMilli > 0 })
	if i < 0 {
		return 0, false
	}
	sound := 0
	for _, n := range c.nodes {
		if n.spec.Pool == pool && n.sound() {
			sound++
		}
	}
	milli, wanted := c.policy.HotSpares[i].NodesMilli, 0
	for wanted*1000 < sound*milli {
		wanted++
	}
	return wanted, true
}

// mayBeSpare reports whether a node is a spare, or could have become one when the pass began.
func (c *Checker) mayBeSpare(n *node) bool {
	_, some := c.wants(n.spec.Pool)
	return c.spares[n.spec.ID] || some && (len(n.members) == 0 || len(c.lodgers[n.spec.ID]) > 0)
}

// enterSpare notes a gang that is placed where a hot spare is, or could be.
func (c *Checker) enterSpare(rep *replica, n *node) {
	if _, some := c.wants(n.spec.Pool); some {
		c.lodgers[n.spec.ID] = append(c.lodgers[n.spec.ID], lodger{rep, rep.mayResume()})
	}
}

// mayResume reports whether a replica may be on a spare.
func (rep *replica) mayResume() bool { return rep.struck && rep.state != berth.ReplicaRunning }

// onlyStruck: a gang that was placed on a hot spare had lost hardware.
func (c *Checker) onlyStruck(n *node) error {
	for _, l := range c.lodgers[n.spec.ID] {
		if !l.struck {
			return broken(PromiseHotSpares, "%s is placed on node %s, which is a spare, and has lost no hardware", l.rep, n.spec.ID)
		}
		c.saw("resumed on a spare")
	}
	return nil
}

// againstSpares holds what a report says of spares against the policy and the nodes. passed: a
// pass was the last that happened, and what was known before it is known.
func (c *Checker) againstSpares(report *berth.FleetReport, passed bool) error {
	before, list := c.spares, report.HotSpares
	now := map[berth.NodeID]bool{}
	if !slices.IsSortedFunc(list, func(a, b berth.HotSparesReport) int { return cmp.Compare(a.Pool, b.Pool) }) {
		return broken(PromiseHotSpares, "the report lists pools out of order: %+v", list)
	}
	pools := 0
	for _, s := range c.policy.HotSpares {
		if s.NodesMilli > 0 {
			pools++
		}
	}
	if pools != len(list) {
		return broken(PromiseHotSpares, "the report lists the spares of %d pools; the policy speaks of %d", len(list), pools)
	}
	for _, r := range list {
		wanted, some := c.wants(r.Pool)
		switch {
		case !some || r.Wanted != wanted || r.Free != len(r.Nodes):
			return broken(PromiseHotSpares, "the report says %+v of spares; %d are wanted", r, wanted)
		case passed && r.Free > wanted:
			return broken(PromiseHotSpares, "pool %q keeps %d spares after a pass; %d are wanted", r.Pool, r.Free, wanted)
		case r.Free < wanted:
			c.saw("short of spares")
		}
		for _, id := range r.Nodes {
			n := c.nodes[id]
			if n == nil || n.spec.Pool != r.Pool || n.burnIn != 0 || passed && !n.sound() {
				return broken(PromiseHotSpares, "node %s is a spare of pool %q, and is of another, not sound, or not trusted", id, r.Pool)
			}
			if err := c.onlyStruck(n); err != nil {
				return err
			}
			if now[id] = true; !before[id] {
				c.saw("a spare chosen")
			}
		}
		if err := c.spreadOut(r.Pool, before, now, passed, report.Reservations); err != nil {
			return err
		}
	}
	c.spares = now
	return nil
}

// spreadOut: a spare that is chosen alone is in the domains with the fewest, the widest first.
// What is set aside after the pass may have been so before spares were chosen; so may, in the pass,
// the place of a gang that had just failed.
func (c *Checker) spreadOut(pool string, before, now map[berth.NodeID]bool, passed bool, aside []berth.ReservationReport) error {
	var chosen []*node
	kept := map[string]int{}
	for id := range now {
		n := c.nodes[id]
		switch {
		case n.spec.Pool != pool:
		case !before[id]:
			chosen = append(chosen, n)
		default:
			for _, level := range c.levels {
				kept[c.key(n, level)]++
			}
		}
	}
	if !passed || len(chosen) != 1 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		reserved := slices.ContainsFunc(aside, func(r berth.ReservationReport) bool { return slices.Contains(r.Nodes, id) })
		if n.spec.Pool != pool || now[id] || before[id] || reserved || c.stoodOn(n) || !c.surelyStandsBy(n) {
			continue
		}
		order := 0
		for _, level := range c.levels {
			order = cmp.Or(order, cmp.Compare(kept[c.key(chosen[0], level)], kept[c.key(n, level)]))
		}
		if cmp.Or(order, cmp.Compare(chosen[0].spec.ID, id)) > 0 {
			return broken(PromiseHotSpares, "node %s was made a spare, and %s comes before it", chosen[0].spec.ID, id)
		}
		c.saw("a spare chosen before another")
	}
	return nil
}

// stoodOn reports whether a gang that has just failed stood on a node, or has its domain for
// itself.
func (c *Checker) stoodOn(n *node) bool {
	for _, rep := range c.justFailed() {
		level := rep.job.spec.Topology.Exclusive
		for _, s := range rep.stood {
			if s.node == n || level != "" && c.key(s.node, level) == c.key(n, level) {
				return true
			}
		}
	}
	return false
}

// surelyStandsBy reports whether a node could certainly have become a spare at the beginning of
// the pass that was the last: it is idle, and was not set aside.
func (c *Checker) surelyStandsBy(n *node) bool {
	if !n.sound() || n.burnIn != 0 || len(n.members) > 0 || len(c.lodgers[n.spec.ID]) > 0 || c.bookedFor(n) {
		return false
	}
	return !slices.ContainsFunc(n.gpus, func(g gpu) bool { return g.unknown || g.change != nil }) && c.geometry(n).Kind == berth.GeometryFixed
}

// sparesServed: in a fleet without anything left to do, no pool is short of spares that has a node
// for one more.
func (c *Checker) sparesServed() error {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[id]
		wanted, some := c.wants(n.spec.Pool)
		if !some || c.spares[id] || !c.surelyStandsBy(n) {
			continue
		}
		for other := range c.spares {
			if m := c.nodes[other]; m != nil && m.spec.Pool == n.spec.Pool {
				wanted--
			}
		}
		if wanted > 0 {
			return broken(PromiseHotSpares, "pool %q is %d short of spares, and node %s is idle", n.spec.Pool, wanted, id)
		}
	}
	return nil
}
