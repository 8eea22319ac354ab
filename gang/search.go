package gang

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A candidate is a domain that may hold what is wanted.
type candidate struct {
	domain topology.DomainIndex
	// size orders candidates: what would be left over, or the capacity.
	size int
	// outer is what using the domain breaks, of itself and the domains around it.
	outer int64
	// score is the caller's own, which counts after both.
	score int64
	// position in the order of paths settles ties.
	position int
}

// place places the wanted members of some groups together at or below a domain: in
// the lowest domain that fits, not wider than required, and there in the tightest.
// Either all of them are placed or none.
func (f *Fleet) place(d topology.DomainIndex, scope []int, required, preferred topology.Level) bool {
	s := &f.search
	total, gpus := 0, 0
	for _, group := range scope {
		total += s.counts[group]
		gpus += s.counts[group] * s.request.Groups[group].Claim.GPUs
	}
	widest := max(required, f.tree.DomainLevel(d))
	if total == 1 {
		return f.placeSingle(d, scope, gpus)
	}
	start := preferred
	switch {
	case gpus == 0 && !f.allClose(scope):
		start = widest
	case preferred == 0:
		start = f.tree.NodeLevel()
	}
	start = f.startSpread(scope, start, widest)
	f.survey(d, scope)
	mark := len(s.placement.Members)
	for level := max(start, widest); level >= widest; level-- {
		if f.atLevel(d, scope, level, gpus) {
			if s.request.Locality != LocalityStrict && s.isWhole(scope) {
				f.loosen(d, scope, level, widest, mark, gpus)
			}
			return true
		}
	}
	return false
}

// placeSingle places one member, on one node, whatever the levels.
func (f *Fleet) placeSingle(d topology.DomainIndex, scope []int, gpus int) bool {
	if f.search.request.Groups[scope[0]].Claim.Share.GPUMilli == 0 { // else placeShare picks
		f.pickFor(d, scope[0])
		defer f.unpick()
	}
	if gpus == 0 {
		return f.fill(d, scope[0]) == 1
	}
	return f.onNode(d, scope, gpus)
}

// allClose reports whether groups without whole GPUs ask to be close.
func (f *Fleet) allClose(scope []int) bool {
	if len(scope) > 1 {
		return f.search.request.Preferred > 0
	}
	return f.close(scope[0])
}

// close reports whether a group without whole GPUs is placed like one with them: a gang
// that needs the host alone, and what asks for it. Shares and instances gain nothing from being
// close.
func (f *Fleet) close(group int) bool {
	r := f.search.request
	g := &r.Groups[group]
	return len(r.Groups) == 1 && g.Claim.Share.GPUMilli == 0 && len(g.Claim.Instances) == 0 || max(g.Required, r.tie(group)) > 0 || g.Preferred > 0 || g.outermost() > 1 || g.Balance > 0 || g.Spread > 0 ||
		len(r.Groups) == 1 && (r.Required > 0 || r.Preferred > 0)
}

// startSpread is the level at which a search starts: a group that is to be spread is not
// squeezed into less than the domain over which it is spread, nor are parts that stand apart.
func (f *Fleet) startSpread(scope []int, start, widest topology.Level) topology.Level {
	if r := f.search.request; f.search.divides() && r.standApart() {
		start = min(start, max(widest, r.Apart-1))
	}
	for _, group := range scope {
		if g := &f.search.request.Groups[group]; g.Spread > 0 {
			start = min(start, max(widest, f.search.request.own(group)))
		}
	}
	return start
}

func (f *Fleet) atLevel(d topology.DomainIndex, scope []int, level topology.Level, gpus int) bool {
	if level == f.tree.NodeLevel() {
		return f.onOneNode(d, scope, gpus)
	}
	return f.inOneDomain(d, scope, level)
}

// loosen looks for a placement at wider levels that breaks less, and takes it
// instead of the one since the mark.
func (f *Fleet) loosen(d topology.DomainIndex, scope []int, level, widest topology.Level, mark, gpus int) {
	s := &f.search
	if s.request.Locality == LocalityBalanced {
		widest = max(widest, level-1)
	}
	broken := f.cost(s.request, s.placement.Members[mark:]).Broken
	s.loosening = true
	defer func() { s.loosening = false }()
	for level--; level >= widest && broken > 0; level-- {
		base := f.stash(mark)
		if f.atLevel(d, scope, level, gpus) {
			if other := f.cost(s.request, s.placement.Members[mark:]).Broken; other < broken {
				broken = other
				s.stashed = s.stashed[:base]
				continue
			}
			f.rollback(mark)
		}
		f.unstash(base)
	}
}

// stash takes a placement back and keeps it on a stack.
func (f *Fleet) stash(mark int) (base int) {
	s := &f.search
	base = len(s.stashed)
	s.stashed = append(s.stashed, s.placement.Members[mark:]...)
	f.rollback(mark)
	return base
}

// unstash undoes stash.
func (f *Fleet) unstash(base int) {
	s := &f.search
	for i := range s.stashed[base:] {
		m := &s.stashed[base+i]
		f.put(m.Group, &m.Hold)
	}
	s.stashed = s.stashed[:base]
}

// inOneDomain places the wanted members of some groups in one domain of a level:
// the one in which the fewest more members would fit, of equals the one in which
// that breaks least, and if it only seemed to have room, the next one.
func (f *Fleet) inOneDomain(d topology.DomainIndex, scope []int, level topology.Level) bool {
	s := &f.search
	base := len(s.candidates)
	f.collect(d, scope, level)
	end := len(s.candidates)
	if base == end {
		return false
	}
	if end-base > 1 && f.scoresDomains(scope) {
		f.scoreCandidates(s.candidates[base:end])
	}
	// Nearly always the first choice has room, so nothing is sorted for it.
	first := base
	for i := base + 1; i < end; i++ {
		if s.compare(&s.candidates[i], &s.candidates[first]) < 0 {
			first = i
		}
	}
	s.candidates[base], s.candidates[first] = s.candidates[first], s.candidates[base]
	mark := len(s.placement.Members)
	at, ok := base, f.placeIn(s.candidates[base].domain, scope)
	var cost placementCost
	compete := ok && f.comparable(base, end, scope)
	if compete {
		cost = f.lastCost(mark)
		compete = !f.isFloor(cost, scope)
	}
	if !ok || compete {
		slices.SortFunc(s.candidates[base+1:end], func(a, b candidate) int { return s.compare(&a, &b) })
	}
	for !ok && at+1 < end {
		at++
		if ok = f.placeIn(s.candidates[at].domain, scope); ok && f.comparable(at, end, scope) {
			compete, cost = true, f.lastCost(mark)
		}
	}
	if compete {
		f.compete(at, end, scope, mark, cost)
	}
	s.candidates = s.candidates[:base]
	return ok
}

// compare orders candidates.
func (s *search) compare(a, b *candidate) int {
	tight, whole := cmp.Compare(a.size, b.size), cmp.Compare(a.outer, b.outer)
	if s.request.Locality != LocalityStrict {
		tight, whole = whole, tight
	}
	return cmp.Or(tight, whole, cmp.Compare(b.score, a.score), cmp.Compare(a.position, b.position))
}

// comparable reports whether a placement may be compared with what other candidates
// offer: the gang's own, where the domains are small.
func (f *Fleet) comparable(at, end int, scope []int) bool {
	s := &f.search
	return end-at > 1 && s.isWhole(scope) && f.tree.NodeCount(s.candidates[at].domain) <= maxCompared
}

// compete compares the placement since the mark, in one candidate, with those in the
// next ones, and keeps the best.
func (f *Fleet) compete(at, end int, scope []int, mark int, best placementCost) {
	s := &f.search
	seen := f.tree.NodeCount(s.candidates[at].domain)
	size := s.candidates[at].size
	for i := at + 1; i < end; i++ {
		c := s.candidates[i]
		seen += f.tree.NodeCount(c.domain)
		if seen > maxCompared || f.isFloor(best, scope) || s.request.Locality == LocalityStrict && c.size > size {
			return
		}
		base := f.stash(mark)
		if f.placeIn(c.domain, scope) {
			other := f.lastCost(mark)
			if s.better(other, best, c.size, size) {
				best, size = other, c.size
				s.stashed = s.stashed[:base]
				continue
			}
			f.rollback(mark)
		}
		f.unstash(base)
	}
}

// better reports whether a cost, with so many more members that would fit, is better than
// another. On Strict only equally tight domains are compared.
func (s *search) better(a, b placementCost, sizeA, sizeB int) bool {
	if s.request.Locality != LocalityStrict {
		return cmp.Or(cmp.Compare(a.Broken, b.Broken), cmp.Compare(sizeA, sizeB), cmp.Compare(a.Span, b.Span)) < 0
	}
	return s.lower(a, b)
}

// isFloor reports whether nothing can cost less than that: a single group that breaks
// nothing and is on as few nodes as can be, in the least possible number of domains.
func (f *Fleet) isFloor(c placementCost, scope []int) bool {
	s := &f.search
	if c.Broken > 0 {
		return false
	}
	if c.Span == 0 && s.request.Locality == LocalityStrict {
		return true
	}
	if len(scope) > 1 {
		return false
	}
	g := &s.asked.Groups[scope[0]]
	if g.Claim.GPUs == 0 || len(s.placement.Members) == 0 {
		return false
	}
	most := f.mostGPUs(g.Classes) / g.Claim.GPUs
	nodes := (s.counts[scope[0]] + most - 1) / max(most, 1)
	return c.Span == int64(nodes)*f.spanCost(f.tree.NodeLevel())
}

// collect lists the domains of a level, at or below a domain, that have room by
// their counts. It does not look below a domain that has not.
func (f *Fleet) collect(d topology.DomainIndex, scope []int, level topology.Level) {
	slack, ok := f.slack(d, scope)
	if !ok {
		return
	}
	if f.tree.DomainLevel(d) == level {
		s := &f.search
		c := candidate{domain: d, size: slack, position: len(s.candidates)}
		if f.tree.Whole(d) {
			c.outer = f.outerCost(d, s.gpus)
		}
		s.candidates = append(s.candidates, c)
		return
	}
	for _, child := range f.tree.Children(d) {
		f.collect(child, scope, level)
	}
}

// slack is how many members more than wanted would fit into a domain by its
// counts, summed over the groups with whole GPUs; without such groups, by what
// is known of the only group, else how many GPUs are free there. False if some
// group does not fit.
func (f *Fleet) slack(d topology.DomainIndex, scope []int) (int, bool) {
	s := &f.search
	slack, gpus, lead := 0, 0, -1
	for _, group := range scope {
		g := &s.request.Groups[group]
		if g.Claim.GPUs == 0 && s.surveyed != group {
			continue
		}
		lead = group
		gpus += s.counts[group] * g.Claim.GPUs
		spare := f.capacity(d, group) - s.counts[group]
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

func (f *Fleet) freeGPUs(d topology.DomainIndex, classes []topology.NodeClass) int {
	free := 0
	for _, c := range classes {
		free += f.tree.FreeOfClass(d, c)
	}
	return free
}
