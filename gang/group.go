package gang

import "github.com/berth-sched/berth/topology"

// placeIn places the wanted members of some groups in a domain, or nothing. What the
// whole gang has found there is improved where that is cheap, and what it has not
// found is looked for once more by a systematic search.
func (f *Fleet) placeIn(d topology.Domain, scope []int) bool {
	s := &f.search
	mark := len(s.placement.Members)
	whole := len(scope) == len(s.request.Groups) && !s.growing
	improvable := whole && s.near && f.solvable(d, scope, f.steps(scope)/4, false)
	var least Cost
	if improvable {
		least = f.least(d, scope)
	}
	ok := false
	s.costKnown = false
	if len(scope) == 1 {
		ok = f.placeOne(d, scope[0])
	} else {
		ok = f.placeSeveral(d, scope)
	}
	switch {
	case !ok:
		f.rollback(mark)
		return whole && len(scope) > 1 && f.rescue(d, scope)
	case improvable:
		f.improve(d, scope, mark, least)
	}
	return true
}

// placeOne places the wanted members of one group in a domain, as its wishes have it.
func (f *Fleet) placeOne(d topology.Domain, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	level := f.tree.DomainLevel(d)
	switch {
	case g.Align > 0:
		return f.fillAligned(d, group)
	case g.Spread > level:
		return f.fillSpread(d, group)
	case g.Balance > level:
		return f.fillBalanced(d, group)
	}
	return f.fill(d, group) == s.counts[group]
}

// placeSeveral places several groups one after the other, in several orders, since
// what one leaves may not do for another.
func (f *Fleet) placeSeveral(d topology.Domain, scope []int) bool {
	s := &f.search
	mark := len(s.placement.Members)
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
	defer func() { s.surveyed = -1 }()
	if max(g.required(), g.Preferred) > f.tree.DomainLevel(d) {
		return f.place(d, scope, g.required(), g.Preferred)
	}
	f.survey(d, scope)
	return f.placeIn(d, scope)
}
