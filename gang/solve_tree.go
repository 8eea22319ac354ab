package gang

import (
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/topology"
)

// run finds the least cost of the full state with the limits as they are; never if
// there is no placement. False if the steps did not do.
func (f *Fleet) run() (int64, bool) {
	v := &f.search.solver
	v.costs, v.options, v.records, v.choices = v.costs[:0], v.options[:0], v.records[:0], v.choices[:0]
	f.setExits()
	last, _, ok := f.solveDomain(v.domain)
	if !ok {
		return never, false
	}
	v.last = last
	return v.costs[v.states-1], true
}

// setExits works out what each state costs at each level below the domain.
func (f *Fleet) setExits() {
	v := &f.search.solver
	v.exits = v.exits[:0]
	for level := topology.Level(0); level <= f.tree.NodeLevel(); level++ {
		for state := range v.states {
			v.exits = append(v.exits, f.exit(level, state))
		}
	}
	v.spent += len(v.exits)
}

func (f *Fleet) exit(level topology.Level, state int) int64 {
	v := &f.search.solver
	if level <= v.level || state == 0 {
		return 0
	}
	if !v.keepsParts(state, level) {
		return never
	}
	cost := int64(0)
	if state < v.states-1 {
		cost = f.spanCost(level) * v.spanUnit
	}
	for i := range v.groups {
		g := &v.groups[i]
		members := int(v.members[state*len(v.groups)+i])
		if members == 0 {
			continue
		}
		if g.kin >= 0 {
			more := v.exitPart(i, state, level)
			if more == never {
				return never
			}
			cost += more
		} else if members < g.total {
			if g.required >= level || members%f.search.request.Groups[g.group].segment(level-1) != 0 {
				return never
			}
			if g.preferred >= level {
				cost += preferenceCost * v.spanUnit
			}
		}
		if g.spread.level == level && (members < g.spread.least || members > g.spread.most) {
			return never
		}
		if g.even.level == level {
			if members < g.even.least || members > g.even.most {
				return never
			}
			cost += v.usedUnit
		}
	}
	return cost
}

// solveDomain leaves the table of a domain on the stack, and returns its last record and
// the groups that some node in it may serve.
func (f *Fleet) solveDomain(d topology.DomainIndex) (last int32, served uint32, ok bool) {
	v := &f.search.solver
	table := len(v.costs)
	for state := range v.states {
		cost := int64(never)
		if state == 0 {
			cost = 0
		}
		v.costs = append(v.costs, cost)
	}
	last = -1
	level := f.tree.DomainLevel(d)
	apart := v.apart(level)
	if level == f.tree.NodeLevel()-1 {
		for _, n := range f.tree.Nodes(d) {
			base := len(v.options)
			serves := f.nodeOptions(n)
			last = v.merge(table, base, record{node: n, child: -1, before: last}, apart&served&serves)
			served |= serves
			v.options = v.options[:base]
			if v.spent > v.limit {
				return last, served, false
			}
		}
		return last, served, true
	}
	for _, child := range f.tree.Children(d) {
		below := len(v.costs)
		head, serves, ok := f.solveDomain(child)
		if !ok {
			return last, served, false
		}
		base := len(v.options)
		f.domainOptions(child, level+1, below, serves)
		v.costs = v.costs[:below]
		last = v.merge(table, base, record{node: -1, child: head, before: last}, apart&served&serves)
		served |= serves
		v.options = v.options[:base]
		if v.spent > v.limit {
			return last, served, false
		}
	}
	return last, served, true
}

// apart is the set of groups that are in all domains inside one of a level that may
// serve them, or in none.
func (v *solver) apart(level topology.Level) uint32 {
	var set uint32
	for i := range v.groups {
		if g := &v.groups[i]; g.spread.level > 0 && g.spread.least > 0 && g.scope > v.level && level >= g.scope && level < g.spread.level {
			set |= 1 << i
		}
	}
	return set
}

// everywhere is the set of groups that have to be in every domain of a level that may
// serve them.
func (v *solver) everywhere(level topology.Level) uint32 {
	var set uint32
	for i := range v.groups {
		if g := &v.groups[i]; g.spread.level == level && g.spread.least > 0 && g.scope <= v.level {
			set |= 1 << i
		}
	}
	return set
}

// domainOptions lists what a child domain of a level can take.
func (f *Fleet) domainOptions(d topology.DomainIndex, level topology.Level, table int, served uint32) {
	v := &f.search.solver
	whole, gpus := f.tree.Whole(d), int64(f.tree.GPUs(d))
	missing := v.everywhere(level) & served
	exits := v.exits[int(level)*v.states:]
	for state, cost := range v.costs[table : table+v.states] {
		if cost == never || exits[state] == never || missing&^v.present[state] != 0 {
			continue
		}
		cost += exits[state]
		if whole && v.touches(state) && v.gpus[state] != gpus {
			cost += f.breakCost(level, int(gpus)) * v.breakUnit
		}
		v.options = append(v.options, option{int32(state), cost})
	}
	v.spent += v.states
}

// touches reports whether a state takes any GPU.
func (v *solver) touches(state int) bool {
	if v.gpus[state] > 0 {
		return true
	}
	for i := range v.groups {
		if v.groups[i].shares && v.present[state]&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// nodeOptions lists what a node can take, and returns the groups that it may serve.
func (f *Fleet) nodeOptions(n topology.NodeIndex) uint32 {
	v := &f.search.solver
	node := &f.nodes[n]
	var serves, parts uint32
	for i := range v.groups {
		if f.servesOn(n, &f.search.request.Groups[v.groups[i].group]) {
			serves |= 1 << i
		}
		if v.groups[i].parts {
			parts |= 1 << i
		}
	}
	missing := v.everywhere(f.tree.NodeLevel()) & serves
	exits := v.exits[int(f.tree.NodeLevel())*v.states:]
	free := int64(max(f.tree.Free(n), 0))
	freeHost := node.hostFree().Floor()
	var freeDeclared *countable.Declared
	if len(v.declared) > 0 {
		freeDeclared = node.declaredFree().Floor()
	}
	for state := range v.states {
		if v.gpus[state] > free || v.present[state]&^serves != 0 || exits[state] == never || missing&^v.present[state] != 0 {
			continue
		}
		if v.mask != 0 && !v.fitsParts(state, node.free()) {
			continue
		}
		if !v.host[state].Within(freeHost) || v.present[state]&parts != 0 && !f.fitsState(n, state, v.present[state]&parts) {
			continue
		}
		if len(v.declared) > 0 && !v.declared[state].Within(freeDeclared) {
			continue
		}
		cost := exits[state]
		if free == int64(len(node.slots)) && v.gpus[state] != free && v.touches(state) {
			cost += f.breakCost(f.tree.NodeLevel(), len(node.slots)) * v.breakUnit
		}
		v.options = append(v.options, option{int32(state), cost})
	}
	v.spent += v.states
	return serves
}

// fitsState reports whether a node takes a state with shares or instances. If nothing
// else is in their way that can be counted, else it is tried.
func (f *Fleet) fitsState(n topology.NodeIndex, state int, parts uint32) bool {
	v := &f.search.solver
	if i := bits.TrailingZeros32(parts); parts == 1<<i && (!v.groups[i].shares || v.gpus[state] == 0) {
		v.spent++
		return f.fits(n, &f.search.request.Groups[v.groups[i].group].Claim) >= int(v.members[state*len(v.groups)+i])
	}
	mark := len(f.search.placement.Members)
	ok := f.putState(n, state)
	f.rollback(mark)
	v.spent += 8
	return ok
}

// merge lets the domain of a table take one of the options listed from a base on, and
// records which. Groups apart are in both the table and the option, or in neither.
func (v *solver) merge(table, base int, r record, apart uint32) int32 {
	options := v.options[base:]
	if len(options) == 1 && options[0] == (option{}) && apart == 0 {
		return r.before // nothing goes there
	}
	r.choices = len(v.choices)
	v.choices = slices.Grow(v.choices, v.states)[:r.choices+v.states]
	choices, costs := v.choices[r.choices:], v.costs[table:]
	v.spent += v.states * len(options)
	for state := v.states - 1; state >= 0; state-- {
		best, choice := int64(never), int32(0)
		for _, o := range options {
			rest := state - int(o.state)
			if rest < 0 {
				break // they are in order
			}
			if costs[rest] == never || costs[rest]+o.cost >= best || len(v.groups) > 1 && !v.splits(state, rest, int(o.state)) {
				continue
			}
			if apart&(v.present[rest]^v.present[o.state]) != 0 {
				continue
			}
			best, choice = costs[rest]+o.cost, o.state
		}
		costs[state], choices[state] = best, choice
	}
	v.records = append(v.records, r)
	return int32(len(v.records) - 1)
}

// splits reports whether a state is the sum of two, group by group.
func (v *solver) splits(state, a, b int) bool {
	n := len(v.groups)
	for i := range n {
		if v.members[state*n+i] != v.members[a*n+i]+v.members[b*n+i] {
			return false
		}
	}
	return true
}

// shape finds the limits for what is spread or even, and leaves the tables of the best
// run: first the fewest domains for all groups that are balanced, then for each of
// them, in order, the largest least number and the smallest largest one, and then
// the least cost.
func (f *Fleet) shape() (int64, bool) {
	v := &f.search.solver
	best, ok := f.spreads(0)
	if !ok || best == never {
		return best, ok
	}
	used := best / v.usedUnit
	for i := range v.groups {
		even := &v.groups[i].even
		if even.level == 0 {
			continue
		}
		// Fewer limits allow all that more of them do, so both can be bisected.
		for low, high := even.least, even.most+1; high-low > 1; {
			even.least = (low + high) / 2
			cost, ok := f.spreads(0)
			if !ok {
				return never, false
			}
			if cost != never && cost/v.usedUnit == used {
				low = even.least
			} else {
				high = even.least
			}
			even.least = low
		}
		for low, high := even.least-1, even.most; high-low > 1; {
			even.most = (low + high) / 2
			cost, ok := f.spreads(0)
			if !ok {
				return never, false
			}
			if cost != never && cost/v.usedUnit == used {
				high = even.most
			} else {
				low = even.most
			}
			even.most = high
		}
	}
	return f.spreads(0)
}

// spreads tries the least numbers of the groups that are spread, from one group on,
// and leaves the tables of the cheapest.
func (f *Fleet) spreads(from int) (int64, bool) {
	v := &f.search.solver
	for from < len(v.groups) && v.groups[from].spread.level == 0 {
		from++
	}
	if from == len(v.groups) {
		return f.run()
	}
	g := &v.groups[from]
	spread := &f.search.request.Groups[g.group]
	best, choice := int64(never), -1
	last := -1
	for least := 0; least <= g.total; least++ {
		g.spread.least, g.spread.most = least, least+spread.MaxSkew
		cost, ok := f.spreads(from + 1)
		if !ok {
			return never, false
		}
		last = least
		if cost < best {
			best, choice = cost, least
		}
		if cost == never && choice >= 0 {
			break
		}
	}
	if choice >= 0 && choice != last {
		g.spread.least, g.spread.most = choice, choice+spread.MaxSkew
		return f.spreads(from + 1)
	}
	return best, true
}
