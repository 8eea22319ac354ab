package gang

import (
	"math"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

const (
	// improveSteps bounds the steps of one search for a better placement than the one
	// found for a single group, improveStepsMore where there are several groups or one is
	// balanced or spread, rescueSteps the steps of all searches of one Place. A step
	// is one pair of states looked at.
	improveSteps     = 1 << 15
	improveStepsMore = 1 << 18
	rescueSteps      = 1 << 20
	// maxStates bounds the states of a domain, maxSolved the groups.
	maxStates = 1 << 12
	maxSolved = 8

	never = math.MaxInt64
)

// A solver finds the cheapest placement of some groups in a domain, exactly. It is a
// min-plus dynamic programme over the tree: for each domain, from the nodes up, the
// least cost of each state, where a state says how many units each group has in the
// domain. O(states x options) for each node and domain, where the options are the
// states that it can take; all of it is counted in steps, and given up beyond a
// limit.
//
// What has to be whole (segments, groups with a required level), even or spread is a
// condition on the states of single domains. What is to be even or spread is first
// given as limits for the numbers in a domain; the least number of a spread, and the
// best limits of a balance, are found by trying.
type solver struct {
	spent, limit int
	domain       topology.DomainIndex
	level        topology.Level
	packing      bool // Broken counts before Span
	// mask is what an aligned group uses, each members on a node; 0: none, or one node.
	mask uint64
	each int

	counts  []int // wanted members by group
	several bool  // the gang has several groups
	groups  []solverGroup
	states  int
	// By state: members of each group, groups present, GPUs and host amounts.
	members []int32
	present []uint32
	gpus    []int64
	host    []countable.Amounts
	// declared is of the declared resources; empty: no group needs any.
	declared []*countable.Declared
	// exits is what a state costs at a level, or never; by level and state.
	exits []int64
	// spanUnit and breakUnit weigh the numbers of a Cost, usedUnit each domain over
	// which a group is balanced.
	spanUnit, breakUnit, usedUnit int64

	parts []solverPart
	// distinct is the level at which parts stand apart; 0: they may share a domain.
	distinct topology.Level

	costs    []int64  // a stack of tables by state
	options  []option // a stack
	records  []record
	last     int32   // record of the domain of the last run
	choices  []int32 // by record and state
	assigned []assignment
}

// A solverGroup is one group as the solver sees it.
type solverGroup struct {
	group        int
	total, unit  int
	stride       int
	required     topology.Level
	preferred    topology.Level // 0 for the only group
	shares       bool
	parts        bool // shares or instances: what a node takes is found by trying
	spread, even limit
	// kin is the other part of an aligned group, or -1.
	kin int
	// scope is the level of the domain over which the group is spread.
	scope topology.Level
}

// A limit says how many members a domain of a level has if it has any. At least one
// if the level is 0: no limit.
type limit struct {
	level       topology.Level
	least, most int
}

// An option is a state that a node or domain can take, and what that costs.
type option struct {
	state int32
	cost  int64
}

// A record remembers for each state which part of it went to a node, or to a child
// domain whose last record is given.
type record struct {
	node    topology.NodeIndex // -1: a domain
	child   int32
	before  int32 // the record before it in the same domain, or -1
	choices int
}

// An assignment is a state for a node.
type assignment struct {
	node  topology.NodeIndex
	state int
}

func (v *solver) reset() { v.spent = 0 }

// improve replaces the placement since the mark by a cheaper one in the same domain, if
// there is one. It is called where the solver is likely to find it cheaply, with a cost
// below which there is none.
func (f *Fleet) improve(d topology.DomainIndex, scope []int, mark int, least placementCost) {
	s := &f.search
	now := f.cost(s.request, s.placement.Members[mark:])
	s.cost, s.costKnown = now, true
	if !s.lower(least, now) {
		return
	}
	base := f.stash(mark)
	if f.solve(d, scope, f.steps(scope)) {
		better := f.cost(s.request, s.placement.Members[mark:])
		if s.solver.shaped() || s.lower(better, now) {
			s.stashed = s.stashed[:base]
			s.cost = better
			return
		}
		f.rollback(mark)
	}
	f.unstash(base)
}

// lastCost is the cost of the placement since the mark, which placeIn has just found.
func (f *Fleet) lastCost(mark int) placementCost {
	s := &f.search
	if !s.costKnown {
		s.cost, s.costKnown = f.cost(s.request, s.placement.Members[mark:]), true
	}
	return s.cost
}

// shaped reports whether the solver divided several groups evenly, which it does better
// than one group after the other.
func (v *solver) shaped() bool {
	for i := range v.groups {
		if v.groups[i].even.level > 0 {
			return len(v.groups) > 1
		}
	}
	return false
}

// lower reports whether a cost is lower than another, by both of its numbers.
func (s *search) lower(a, b placementCost) bool {
	if s.request.Locality != LocalityStrict {
		return a.Broken < b.Broken || a.Broken == b.Broken && a.Span < b.Span
	}
	return a.Span < b.Span || a.Span == b.Span && a.Broken < b.Broken
}

// least is a cost below which no placement in a domain can be. For one group with whole
// GPUs that is on as few nodes, and in as few domains of the level below, as the
// counts allow, and breaks nothing but what anything in the domain breaks.
func (f *Fleet) least(d topology.DomainIndex, scope []int) placementCost {
	s := &f.search
	g := &s.request.Groups[scope[0]]
	c := placementCost{Broken: f.outerCost(d, s.gpus)}
	if len(scope) > 1 || g.Claim.GPUs == 0 {
		return c
	}
	left, nodes := s.counts[scope[0]], 0
	for k := f.mostGPUs(g.Classes); k >= g.Claim.GPUs && left > 0; k-- {
		each := k / g.Claim.GPUs
		count := 0
		for _, class := range g.Classes {
			count += f.tree.Count(d, class, k)
		}
		take := min(count, (left+each-1)/each)
		nodes += take
		left -= take * each
	}
	if nodes <= 1 {
		return c
	}
	c.Span = int64(nodes) * f.spanCost(f.tree.NodeLevel())
	if level := f.tree.DomainLevel(d) + 1; level < f.tree.NodeLevel() {
		if domains := f.leastChildren(d, scope[0]); domains > 1 {
			for ; level < f.tree.NodeLevel(); level++ {
				c.Span += int64(domains) * f.spanCost(level)
			}
		}
	}
	return c
}

// leastChildren is the least number of child domains that have room for all wanted
// members of a group.
func (f *Fleet) leastChildren(d topology.DomainIndex, group int) int {
	s := &f.search
	base := len(s.candidates)
	for _, child := range f.tree.Children(d) {
		s.candidates = append(s.candidates, candidate{domain: child, size: f.capacity(child, group)})
	}
	list := s.candidates[base:]
	left, used := s.counts[group], 0
	for left > 0 && used < len(list) {
		most := used
		for j := used + 1; j < len(list); j++ {
			if list[j].size > list[most].size {
				most = j
			}
		}
		list[used], list[most] = list[most], list[used]
		left -= list[used].size
		used++
	}
	s.candidates = s.candidates[:base]
	return used
}

// steps is how many steps an improvement may take.
func (f *Fleet) steps(scope []int) int {
	if g := &f.search.request.Groups[scope[0]]; len(scope) == 1 && g.Balance == 0 && g.Spread == 0 {
		return improveSteps
	}
	return improveStepsMore
}

// solvable reports whether the solver can be used for some groups in a domain, and is
// likely to end within so many steps. An aligned group is only ever placed by it, not
// improved.
func (f *Fleet) solvable(d topology.DomainIndex, scope []int, steps int, rescue bool) bool {
	s := &f.search
	states, aligned, nodes := int64(1), 0, f.tree.NodeCount(d)
	if !rescue && nodes > maxCompared {
		return false
	}
	for _, group := range scope {
		g := &s.request.Groups[group]
		states *= int64(s.counts[group]/g.nodeUnit(f) + 1) // below 2^21 each, and checked each time
		if g.RailLevel > 0 && s.counts[group] > g.nodeUnit(f) {
			aligned++
		}
		if states > maxStates || aligned > 1 || aligned > 0 && !rescue {
			return false
		}
	}
	return len(scope) <= maxSolved && nodes <= steps && states*int64(nodes)*min(states, 8) <= 2*int64(steps)
}

// rescue places several groups that did not find room one after the other. False if there
// is no such placement, or the steps did not do to find it.
func (f *Fleet) rescue(d topology.DomainIndex, scope []int) bool {
	s := &f.search
	v := &s.solver
	if !f.solvable(d, scope, rescueSteps-v.spent, true) {
		return false
	}
	for _, group := range scope {
		if g := &s.request.Groups[group]; g.RailLevel > 0 && s.counts[group] > g.nodeUnit(f) {
			return f.solveAligned(d, scope, group)
		}
	}
	return f.solve(d, scope, rescueSteps)
}

// solve places the wanted members of some groups in a domain at the least cost.
func (f *Fleet) solve(d topology.DomainIndex, scope []int, steps int) bool {
	v := &f.search.solver
	v.limit = min(rescueSteps, v.spent+steps)
	v.mask = 0
	f.setUp(d, scope)
	if !f.weigh(d) || v.crowds() {
		return false
	}
	best, ok := f.shape()
	return ok && best != never && f.realise()
}

// setUp lists the states.
func (f *Fleet) setUp(d topology.DomainIndex, scope []int) {
	s := &f.search
	v := &s.solver
	v.domain, v.level = d, f.tree.DomainLevel(d)
	v.packing = s.request.Locality != LocalityStrict
	v.counts, v.several, v.groups = s.counts, len(s.request.Groups) > 1, v.groups[:0]
	v.states = 1
	for _, group := range scope {
		g := &s.request.Groups[group]
		if v.mask != 0 && g.RailLevel > 0 {
			v.setUpAligned(group, g)
			continue
		}
		one := solverGroup{
			group: group, total: s.counts[group], unit: g.nodeUnit(f), stride: v.states,
			required: g.required(), shares: g.Claim.Share.GPUMilli > 0, parts: g.Claim.Share.GPUMilli > 0 || len(g.Claim.Instances) > 0, kin: -1,
			scope: max(s.request.Around(group), g.RailLevel, f.tree.DomainLevel(s.request.Within)),
		}
		one.preferred = v.preference(g)
		if s.request.copiesOf(group) > 1 && !s.parts.inside { // see the parts
			one.required, one.preferred = 0, 0
		}
		if g.Spread > one.scope {
			one.spread = limit{level: g.Spread}
		}
		if g.Balance > v.level {
			one.even = limit{level: g.Balance, least: 1, most: one.total}
		}
		if g.RailLevel > 0 { // without a mask it is on one node
			one.required = f.tree.NodeLevel()
		}
		v.states *= one.total/one.unit + 1
		v.groups = append(v.groups, one)
	}
	v.setUpParts(s, scope)
	f.listStates()
}

// preference is the level at which a group prefers to be, which costs something only
// in a gang of several groups.
func (v *solver) preference(g *Group) topology.Level {
	if v.several {
		return g.Preferred
	}
	return 0
}

// listStates works out what each state amounts to.
func (f *Fleet) listStates() {
	s := &f.search
	v := &s.solver
	v.members, v.present = v.members[:0], v.present[:0]
	v.gpus, v.host, v.declared = v.gpus[:0], v.host[:0], v.declared[:0]
	some := false
	for i := range v.groups {
		some = some || s.request.Groups[v.groups[i].group].Claim.Declared != nil
	}
	for state := range v.states {
		var present uint32
		var gpus int64
		var ofHost countable.Amounts
		var ofDeclared *countable.Declared
		for i := range v.groups {
			g := &v.groups[i]
			members := state / g.stride % (g.total/g.unit + 1) * g.unit
			c := &s.request.Groups[g.group].Claim
			if members > 0 {
				present |= 1 << i
			}
			gpus += int64(members * c.GPUs)
			ofHost = ofHost.Plus(c.Host.Times(int64(members)))
			if some {
				ofDeclared = ofDeclared.Plus(c.Declared.Times(int64(members)))
			}
			v.members = append(v.members, int32(members))
		}
		v.present = append(v.present, present)
		v.gpus, v.host = append(v.gpus, gpus), append(v.host, ofHost)
		if some {
			v.declared = append(v.declared, ofDeclared)
		}
	}
}

// weigh finds weights such that what counts first always outweighs what comes after
// it, and reports whether these are within 64 bits.
func (f *Fleet) weigh(d topology.DomainIndex) bool {
	v := &f.search.solver
	levels := int64(f.tree.NodeLevel())
	nodes := int64(f.tree.NodeCount(d))
	span := 1 + nodes*levels*(f.spanCost(v.level+1)+preferenceCost*int64(len(v.groups)))
	broken := 1 + int64(f.tree.GPUs(d))*levels*(MaxBreakCost+1)
	v.spanUnit, v.breakUnit = broken, 1
	if v.packing {
		v.spanUnit, v.breakUnit = 1, span
	}
	if span > math.MaxInt64/8/broken {
		return false
	}
	v.usedUnit = span * broken
	return v.usedUnit < math.MaxInt64/4/(1+nodes*int64(len(v.groups)))
}

// realise places what the last run of the solver found.
func (f *Fleet) realise() bool {
	s := &f.search
	v := &s.solver
	mark := len(s.placement.Members)
	v.assigned = v.assigned[:0]
	v.assign(v.last, v.states-1)
	for i := len(v.assigned) - 1; i >= 0; i-- {
		if !f.putState(v.assigned[i].node, v.assigned[i].state) {
			f.rollback(mark)
			return false
		}
	}
	return true
}

// assign lists which state each node gets, the last node first.
func (v *solver) assign(at int32, state int) {
	for ; at >= 0 && state > 0; at = v.records[at].before {
		r := &v.records[at]
		part := int(v.choices[r.choices+state])
		state -= part
		switch {
		case part == 0:
		case r.node >= 0:
			v.assigned = append(v.assigned, assignment{r.node, part})
		default:
			v.assign(r.child, part)
		}
	}
}

// putState places a state on a node, groups with more GPUs a member first, or nothing.
func (f *Fleet) putState(n topology.NodeIndex, state int) bool {
	s := &f.search
	v := &s.solver
	mark := len(s.placement.Members)
	if v.mask != 0 {
		v.putParts(f, n, state)
	}
	for _, group := range s.order {
		for i := range v.groups {
			if v.groups[i].group != group || v.groups[i].kin >= 0 {
				continue
			}
			want := int(v.members[state*len(v.groups)+i])
			if want > 0 && f.fillNode(n, group, want) < want {
				f.rollback(mark)
				return false
			}
		}
	}
	return true
}
