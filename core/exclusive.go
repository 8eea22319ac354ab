package core

import (
	"slices"

	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// idle tells the nodes whose domain of the exclusive level holds nobody else's members;
// nil where the request does not ask for it.
func (c *Core) idle(spec *shapeSpec) func(*node) bool {
	if spec.Topology.Exclusive == "" {
		return nil
	}
	tree := c.fleet.Tree()
	level, _ := tree.Level(spec.Topology.Exclusive)
	alone := func(n *node) bool {
		return n.planned == 0 && !slices.ContainsFunc(n.members, func(m memberAt) bool {
			return !m.imagined() && (m.rep.job.spec.ID != spec.Of || m.rep.Number != spec.OfReplica)
		})
	}
	if level == tree.NodeLevel() {
		return alone
	}
	return func(n *node) bool { return c.all(tree.DomainOf(n.index, level), alone) }
}

// all reports whether all nodes at or below a domain pass a test.
func (c *Core) all(d topology.Domain, test func(*node) bool) bool {
	tree := c.fleet.Tree()
	for _, i := range tree.Nodes(d) {
		if !test(c.nodes[i]) {
			return false
		}
	}
	for _, child := range tree.Children(d) {
		if !c.all(child, test) {
			return false
		}
	}
	return true
}

func exclusiveWindow(rep *replica) *window {
	return &window{kind: kindExclusive, name: gangName("exclusive", rep), spanPart: spanPart{beforeAll, never}, rep: rep, queue: quota.None}
}

// encloseExclusive sets the domains of a gang with exclusive topology aside for it, from now
// on or wider than before.
func (c *Core) encloseExclusive(rep *replica) {
	name := rep.job.spec.Topology.Exclusive
	if name == "" {
		return
	}
	tree := c.fleet.Tree()
	level, _ := tree.Level(name)
	w := exclusiveWindow(rep)
	if rep.exclusive != nil {
		w.domains = slices.Clone(rep.exclusive.domains)
		c.endWindow(rep.exclusive)
	}
	for flat := range rep.members {
		m := &rep.members[flat]
		if !m.state.holds() {
			continue
		}
		path := tree.DomainPath(tree.DomainOf(m.hold.Node, level))
		if level == tree.NodeLevel() {
			path = append(path, string(m.node.spec.ID))
		}
		if !slices.ContainsFunc(w.domains, func(p []string) bool { return slices.Equal(p, path) }) {
			w.domains = append(w.domains, path)
		}
	}
	slices.SortFunc(w.domains, slices.Compare[[]string])
	w.nodes = c.nodesOf(w.domains)
	if c.roomToSetAside(w.nodes) { // else the fleet has thousands of kinds of nodes
		rep.exclusive = w
		c.addWindow(w)
	}
}
