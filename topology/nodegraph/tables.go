package nodegraph

import (
	"cmp"
	"math/bits"
	"slices"
)

// exactGPUs is the most GPUs for which all sets are worked out: 2^16 of them.
// answerGPUs is the most for which the answers of Best are, too.
const (
	exactGPUs  = 16
	answerGPUs = 8
)

// tables hold, for every set of the node's GPUs, what Best asks about it.
type tables struct {
	// allReduce of each set.
	allReduce []int64
	// worth ranks each set among those with as many GPUs by its Score, 0 the best;
	// equal scores have equal ranks.
	worth []int32
	// left ranks each set among those with as many GPUs by what it still holds once
	// it is what is left over, 0 the best.
	left []int32
	// order lists the sets of each size by worth, then by compareSets.
	order [][]uint16
	// answers of Best by free GPUs and size, at free*(n+1)+k; nil above answerGPUs.
	answers []uint16
}

func newTables(g *Graph) *tables {
	sets := 1 << g.n
	t := &tables{
		allReduce: make([]int64, sets),
		worth:     make([]int32, sets),
		left:      make([]int32, sets),
		order:     make([][]uint16, g.n+1),
	}
	g.widestRings(t.allReduce)
	g.packedRings(t.allReduce)
	g.tables = t // Score reads allReduce
	for set := range sets {
		size := bits.OnesCount(uint(set))
		t.order[size] = append(t.order[size], uint16(set))
	}
	t.rankWorth(g)
	t.rankLeft(g)
	if g.n <= answerGPUs {
		t.fillAnswers(g.n)
	}
	return t
}

func (t *tables) rankWorth(g *Graph) {
	scores := make([]Score, len(t.worth))
	for set := range scores {
		scores[set] = g.Score(uint64(set))
	}
	for _, order := range t.order {
		slices.SortFunc(order, func(a, b uint16) int {
			return cmp.Or(scores[a].Compare(scores[b]), compareSets(uint64(a), uint64(b)))
		})
		rank(t.worth, order, func(a, b uint16) bool { return scores[a] == scores[b] })
	}
}

// rankLeft orders what is left over: by the sets of 16, 8, 4 and 2 GPUs that it can
// be divided into at the same time, by the sum of their AllReduce, large sets first;
// then by the best one of each other size, large first; then by fewer NUMA nodes.
func (t *tables) rankLeft(g *Graph) {
	var sums [][]int64
	for size := exactGPUs; size >= 2; size /= 2 {
		if size <= g.n {
			sums = append(sums, t.divided(size))
		}
	}
	for size := g.n - 1; size >= 3; size-- {
		if size&(size-1) != 0 {
			sums = append(sums, t.widest(size))
		}
	}
	compare := func(a, b uint16) int {
		for _, sum := range sums {
			if by := cmp.Compare(sum[b], sum[a]); by != 0 {
				return by
			}
		}
		return cmp.Compare(g.numaNodes(uint64(a)), g.numaNodes(uint64(b)))
	}
	for _, order := range t.order {
		sorted := slices.Clone(order)
		slices.SortFunc(sorted, compare)
		rank(t.left, sorted, func(a, b uint16) bool { return compare(a, b) == 0 })
	}
}

// divided returns for each set the greatest sum of AllReduce over disjoint sets of
// some size inside it. The lowest GPU is in one of those or in none.
func (t *tables) divided(size int) []int64 {
	sums := make([]int64, len(t.allReduce))
	for set := range sums {
		if bits.OnesCount(uint(set)) < size {
			continue
		}
		others := uint64(set & (set - 1))
		first := uint64(set) &^ others
		sums[set] = sums[others]
		for part := firstSubset(others, size-1); part != 0; part = nextSubset(others, part) {
			sums[set] = max(sums[set], t.allReduce[part|first]+sums[others&^part])
		}
	}
	return sums
}

// widest returns for each set the greatest AllReduce of a set of some size inside it. Disjoint
// sets, as of the sizes that claims have most, would take 3^n steps here. O(2^n n).
func (t *tables) widest(size int) []int64 {
	best := make([]int64, len(t.allReduce))
	for set := range best {
		switch have := bits.OnesCount(uint(set)); {
		case have == size:
			best[set] = t.allReduce[set]
		case have > size:
			for rest := uint64(set); rest != 0; {
				var gpu int
				gpu, rest = lowest(rest)
				best[set] = max(best[set], best[set&^(1<<gpu)])
			}
		}
	}
	return best
}

// rank numbers what is sorted, equals alike.
func rank(ranks []int32, sorted []uint16, equal func(a, b uint16) bool) {
	current := int32(0)
	for i, set := range sorted {
		if i > 0 && !equal(sorted[i-1], set) {
			current = int32(i)
		}
		ranks[set] = current
	}
}

// firstSubset is the k lowest members of a set that has at least k.
func firstSubset(set uint64, k int) uint64 {
	subset := uint64(0)
	for range k {
		low := set & -set
		subset |= low
		set &^= low
	}
	return subset
}

// nextSubset is the subset of the same size that follows, read as a number; zero
// after the last. The lowest run of members, counted within the set, gives its
// highest to the next place, and the rest of it falls to the bottom (Gosper's hack).
func nextSubset(set, subset uint64) uint64 {
	low := subset & -subset
	moved := ((subset | ^set) + low) & set
	if moved == 0 {
		return 0
	}
	return moved | firstSubset(set, bits.OnesCount64(subset)-bits.OnesCount64(moved))
}

func (t *tables) fillAnswers(n int) {
	t.answers = make([]uint16, len(t.worth)*(n+1))
	for free := range t.worth {
		for k := 1; k <= bits.OnesCount(uint(free)); k++ {
			t.answers[free*(n+1)+k] = t.search(uint16(free), k)
		}
	}
}

// search goes through the sets of a size from the best, and stops behind the first
// group of equals of which some are free.
func (t *tables) search(free uint16, k int) uint16 {
	best := uint16(0)
	for _, set := range t.order[k] {
		if set&^free != 0 {
			continue
		}
		if best == 0 {
			best = set
			continue
		}
		if t.worth[set] != t.worth[best] {
			break
		}
		if t.left[free&^set] < t.left[free&^best] {
			best = set
		}
	}
	return best
}
