package check

import (
	"slices"

	"github.com/berth-sched/berth"
)

// This file is about the NICs of gangs that need several nodes. It holds where the place of one
// that has just come is free to choose, and there is certainly a faster one: an elastic gang before
// it in the pass may have left fast nodes with the minimum that it had at first.

// fastEnough: a gang that needs several nodes is not started on slow NICs if all of it certainly
// fits on nodes with faster ones.
func (c *Checker) fastEnough(rep *replica, b *berth.Bind) error {
	spec := &rep.job.spec
	if c.ownPolicy || b.Incarnation != 1 || rep.state != berth.ReplicaPending || len(spec.Groups) != 1 || len(c.preemptions) > 0 || c.enlarged || !c.inTurn(rep, b) || c.somebodyMoves() {
		return nil
	}
	g := &spec.Groups[0]
	if minimum(g) < g.Members || !c.needsSeveral(g) || len(c.rates()) > 4 {
		return nil
	}
	slowest := int64(-1)
	for _, p := range b.Members {
		if rate := c.nodes[p.Node].rate(); slowest < 0 || rate < slowest {
			slowest = rate
		}
	}
	c.saw("a gang needs several nodes")
	faster := func(n *node) bool {
		return n.rate() > slowest && !c.inReservation(n) && c.geometry(n).Kind == berth.GeometryFixed
	}
	if c.couldStartOn(rep, faster) {
		return broken(PromiseNICs, "order %d starts %s on NICs of %d Mbit/s, and all of it fits on faster ones", b.ID, rep, slowest)
	}
	if slices.Max(c.rates()) > slowest {
		c.saw("a gang has slow NICs because fast ones do not hold it")
	} else if len(c.rates()) > 1 {
		c.saw("a gang has fast NICs")
	}
	return nil
}

// needsSeveral reports whether no node, whatever is free there, has the GPUs for all of a group.
func (c *Checker) needsSeveral(g *berth.Group) bool {
	for _, n := range c.nodes {
		if len(n.gpus) >= g.Members*g.Claim.GPUs {
			return false
		}
	}
	return true
}

// rate is what the NICs of a node carry together, in Mbit/s.
func (n *node) rate() (sum int64) {
	for i := range n.spec.NICs {
		sum += n.spec.NICs[i].MbitPerSecond
	}
	return sum
}

// rates lists what the NICs of nodes with GPUs carry, each once.
func (c *Checker) rates() (list []int64) {
	for _, n := range c.nodes {
		if len(n.gpus) > 0 && !slices.Contains(list, n.rate()) {
			list = append(list, n.rate())
		}
	}
	return list
}
