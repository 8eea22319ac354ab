package gang

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A portion is what one domain gets of a group that is divided over domains of a level.
type portion struct {
	domain topology.DomainIndex
	node   topology.NodeIndex // at the node level, else -1
	room   int                // in members, whole units
	got    int
	// position in the order of paths settles ties.
	position int
}

// portions lists the domains of a level at or below a domain, or its nodes, that may
// serve a group, with the room that each has in whole units. Those without room
// are listed as well.
func (f *Fleet) portions(d topology.DomainIndex, group int, level topology.Level, unit int) {
	s := &f.search
	g := &s.request.Groups[group]
	at := f.tree.DomainLevel(d)
	switch {
	case at == level:
		if f.serves(d, g) {
			room := f.capacity(d, group)
			s.portions = append(s.portions, portion{domain: d, node: -1, room: room - room%unit, position: len(s.portions)})
		}
	case at == f.tree.NodeLevel()-1:
		for _, n := range f.tree.Nodes(d) {
			if f.servesOn(n, g) {
				room := f.roomOn(n, g, unit)
				s.portions = append(s.portions, portion{domain: d, node: n, room: room, position: len(s.portions)})
			}
		}
	default:
		for _, child := range f.tree.Children(d) {
			f.portions(child, group, level, unit)
		}
	}
}

// serves reports whether some node at or below a domain may serve a group.
func (f *Fleet) serves(d topology.DomainIndex, g *Group) bool {
	if f.tree.DomainLevel(d) == f.tree.NodeLevel()-1 {
		return slices.ContainsFunc(f.tree.Nodes(d), func(n topology.NodeIndex) bool { return f.servesOn(n, g) })
	}
	return slices.ContainsFunc(f.tree.Children(d), func(child topology.DomainIndex) bool { return f.serves(child, g) })
}

// servesOn reports whether a node may serve a group, whatever is free there: it takes
// work, is of an allowed class and matches.
func (f *Fleet) servesOn(n topology.NodeIndex, g *Group) bool {
	state := &f.nodes[n]
	return state.schedulable && slices.Contains(g.Classes, state.class) &&
		(g.RailLevel == 0 || len(state.slots) <= MaxRails) && (g.Match == nil || g.Match(n))
}

// fillSpread places a group over all domains of its spread level in a domain. The room
// of a domain says how much it can get; the largest possible least number is taken, and
// what goes beyond it goes to the roomiest domains first. That is a placement if there
// is one: with a smaller least number the most that each can get is smaller, too.
func (f *Fleet) fillSpread(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	count, unit := s.counts[group], g.segment(g.Spread-1)
	list := f.divide(d, group, g.Spread, unit)
	defer func() { s.portions = s.portions[:0] }()
	if len(list) == 0 {
		return false
	}
	least := count / len(list)
	for i := range list {
		least = min(least, list[i].room)
	}
	least -= least % unit
	for i := range list {
		list[i].got = least
		count -= least
	}
	skew := g.MaxSkew - g.MaxSkew%unit
	slices.SortFunc(list, func(a, b portion) int {
		return cmp.Or(cmp.Compare(b.room, a.room), cmp.Compare(a.position, b.position))
	})
	for i := range list {
		more := min(list[i].room-least, skew, count)
		list[i].got += more
		count -= more
	}
	return count == 0 && f.fillPortions(list, group, unit)
}

// divide lists the portions of a domain, without any members in them yet.
func (f *Fleet) divide(d topology.DomainIndex, group int, level topology.Level, unit int) []portion {
	s := &f.search
	s.portions = s.portions[:0]
	f.portions(d, group, level, unit)
	return s.portions
}

// fillBalanced places a group over the fewest domains of its balance level that can hold
// it, as evenly as their room allows.
func (f *Fleet) fillBalanced(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	count, unit := s.counts[group], g.segment(g.Balance-1)
	list := f.divide(d, group, g.Balance, unit)
	defer func() { s.portions = s.portions[:0] }()
	slices.SortFunc(list, func(a, b portion) int {
		return cmp.Or(cmp.Compare(b.room, a.room), cmp.Compare(a.position, b.position))
	})
	used := 0
	for room := 0; used < len(list) && room < count; used++ {
		room = add(room, list[used].room)
	}
	list = list[:used]
	// The one with the least room first: it gets its part, or all that it can hold.
	for i := len(list) - 1; i >= 0; i-- {
		part := count / (i + 1)
		list[i].got = min(list[i].room, part-part%unit)
		count -= list[i].got
	}
	return count == 0 && f.fillPortions(list, group, unit)
}

// fillPortions places what each domain is to get, or returns false.
func (f *Fleet) fillPortions(list []portion, group, unit int) bool {
	slices.SortFunc(list, func(a, b portion) int { return cmp.Compare(a.position, b.position) })
	for i := range list {
		p := &list[i]
		switch {
		case p.got == 0:
		case p.node >= 0:
			if f.fillNode(p.node, group, p.got) < p.got {
				return false
			}
		case f.fillSegments(p.domain, group, p.got, unit) < p.got:
			return false
		}
	}
	return true
}
