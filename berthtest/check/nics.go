package check

import (
	"reflect"
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
		if rate := c.rate(c.nodes[p.Node]); slowest < 0 || rate < slowest {
			slowest = rate
		}
	}
	c.saw("a gang needs several nodes")
	faster := func(n *node) bool {
		return c.rate(n) > slowest && !c.inReservation(n) && c.geometry(n).Kind == berth.GeometryFixed
	}
	if c.couldStartOn(rep, faster) {
		return broken(PromiseNICs, "order %d starts %s on NICs that carry %d kbit/s, and all of it fits on faster ones", b.ID, rep, slowest)
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

// rate is what the NICs of a node carry together, in kbit/s, by what its domains have left. NICs
// that tell no rate count as 1 Mbit/s.
func (c *Checker) rate(n *node) int64 {
	sum, left := int64(0), 1000
	for i := range n.spec.NICs {
		sum += n.spec.NICs[i].MbitPerSecond
	}
	for _, r := range c.fabric {
		if n.within(r.Domain) {
			left = min(left, r.LeftMilli)
		}
	}
	return max(1, sum) * int64(left)
}

// rates lists what the NICs of nodes with GPUs carry, each once.
func (c *Checker) rates() (list []int64) {
	for _, n := range c.nodes {
		if len(n.gpus) > 0 && !slices.Contains(list, c.rate(n)) {
			list = append(list, c.rate(n))
		}
	}
	return list
}

// within reports whether a node stands in a domain.
func (n *node) within(domain []string) bool {
	return len(domain) <= len(n.spec.Domains) && slices.Equal(domain, n.spec.Domains[:len(domain)])
}

// fabricReported takes how much of its bandwidth a domain has left.
func (c *Checker) fabricReported(e berth.FabricReported) error {
	if e.LeftMilli < 0 || e.LeftMilli > 1000 || len(e.Domain) == 0 {
		return broken(PromiseEvents, "a domain %v that has %d thousandths left was accepted", e.Domain, e.LeftMilli)
	}
	c.saw("a domain lost bandwidth")
	c.fabric = slices.DeleteFunc(c.fabric, func(r berth.FabricReport) bool { return slices.Equal(r.Domain, e.Domain) })
	if e.LeftMilli < 1000 {
		c.fabric = append(c.fabric, berth.FabricReport(e))
	}
	known := len(c.fabric)
	if c.forgetFabric(); len(c.fabric) < known {
		return broken(PromiseEvents, "domain %v was accepted, and no node stands there", e.Domain)
	}
	return nil
}

// forgetFabric forgets the domains in which no node stands.
func (c *Checker) forgetFabric() {
	c.fabric = slices.DeleteFunc(c.fabric, func(r berth.FabricReport) bool {
		for _, n := range c.nodes {
			if n.within(r.Domain) {
				return false
			}
		}
		c.saw("a domain that had lost bandwidth is gone")
		return true
	})
}

// againstFabric holds the domains that a report says have lost bandwidth against those that have.
func (c *Checker) againstFabric(list []berth.FabricReport) error {
	slices.SortFunc(c.fabric, func(a, b berth.FabricReport) int { return slices.Compare(a.Domain, b.Domain) })
	if len(list) != len(c.fabric) || len(list) > 0 && !reflect.DeepEqual(list, c.fabric) {
		return broken(PromiseNICs, "the report says that domains have lost bandwidth as in %+v; it is %+v", list, c.fabric)
	}
	return nil
}
