package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

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
			if !f.weigh(d) || v.spent > v.limit {
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
