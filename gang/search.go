package gang

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A candidate is a domain that may hold what is wanted.
type candidate struct {
	domain topology.Domain
	// size orders candidates: what would be left over, or the capacity.
	size int
	// position in the order of paths settles ties.
	position int
}

// place places the wanted members of some groups together at or below a domain: in
// the lowest domain that fits, not wider than required, and there in the tightest.
// Either all of them are placed or none.
func (f *Fleet) place(d topology.Domain, scope []int, required, preferred topology.Level) bool {
	total, gpus := 0, 0
	for _, group := range scope {
		total += f.search.counts[group]
		gpus += f.search.counts[group] * f.search.request.Groups[group].Claim.GPUs
	}
	if total == 1 { // on one node, whatever the levels
		if gpus == 0 {
			return f.fill(d, scope[0]) == 1
		}
		return f.onOneNode(d, scope, gpus)
	}
	widest := max(required, f.tree.DomainLevel(d))
	start := preferred
	switch {
	case preferred == 0 && gpus > 0:
		start = f.tree.NodeLevel()
	case preferred == 0:
		// Shares and the host alone gain nothing from being close, and their room is
		// not known to a domain: it would have to be looked for in each.
		start = widest
	}
	for level := max(start, widest); level >= widest; level-- {
		if level == f.tree.NodeLevel() {
			if f.onOneNode(d, scope, gpus) {
				return true
			}
		} else if f.inOneDomain(d, scope, level) {
			return true
		}
	}
	return false
}

// onOneNode places the wanted members of some groups on one node, the one with the
// fewest free GPUs that has enough.
func (f *Fleet) onOneNode(d topology.Domain, scope []int, gpus int) bool {
	s := &f.search
	s.scope = scope
	return f.visit(d, s.request.Groups[scope[0]].Classes, gpus, s.visitAll)
}

// visit shows the nodes of some classes with at least so many free GPUs, those with the
// fewest first, then by class in the given order, until a visit returns true.
func (f *Fleet) visit(d topology.Domain, classes []topology.Class, gpus int, visit func(topology.Node) bool) bool {
	most := f.mostGPUs(classes)
	for k := gpus; k <= most; k++ {
		for _, c := range classes {
			if f.tree.Visit(d, classes, c, k, visit) {
				return true
			}
		}
	}
	return false
}

// mostGPUs is the largest number of GPUs of a node of some classes, or -1.
func (f *Fleet) mostGPUs(classes []topology.Class) int {
	most := -1
	for _, c := range classes {
		if gpus, ok := f.tree.ClassGPUs(c); ok {
			most = max(most, gpus)
		}
	}
	return most
}

// tryAll is the visit of onOneNode.
func (f *Fleet) tryAll(n topology.Node) bool {
	s := &f.search
	mark := len(s.placement.Members)
	for _, group := range s.scope {
		if !f.admits(group, n) || f.fillNode(n, group, s.counts[group]) < s.counts[group] {
			f.rollback(mark)
			return false
		}
	}
	return true
}

// admits reports whether a node will do for a group, whatever is free there.
func (f *Fleet) admits(group int, n topology.Node) bool {
	g := &f.search.request.Groups[group]
	if len(f.search.scope) > 1 && !slices.Contains(g.Classes, f.nodes[n].class) {
		return false
	}
	return g.Match == nil || g.Match(n)
}

// inOneDomain places the wanted members of some groups in one domain of a level:
// the one in which the fewest more members would fit, and if it only seemed to
// have room, the next one.
func (f *Fleet) inOneDomain(d topology.Domain, scope []int, level topology.Level) bool {
	s := &f.search
	base := len(s.candidates)
	f.collect(d, scope, level)
	end := len(s.candidates)
	ok := false
	if base < end {
		// Nearly always the first choice has room, so nothing is sorted for it.
		first := base
		for i := base + 1; i < end; i++ {
			if compareCandidates(s.candidates[i], s.candidates[first]) < 0 {
				first = i
			}
		}
		s.candidates[base], s.candidates[first] = s.candidates[first], s.candidates[base]
		ok = f.placeIn(s.candidates[base].domain, scope)
		if !ok {
			slices.SortFunc(s.candidates[base+1:end], compareCandidates)
		}
	}
	for i := base + 1; i < end && !ok; i++ {
		ok = f.placeIn(s.candidates[i].domain, scope)
	}
	s.candidates = s.candidates[:base]
	return ok
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.position, b.position))
}

// collect lists the domains of a level, at or below a domain, that have room by
// their counts. It does not look below a domain that has not.
func (f *Fleet) collect(d topology.Domain, scope []int, level topology.Level) {
	slack, ok := f.slack(d, scope)
	if !ok {
		return
	}
	if f.tree.DomainLevel(d) == level {
		s := &f.search
		s.candidates = append(s.candidates, candidate{d, slack, len(s.candidates)})
		return
	}
	for _, child := range f.tree.Children(d) {
		f.collect(child, scope, level)
	}
}

// slack is how many members more than wanted would fit into a domain by its
// counts, summed over the groups with whole GPUs; without such groups, how many
// GPUs are free there. False if some group does not fit.
func (f *Fleet) slack(d topology.Domain, scope []int) (int, bool) {
	s := &f.search
	slack, gpus, lead := 0, 0, -1
	for _, group := range scope {
		g := &s.request.Groups[group]
		if g.Claim.GPUs == 0 {
			continue
		}
		lead = group
		gpus += s.counts[group] * g.Claim.GPUs
		spare := f.capacity(d, g) - s.counts[group]
		if spare < 0 {
			return 0, false
		}
		slack += spare
	}
	if lead < 0 {
		return f.freeGPUs(d, s.request.Groups[scope[0]].Classes), true
	}
	if len(scope) > 1 && s.sameClasses && f.freeGPUs(d, s.request.Groups[lead].Classes) < gpus {
		return 0, false
	}
	return slack, true
}

func (f *Fleet) freeGPUs(d topology.Domain, classes []topology.Class) int {
	free := 0
	for _, c := range classes {
		free += f.tree.FreeGPUs(d, c)
	}
	return free
}

// capacity is how many members of a group with whole GPUs fit into a domain by its
// counts, in whole segments. It is more than really fit where the host or Match
// is in the way, never less.
func (f *Fleet) capacity(d topology.Domain, g *Group) int {
	level := f.tree.DomainLevel(d)
	segment := g.segment(level)
	if segment > 1 && g.SegmentLevel < f.tree.NodeLevel() {
		total := 0
		for _, child := range f.tree.Children(d) {
			members := f.capacity(child, g)
			total += members - members%segment
		}
		return total
	}
	// Else a segment is inside the domain anyway, or on a node, where it is a claim of
	// its own.
	total := 0
	for _, c := range g.Classes {
		total += f.tree.Capacity(d, c, segment*g.Claim.GPUs)
	}
	return total * segment
}

// placeIn places the wanted members of some groups in a domain, or nothing. Several
// groups are tried in several orders, since what one leaves may not do for
// another.
func (f *Fleet) placeIn(d topology.Domain, scope []int) bool {
	s := &f.search
	mark := len(s.placement.Members)
	if len(scope) == 1 {
		ok := f.fill(d, scope[0]) == s.counts[scope[0]]
		if !ok {
			f.rollback(mark)
		}
		return ok
	}
	for first := range min(len(scope), maxOrders) {
		copy(s.trial, scope)
		copy(s.trial[1:first+1], scope[:first])
		s.trial[0] = scope[first]
		for i, group := range s.trial {
			if f.placeGroup(d, group) {
				if i == len(s.trial)-1 {
					return true
				}
				continue
			}
			f.rollback(mark)
			if i == 0 {
				return false // it does not even fit alone
			}
			break
		}
	}
	return false
}

// placeGroup places one group of several in the gang's domain, by its own levels if
// they are narrower.
func (f *Fleet) placeGroup(d topology.Domain, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	scope := s.identity[group : group+1]
	if max(g.Required, g.Preferred) > f.tree.DomainLevel(d) {
		return f.place(d, scope, g.Required, g.Preferred)
	}
	return f.placeIn(d, scope)
}
