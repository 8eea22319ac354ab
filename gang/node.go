package gang

import (
	"slices"

	"github.com/berth-sched/berth/topology"
)

// maxLooked bounds how many equally tight nodes are compared for what using them breaks.
const maxLooked = 16

// onOneNode is onNode, by the caller's own score where equally good nodes have one.
func (f *Fleet) onOneNode(d topology.DomainIndex, scope []int, gpus int) bool {
	if gpus > 0 && f.scoresDomains(scope) {
		f.pickNode(d, scope, gpus)
		defer f.unpick()
	}
	return f.onNode(d, scope, gpus)
}

// onNode places the wanted members of some groups on one node, the one with the
// fewest free GPUs that has enough, of these the one that breaks least, then the class
// that comes first; off Strict the one that breaks least comes before all else.
func (f *Fleet) onNode(d topology.DomainIndex, scope []int, gpus int) bool {
	s := &f.search
	s.scope = scope
	if n, only := s.picks.one(); only {
		return f.putAll(n)
	}
	s.one = oneNode{node: -1, gpus: gpus}
	classes := s.request.Groups[scope[0]].Classes
	most := f.mostGPUs(classes)
	for k := gpus; k <= most; k++ {
		for _, c := range classes {
			if s.picks.maySee(c, k) && f.tree.Visit(d, classes, c, k, s.visitAll) {
				return s.one.placed || f.putAll(s.one.node)
			}
		}
		if s.one.node >= 0 && s.request.Locality == LocalityStrict {
			break
		}
	}
	return s.one.node >= 0 && f.putAll(s.one.node)
}

// A oneNode is what onNode has seen so far.
type oneNode struct {
	node   topology.NodeIndex // the best, or -1
	broken int64              // what using it breaks
	gpus   int
	room   int // of members without GPUs: how many would fit
	looked int // how many have been compared with it
	placed bool
}

// tryAll is the visit of onNode. It ends the search with the first node that breaks
// nothing, which is nearly always the first one, or when it has seen enough.
func (f *Fleet) tryAll(n topology.NodeIndex) bool {
	one := &f.search.one
	if !f.search.picks.leaves(n) {
		return false
	}
	if lead := &f.search.request.Groups[f.search.scope[0]].Claim; one.gpus == 0 && lead.Share.GPUMilli == 0 { // the host alone, or instances
		return f.tryHosts(n, lead)
	}
	broken := f.nodeCost(n, one.gpus)
	switch {
	case one.node >= 0 && broken >= one.broken:
	case broken == 0:
		one.placed = f.putAll(n)
		return one.placed
	case f.fitsAll(n):
		one.node, one.broken = n, broken
	}
	if one.node >= 0 {
		one.looked++
	}
	return one.looked >= maxLooked
}

// tryHosts is tryAll for members without GPUs: the node on which the least is left over.
func (f *Fleet) tryHosts(n topology.NodeIndex, lead *Claim) bool {
	one := &f.search.one
	if !f.fitsAll(n) {
		return false
	}
	if room := f.fits(n, lead); one.node < 0 || room < one.room {
		one.node, one.room = n, room
	}
	one.looked++
	return one.looked >= maxHosts
}

// fitsAll reports whether a node would take all that onNode wants.
func (f *Fleet) fitsAll(n topology.NodeIndex) bool {
	s := &f.search
	if group := s.scope[0]; len(s.scope) == 1 { // fillNode places as many as fit
		return f.fits(n, &s.request.Groups[group].Claim) >= s.counts[group] && f.admits(group, n)
	}
	mark := len(s.placement.Members)
	ok := f.putAll(n)
	f.rollback(mark)
	return ok
}

// putAll places all that onNode wants on a node, or nothing.
func (f *Fleet) putAll(n topology.NodeIndex) bool {
	s := &f.search
	mark := len(s.placement.Members)
	for _, group := range s.scope {
		if !f.admits(group, n) || f.fillNode(n, group, s.counts[group]) < s.counts[group] {
			f.rollback(mark)
			return false
		}
	}
	return true
}

// admits reports whether a node will do for a group, whatever is free there.
func (f *Fleet) admits(group int, n topology.NodeIndex) bool {
	g := &f.search.request.Groups[group]
	if !f.search.picks.leaves(n) {
		return false
	}
	if len(f.search.scope) > 1 && !slices.Contains(g.Classes, f.nodes[n].class) {
		return false
	}
	return (g.RailLevel == 0 || len(f.nodes[n].slots) <= MaxRails) && (g.Match == nil || g.Match(n))
}

// visit shows the nodes of some classes with at least so many free GPUs, those with the
// fewest first, then by class in the given order, until a visit returns true.
func (f *Fleet) visit(d topology.DomainIndex, classes []topology.NodeClass, gpus int, visit func(topology.NodeIndex) bool) bool {
	most := f.mostGPUs(classes)
	for k := gpus; k <= most; k++ {
		for _, c := range classes {
			if f.search.picks.maySee(c, k) && f.tree.Visit(d, classes, c, k, visit) {
				return true
			}
		}
	}
	return false
}

// mostGPUs is the largest number of GPUs of a node of some classes, or -1.
func (f *Fleet) mostGPUs(classes []topology.NodeClass) int {
	most := -1
	for _, c := range classes {
		if gpus, ok := f.tree.ClassGPUs(c); ok {
			most = max(most, gpus)
		}
	}
	return most
}
