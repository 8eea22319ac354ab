package state

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
)

// maxTiers is how many rates of NICs are told apart for one gang, each of which takes a search.
const maxTiers = 4

// tiers numbers what the NICs of some classes carry, the most first, for a group of a gang that
// needs several nodes: such a gang runs at the pace of the slowest. Nil: there is nothing to
// choose.
//
// Where there are more rates than maxTiers, those count as one that are nearest to each other by
// their ratio: a fleet in which each node tells what it measured has slow nodes nevertheless
// (script 492). Rejected: to tell the fastest apart and have the rest count as one.
func (st *State) tiers(spec *record.ShapeSpec, g *berth.Group, classes []topology.NodeClass) []int32 {
	if g.Claim.GPUs == 0 || len(classes) < 2 {
		return nil
	}
	most := 0
	rates := make([]int64, 0, len(classes))
	for _, class := range classes {
		key := st.Classes.List[class].Key
		most = max(most, key.GPUs)
		rates = append(rates, key.Rate)
	}
	slices.SortFunc(rates, func(a, b int64) int { return cmp.Compare(b, a) })
	if rates = slices.Compact(rates); len(rates) == 1 || !needsSeveral(spec, most) {
		return nil
	}
	firsts := firstOfTiers(rates)
	tiers := make([]int32, len(classes))
	for i, class := range classes {
		for _, first := range firsts {
			if st.Classes.List[class].Key.Rate <= first {
				tiers[i]++
			}
		}
	}
	return tiers
}

// needsSeveral reports whether a gang needs several nodes, where none has more than so many GPUs.
func needsSeveral(spec *record.ShapeSpec, most int) bool {
	return max(spec.Gang, gpusOf(spec.Groups)) > most || slices.ContainsFunc(spec.Groups, func(g berth.Group) bool {
		return g.Topology.Spread != "" && g.Members > 1 && g.Claim.GPUs > 0
	})
}

// gpusOf is how many whole GPUs some groups ask for with all their members.
func gpusOf(groups []berth.Group) (sum int) {
	for i := range groups {
		sum += groups[i].Members * groups[i].Claim.GPUs
	}
	return sum
}

// firstOfTiers cuts rates, the most first, into tiers at the widest of the gaps between them, and
// lists the first of each tier but the first. Of gaps that are as wide the one of the higher rates
// comes first. O(rates x log rates).
func firstOfTiers(rates []int64) []int64 {
	gaps := make([]int, len(rates)-1)
	for i := range gaps {
		gaps[i] = i
	}
	slices.SortStableFunc(gaps, func(i, j int) int { return compareRatios(rates[j], rates[j+1], rates[i], rates[i+1]) })
	firsts := make([]int64, 0, maxTiers-1)
	for _, i := range gaps[:min(len(gaps), maxTiers-1)] {
		firsts = append(firsts, rates[i+1])
	}
	return firsts
}

// compareRatios compares a/b with c/d. None is negative; what is divided by 0 is the most.
func compareRatios(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(d))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}
