package topology

import (
	"cmp"
	"math/bits"
	"slices"
)

// A step is a child domain that Visit has yet to descend into.
type step struct {
	free     int
	position int
}

// Visit shows the nodes of class c at or below a domain that have exactly k GPUs
// free, one after the other, until a visit returns true; Visit then does, too. The
// order is that of tight packing: at each level the child domain with the fewest
// free GPUs of the allowed classes comes first, so that whole domains stay whole;
// ties go to the smaller name, as do nodes of one domain.
//
// A visit may change what is free. If it then returns false, the rest is still
// shown, but not necessarily in the order of the new counts. It must not add or
// remove nodes.
//
// The first node is found in O(levels x fan-out), and only where there is one: a
// domain without such a node is not descended into. Each further domain costs
// O(fan-out log fan-out) once. With more than one allowed class, a child costs
// O(classes). No allocation in the steady state.
func (t *Tree) Visit(d Domain, allowed []Class, c Class, k int, visit func(Node) bool) bool {
	tl := t.tallyOf(d, c)
	if tl == nil || k < 0 || k >= len(tl.counts) || tl.counts[k] == 0 {
		return false
	}
	depth := len(t.steps)
	found := t.walk(tl, allowed, k, visit)
	t.steps = t.steps[:depth]
	return found
}

func (t *Tree) walk(tl *tally, allowed []Class, k int, visit func(Node) bool) bool {
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
	best := t.tightest(tl, marks, allowed)
	if best < 0 {
		return false
	}
	if t.walk(tl.below[best], allowed, k, visit) {
		return true
	}
	base := len(t.steps)
	for i := marks.next(0); i >= 0; i = marks.next(i + 1) {
		if i != best {
			t.steps = append(t.steps, step{t.freeBelow(tl, i, allowed), i})
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

// tightest returns the marked member below with the fewest free GPUs, or -1.
func (t *Tree) tightest(tl *tally, marks bitset, allowed []Class) int {
	best, bestFree := -1, 0
	for w, word := range marks {
		for ; word != 0; word &= word - 1 {
			i := w<<6 + bits.TrailingZeros64(word)
			if free := t.freeBelow(tl, i, allowed); best < 0 || free < bestFree {
				best, bestFree = i, free
			}
		}
	}
	return best
}

// freeBelow is the measure by which Visit orders child domains.
func (t *Tree) freeBelow(tl *tally, i int, allowed []Class) int {
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
	return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.position, b.position))
}
