package gang

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// maxStranded bounds the steps spent on telling what masks of equally few nodes
// strand; what comes later counts as stranding the most.
const maxStranded = 1 << 16

// A rail is a node that an aligned group may use.
type rail struct {
	node  topology.NodeIndex
	free  uint64
	room  int // members that the host has room for, and the GPUs
	taken bool
}

// An alignment is a choice of GPUs for an aligned group: mask on each of full nodes,
// for each members, and a part of the mask for rest members on one more node.
type alignment struct {
	mask             uint64
	each, full, rest int
	stranded         int
}

// nodes is how many nodes the alignment takes.
func (a *alignment) nodes() int { return a.full + min(a.rest, 1) }

// fillAligned places a group on the same GPUs of every node, in the sense of
// Group.RailLevel: of all masks the one that uses the fewest nodes, then the one that
// leaves the fewest GPUs free on these, then the lowest. Nodes are counted by their
// free masks, and sums over supersets (a zeta transform over subsets, O(2^GPUs x GPUs))
// tell for every mask how many nodes have it.
func (f *Fleet) fillAligned(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	count := s.counts[group]
	scope := s.identity[group : group+1]
	if f.onOneNode(d, scope, count*g.Claim.GPUs) {
		return true
	}
	s.rails = s.rails[:0]
	f.listRails(d, g)
	best, ok := f.align(g, count)
	return ok && f.putAligned(d, group, &best)
}

// listRails lists the nodes at or below a domain with room for a unit, in the order
// of paths.
func (f *Fleet) listRails(d topology.DomainIndex, g *Group) {
	s := &f.search
	for _, child := range f.tree.Children(d) {
		f.listRails(child, g)
	}
	for _, n := range f.tree.Nodes(d) {
		if slices.Contains(g.Classes, f.nodes[n].class) {
			if room := f.roomOn(n, g, g.nodeUnit(f)); room > 0 {
				s.rails = append(s.rails, rail{node: n, free: f.nodes[n].free(), room: room})
			}
		}
	}
}

// nodeUnit is how many members are on a node together.
func (g *Group) nodeUnit(f *Fleet) int { return g.segment(f.tree.NodeLevel() - 1) }

// align chooses the mask for so many members, over the listed nodes.
func (f *Fleet) align(g *Group, count int) (alignment, bool) {
	s := &f.search
	unit := g.nodeUnit(f)
	widest := 0
	for i := range s.rails {
		widest = max(widest, bits.Len64(s.rails[i].free))
	}
	var best alignment
	found := false
	steps := 0
	for each := widest / g.Claim.GPUs / unit * unit; each > 0; each -= unit {
		a := alignment{each: each, full: count / each, rest: count % each}
		if a.full == 0 || found && a.nodes() > best.nodes() {
			continue
		}
		f.countRails(each, widest)
		for mask := range uint64(1) << widest {
			if bits.OnesCount64(mask) != each*g.Claim.GPUs || int(s.railCounts[mask]) < a.full {
				continue
			}
			a.mask = mask
			if steps += len(s.rails); steps <= maxStranded {
				var ok bool
				if a.stranded, ok = f.stranded(g, &a); !ok {
					continue
				}
			} else if a.stranded = 1 << 30; a.rest > 0 && !f.hasRest(g, &a) {
				continue
			}
			if !found || cmp.Or(cmp.Compare(a.nodes(), best.nodes()), cmp.Compare(a.stranded, best.stranded), cmp.Compare(a.mask, best.mask)) < 0 {
				best, found = a, true
			}
		}
	}
	return best, found
}

// countRails counts for every mask the nodes that have all of it free, and room for so
// many members.
func (f *Fleet) countRails(each, widest int) {
	s := &f.search
	size := 1 << widest
	if len(s.railCounts) < size {
		s.railCounts = make([]int32, size)
	}
	counts := s.railCounts[:size]
	clear(counts)
	for i := range s.rails {
		if s.rails[i].room >= each {
			counts[s.rails[i].free]++
		}
	}
	for bit := 1; bit < size; bit <<= 1 {
		for mask := range counts {
			if mask&bit == 0 {
				counts[mask] += counts[mask|bit]
			}
		}
	}
}

// fullOn and restOn report whether a node will do for an alignment, entirely or for
// its rest.
func (a *alignment) fullOn(r *rail) bool {
	return !r.taken && r.room >= a.each && r.free&a.mask == a.mask
}

func (a *alignment) restOn(r *rail, gpus int) bool {
	return !r.taken && r.room >= a.rest && bits.OnesCount64(r.free&a.mask) >= a.rest*gpus
}

func (f *Fleet) hasRest(g *Group, a *alignment) bool {
	full, others := 0, 0
	for i := range f.search.rails {
		switch r := &f.search.rails[i]; {
		case a.fullOn(r):
			full++
		case a.restOn(r, g.Claim.GPUs):
			others++
		}
	}
	return others > 0 || full > a.full
}

// stranded is how many GPUs stay free on the nodes that an alignment takes at best; false
// if there is no node for its rest. The nodes with the fewest free GPUs are taken.
func (f *Fleet) stranded(g *Group, a *alignment) (int, bool) {
	var full, others [MaxRails + 1]int
	for i := range f.search.rails {
		switch r := &f.search.rails[i]; {
		case a.fullOn(r):
			full[bits.OnesCount64(r.free)]++
		case a.rest > 0 && a.restOn(r, g.Claim.GPUs):
			others[bits.OnesCount64(r.free)]++
		}
	}
	left, total, next := a.full, 0, -1
	for free := range full {
		take := min(left, full[free])
		left -= take
		total += take * (free - a.each*g.Claim.GPUs)
		if next < 0 && (full[free] > take || others[free] > 0) {
			next = free
		}
	}
	switch {
	case left > 0 || a.rest > 0 && next < 0:
		return 0, false
	case a.rest > 0:
		total += next - a.rest*g.Claim.GPUs
	}
	return total, true
}

// putAligned places an alignment: its full nodes in the fewest domains, then its rest
// on the node with the fewest free GPUs, of equals in a domain that is used.
func (f *Fleet) putAligned(d topology.DomainIndex, group int, a *alignment) bool {
	s := &f.search
	g := &s.request.Groups[group]
	mark := len(s.placement.Members)
	if f.fillRails(d, group, a, a.full) < a.full {
		return false
	}
	if a.rest == 0 {
		return true
	}
	best := -1
	used := func(n topology.NodeIndex) int {
		at := f.tree.DomainOf(n, f.tree.NodeLevel())
		if slices.ContainsFunc(s.placement.Members[mark:], func(m Member) bool {
			return f.tree.DomainOf(m.Hold.Node, f.tree.NodeLevel()) == at
		}) {
			return 0
		}
		return 1
	}
	for i := range s.rails {
		if !a.restOn(&s.rails[i], g.Claim.GPUs) {
			continue
		}
		if best < 0 || cmp.Or(
			cmp.Compare(bits.OnesCount64(s.rails[i].free), bits.OnesCount64(s.rails[best].free)),
			cmp.Compare(used(s.rails[i].node), used(s.rails[best].node)),
		) < 0 {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	f.putMask(s.rails[best].node, group, s.rails[best].free&a.mask, a.rest)
	return true
}

// fillRails places the full part of an alignment on so many nodes of a domain, roomiest
// child domains first, and returns on how many.
func (f *Fleet) fillRails(d topology.DomainIndex, group int, a *alignment, count int) int {
	s := &f.search
	placed := 0
	if f.tree.DomainLevel(d) == f.tree.NodeLevel()-1 {
		for free := range MaxRails + 1 {
			for i := range s.rails {
				r := &s.rails[i]
				if placed == count {
					return placed
				}
				if bits.OnesCount64(r.free) == free && a.fullOn(r) && f.tree.DomainOf(r.node, f.tree.NodeLevel()) == d {
					f.putMask(r.node, group, a.mask, a.each)
					r.taken = true
					placed++
				}
			}
		}
		return placed
	}
	base := len(s.candidates)
	for _, child := range f.tree.Children(d) {
		c := candidate{domain: child}
		for i := range s.rails {
			if r := &s.rails[i]; a.fullOn(r) && f.tree.DomainOf(r.node, f.tree.DomainLevel(child)) == child {
				c.size++
			}
		}
		s.candidates = append(s.candidates, c)
	}
	for placed < count {
		i := f.roomiest(s.candidates[base:], count-placed, 0)
		if i < 0 {
			break
		}
		child := &s.candidates[base+i]
		want := min(child.size, count-placed)
		child.size = 0
		placed += f.fillRails(child.domain, group, a, want)
	}
	s.candidates = s.candidates[:base]
	return placed
}

// putMask lets so many members of a group hold GPUs of a mask, the lowest first.
func (f *Fleet) putMask(n topology.NodeIndex, group int, mask uint64, members int) {
	c := &f.search.request.Groups[group].Claim
	for range members {
		h := Hold{Node: n, GPUs: lowest(mask, c.GPUs), Host: c.Host, Declared: c.Declared}
		mask &^= h.GPUs
		f.put(group, &h)
	}
}

// solveAligned is solve with one aligned group: on one node, else with every mask that
// enough nodes have, the ones that take the fewest nodes first. The first that works
// is taken.
func (f *Fleet) solveAligned(d topology.DomainIndex, scope []int, group int) bool {
	s := &f.search
	v := &s.solver
	g := &s.request.Groups[group]
	if f.solve(d, scope, rescueSteps) {
		return true
	}
	s.rails = s.rails[:0]
	f.listRails(d, g)
	unit, widest := g.nodeUnit(f), 0
	for i := range s.rails {
		widest = max(widest, bits.Len64(s.rails[i].free))
	}
	for each := widest / g.Claim.GPUs / unit * unit; each > 0; each -= unit {
		full := s.counts[group] / each
		if full == 0 {
			continue
		}
		f.countRails(each, widest)
		for mask := range uint64(1) << widest {
			if bits.OnesCount64(mask) != each*g.Claim.GPUs || int(s.railCounts[mask]) < full {
				continue
			}
			v.mask, v.each, v.limit = mask, each, rescueSteps
			f.setUp(d, scope)
			if !f.weigh(d) || v.spent > v.limit || v.crowds() {
				return false
			}
			if best, ok := f.shape(); ok && best != never && f.realise() {
				return true
			}
		}
	}
	return false
}

// setUpAligned makes two parts of an aligned group: members on nodes that use all of the
// mask, and the rest, which is on one node.
func (v *solver) setUpAligned(group int, g *Group) {
	count := v.counts[group]
	rest := count % v.each
	part := solverGroup{
		group: group, total: count - rest, unit: v.each, stride: v.states,
		required: g.required(), preferred: v.preference(g), kin: len(v.groups),
	}
	if rest > 0 {
		part.kin++
	}
	v.states *= part.total/part.unit + 1
	v.groups = append(v.groups, part)
	if rest > 0 {
		part.total, part.unit, part.stride, part.kin = rest, rest, v.states, len(v.groups)-1
		v.states *= 2
		v.groups = append(v.groups, part)
	}
}

// exitPart is exit for a part of an aligned group: it has to be where the other part is,
// and is preferably all in one place.
func (v *solver) exitPart(i, state int, level topology.Level) int64 {
	g := &v.groups[i]
	n := len(v.groups)
	members, total := int(v.members[state*n+i]), g.total
	if g.kin != i {
		members += int(v.members[state*n+g.kin])
		total += v.groups[g.kin].total
	}
	switch {
	case members == total:
		return 0
	case g.required >= level:
		return never
	case g.preferred >= level && (g.kin >= i || v.members[state*n+g.kin] == 0): // once for both
		return preferenceCost * v.spanUnit
	}
	return 0
}

// fitsParts reports whether a node with some free GPUs has those of the mask that the
// parts of the aligned group in a state need.
func (v *solver) fitsParts(state int, free uint64) bool {
	n := len(v.groups)
	parts := 0
	for i := range v.groups {
		g := &v.groups[i]
		members := int(v.members[state*n+i])
		if g.kin < 0 || members == 0 {
			continue
		}
		parts += members
		if bits.OnesCount64(free&v.mask) < members*bits.OnesCount64(v.mask)/v.each {
			return false
		}
	}
	return parts <= v.each
}

// putParts places the parts of the aligned group in a state, before all other groups.
func (v *solver) putParts(f *Fleet, n topology.NodeIndex, state int) {
	for i := range v.groups {
		if g := &v.groups[i]; g.kin >= 0 {
			f.putMask(n, g.group, f.nodes[n].free()&v.mask, int(v.members[state*len(v.groups)+i]))
		}
	}
}
