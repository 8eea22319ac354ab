package gang

import (
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// A LevelShortfall says what became of a request at one level: how many domains might
// have held it, and what the others were short of. The numbers from Fit to Together add up
// to Domains: every domain is counted under the first thing in this order that keeps
// the request out, which is asked of one group after the other.
type LevelShortfall struct {
	Level topology.Level
	// Domains of this level have a node that may serve some group: it is of an allowed class
	// and matches, whether or not it takes work. At the node level they are nodes.
	Domains int
	// Enough of them have the GPUs for each group by itself, whatever else is missing.
	Enough int

	// Fit: nothing keeps the request out of so many.
	Fit int
	// Health: there would be enough GPUs if failed ones worked and all nodes took work.
	Health int
	// GPUs: too few are free, counted node by node, or too few shares or instances are left.
	GPUs int
	// Segments: there are enough GPUs, but not for whole segments, or not in one domain of
	// the level that the group requires.
	Segments int
	// Host: each resource of the hosts of the nodes with the GPUs.
	Host [countable.NumResources]int
	// Declared: each declared resource of these nodes.
	Declared [countable.MaxDeclared]int
	// Rails: not the same GPUs on enough nodes.
	Rails int
	// Spread: the numbers would differ by more than the skew.
	Spread int
	// Together: each group fits by itself, but not all of them.
	Together int

	// Best is the domain in which the most members fit, in whole segments, each group
	// counted by itself and up to what is needed; BestNode is the node at the node level,
	// else -1. Ties go to the first in the order of paths. BestMembers is how many fit
	// there, Needed how many there have to be.
	Best                topology.DomainIndex
	BestNode            topology.NodeIndex
	BestMembers, Needed int
}

// DiagnoseLevels says at each level at which a request is looked for, from the narrowest to the
// required one, what the domains of that level lack for its minimum. Nil for an invalid
// request. It leaves the fleet as it is. It is for explanations: it searches each domain that
// has the GPUs several times, O(domains x conditions of nodes in one x levels x groups) at least,
// and it allocates.
func (f *Fleet) DiagnoseLevels(r *Request) []LevelShortfall {
	if f.Validate(r) != nil {
		return nil
	}
	least := *f.nearest(r)
	least.Groups = slices.Clone(least.Groups)
	least.Preferred, least.Locality = 0, LocalityStrict
	required, start := r.Required, r.Preferred
	if len(r.Groups) == 1 {
		required, start = r.only(0)
	}
	for i := range least.Groups {
		g := &least.Groups[i]
		g.Members, g.MinMembers, g.Preferred, g.Balance = g.min(), 0, 0, 0
	}
	if start == 0 {
		start = f.tree.NodeLevel()
	}
	widest := max(required, f.tree.DomainLevel(r.Within))
	for i := range least.Groups {
		if g := &least.Groups[i]; g.Spread > 0 {
			start = min(start, max(widest, r.own(i)))
		}
	}
	if r.standApart() {
		start = min(start, max(widest, r.Apart-1))
	}
	polls := make([]*poll, len(least.Groups))
	for i := range least.Groups {
		polls[i] = f.poll(&least.Groups[i], r.Within)
	}
	var findings []LevelShortfall
	for level := max(start, widest); level >= widest; level-- {
		finding := LevelShortfall{Level: level, BestNode: -1}
		for i := range least.Groups {
			finding.Needed += least.Groups[i].Members
		}
		f.findLevel(r.Within, &least, polls, &finding)
		findings = append(findings, finding)
	}
	return findings
}

// findLevel adds what there is at or below a domain.
func (f *Fleet) findLevel(d topology.DomainIndex, r *Request, polls []*poll, finding *LevelShortfall) {
	at := f.tree.DomainLevel(d)
	switch {
	case at == finding.Level:
		f.findDomain(d, r, polls, finding)
	case at == f.tree.NodeLevel()-1:
		f.findNodes(d, r, polls, finding)
	default:
		for _, child := range f.tree.Children(d) {
			f.findLevel(child, r, polls, finding)
		}
	}
}

// findDomain adds one domain above the nodes.
func (f *Fleet) findDomain(d topology.DomainIndex, r *Request, polls []*poll, finding *LevelShortfall) {
	known, enough, members := false, true, 0
	var cause *int
	for i := range r.Groups {
		g := &r.Groups[i]
		all := polls[i].sum(d)
		known = known || all.known
		enough = enough && all.device >= g.Members
		members += min(g.Members, all.whole)
		if cause == nil {
			cause = f.shortIn(d, r, i, &all, finding)
		}
	}
	if !known {
		return
	}
	if cause == nil {
		together := *r
		together.Within, together.Required = d, topology.LevelFleet
		cause = &finding.Together
		if f.could(&together) {
			cause = &finding.Fit
		}
	}
	finding.add(cause, enough, members, d, -1)
}

// add counts a domain or node.
func (finding *LevelShortfall) add(cause *int, enough bool, members int, d topology.DomainIndex, n topology.NodeIndex) {
	if finding.Domains == 0 || members > finding.BestMembers {
		finding.Best, finding.BestNode, finding.BestMembers = d, n, members
	}
	finding.Domains++
	if enough {
		finding.Enough++
	}
	*cause++
}

// shortIn is what a domain lacks for one group, or nil.
func (f *Fleet) shortIn(d topology.DomainIndex, r *Request, i int, all *sum, finding *LevelShortfall) *int {
	full := &r.Groups[i]
	if all.device < full.Members {
		if all.healthy >= full.Members {
			return &finding.Health
		}
		return &finding.GPUs
	}
	// What is asked for is added one thing at a time, until the group does not fit.
	g := Group{
		Members: full.Members, Classes: full.Classes, Match: full.Match, Required: max(r.own(i), full.RailLevel), Segments: full.Segments,
		Claim: Claim{GPUs: full.Claim.GPUs, Share: full.Claim.Share, Instances: full.Claim.Instances},
	}
	alone := Request{Groups: []Group{g}, Within: d}
	asked := &alone.Groups[0]
	if !f.could(&alone) {
		return &finding.Segments
	}
	for r := range asked.Claim.Host {
		if asked.Claim.Host[r] = full.Claim.Host[r]; !f.could(&alone) {
			return &finding.Host[r]
		}
	}
	for i := range countable.MaxDeclared {
		if full.Claim.Declared.Of(i) == 0 {
			continue
		}
		if asked.Claim.Declared = full.Claim.Declared.First(i + 1); !f.could(&alone) {
			return &finding.Declared[i]
		}
	}
	if asked.RailLevel = full.RailLevel; !f.could(&alone) {
		return &finding.Rails
	}
	if asked.Spread, asked.MaxSkew = full.Spread, full.MaxSkew; !f.could(&alone) {
		return &finding.Spread
	}
	return nil
}

// could reports whether a request fits, and leaves the fleet as it is.
func (f *Fleet) could(r *Request) bool {
	var p Placement
	if !f.Place(r, &p) {
		return false
	}
	for i := range p.Members {
		f.give(&p.Members[i].Hold)
	}
	return true
}

// findNodes adds the nodes of a narrowest domain: those in one condition at once, as far as what a
// group may do with them depends on that alone.
func (f *Fleet) findNodes(d topology.DomainIndex, r *Request, polls []*poll, finding *LevelShortfall) {
	apart := func(p *poll) bool { return p.own != nil }
	if slices.ContainsFunc(polls, apart) {
		for _, n := range f.tree.Nodes(d) {
			if v := f.judgement(r, finding, func(i int) fit { return polls[i].fitOn(n) }, f.census.of[n].condition); v.known {
				finding.add(f.settled(&v, n, r, finding), v.enough, v.members, d, n)
			}
		}
		return
	}
	most, of := -1, f.census.at[d]
	for _, w := range of {
		if v := f.judgementOf(r, finding, polls, w.condition); v.known {
			most = max(most, v.members)
		}
	}
	if most < 0 || finding.Domains > 0 && most <= finding.BestMembers && !f.anyUnsettled(r, finding, polls, of) {
		for _, w := range of {
			if v := f.judgementOf(r, finding, polls, w.condition); v.known {
				finding.addAlike(v.cause, v.enough, int(w.nodes))
			}
		}
		return
	}
	for _, n := range f.tree.Nodes(d) {
		if v := f.judgementOf(r, finding, polls, f.census.of[n].condition); v.known {
			finding.add(f.settled(&v, n, r, finding), v.enough, v.members, d, n)
		}
	}
}

// A judgement is what a node has for a request: a nil cause is one that only a search tells.
type judgement struct {
	known, enough bool
	members       int
	cause         *int
}

// judgementOf is the judgement of a node in a condition.
func (f *Fleet) judgementOf(r *Request, finding *LevelShortfall, polls []*poll, condition int32) judgement {
	return f.judgement(r, finding, func(i int) fit { return *polls[i].fit(condition) }, condition)
}

// anyUnsettled reports whether a search has to tell of some condition.
func (f *Fleet) anyUnsettled(r *Request, finding *LevelShortfall, polls []*poll, of []crowd) bool {
	return slices.ContainsFunc(of, func(w crowd) bool {
		v := f.judgementOf(r, finding, polls, w.condition)
		return v.known && v.cause == nil
	})
}

// judgement judges a node by what it has for each group.
func (f *Fleet) judgement(r *Request, finding *LevelShortfall, of func(group int) fit, condition int32) (v judgement) {
	v.enough = true
	gpus := 0
	var ofHost countable.Amounts
	var ofDeclared *countable.Declared
	for i := range r.Groups {
		g, a := &r.Groups[i], of(i)
		if !a.known {
			v.enough = false
			if v.cause == nil {
				v.cause = &finding.GPUs
			}
			continue
		}
		v.known = true
		v.enough = v.enough && a.device >= g.Members
		v.members += min(g.Members, wholeSegments(g, f.tree.NodeLevel(), a.now))
		gpus += g.Members * g.Claim.GPUs
		ofHost = ofHost.Plus(g.Claim.Host.Times(int64(g.Members)))
		ofDeclared = ofDeclared.Plus(g.Claim.Declared.Times(int64(g.Members)))
		switch {
		case v.cause != nil:
		case a.device < g.Members && a.healthy >= g.Members:
			v.cause = &finding.Health
		case a.device < g.Members:
			v.cause = &finding.GPUs
		}
	}
	if !v.known || v.cause != nil {
		return v
	}
	state := &f.census.conditions[condition].nodeState
	short, beyond := ofHost.Beyond(state.hostFree().Floor())
	switch {
	case beyond:
		v.cause = &finding.Host[short]
	case !ofDeclared.Within(state.declaredFree().Floor()):
		v.cause = &finding.Declared[ofDeclared.Beyond(state.declaredFree().Floor())]
	case gpus > state.freeGPUs():
		v.cause = &finding.Together
	case len(r.Groups) == 1:
		v.cause = &finding.Fit
	}
	return v
}

// settled is the cause in a judgement on a node.
func (f *Fleet) settled(v *judgement, n topology.NodeIndex, r *Request, finding *LevelShortfall) *int {
	switch {
	case v.cause != nil:
		return v.cause
	case f.could(f.onlyOn(n, r)):
		return &finding.Fit
	}
	return &finding.Together
}

// onlyOn is a request that may go to one node alone.
func (f *Fleet) onlyOn(n topology.NodeIndex, r *Request) *Request {
	only := *r
	only.Required, only.Preferred, only.Groups = f.tree.NodeLevel(), 0, slices.Clone(r.Groups)
	for i := range only.Groups {
		match := r.Groups[i].Match
		only.Groups[i].Match = func(m topology.NodeIndex) bool { return m == n && (match == nil || match(m)) }
		only.Groups[i].Spread, only.Groups[i].MaxSkew = 0, 0
	}
	return &only
}

// addAlike counts so many nodes that are not the best.
func (finding *LevelShortfall) addAlike(cause *int, enough bool, nodes int) {
	finding.Domains += nodes
	if enough {
		finding.Enough += nodes
	}
	*cause += nodes
}

// wholeSegments rounds what fits in one domain of a level down to whole segments of that
// level.
func wholeSegments(g *Group, level topology.Level, members int) int {
	for i := range g.Segments {
		if s := &g.Segments[i]; s.Level == level && s.Size > 1 {
			members -= members % s.Size
		}
	}
	return members
}
