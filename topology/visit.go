package topology

import (
	"cmp"
	"math/bits"
	"slices"
)

// A step is a child domain that Visit has yet to descend into.
type step struct {
	rank     int
	free     int
	position int
}

// Visit shows the nodes of class c at or below a domain that have exactly k GPUs
// free, one after the other, until a visit returns true; Visit then does, too. The
// order is that of tight packing: at each level the child domain with the fewest
// free GPUs of the allowed classes comes first; ties go to the smaller name, as do
// nodes of one domain. And whole domains stay whole: where the nodes in question have
// all of their GPUs free, child domains in which one of them can be filled without
// using a part of a whole domain come before all others, and then those that are
// not whole themselves. (A domain with the GPUs of one node alone is filled with
// it, and does not count as whole here.)
//
// A visit may change what is free. If it then returns false, the rest is still
// shown, but not necessarily in the order of the new counts. It must not add or
// remove nodes.
//
// The first node is found in O(levels x fan-out), and only where there is one: a
// domain without such a node is not descended into. Each further domain costs
// O(fan-out log fan-out) once. With more than one allowed class, a child costs
// O(classes). No allocation in the steady state.
func (t *Tree) Visit(d DomainIndex, allowed []NodeClass, c NodeClass, k int, visit func(NodeIndex) bool) bool {
	tl := t.tallyOf(d, c)
	if tl == nil || k < 0 || k >= len(tl.counts) || tl.counts[k] == 0 {
		return false
	}
	depth := len(t.steps)
	found := t.walk(tl, allowed, k, visit)
	t.steps = t.steps[:depth]
	return found
}

func (t *Tree) walk(tl *tally, allowed []NodeClass, k int, visit func(NodeIndex) bool) bool {
	marks := tl.marks[k]
	if tl.below == nil {
		for i := marks.next(0); i >= 0; i = marks.next(i + 1) {
			if visit(tl.nodes[i]) {
				return true
			}
		}
		return false
	}
	// The first choice nearly always serves, so nothing is sorted for it.
	idle := k == tl.gpus() && k > 0
	best := -1
	if idle && tl.opens > 0 {
		best = t.tightest(tl, tl.openBelow, allowed, false)
	} else {
		best = t.tightest(tl, marks, allowed, idle)
	}
	if best < 0 {
		return false
	}
	if t.walk(tl.below[best], allowed, k, visit) {
		return true
	}
	base := len(t.steps)
	for i := marks.next(0); i >= 0; i = marks.next(i + 1) {
		if i != best {
			t.steps = append(t.steps, step{tl.rank(i, idle), t.freeBelow(tl, i, allowed), i})
		}
	}
	end := len(t.steps)
	slices.SortFunc(t.steps[base:], compareSteps)
	for i := base; i < end; i++ {
		if t.walk(tl.below[t.steps[i].position], allowed, k, visit) {
			return true
		}
	}
	t.steps = t.steps[:base]
	return false
}

// rank orders the members below by what using an idle node in them breaks.
func (tl *tally) rank(i int, idle bool) int {
	switch {
	case !idle || tl.openBelow.has(i):
		return 0
	case !tl.wholeBelow.has(i):
		return 1
	}
	return 2
}

// tightest returns the marked member below that comes first, or -1: by rank, if ranked,
// then by the fewest free GPUs.
func (t *Tree) tightest(tl *tally, marks bitset, allowed []NodeClass, ranked bool) int {
	best, rank, bestFree := -1, 0, 0
	if !ranked && len(allowed) <= 1 { // nearly always
		for w, word := range marks {
			for ; word != 0; word &= word - 1 {
				i := w<<6 + bits.TrailingZeros64(word)
				if free := tl.belowFree[i]; best < 0 || free < bestFree {
					best, bestFree = i, free
				}
			}
		}
		return best
	}
	for w, word := range marks {
		for ; word != 0; word &= word - 1 {
			i := w<<6 + bits.TrailingZeros64(word)
			r := 0
			if ranked {
				r = tl.rank(i, true)
			}
			if free := t.freeBelow(tl, i, allowed); best < 0 || r < rank || r == rank && free < bestFree {
				best, rank, bestFree = i, r, free
			}
		}
	}
	return best
}

// freeBelow is the measure by which Visit orders child domains.
func (t *Tree) freeBelow(tl *tally, i int, allowed []NodeClass) int {
	if len(allowed) <= 1 {
		return tl.belowFree[i]
	}
	free := 0
	for _, c := range allowed {
		if other := t.tallyOf(tl.below[i].domain, c); other != nil {
			free += other.free
		}
	}
	return free
}

func compareSteps(a, b step) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.free, b.free), cmp.Compare(a.position, b.position))
}
