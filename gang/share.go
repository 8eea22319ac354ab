package gang

import (
	"math/bits"

	"github.com/berth-sched/berth/topology"
)

// placeShare places one more member of a group with shares in a domain: on the
// fullest GPU of its owner that has enough left, or, if none has, on a GPU that
// nobody holds, by the rule for single GPUs. Ties go to the class that comes first,
// the smaller name of the node and the lower GPU.
func (f *Fleet) placeShare(d topology.Domain, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	s.group, s.scope = group, nil
	s.within, s.withinLevel, s.found = d, f.tree.DomainLevel(d), false
	for _, c := range g.Classes {
		if int(c) < len(f.shared) && f.shared[c] != nil {
			from := shareKey{owner: g.Claim.Share.Owner, left: g.Claim.Share.Milli, node: -1}
			f.shared[c].AscendGreaterOrEqual(from, s.visitShared)
		}
	}
	if s.found {
		f.putShare(s.best.node, int(s.best.gpu), group)
		return true
	}
	return f.visit(d, g.Classes, 1, s.visitOpen)
}

// tryShared is the visit of shared GPUs in the order of the index; false ends it.
func (f *Fleet) tryShared(key shareKey) bool {
	s := &f.search
	g := &s.request.Groups[s.group]
	switch {
	case key.owner != g.Claim.Share.Owner, s.found && key.left >= s.best.left:
		return false
	case f.tree.DomainOf(key.node, s.withinLevel) != s.within,
		f.nodes[key.node].sharesIn(int(key.gpu), &g.Claim.Share) == 0,
		!f.hasHost(key.node, &g.Claim),
		!f.admits(s.group, key.node):
		return true
	}
	s.best, s.found = key, true
	return false
}

// tryOpen is the visit of nodes with a GPU that nobody holds.
func (f *Fleet) tryOpen(n topology.Node) bool {
	s := &f.search
	c := &s.request.Groups[s.group].Claim
	gpu := bits.TrailingZeros64(f.nodes[n].free())
	if f.nodes[n].sharesIn(gpu, &c.Share) == 0 || !f.hasHost(n, c) || !f.admits(s.group, n) {
		return false
	}
	f.putShare(n, gpu, s.group)
	return true
}

func (f *Fleet) hasHost(n topology.Node, c *Claim) bool {
	return f.nodes[n].fitsHost(1, &c.Host) == 1
}

func (f *Fleet) putShare(n topology.Node, gpu, group int) {
	c := &f.search.request.Groups[group].Claim
	h := Hold{Node: n, GPUs: 1 << gpu, Share: c.Share, Host: c.Host}
	h.Share.MemoryMiB = f.nodes[n].shareMemory(&c.Share)
	f.put(group, &h)
}
