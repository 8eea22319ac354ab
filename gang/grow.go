package gang

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// extend adds members to the groups of a gang that has its minimum, as far as they fit
// inside the required domains around it: whole outermost segments.
func (f *Fleet) extend() {
	s := &f.search
	if len(s.order) == 1 && s.request.Groups[0].RailLevel > 0 {
		f.enlarge()
		return
	}
	s.growing = true
	for _, group := range s.order {
		g := &s.request.Groups[group]
		s.counts[group] = g.Members - s.placed[group]
		if s.counts[group] == 0 || g.RailLevel > 0 {
			continue
		}
		if g.Spread > 0 {
			f.extendSpread(group)
			continue
		}
		d, node := f.domainOfMore(group)
		if node >= 0 {
			f.fillNode(node, group, s.counts[group])
		} else {
			f.survey(d, s.identity[group:group+1])
			f.fill(d, group)
			s.surveyed = -1
		}
		if size := g.outermost(); size > 1 { // a domain inside a segment's does not see segments
			f.rollback(len(s.placement.Members) - s.placed[group]%size)
		}
	}
}

// enlarge places a gang with one aligned group, which has its minimum, again with as many
// members as there is room for: what is already there decides on the rails of what
// comes after it, so it does not grow in place.
func (f *Fleet) enlarge() {
	s := &f.search
	unit := s.request.Groups[0].outermost()
	low, high := s.counts[0]/unit, s.request.Groups[0].Members/unit
	for high-low > 1 { // low is placed, there is no room for high
		middle := low + (high-low)/2
		base := f.stash(0)
		s.counts[0] = middle * unit
		if f.placeRequest() {
			low = middle
			s.stashed = s.stashed[:base]
			continue
		}
		high = middle
		f.unstash(base)
	}
}

// extendSpread adds one unit after the other where the group has the fewest members, for
// as long as the skew allows it.
func (f *Fleet) extendSpread(group int) {
	s := &f.search
	g := &s.request.Groups[group]
	unit := g.segment(g.Spread - 1)
	d, node := f.domainOfMore(group)
	if node >= 0 || g.Spread <= f.tree.DomainLevel(d) {
		return
	}
	for s.counts[group] > 0 {
		f.survey(d, s.identity[group:group+1])
		list := f.divide(d, group, g.Spread, unit)
		at := -1
		least := MaxMembers
		for i := range list {
			list[i].got = f.membersIn(&list[i], group, g.Spread)
			least = min(least, list[i].got)
		}
		for i := range list {
			if list[i].room >= unit && list[i].got+unit-least <= g.MaxSkew && (at < 0 || list[i].got < list[at].got) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		list[at].got = unit
		if !f.fillPortions(list[at:at+1], group, unit) {
			break
		}
		s.counts[group] -= unit
	}
	s.portions, s.surveyed = s.portions[:0], -1
	if size := g.outermost(); size > 1 {
		f.rollback(len(s.placement.Members) - s.placed[group]%size)
	}
}

// membersIn is how many members of a group a portion has already.
func (f *Fleet) membersIn(p *portion, group int, level topology.Level) int {
	count := 0
	for i := range f.search.placement.Members {
		m := &f.search.placement.Members[i]
		if m.Group != group {
			continue
		}
		if p.node >= 0 && m.Hold.Node == p.node || p.node < 0 && f.tree.DomainOf(m.Hold.Node, level) == p.domain {
			count++
		}
	}
	return count
}

// domainOfMore returns the domain in which further members of a group may be, and the node
// if it must be one node.
func (f *Fleet) domainOfMore(group int) (topology.DomainIndex, topology.NodeIndex) {
	s := &f.search
	members := s.placement.Members
	first := members[0].Hold.Node
	mine := slices.IndexFunc(members, func(m Member) bool { return m.Group == group })
	mate := slices.IndexFunc(members, func(m Member) bool { return s.request.mates(m.Group, group) })
	required := [...]topology.Level{s.request.Required, s.request.tie(group), s.request.Groups[group].required()}
	d := s.request.Within
	for i, n := range [...]topology.NodeIndex{first, members[mate].Hold.Node, members[mine].Hold.Node} {
		if required[i] == f.tree.NodeLevel() {
			return d, n
		}
		if domain := f.tree.DomainOf(n, required[i]); f.tree.DomainLevel(domain) > f.tree.DomainLevel(d) {
			d = domain
		}
	}
	return d, -1
}
