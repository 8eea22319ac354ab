package gang

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// Fits returns how many members with a claim a node could take now; 0 where it takes
// no work. A claim of nothing fits without end, which is told as math.MaxInt32.
// O(1), for shares and instances O(GPUs of the node), times the members where the claim
// has several profiles of the node.
func (f *Fleet) Fits(n topology.NodeIndex, c *Claim) int {
	if f.checkNode(n) != nil || !f.nodes[n].schedulable || c.validate() != nil {
		return 0
	}
	return f.fits(n, c)
}

func (f *Fleet) fits(n topology.NodeIndex, c *Claim) int { return f.nodes[n].fits(c) }

func (s *nodeState) fits(c *Claim) int {
	count := math.MaxInt32
	switch {
	case c.GPUs == 1:
		count = bits.OnesCount64(s.free())
	case c.GPUs > 1:
		count = bits.OnesCount64(s.free()) / c.GPUs
	case c.Share.GPUMilli > 0:
		count = 0
		for gpu := range s.slots {
			count += s.sharesIn(gpu, &c.Share)
		}
	case len(c.Instances) > 0:
		count = s.seats(c)
	}
	return s.fitsHost(count, c)
}

// fitsHost is how many of so many members the host has enough for.
func (s *nodeState) fitsHost(count int, c *Claim) int {
	for r := range c.Host {
		count = fitHost(count, s.host[r]-s.hostUsed[r], c.Host[r])
	}
	if c.Declared != nil {
		for i, each := range c.Declared {
			count = fitHost(count, s.declaredHas().Of(i)-s.declaredUsed().Of(i), each)
		}
	}
	return count
}

// fitHost is fitsHost for one resource.
func fitHost(count int, left, each int64) int {
	if each == 0 || count == 0 {
		return count
	}
	if each <= left && count == 1 {
		return 1 // the usual case, without a division
	}
	return int(min(int64(count), max(left, 0)/each))
}

// fillNode places up to so many members of a group on a node and returns how many.
func (f *Fleet) fillNode(n topology.NodeIndex, group, count int) int {
	c := &f.search.request.Groups[group].Claim
	count = min(count, f.fits(n, c))
	state := &f.nodes[n]
	h := Hold{Node: n, Share: c.Share, Host: c.Host, Declared: c.Declared}
	for i := range count {
		switch {
		case c.GPUs > 0:
			if f.search.request.Groups[group].RailLevel > 0 {
				h.GPUs = lowest(state.free(), c.GPUs)
			} else {
				h.GPUs = state.choice(c.GPUs)
			}
		case c.Share.GPUMilli > 0:
			h.GPUs = 1 << state.chooseGPU(&c.Share)
			h.Share.MemoryMiB = state.shareMemory(&c.Share)
		case len(c.Instances) > 0:
			h.GPUs, h.Instance = state.chooseInstance(c, i < count-1)
		}
		f.put(group, &h)
	}
	return count
}

// fill places as many of the wanted members of a group in a domain as it can, in
// whole segments, and returns how many.
func (f *Fleet) fill(d topology.DomainIndex, group int) int {
	s := &f.search
	g := &s.request.Groups[group]
	count := s.counts[group]
	switch {
	case g.Claim.GPUs > 0 || s.surveyed == group:
		return f.fillDomain(d, group, count)
	case g.Claim.Share.GPUMilli > 0:
		for placed := range count {
			if !f.placeShare(d, group) {
				return placed
			}
		}
		return count
	case len(g.Claim.Instances) > 0:
		for placed := range count {
			if !f.placeInstance(d, group, placed < count-1) {
				return placed
			}
		}
		return count
	}
	if n, only := s.picks.one(); only {
		return f.fillNode(n, group, count)
	}
	s.group, s.left, s.scope, s.looked, s.host = group, count, nil, 0, -1
	f.visit(d, g.Classes, 0, s.visitHost)
	if s.host >= 0 {
		s.left -= f.fillNode(s.host, group, s.left)
	}
	return count - s.left
}

// maxHosts is how many nodes with room for a member without GPUs are compared.
const maxHosts = 256

// tryHost is the visit that places members without GPUs. A single one goes where the
// least is left over, of the first so many nodes that have as few free GPUs as any.
func (f *Fleet) tryHost(n topology.NodeIndex) bool {
	s := &f.search
	if !f.admits(s.group, n) {
		return false
	}
	if s.left > 1 {
		s.left -= f.fillNode(n, s.group, s.left)
		return s.left == 0
	}
	if s.host >= 0 && f.tree.Free(n) != f.tree.Free(s.host) {
		return true
	}
	c := &s.request.Groups[s.group].Claim
	if room := f.fits(n, c); room > 0 {
		if s.host < 0 || room < s.hostRoom {
			s.host, s.hostRoom = n, room
		}
		s.looked++
	}
	return s.looked == maxHosts
}

// fillDomain places up to so many members in a domain, and returns how many. The
// fullest use of the fewest child domains: the ones with the most room first, and for
// the last of the members the one in which the least is left over.
func (f *Fleet) fillDomain(d topology.DomainIndex, group, count int) int {
	s := &f.search
	g := &s.request.Groups[group]
	level := f.tree.DomainLevel(d)
	segment := g.segment(level)
	if level == f.tree.NodeLevel()-1 {
		if g.Claim.GPUs > 0 {
			return f.fillNodes(d, group, count, segment)
		}
		return f.fillHosts(d, group, count, segment)
	}
	base := len(s.candidates)
	for _, child := range f.tree.Children(d) {
		if room := f.capacity(child, group); room >= segment {
			s.candidates = append(s.candidates, candidate{domain: child, size: room - room%segment})
		}
	}
	placed := 0
	for placed < count {
		i := f.roomiest(s.candidates[base:], count-placed, g.Claim.GPUs)
		if i < 0 {
			break
		}
		child := &s.candidates[base+i]
		want := min(child.size-child.size%segment, count-placed)
		child.size = 0
		placed += f.fillSegments(child.domain, group, want, segment)
	}
	s.candidates = s.candidates[:base]
	return placed
}

// fillSegments is fillDomain in whole segments of a size.
func (f *Fleet) fillSegments(d topology.DomainIndex, group, count, segment int) int {
	mark := len(f.search.placement.Members)
	got := f.fillDomain(d, group, count)
	if over := got % segment; over > 0 {
		got -= over
		f.rollback(mark + got)
	}
	return got
}

// roomiest returns the candidate with the most room, or, if any has room for the
// rest, the one of these with the least; -1 if none has room. Among candidates with
// equal room for the rest one that is not whole comes first, else the earlier one. Off
// Strict, one that the rest does not break comes before all others, and while a wider
// level is searched for what breaks less, one that is not whole before any that is.
func (f *Fleet) roomiest(candidates []candidate, rest, gpus int) int {
	best := -1
	strict := f.search.request.Locality == LocalityStrict
	for i := range candidates {
		size := candidates[i].size
		switch {
		case size == 0:
		case best < 0:
			best = i
		case f.search.loosening && f.tree.Whole(candidates[i].domain) != f.tree.Whole(candidates[best].domain):
			if f.tree.Whole(candidates[best].domain) {
				best = i
			}
		case candidates[best].size >= rest:
			if size < rest || strict && size > candidates[best].size {
				continue
			}
			breaks, broke := f.breaksRest(candidates[i].domain, rest*gpus), f.breaksRest(candidates[best].domain, rest*gpus)
			if breaks == broke && size < candidates[best].size || broke && !breaks && (!strict || size == candidates[best].size) ||
				strict && size < candidates[best].size {
				best = i
			}
		case size > candidates[best].size,
			size == candidates[best].size && f.tree.Whole(candidates[best].domain) && !f.tree.Whole(candidates[i].domain):
			best = i
		}
	}
	return best
}

// breaksRest reports whether using so many GPUs of a domain breaks it.
func (f *Fleet) breaksRest(d topology.DomainIndex, gpus int) bool {
	return gpus > 0 && f.tree.Whole(d) && f.tree.GPUs(d) != gpus
}

// fillNodes is fillDomain for a domain of nodes. What goes on a node together is a
// unit: a member, or a segment of them. Nodes with room for the most units come
// first, of these the ones with the fewest free GPUs; the rest goes where the fewest
// GPUs are left over. Should the host or Match be in the way, every node with
// enough GPUs for a unit has been looked at in the end.
func (f *Fleet) fillNodes(d topology.DomainIndex, group, count, segment int) int {
	g := &f.search.request.Groups[group]
	gpus := g.Claim.GPUs * segment
	left, tried := count, 0
	for units := f.mostGPUs(g.Classes) / gpus; units > 0; units-- {
		for k := units * gpus; k < (units+1)*gpus && k <= topology.MaxGPUs; k++ {
			for _, c := range g.Classes {
				for at := f.tree.NextWithFree(d, c, k, 0); at >= 0; at = f.tree.NextWithFree(d, c, k, at+1) {
					if left < units*segment && left != tried {
						tried = left
						if f.fillRest(d, group, left, segment) {
							left = 0
						}
					}
					if left == 0 {
						return count
					}
					left -= f.fillUnits(f.tree.NodesOf(d, c)[at], group, left, segment)
				}
			}
		}
	}
	return count - left
}

// fillRest places the last members on one node, the one with the fewest free GPUs
// that has enough.
func (f *Fleet) fillRest(d topology.DomainIndex, group, count, segment int) bool {
	g := &f.search.request.Groups[group]
	most := f.mostGPUs(g.Classes)
	// Nodes that this does not break come first.
	return f.fillRestOn(d, group, count, segment, most, false) || f.fillRestOn(d, group, count, segment, most, true)
}

// fillRestOn is fillRest on the nodes that it breaks, or on the others.
func (f *Fleet) fillRestOn(d topology.DomainIndex, group, count, segment, most int, breaks bool) bool {
	g := &f.search.request.Groups[group]
	for k := count * g.Claim.GPUs; k <= most; k++ {
		for _, c := range g.Classes {
			if gpus, _ := f.tree.ClassGPUs(c); breaks != (k == gpus && k > count*g.Claim.GPUs) {
				continue
			}
			for at := f.tree.NextWithFree(d, c, k, 0); at >= 0; at = f.tree.NextWithFree(d, c, k, at+1) {
				n := f.tree.NodesOf(d, c)[at]
				if f.fits(n, &g.Claim) >= count && f.fillUnits(n, group, count, segment) == count {
					return true
				}
			}
		}
	}
	return false
}

// fillHosts is fillNodes for a group without whole GPUs, whose room on the nodes is not
// known beforehand: it looks at all of them. Nodes with room for the most units come
// first, and for the rest the one with the least; ties go to the fewest members that would
// fit, the fewest free GPUs and the smaller name.
func (f *Fleet) fillHosts(d topology.DomainIndex, group, count, segment int) int {
	s := &f.search
	g := &s.request.Groups[group]
	base := len(s.candidates)
	for _, c := range g.Classes {
		for _, n := range f.tree.NodesOf(d, c) {
			if room := f.roomOn(n, g, segment); room > 0 {
				s.candidates = append(s.candidates, candidate{
					domain: topology.DomainIndex(n), size: room, outer: int64(f.tree.Free(n)), position: f.fits(n, &g.Claim),
				})
			}
		}
	}
	list := s.candidates[base:]
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.position, b.position), cmp.Compare(a.outer, b.outer),
			f.tree.Compare(topology.NodeIndex(a.domain), topology.NodeIndex(b.domain)))
	})
	placed := 0
	for i := 0; i < len(list) && placed < count; i++ {
		at, rest := i, count-placed
		for list[at].size >= rest && at+1 < len(list) && list[at+1].size >= rest {
			at++
		}
		for list[at].size >= rest && at > i && list[at-1].size == list[at].size {
			at--
		}
		placed += f.fillNode(topology.NodeIndex(list[at].domain), group, min(list[at].size, rest))
	}
	s.candidates = s.candidates[:base]
	return placed
}

// fillUnits places whole units, up to so many members, on a node if it will do.
func (f *Fleet) fillUnits(n topology.NodeIndex, group, count, segment int) int {
	g := &f.search.request.Groups[group]
	if segment > 1 {
		count = min(count, f.fits(n, &g.Claim))
		count -= count % segment
	}
	if count == 0 || g.Match != nil && !g.Match(n) || g.RailLevel > 0 && len(f.nodes[n].slots) > MaxRails {
		return 0
	}
	return f.fillNode(n, group, count)
}

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
	choosy := g.Claim.wantsHost() || g.Match != nil
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
