package check

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// topology: the gang as a whole, each of its groups and each of their segments stand
// in one domain of the level that they require; a group that is balanced or spread is, and one
// on aligned rails is. What was observed stands where it stands.
func (c *Checker) topology(rep *replica) error {
	if rep.observed {
		return nil
	}
	placed := rep.in(binding, running)
	if err := c.together(placed, rep.job.spec.Topology.Required); err != nil {
		return err
	}
	if err := c.parts(rep, placed); err != nil {
		return err
	}
	for g := range rep.job.spec.Groups {
		members := slices.DeleteFunc(slices.Clone(placed), func(m *member) bool { return rep.job.group(m.flat) != g })
		if !slices.ContainsFunc(members, func(m *member) bool { return m.bind == c.last }) {
			continue // a gang that stood right before this order does so still, whatever else changed
		}
		if err := c.groupTogether(rep, g, members); err != nil {
			return err
		}
		for _, check := range []func(*replica, int, []*member) error{c.segments, c.balanced, c.spread, c.aligned} {
			if err := check(rep, g, members); err != nil {
				return err
			}
		}
	}
	return nil
}

// required is the level inside one domain of which all members of a group stand.
func (c *Checker) required(rep *replica, g int) string {
	t := &rep.job.spec.Topology
	if rep.job.copies(g) > 1 {
		return t.Required
	}
	level := c.narrower(t.Required, rep.job.spec.Groups[g].Topology.Required)
	for _, p := range t.Parts {
		if p.Name == rep.job.spec.Groups[g].Part {
			level = c.narrower(level, c.narrower(p.Required, t.Apart))
		}
	}
	return level
}

// together: members stand in one domain of a level.
func (c *Checker) together(members []*member, level string) error {
	if level == "" {
		return nil
	}
	for _, m := range members {
		if !slices.Equal(c.domain(m.node, level), c.domain(members[0].node, level)) {
			return broken(PromiseS8, "%s on node %s and %s on node %s are to stand in one %s",
				members[0], members[0].at.Node, m, m.at.Node, level)
		}
	}
	c.saw("required level kept")
	return nil
}

// segments: each segment, on each level of nesting, stands in one domain; and a widest
// segment of which nobody was placed is placed whole, if it asks for anything.
func (c *Checker) segments(rep *replica, g int, members []*member) error {
	t := &rep.job.spec.Groups[g].Topology
	for depth, segment := range t.Segments {
		size := segment.Size
		for s := range rep.job.spec.Groups[g].Members / size {
			var list []*member
			fresh := 0
			for _, m := range members {
				if (m.flat-rep.job.offsets[g])/size != s {
					continue
				}
				list = append(list, m)
				if m.state == binding && m.bind == c.last {
					fresh++
				}
			}
			if err := c.together(list, segment.Level); err != nil {
				return err
			}
			if depth == 0 && c.depth(segment.Level) > c.depth(c.required(rep, g)) && fresh > 0 && fresh == len(list) && fresh < size {
				return broken(PromiseS8, "order %d binds %d members of segment %d of %s, which has %d", c.last, fresh, s, rep, size)
			}
		}
		c.saw("segments placed")
		if depth > 0 {
			c.saw("nested segments placed")
		}
	}
	return nil
}

// spread: over all domains of a level that have a node for the group, inside its
// required domain, the numbers of its members differ by no more than they may. A
// domain of which it is not certain that the core counts it is left out, unless a
// member is there.
func (c *Checker) spread(rep *replica, g int, members []*member) error {
	group := &rep.job.spec.Groups[g]
	level := group.Topology.Spread
	if level == "" {
		return nil
	}
	region := c.required(rep, g)
	s := spreading{key: rep.String(), group: group, counts: map[string]int{}, nodes: map[berth.NodeID]string{}}
	for id, n := range c.nodes {
		if n.sameAs(members[0]) && c.key(n, region) == c.key(members[0].node, region) && c.surelyFor(n, rep, group) {
			s.nodes[id] = c.key(n, level)
		}
	}
	for _, m := range members {
		s.counts[c.key(m.node, level)]++
	}
	c.saw("spread placed")
	if c.passed { // the pass may have set nodes aside before this order
		c.spreadings = append(c.spreadings, &s)
		return nil
	}
	if len(c.justFailed()) > 0 { // the pass keeps places for them first
		return nil
	}
	return s.even(nil)
}

// A spreading is a group that was spread, with the nodes that were for it.
type spreading struct {
	key    string
	group  *berth.Group
	counts map[string]int          // members by domain
	nodes  map[berth.NodeID]string // domains by node
}

// even: the numbers differ by no more than they may. Nodes that are set aside for
// gangs are left out.
func (s *spreading) even(gangs map[gangKey]berth.ReservationReport) error {
	t := &s.group.Topology
	for _, r := range gangs {
		for _, id := range r.Nodes {
			delete(s.nodes, id)
		}
	}
	for _, domain := range s.nodes {
		s.counts[domain] += 0
	}
	least, most := s.group.Members, 0
	for _, n := range s.counts {
		least, most = min(least, n), max(most, n)
	}
	if most-least > max(1, t.MaxSkew) {
		return broken(PromiseS8, "group %q of %s has %d members in one %s and %d in another", s.group.Name, s.key, most, t.Spread, least)
	}
	return nil
}

// surelyFor reports whether a node is certainly one for a group: it takes work and
// qualifies, and nothing speaks against it, such as that nodes are set aside, that a
// member failed there, that its product is limited or that the gang wants idle domains.
func (c *Checker) surelyFor(n *node, rep *replica, g *berth.Group) bool {
	if !n.serves(g) || c.mayDivide(n, g) || c.inReservation(n) || rep.avoided[n.spec.ID] || !c.idleFor(rep, n) {
		return false
	}
	return len(n.gpus) == 0 || !c.bounds(rep.job.queue, func(r quota.Resource) bool { return r == quota.GPUMilliOf(n.spec.GPUs[0].Product) })
}

// mayDivide reports whether it is a matter of how a node's GPUs divide whether it is one
// for a group.
func (c *Checker) mayDivide(n *node, g *berth.Group) bool {
	_, any := modeOf(&g.Claim)
	divides := slices.ContainsFunc(n.gpus, func(g gpu) bool { return g.ordered() == berth.GPUModeMIG || g.unknown })
	return ofInstance(&g.Claim) || any && (divides || c.table(n) != nil && c.geometry(n).Kind != berth.GeometryFixed)
}

// serves reports whether a node takes work and could hold a member of a group if it
// were idle, as far as its GPUs tell.
func (n *node) serves(g *berth.Group) bool {
	return !n.closed() && n.unfit(g) == "" && len(n.gpus) >= g.Claim.GPUs && (g.Claim.Share == nil && !ofInstance(&g.Claim) || len(n.gpus) > 0)
}

// aligned: a group on aligned rails stands inside one rail domain and uses the same
// GPUs on every node, but for one where it may use fewer of them.
func (c *Checker) aligned(rep *replica, g int, members []*member) error {
	if !rep.job.spec.Groups[g].Topology.RailAligned {
		return nil
	}
	sets := map[*node]berth.GPUSet{}
	var widest berth.GPUSet
	for _, m := range members {
		sets[m.node] |= m.at.GPUs
		if sets[m.node].Len() > widest.Len() {
			widest = sets[m.node]
		}
	}
	if len(sets) == 1 {
		c.saw("rails aligned on one node")
		return nil
	}
	if err := c.together(members, c.rails); err != nil {
		return err
	}
	others := 0
	for n, set := range sets {
		if set == widest {
			continue
		}
		if others++; others > 1 || set&^widest != 0 {
			return broken(PromiseS8, "%s uses GPUs %s on node %s and %s elsewhere: its rails are not aligned", rep, set, n.spec.ID, widest)
		}
	}
	c.saw("rails aligned")
	return nil
}

// narrower returns the narrower of two levels, of which either may be none.
func (c *Checker) narrower(a, b string) string {
	if c.depth(b) > c.depth(a) {
		return b
	}
	return a
}

// depth orders levels from the widest.
func (c *Checker) depth(level string) int {
	switch level {
	case "", "fleet":
		return 0
	case "node":
		return len(c.levels) + 1
	}
	return slices.Index(c.levels, level) + 1
}

// domain names a node's domain of a level: the path down to it, since a name is
// unique within its parent only.
func (c *Checker) domain(n *node, level string) []string {
	switch level {
	case "fleet":
		return nil
	case "node":
		return []string{string(n.spec.ID)}
	}
	return n.spec.Domains[:slices.Index(c.levels, level)+1]
}
