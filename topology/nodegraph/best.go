package nodegraph

import (
	"cmp"
	"math/bits"
)

// Best returns the best k of the free GPUs, and what they are worth; the empty set
// and the zero Score where fewer than k are free or k is not positive. Bits beyond
// the node's GPUs are ignored.
//
// Which set is best is decided in this order:
//  1. By the set's Score: the most AllReduce, the most Pairs, the fewest NUMA
//     nodes, the most NICs.
//  2. By what is left of the free GPUs for later: the most AllReduce in sum over
//     disjoint sets of 16, then of 8, of 4, and of 2; then that of the best one of 15, of 14, and
//     so on down to 3. So islands, quads and pairs stay whole, a single GPU comes from a pair that
//     is broken already, and where one of four has lost its NVLinks it is that one.
//  3. By the fewest NUMA nodes of what is left.
//  4. By the lowest indexes.
//
// The answer is exact up to 16 GPUs: up to 8 it is read from a table; up to 16 it
// takes a pass over the sets of k GPUs in the order of their scores, which ends at
// the first free ones and their equals (12,870 sets at most). Beyond, it is a good
// one: from each free GPU a set is grown by what is widest towards it, and the best
// of these sets is taken, where 2. is the least width cut between the set and what
// is left; O(GPUs^2 k^2). There is no allocation.
func (g *Graph) Best(free uint64, k int) (uint64, Score) {
	free &= g.all
	if k <= 0 || k > bits.OnesCount64(free) {
		return 0, Score{}
	}
	set := uint64(0)
	switch {
	case g.tables == nil:
		set = g.grown(free, k)
	case g.tables.answers != nil:
		set = uint64(g.tables.answers[int(free)*(g.n+1)+k])
	default:
		set = uint64(g.tables.search(uint16(free), k))
	}
	return set, g.Score(set)
}

// grown is Best for nodes with more GPUs than have tables.
func (g *Graph) grown(free uint64, k int) uint64 {
	best, bestScore, bestCut := uint64(0), Score{}, int64(0)
	for seeds := free; seeds != 0; {
		var seed int
		seed, seeds = lowest(seeds)
		set := uint64(1) << seed
		for range k - 1 {
			set |= 1 << g.nextFor(set, free&^set)
		}
		score, cut := g.Score(set), int64(0)
		for rest := set; rest != 0; {
			var gpu int
			gpu, rest = lowest(rest)
			cut += g.toSet(gpu, free&^set)
		}
		if best == 0 || cmp.Or(
			score.Compare(bestScore),
			cmp.Compare(cut, bestCut),
			cmp.Compare(g.numaNodes(free&^set), g.numaNodes(free&^best)),
			compareSets(set, best),
		) < 0 {
			best, bestScore, bestCut = set, score, cut
		}
	}
	return best
}

// nextFor is the GPU of the others, of which there are some, that goes best with a
// set: the most width towards it, then the fewest NUMA nodes, the most NICs, the
// lowest index.
func (g *Graph) nextFor(set, others uint64) int {
	next, width, numas, nics := -1, int64(0), 0, 0
	for others != 0 {
		var gpu int
		gpu, others = lowest(others)
		with := set | 1<<gpu
		w, u, c := g.toSet(gpu, set), g.numaNodes(with), g.nicCount(with)
		if next < 0 || cmp.Or(cmp.Compare(width, w), cmp.Compare(u, numas), cmp.Compare(nics, c)) < 0 {
			next, width, numas, nics = gpu, w, u, c
		}
	}
	return next
}
