package gang

import (
	"math"
	"math/bits"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// What a diagnosis counts by condition is counted node by node here.

// requireSlowTwin asserts that counting by condition comes to the same.
func (w *world) requireSlowTwin(t require.TestingT, r *Request) {
	f := w.fleet
	for group := range r.Groups {
		for _, c := range f.choices(r, group, f.variantsOf(r, &r.Groups[group])) {
			require.Equal(t, f.slowShortageOf(r, &c.Group, group), f.shortageOf(r, &c.Group, group), "group %d, %+v", group, c)
		}
	}
	require.Equal(t, f.slowLevels(r), f.DiagnoseLevels(r))
}

// slowLevels is DiagnoseLevels.
func (f *Fleet) slowLevels(r *Request) []LevelShortfall {
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
		f.slowFindLevel(r.Within, &least, &finding)
		findings = append(findings, finding)
	}
	return findings
}

// slowShortageOf is shortage for one choice.
func (f *Fleet) slowShortageOf(r *Request, g *Group, group int) Shortfall {
	s := Shortfall{Group: group, Needed: g.min(), Domain: r.Within, LargestDomain: r.Within}
	required := max(r.Required, g.Required)
	var enough [BottleneckFragmentation]int // members by resource alone
	all, list := f.slowTally(r.Within, g, max(required, f.tree.DomainLevel(r.Within)), &s, &enough)
	s.Members, s.IfIdle = all.now, all.idle
	s.slowBest(list)
	switch {
	case s.EligibleNodes == 0:
		s.Bottleneck = BottleneckNodes
		return s
	case s.Members >= s.Needed:
		s.Bottleneck = BottleneckFragmentation
		return s
	}
	s.Bottleneck = BottleneckFragmentation
	for resource, least := BottleneckGPUs, s.Needed; resource < BottleneckFragmentation; resource++ {
		if enough[resource] < least {
			s.Bottleneck, least = resource, enough[resource]
		}
	}
	return s
}

// slowTally adds up a domain, and lists what each domain of the required level holds, or each node.
func (f *Fleet) slowTally(d topology.DomainIndex, g *Group, required topology.Level, s *Shortfall, enough *[BottleneckFragmentation]int) (all slowRoom, list []slowRoom) {
	all.at = d
	for _, child := range f.tree.Children(d) {
		below, some := f.slowTally(child, g, required, s, enough)
		all.now, all.idle = add(all.now, below.now), add(all.idle, below.idle)
		list = append(list, some...)
	}
	for _, c := range g.Classes {
		for _, n := range f.tree.NodesOf(d, c) {
			if !f.nodes[n].schedulable || g.Match != nil && !g.Match(n) {
				continue
			}
			now, idle := f.slowTallyNode(n, &g.Claim, s, enough)
			all.now, all.idle = add(all.now, now), add(all.idle, idle)
			if required == f.tree.NodeLevel() {
				list = append(list, slowRoom{d, now, idle})
			}
		}
	}
	if f.tree.DomainLevel(d) == required {
		list = append(list, all)
	}
	return all, list
}

// A slowRoom is how many members a domain, or a node in it, has room for: now, and if idle.
type slowRoom struct {
	at        topology.DomainIndex
	now, idle int
}

// slowBest fills in the best domains of a list. Of equal ones it takes the first, or none.
func (s *Shortfall) slowBest(list []slowRoom) {
	for _, r := range list {
		if r.idle > s.IfIdleInDomain {
			s.IfIdleInDomain, s.LargestDomain = r.idle, r.at
		}
	}
	large := slices.DeleteFunc(slices.Clone(list), func(r slowRoom) bool { return r.idle < s.Needed })
	if len(large) == 0 {
		large = slices.DeleteFunc(slices.Clone(list), func(r slowRoom) bool { return r.now == 0 })
	}
	for i, r := range large {
		if i == 0 || r.now > s.MembersInDomain {
			s.MembersInDomain, s.Domain = r.now, r.at
		}
	}
}

// slowTallyNode adds up one eligible node and returns how many members fit there now.
func (f *Fleet) slowTallyNode(n topology.NodeIndex, c *Claim, s *Shortfall, enough *[BottleneckFragmentation]int) (now, ifIdle int) {
	state := &f.nodes[n]
	s.EligibleNodes++
	device := Claim{GPUs: c.GPUs, Share: c.Share, Instances: c.Instances}
	room := f.fits(n, &device)
	if room > 0 {
		s.FittingNodes++
	}
	kind := c.kind()
	for other := BottleneckGPUs; other <= BottleneckInstances; other++ {
		if other != kind {
			enough[other] = math.MaxInt32
		}
	}
	enough[kind] = add(enough[kind], room)
	fits, left := room, state.hostFree()
	for r := range left {
		count := fitHost(math.MaxInt32, left[r], c.Host[r])
		enough[bottleneckOf(countable.Resource(r))] = add(enough[bottleneckOf(countable.Resource(r))], count)
		fits = min(fits, count)
	}
	free := state.declaredFree()
	for i := range countable.MaxDeclared {
		count := fitHost(math.MaxInt32, free.Of(i), c.Declared.Of(i))
		enough[firstDeclared+Bottleneck(i)] = add(enough[firstDeclared+Bottleneck(i)], count)
		fits = min(fits, count)
	}

	idle := *state
	idle.whole, idle.shared, idle.seated, idle.hostUsed = 0, 0, 0, countable.Amounts{}
	idle.declared = declaredOf(state.declaredHas(), nil)
	idle.lent, idle.borrowed = 0, 0
	idle.slots = make([]slot, len(state.slots))
	for gpu := range idle.slots {
		idle.slots[gpu].division, idle.slots[gpu].exist = state.slots[gpu].division, state.slots[gpu].exist
		if c.Share.Over && state.slots[gpu].division == PartitioningNone { // as if all were held and lent
			idle.slots[gpu].setLoans(loan{state.gpuMemory, c.Share.Owner}, loan{})
			idle.whole, idle.lent = idle.whole|1<<gpu, idle.lent|1<<gpu
		}
	}
	return fits, idle.fits(c)
}

// slowFindLevel adds what there is at or below a domain.
func (f *Fleet) slowFindLevel(d topology.DomainIndex, r *Request, finding *LevelShortfall) {
	at := f.tree.DomainLevel(d)
	switch {
	case at == finding.Level:
		f.slowFindDomain(d, r, finding)
	case at == f.tree.NodeLevel()-1:
		for _, n := range f.tree.Nodes(d) {
			f.slowFindNode(d, n, r, finding)
		}
	default:
		for _, child := range f.tree.Children(d) {
			f.slowFindLevel(child, r, finding)
		}
	}
}

// slowFindDomain adds one domain above the nodes.
func (f *Fleet) slowFindDomain(d topology.DomainIndex, r *Request, finding *LevelShortfall) {
	known, enough, members := false, true, 0
	var cause *int
	for i := range r.Groups {
		g := &r.Groups[i]
		known = known || f.slowMayServe(d, g)
		count := f.slowWouldFit(d, g, deviceOnly)
		enough = enough && count >= g.Members
		members += min(g.Members, f.slowWholeFit(d, g))
		if cause == nil {
			cause = f.slowShortIn(d, r, i, count, finding)
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

// slowShortIn is what a domain lacks for one group, or nil.
func (f *Fleet) slowShortIn(d topology.DomainIndex, r *Request, i, count int, finding *LevelShortfall) *int {
	full := &r.Groups[i]
	if count < full.Members {
		if f.slowWouldFit(d, full, deviceOnly|whenHealthy) >= full.Members {
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
	for i := range countable.MaxDeclared {
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

// slowFindNode adds one node.
func (f *Fleet) slowFindNode(d topology.DomainIndex, n topology.NodeIndex, r *Request, finding *LevelShortfall) {
	known, enough, members := false, true, 0
	var gpus int64
	var ofHost countable.Amounts
	var ofDeclared *countable.Declared
	var cause *int
	for i := range r.Groups {
		g := &r.Groups[i]
		if !f.slowKnows(n, g) {
			enough = false
			if cause == nil {
				cause = &finding.GPUs
			}
			continue
		}
		known = true
		device := f.slowFitOn(n, g, deviceOnly)
		enough = enough && device >= g.Members
		members += min(g.Members, wholeSegments(g, f.tree.NodeLevel(), f.slowFitOn(n, g, 0)))
		gpus += int64(g.Members * g.Claim.GPUs)
		ofHost = ofHost.Plus(g.Claim.Host.Times(int64(g.Members)))
		ofDeclared = ofDeclared.Plus(g.Claim.Declared.Times(int64(g.Members)))
		switch {
		case cause != nil:
		case device < g.Members && f.slowFitOn(n, g, deviceOnly|whenHealthy) >= g.Members:
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
	case !ofDeclared.Within(f.DeclaredFree(n).Floor()):
		cause = &finding.Declared[ofDeclared.Beyond(f.DeclaredFree(n).Floor())]
	case gpus > int64(max(f.tree.Free(n), 0)), len(r.Groups) > 1 && !f.could(f.onlyOn(n, r)):
		cause = &finding.Together
	default:
		cause = &finding.Fit
	}
	finding.add(cause, enough, members, d, n)
}

// relaxations of fitOn.
const (
	// deviceOnly: the host has room for everything.
	deviceOnly = 1 << iota
	// whenHealthy: all GPUs work and all nodes take work.
	whenHealthy
)

// slowKnows reports whether a node is one for a group, whether or not it takes work.
func (f *Fleet) slowKnows(n topology.NodeIndex, g *Group) bool {
	state := &f.nodes[n]
	return slices.Contains(g.Classes, state.class) && (g.RailLevel == 0 || len(state.slots) <= MaxRails) &&
		(g.Match == nil || g.Match(n))
}

func (f *Fleet) slowMayServe(d topology.DomainIndex, g *Group) bool {
	if f.tree.DomainLevel(d) == f.tree.NodeLevel()-1 {
		return slices.ContainsFunc(f.tree.Nodes(d), func(n topology.NodeIndex) bool { return f.slowKnows(n, g) })
	}
	return slices.ContainsFunc(f.tree.Children(d), func(child topology.DomainIndex) bool { return f.slowMayServe(child, g) })
}

// slowFitOn is how many members of a group would fit on a node.
func (f *Fleet) slowFitOn(n topology.NodeIndex, g *Group, relax int) int {
	state := &f.nodes[n]
	if !f.slowKnows(n, g) || !state.schedulable && relax&whenHealthy == 0 {
		return 0
	}
	c := g.Claim
	if relax&deviceOnly != 0 {
		c.Host, c.Declared = countable.Amounts{}, nil
	}
	healthy := *state
	if relax&whenHealthy != 0 {
		healthy.healthy = lowMask(len(state.slots))
	}
	if c.GPUs > 0 {
		return state.fitsHost(bits.OnesCount64(healthy.free())/c.GPUs, &c)
	}
	return healthy.fits(&c)
}

// slowWouldFit is how many members of a group would fit in a domain, without regard to
// segments.
func (f *Fleet) slowWouldFit(d topology.DomainIndex, g *Group, relax int) int {
	total := 0
	for _, child := range f.tree.Children(d) {
		total = add(total, f.slowWouldFit(child, g, relax))
	}
	for _, n := range f.tree.Nodes(d) {
		total = add(total, f.slowFitOn(n, g, relax))
	}
	return min(total, math.MaxInt32)
}

// slowWholeFit is how many members of a group would fit in a domain, in whole segments as far
// as these are inside it.
func (f *Fleet) slowWholeFit(d topology.DomainIndex, g *Group) int {
	total := 0
	for _, child := range f.tree.Children(d) {
		total = add(total, f.slowWholeFit(child, g))
	}
	for _, n := range f.tree.Nodes(d) {
		total = add(total, wholeSegments(g, f.tree.NodeLevel(), f.slowFitOn(n, g, 0)))
	}
	return wholeSegments(g, f.tree.DomainLevel(d), total)
}
