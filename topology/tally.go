package topology

import (
	"slices"
	"strings"
)

// A tally is what is free of one class at and below one domain. Tallies of one
// class form a tree of their own, so that an update climbs without a look-up.
type tally struct {
	class    NodeClass
	domain   DomainIndex
	up       *tally
	position int // in up.below
	free     int // sum of the free GPUs
	counts   []int32
	marks    []bitset // by k, over the members
	// The members: nodes in a narrowest domain, else tallies of child domains.
	nodes []NodeIndex
	below []*tally
	// belowFree repeats free of the members below, side by side for the search.
	belowFree []int
	// Of the members below, wholeBelow marks those with a domain that is whole and has more
	// than one node's GPUs, openBelow those that are open; opens counts the latter.
	wholeBelow, openBelow bitset
	opens                 int
	// open: there is a node with all of its GPUs free that can be filled without
	// using a part of a whole domain, at or below this one.
	open bool
}

// SetFree tells how many GPUs of a node are free: 0 to all of them, or -1 where
// the node takes no work, which counts nowhere. Numbers out of this range are taken
// as the nearer end; a node that is not in the tree is passed over. O(levels).
func (t *Tree) SetFree(n NodeIndex, free int) {
	if !t.Has(n) {
		return
	}
	node := &t.nodes[n]
	before, after := int(node.free), min(max(free, -1), int(node.gpus))
	if before == after {
		return
	}
	node.free = int32(after)
	tl := node.tally
	if before >= 0 {
		tl.marks[before].unset(int(node.position))
	}
	if after >= 0 {
		tl.marks[after].set(int(node.position))
	}
	delta := max(after, 0) - max(before, 0)
	turned := false // some domain below became whole, or is so no more
	for ; tl != nil; tl = tl.up {
		all := &t.sums[tl.domain]
		whole := all.whole()
		all.free += int32(delta)
		tl.shift(before, after, delta)
		if turned = turned || all.whole() != whole; turned {
			t.mark(tl.domain)
		} else {
			tl.reopen(whole && int(all.gpus) > tl.gpus())
		}
	}
}

// mark brings the marks for a domain up to date, of all classes.
func (t *Tree) mark(d DomainIndex) {
	whole, gpus := t.sums[d].whole(), int(t.sums[d].gpus)
	for _, tl := range t.domains[d].tallies {
		if tl.up != nil {
			if whole && gpus > tl.gpus() {
				tl.up.wholeBelow.set(tl.position)
			} else {
				tl.up.wholeBelow.unset(tl.position)
			}
		}
		tl.reopen(whole && gpus > tl.gpus())
	}
}

// gpus is the number of GPUs of a node of the class.
func (tl *tally) gpus() int { return len(tl.counts) - 1 }

// reopen works out whether a tally is open. Closed says that its own domain is whole and
// more than one node.
func (tl *tally) reopen(closed bool) {
	open := false
	if !closed {
		open = tl.opens > 0 || tl.below == nil && tl.gpus() > 0 && tl.counts[tl.gpus()] > 0
	}
	if open == tl.open {
		return
	}
	tl.open = open
	switch up := tl.up; {
	case up == nil:
	case open:
		up.openBelow.set(tl.position)
		up.opens++
	default:
		up.openBelow.unset(tl.position)
		up.opens--
	}
}

// shift moves one node below from one count to another, and tells the tally
// above.
func (tl *tally) shift(before, after, delta int) {
	tl.free += delta
	up := tl.up
	if up != nil {
		up.belowFree[tl.position] = tl.free
	}
	if before >= 0 {
		tl.counts[before]--
		if up != nil && tl.counts[before] == 0 {
			up.marks[before].unset(tl.position)
		}
	}
	if after >= 0 {
		tl.counts[after]++
		if up != nil && tl.counts[after] == 1 {
			up.marks[after].set(tl.position)
		}
	}
}

// Count returns how many nodes of a class at or below a domain have exactly k GPUs
// free and take work. O(log classes), and O(1) of the fleet.
func (t *Tree) Count(d DomainIndex, c NodeClass, k int) int {
	tl := t.tallyOf(d, c)
	if tl == nil || k < 0 || k >= len(tl.counts) {
		return 0
	}
	return int(tl.counts[k])
}

// FreeOfClass returns how many GPUs are free on the nodes of a class at or below a
// domain. O(log classes), and O(1) of the fleet.
func (t *Tree) FreeOfClass(d DomainIndex, c NodeClass) int {
	tl := t.tallyOf(d, c)
	if tl == nil {
		return 0
	}
	return tl.free
}

// Capacity returns how many claims of some GPUs each fit on the nodes of a class
// at or below a domain, a claim on one node: the sum of free/gpus, rounded down
// for each node. Zero unless gpus is positive. O(GPUs of a node + log classes).
func (t *Tree) Capacity(d DomainIndex, c NodeClass, gpus int) int {
	tl := t.tallyOf(d, c)
	if tl == nil || gpus <= 0 {
		return 0
	}
	total, each, next := 0, 0, gpus
	for k := gpus; k < len(tl.counts); k++ {
		if k == next {
			each++
			next += gpus
		}
		total += each * int(tl.counts[k])
	}
	return total
}

// NodesOf returns the nodes of a class that are directly in a domain, ordered by
// name. The slice is the tree's own, good until the next AddNode or RemoveNode.
func (t *Tree) NodesOf(d DomainIndex, c NodeClass) []NodeIndex {
	tl := t.tallyOf(d, c)
	if tl == nil {
		return nil
	}
	return tl.nodes
}

// NextWithFree returns the lowest position, at or after the given one, in NodesOf(d, c) of
// a node with exactly k GPUs free, or -1. O(nodes/64) at worst.
func (t *Tree) NextWithFree(d DomainIndex, c NodeClass, k, position int) int {
	tl := t.tallyOf(d, c)
	if tl == nil || tl.nodes == nil || k < 0 || k >= len(tl.counts) || tl.counts[k] == 0 {
		return -1
	}
	return tl.marks[k].next(position)
}

// tallyOf returns the tally of a class in a domain, or nil.
func (t *Tree) tallyOf(d DomainIndex, c NodeClass) *tally {
	if d == RootDomain {
		if c < 0 || int(c) >= len(t.classes) {
			return nil
		}
		return t.classes[c].fleet
	}
	if !t.HasDomain(d) {
		return nil
	}
	list := t.domains[d].tallies
	if len(list) <= 8 { // nearly always, and then cheaper than a bisection
		for _, tl := range list {
			if tl.class == c {
				return tl
			}
		}
		return nil
	}
	at, ok := findTally(list, c)
	if !ok {
		return nil
	}
	return list[at]
}

func findTally(list []*tally, c NodeClass) (int, bool) {
	return slices.BinarySearchFunc(list, c, func(tl *tally, c NodeClass) int { return int(tl.class - c) })
}

// ensureTally returns the tally of a class in a domain, made where it is
// missing, together with those above it.
func (t *Tree) ensureTally(d DomainIndex, c NodeClass, gpus int) *tally {
	at, ok := findTally(t.domains[d].tallies, c)
	if ok {
		return t.domains[d].tallies[at]
	}
	tl := &tally{class: c, domain: d, counts: make([]int32, gpus+1), marks: make([]bitset, gpus+1)}
	t.domains[d].tallies = slices.Insert(t.domains[d].tallies, at, tl)
	if d == RootDomain {
		t.classes[c].fleet = tl
		return tl
	}
	tl.up = t.ensureTally(t.domains[d].parent, c, gpus)
	tl.up.addBelow(t, tl)
	return tl
}

// dropTallies removes a tally, and those above it, as far as they have no
// members.
func (t *Tree) dropTallies(tl *tally) {
	for tl != nil && len(tl.nodes) == 0 && len(tl.below) == 0 {
		list := t.domains[tl.domain].tallies
		at, _ := findTally(list, tl.class)
		t.domains[tl.domain].tallies = slices.Delete(list, at, at+1)
		if tl.up == nil {
			t.classes[tl.class].fleet = nil
		} else {
			tl.up.removeBelow(tl)
		}
		tl = tl.up
	}
}

// addNode takes a node with nothing free into a tally of its domain.
func (tl *tally) addNode(t *Tree, n NodeIndex) {
	node := &t.nodes[n]
	at, _ := slices.BinarySearchFunc(tl.nodes, node.name, func(m NodeIndex, name string) int {
		return strings.Compare(t.nodes[m].name, name)
	})
	tl.makeRoom(at, len(tl.nodes))
	tl.nodes = slices.Insert(tl.nodes, at, n)
	for i, m := range tl.nodes[at:] {
		t.nodes[m].position = int32(at + i)
	}
	node.tally = tl
	tl.marks[0].set(at)
	for ; tl != nil; tl = tl.up {
		tl.shift(-1, 0, 0)
	}
	t.resize(node.domain, int(node.gpus), 1)
}

// resize tells a domain, and those around it, of a change of its nodes.
func (t *Tree) resize(d DomainIndex, gpus, nodes int) {
	for ; d >= 0; d = t.domains[d].parent {
		t.sums[d].gpus += int32(gpus)
		t.sums[d].nodes += int32(nodes)
		t.mark(d)
	}
}

// removeNode takes out a node that counts nowhere any more.
func (tl *tally) removeNode(t *Tree, n NodeIndex) {
	at := int(t.nodes[n].position)
	tl.closeRoom(at, len(tl.nodes))
	tl.nodes = slices.Delete(tl.nodes, at, at+1)
	for i, m := range tl.nodes[at:] {
		t.nodes[m].position = int32(at + i)
	}
	t.resize(t.nodes[n].domain, -int(t.nodes[n].gpus), -1)
}

// addBelow takes in the empty tally of a child domain.
func (tl *tally) addBelow(t *Tree, child *tally) {
	at, _ := slices.BinarySearchFunc(tl.below, t.domains[child.domain].name, func(b *tally, name string) int {
		return strings.Compare(t.domains[b.domain].name, name)
	})
	tl.makeRoom(at, len(tl.below))
	tl.wholeBelow = tl.wholeBelow.insert(at, len(tl.below))
	tl.openBelow = tl.openBelow.insert(at, len(tl.below))
	tl.below = slices.Insert(tl.below, at, child)
	tl.belowFree = slices.Insert(tl.belowFree, at, 0)
	for i, b := range tl.below[at:] {
		b.position = at + i
	}
}

// removeBelow takes out the tally of a child domain that has no members left.
func (tl *tally) removeBelow(child *tally) {
	at := child.position
	tl.closeRoom(at, len(tl.below))
	tl.wholeBelow = tl.wholeBelow.remove(at, len(tl.below))
	tl.openBelow = tl.openBelow.remove(at, len(tl.below))
	tl.below = slices.Delete(tl.below, at, at+1)
	tl.belowFree = slices.Delete(tl.belowFree, at, at+1)
	for i, b := range tl.below[at:] {
		b.position = at + i
	}
}

func (tl *tally) makeRoom(at, members int) {
	for k := range tl.marks {
		tl.marks[k] = tl.marks[k].insert(at, members)
	}
}

func (tl *tally) closeRoom(at, members int) {
	for k := range tl.marks {
		tl.marks[k] = tl.marks[k].remove(at, members)
	}
}
