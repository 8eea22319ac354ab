package gang

import (
	"math"

	"github.com/berth-sched/berth/host"
	"github.com/berth-sched/berth/topology"
)

// capacity is how many members of a group fit into a domain, in whole segments as far
// as they are inside of it. Of a group with whole GPUs that is told by the counts of
// the topology, and more than really fits where the host or Match is in the way,
// never less; of the group surveyed it is exact.
func (f *Fleet) capacity(d topology.DomainIndex, group int) int {
	s := &f.search
	if s.surveyed == group {
		return s.rooms[d]
	}
	return f.counted(d, &s.request.Groups[group])
}

// counted is capacity by the counts of the topology. What splits over the children of a
// domain splits in segments of their level or narrower, so each child is rounded down.
func (f *Fleet) counted(d topology.DomainIndex, g *Group) int {
	level := f.tree.DomainLevel(d)
	segment := g.segment(level)
	total := 0
	if level < g.narrowest(f.tree.NodeLevel()) {
		for _, child := range f.tree.Children(d) {
			members := f.counted(child, g)
			total += members - members%segment
		}
		return total
	}
	// Else what is left of segments is on a node, where it is a claim of its own.
	for _, c := range g.Classes {
		if g.RailLevel == 0 || f.railed(c) {
			total += f.tree.Capacity(d, c, segment*g.Claim.GPUs)
		}
	}
	return total * segment
}

// railed reports whether nodes of a class take part in rail alignment.
func (f *Fleet) railed(c topology.NodeClass) bool {
	gpus, _ := f.tree.ClassGPUs(c)
	return gpus <= MaxRails
}

// survey finds out by a walk over the nodes how many members of a group fit into
// each domain at or below one, where the counts do not tell: without whole GPUs, if it
// is to be close, and where the division of the group depends on it. O(nodes).
func (f *Fleet) survey(d topology.DomainIndex, scope []int) {
	s := &f.search
	s.surveyed = -1
	if len(scope) > 1 {
		return
	}
	g := &s.request.Groups[scope[0]]
	choosy := g.Claim.Host != host.Amounts{} || g.Match != nil
	switch {
	case g.Claim.GPUs > 0 && (g.Balance == 0 && g.Spread == 0 || !choosy):
		return
	case g.Claim.GPUs == 0 && !f.close(scope[0]):
		return
	}
	f.surveyDomain(d, g)
	s.surveyed = scope[0]
}

func (f *Fleet) surveyDomain(d topology.DomainIndex, g *Group) int {
	s := &f.search
	level := f.tree.DomainLevel(d)
	segment := g.segment(level)
	total := 0
	if level == f.tree.NodeLevel()-1 {
		for _, c := range g.Classes {
			for _, n := range f.tree.NodesOf(d, c) {
				total = add(total, f.roomOn(n, g, segment))
			}
		}
	} else {
		for _, child := range f.tree.Children(d) {
			members := f.surveyDomain(child, g)
			total = add(total, members-members%segment)
		}
	}
	for int(d) >= len(s.rooms) {
		s.rooms = append(s.rooms, 0)
	}
	s.rooms[d] = total
	return total
}

// roomOn is how many members of a group fit on a node, in whole segments.
func (f *Fleet) roomOn(n topology.NodeIndex, g *Group, segment int) int {
	state := &f.nodes[n]
	if !state.schedulable || g.RailLevel > 0 && len(state.slots) > MaxRails {
		return 0
	}
	members := state.fits(&g.Claim)
	members -= members % segment
	if members == 0 || g.Match != nil && !g.Match(n) {
		return 0
	}
	return members
}

// add is a sum of counts that stays within 32 bits, as a claim of nothing fits
// without end.
func add(a, b int) int { return int(min(int64(a)+int64(b), math.MaxInt32)) }
