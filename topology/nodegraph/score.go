package nodegraph

import (
	"cmp"
	"math/bits"
)

// A Score says what a set of GPUs is worth by itself.
type Score struct {
	// AllReduceMBps is that of the set, in MB/s one way.
	AllReduceMBps int64
	// PairsMBps is the sum of OneWay over all pairs of the set, in MB/s.
	PairsMBps int64
	// NUMANodes that the GPUs are on. All GPUs whose node is not known are on one.
	NUMANodes int
	// NICs that are nearest to a GPU of the set: the ways out.
	NICs int
}

// Compare orders scores: negative where s is the better one. More AllReduce counts
// first, then more Pairs, then fewer NUMANodes, then more NICs.
func (s Score) Compare(other Score) int {
	return cmp.Or(
		cmp.Compare(other.AllReduceMBps, s.AllReduceMBps),
		cmp.Compare(other.PairsMBps, s.PairsMBps),
		cmp.Compare(s.NUMANodes, other.NUMANodes),
		cmp.Compare(other.NICs, s.NICs),
	)
}

// Score is what a set of GPUs is worth by itself. O(k^2), no allocation. Bits
// beyond the node's GPUs are ignored.
func (g *Graph) Score(set uint64) Score {
	set &= g.all
	return Score{
		AllReduceMBps: g.AllReduceMBps(set),
		PairsMBps:     g.pairs(set),
		NUMANodes:     g.numaNodes(set),
		NICs:          g.nicCount(set),
	}
}

func (g *Graph) pairs(set uint64) int64 {
	sum := int64(0)
	for set != 0 {
		var gpu int
		gpu, set = lowest(set)
		sum += g.toSet(gpu, set)
	}
	return sum
}

// toSet is the sum of OneWay from a GPU to each of a set.
func (g *Graph) toSet(gpu int, set uint64) int64 {
	sum := int64(0)
	for set != 0 {
		var peer int
		peer, set = lowest(set)
		sum += g.oneWay[gpu*g.n+peer]
	}
	return sum
}

// compareSets orders sets by their lowest indexes: the one that has the lowest GPU
// that they do not share comes first.
func compareSets(a, b uint64) int {
	differ := a ^ b
	switch {
	case differ == 0:
		return 0
	case a>>bits.TrailingZeros64(differ)&1 == 1:
		return -1
	}
	return 1
}
