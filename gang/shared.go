package gang

import (
	"cmp"
	"math/bits"

	"github.com/google/btree"

	"github.com/berth-sched/berth/topology"
)

// A shareKey is a shared GPU that can take more. In the index those of one owner
// stand together, the fullest first.
type shareKey struct {
	owner Owner
	left  int32              // compute, in thousandths
	node  topology.NodeIndex // -1: before all nodes
	gpu   int32
}

// compareShares orders shared GPUs by owner, compute left, name of the node and
// index of the GPU.
func (f *Fleet) compareShares(a, b shareKey) int {
	if d := cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.left, b.left)); d != 0 {
		return d
	}
	return f.compareGPUs(a.node, a.gpu, b.node, b.gpu)
}

// compareGPUs orders GPUs by name of the node and index; node -1 is before all nodes.
func (f *Fleet) compareGPUs(a topology.NodeIndex, i int32, b topology.NodeIndex, j int32) int {
	switch {
	case a == b:
		return cmp.Compare(i, j)
	case a < 0:
		return -1
	case b < 0:
		return 1
	}
	return f.tree.Compare(a, b)
}

// keyOf returns the index entry of a GPU, and whether it has one.
func (f *Fleet) keyOf(n topology.NodeIndex, gpu int) (shareKey, bool) {
	state := &f.nodes[n]
	slot := &state.slots[gpu]
	if state.lends(gpu) && state.schedulable {
		return shareKey{owner: slot.lent().owner, left: wholeMilli, node: n, gpu: int32(gpu)}, true
	}
	if slot.shares == 0 || slot.milli >= wholeMilli || state.sharesLeft(slot) == 0 || !state.schedulable || state.healthy&(1<<gpu) == 0 {
		return shareKey{}, false
	}
	return shareKey{owner: slot.owner, left: wholeMilli - slot.milli, node: n, gpu: int32(gpu)}, true
}

// unindex takes a GPU out of the indexes before its state changes.
func (f *Fleet) unindex(n topology.NodeIndex, gpu int) {
	if key, ok := f.keyOf(n, gpu); ok {
		f.shared[f.nodes[n].class].Delete(key)
	}
	if key, ok := f.partOf(n, gpu); ok {
		f.divided[f.nodes[n].class].remove(key)
	}
}

// index puts a GPU into the indexes after its state changed.
func (f *Fleet) index(n topology.NodeIndex, gpu int) {
	class := f.nodes[n].class
	if key, ok := f.partOf(n, gpu); ok {
		f.divided[class].add(f, key)
	}
	key, ok := f.keyOf(n, gpu)
	if !ok {
		return
	}
	if f.shared[class] == nil {
		f.shared[class] = btree.NewG(32, func(a, b shareKey) bool { return f.compareShares(a, b) < 0 })
	}
	f.shared[class].ReplaceOrInsert(key)
}

// shareMemory is the GPU memory that a share takes on a node.
func (s *nodeState) shareMemory(share *Share) int64 {
	if share.MemoryMiB > 0 || share.Over {
		return share.MemoryMiB
	}
	// Divided first, so that no amount in range overflows.
	m := int64(share.GPUMilli)
	return s.gpuMemory/wholeMilli*m + s.gpuMemory%wholeMilli*m/wholeMilli
}

// sharesIn is how many shares of a claim a GPU of a node can take now.
func (s *nodeState) sharesIn(gpu int, share *Share) int {
	if share.Over {
		return s.overIn(gpu, share)
	}
	bit, slot := uint64(1)<<gpu, &s.slots[gpu]
	if (s.occupied()|s.divided)&bit != 0 || s.healthy&bit == 0 || slot.shares > 0 && slot.owner != share.Owner {
		return 0
	}
	n := int64(wholeMilli-slot.milli) / int64(share.GPUMilli)
	if memory := s.shareMemory(share); memory > 0 {
		n = min(n, (s.gpuMemory-slot.memory)/memory)
	}
	return min(int(n), s.sharesLeft(slot))
}

// sharesLeft is how many more shares of a GPU there may be, whatever is left of it.
func (s *nodeState) sharesLeft(slot *slot) int {
	if s.maxShares == 0 {
		return wholeMilli
	}
	return max(0, int(s.maxShares)-int(slot.shares))
}

// chooseGPU returns the GPU of a node that a share fits best: of those that its
// owner uses the one with the least compute left, else the first free one; -1 where
// it fits none.
func (s *nodeState) chooseGPU(share *Share) int {
	best := -1
	for gpus := s.shared | s.lent; gpus != 0; gpus &= gpus - 1 {
		gpu := bits.TrailingZeros64(gpus)
		if s.sharesIn(gpu, share) > 0 && (best < 0 || s.slots[gpu].milli > s.slots[best].milli) {
			best = gpu
		}
	}
	if free := s.free(); best < 0 && free != 0 {
		if gpu := bits.TrailingZeros64(free); s.sharesIn(gpu, share) > 0 {
			best = gpu
		}
	}
	return best
}

// placeShare places one more member of a group with shares in a domain: on the
// fullest GPU of its owner that has enough left, or, if none has, on a GPU that
// nobody holds, by the rule for single GPUs. A share over a lent GPU opens none. Ties go to
// the class that comes first, the smaller name of the node and the lower GPU.
func (f *Fleet) placeShare(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	f.pickFor(d, group)
	defer f.unpick()
	if n, only := s.picks.one(); only {
		f.putOnlyShare(n, group)
		return true
	}
	s.group, s.scope = group, nil
	s.within, s.withinLevel, s.found = d, f.tree.DomainLevel(d), false
	for _, c := range g.Classes {
		if int(c) < len(f.shared) && f.shared[c] != nil {
			from := shareKey{owner: g.Claim.Share.Owner, left: s.picks.leastLeft(g.Claim.Share.GPUMilli), node: -1}
			f.shared[c].AscendGreaterOrEqual(from, s.visitShared)
		}
	}
	if s.found {
		f.putShare(s.best.node, int(s.best.gpu), group)
		return true
	}
	return !g.Claim.Share.Over && f.visit(d, g.Classes, 1, s.visitOpen)
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
		!s.picks.leavesGPU(key.node, int(key.gpu), key.left),
		!f.admits(s.group, key.node):
		return true
	}
	s.best, s.found = key, true
	return false
}

// tryOpen is the visit of nodes with a GPU that nobody holds.
func (f *Fleet) tryOpen(n topology.NodeIndex) bool {
	s := &f.search
	c := &s.request.Groups[s.group].Claim
	gpu := bits.TrailingZeros64(f.nodes[n].free())
	if !s.picks.leavesGPU(n, gpu, wholeMilli) || f.nodes[n].sharesIn(gpu, &c.Share) == 0 || !f.hasHost(n, c) || !f.admits(s.group, n) {
		return false
	}
	f.putShare(n, gpu, s.group)
	return true
}

func (f *Fleet) hasHost(n topology.NodeIndex, c *Claim) bool {
	return f.nodes[n].fitsHost(1, c) == 1
}

func (f *Fleet) putShare(n topology.NodeIndex, gpu, group int) {
	c := &f.search.request.Groups[group].Claim
	h := Hold{Node: n, GPUs: 1 << gpu, Share: c.Share, Host: c.Host, Declared: c.Declared}
	h.Share.MemoryMiB = f.nodes[n].shareMemory(&c.Share)
	f.put(group, &h)
}
