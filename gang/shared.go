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
	left  int32         // compute, in thousandths
	node  topology.Node // -1: before all nodes
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
func (f *Fleet) compareGPUs(a topology.Node, i int32, b topology.Node, j int32) int {
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
func (f *Fleet) keyOf(n topology.Node, gpu int) (shareKey, bool) {
	state := &f.nodes[n]
	slot := &state.slots[gpu]
	if slot.shares == 0 || slot.milli >= wholeMilli || state.sharesLeft(slot) == 0 || !state.schedulable || state.healthy&(1<<gpu) == 0 {
		return shareKey{}, false
	}
	return shareKey{owner: slot.owner, left: wholeMilli - slot.milli, node: n, gpu: int32(gpu)}, true
}

// unindex takes a GPU out of the indexes before its state changes.
func (f *Fleet) unindex(n topology.Node, gpu int) {
	if key, ok := f.keyOf(n, gpu); ok {
		f.shared[f.nodes[n].class].Delete(key)
	}
	if key, ok := f.partOf(n, gpu); ok {
		f.divided[f.nodes[n].class].remove(key)
	}
}

// index puts a GPU into the indexes after its state changed.
func (f *Fleet) index(n topology.Node, gpu int) {
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
	if share.MemoryMiB > 0 {
		return share.MemoryMiB
	}
	// Divided first, so that no amount in range overflows.
	m := int64(share.Milli)
	return s.gpuMemory/wholeMilli*m + s.gpuMemory%wholeMilli*m/wholeMilli
}

// sharesIn is how many shares of a claim a GPU of a node can take now.
func (s *nodeState) sharesIn(gpu int, share *Share) int {
	bit, slot := uint64(1)<<gpu, &s.slots[gpu]
	if (s.whole|s.divided)&bit != 0 || s.healthy&bit == 0 || slot.shares > 0 && slot.owner != share.Owner {
		return 0
	}
	n := int64(wholeMilli-slot.milli) / int64(share.Milli)
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
	return max(0, s.maxShares-int(slot.shares))
}

// chooseGPU returns the GPU of a node that a share fits best: of those that its
// owner uses the one with the least compute left, else the first free one; -1 where
// it fits none.
func (s *nodeState) chooseGPU(share *Share) int {
	best := -1
	for gpus := s.shared; gpus != 0; gpus &= gpus - 1 {
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
