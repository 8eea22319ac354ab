package gang

import (
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/host"
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
	Host [host.NumResources]int
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
// request. It leaves the fleet as it is. It is for explanations: it searches each domain
// several times, O(nodes x levels x groups) at least, and it allocates.
func (f *Fleet) DiagnoseLevels(r *Request) []LevelShortfall {
	if f.Validate(r) != nil {
		return nil
	}
	least := *f.nearest(r)
	least.Groups = slices.Clone(least.Groups)
	least.Preferred, least.Locality = 0, LocalityStrict
	required, start := r.Required, r.Preferred
	for i := range least.Groups {
		g := &least.Groups[i]
		g.Members, g.MinMembers, g.Preferred, g.Balance = g.min(), 0, 0, 0
	}
	if g := &r.Groups[0]; len(r.Groups) == 1 {
		required = max(required, g.required())
		start = max(start, g.Preferred)
	}
	if start == 0 {
		start = f.tree.NodeLevel()
	}
	widest := max(required, f.tree.DomainLevel(r.Within))
	for i := range least.Groups {
		if g := &least.Groups[i]; g.Spread > 0 {
			start = min(start, max(widest, g.Required))
		}
	}
	var findings []LevelShortfall
	for level := max(start, widest); level >= widest; level-- {
		finding := LevelShortfall{Level: level, BestNode: -1}
		for i := range least.Groups {
			finding.Needed += least.Groups[i].Members
		}
		f.findLevel(r.Within, &least, &finding)
		findings = append(findings, finding)
	}
	return findings
}

// findLevel adds what there is at or below a domain.
func (f *Fleet) findLevel(d topology.DomainIndex, r *Request, finding *LevelShortfall) {
	at := f.tree.DomainLevel(d)
	switch {
	case at == finding.Level:
		f.findDomain(d, r, finding)
	case at == f.tree.NodeLevel()-1:
		for _, n := range f.tree.Nodes(d) {
			f.findNode(d, n, r, finding)
		}
	default:
		for _, child := range f.tree.Children(d) {
			f.findLevel(child, r, finding)
		}
	}
}

// findDomain adds one domain above the nodes.
func (f *Fleet) findDomain(d topology.DomainIndex, r *Request, finding *LevelShortfall) {
	known, enough, members := false, true, 0
	var cause *int
	for i := range r.Groups {
		g := &r.Groups[i]
		known = known || f.mayServe(d, g)
		count := f.wouldFit(d, g, deviceOnly)
		enough = enough && count >= g.Members
		members += min(g.Members, f.wholeFit(d, g))
		if cause == nil {
			cause = f.shortIn(d, r, i, count, finding)
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
func (f *Fleet) shortIn(d topology.DomainIndex, r *Request, i, count int, finding *LevelShortfall) *int {
	full := &r.Groups[i]
	if count < full.Members {
		if f.wouldFit(d, full, deviceOnly|whenHealthy) >= full.Members {
			return &finding.Health
		}
		return &finding.GPUs
	}
	// What is asked for is added one thing at a time, until the group does not fit.
	g := Group{
		Members: full.Members, Classes: full.Classes, Match: full.Match, Required: full.required(), Segments: full.Segments,
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

// findNode adds one node.
func (f *Fleet) findNode(d topology.DomainIndex, n topology.NodeIndex, r *Request, finding *LevelShortfall) {
	known, enough, members := false, true, 0
	var gpus int64
	var ofHost host.Amounts
	var cause *int
	for i := range r.Groups {
		g := &r.Groups[i]
		if !f.knows(n, g) {
			enough = false
			if cause == nil {
				cause = &finding.GPUs
			}
			continue
		}
		known = true
		device := f.fitOn(n, g, deviceOnly)
		enough = enough && device >= g.Members
		members += min(g.Members, wholeSegments(g, f.tree.NodeLevel(), f.fitOn(n, g, 0)))
		gpus += int64(g.Members * g.Claim.GPUs)
		ofHost = ofHost.Plus(g.Claim.Host.Times(int64(g.Members)))
		switch {
		case cause != nil:
		case device < g.Members && f.fitOn(n, g, deviceOnly|whenHealthy) >= g.Members:
			cause = &finding.Health
		case device < g.Members:
			cause = &finding.GPUs
		}
	}
	if !known {
		return
	}
	short, beyond := ofHost.Beyond(f.HostFree(n).Floor())
	switch {
	case cause != nil:
	case beyond:
		cause = &finding.Host[short]
	case gpus > int64(max(f.tree.Free(n), 0)), len(r.Groups) > 1 && !f.could(f.onlyOn(n, r)):
		cause = &finding.Together
	default:
		cause = &finding.Fit
	}
	finding.add(cause, enough, members, d, n)
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

// relaxations of fitOn.
const (
	// deviceOnly: the host has room for everything.
	deviceOnly = 1 << iota
	// whenHealthy: all GPUs work and all nodes take work.
	whenHealthy
)

// knows reports whether a node is one for a group, whether or not it takes work.
func (f *Fleet) knows(n topology.NodeIndex, g *Group) bool {
	state := &f.nodes[n]
	return slices.Contains(g.Classes, state.class) && (g.RailLevel == 0 || len(state.slots) <= MaxRails) &&
		(g.Match == nil || g.Match(n))
}

func (f *Fleet) mayServe(d topology.DomainIndex, g *Group) bool {
	if f.tree.DomainLevel(d) == f.tree.NodeLevel()-1 {
		return slices.ContainsFunc(f.tree.Nodes(d), func(n topology.NodeIndex) bool { return f.knows(n, g) })
	}
	return slices.ContainsFunc(f.tree.Children(d), func(child topology.DomainIndex) bool { return f.mayServe(child, g) })
}

// fitOn is how many members of a group would fit on a node.
func (f *Fleet) fitOn(n topology.NodeIndex, g *Group, relax int) int {
	state := &f.nodes[n]
	if !f.knows(n, g) || !state.schedulable && relax&whenHealthy == 0 {
		return 0
	}
	c := g.Claim
	if relax&deviceOnly != 0 {
		c.Host = host.Amounts{}
	}
	healthy := *state
	if relax&whenHealthy != 0 {
		healthy.healthy = lowMask(len(state.slots))
	}
	if c.GPUs > 0 {
		return state.fitsHost(bits.OnesCount64(healthy.free())/c.GPUs, &c.Host)
	}
	return healthy.fits(&c)
}

// wouldFit is how many members of a group would fit in a domain, without regard to
// segments.
func (f *Fleet) wouldFit(d topology.DomainIndex, g *Group, relax int) int {
	total := 0
	for _, child := range f.tree.Children(d) {
		total = add(total, f.wouldFit(child, g, relax))
	}
	for _, n := range f.tree.Nodes(d) {
		total = add(total, f.fitOn(n, g, relax))
	}
	return min(total, math.MaxInt32)
}

// wholeFit is how many members of a group would fit in a domain, in whole segments as far
// as these are inside it.
func (f *Fleet) wholeFit(d topology.DomainIndex, g *Group) int {
	total := 0
	for _, child := range f.tree.Children(d) {
		total = add(total, f.wholeFit(child, g))
	}
	for _, n := range f.tree.Nodes(d) {
		total = add(total, wholeSegments(g, f.tree.NodeLevel(), f.fitOn(n, g, 0)))
	}
	return wholeSegments(g, f.tree.DomainLevel(d), total)
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
