package mig

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// maxArranged bounds the entries of an arrangements' table: a megabyte of them.
const maxArranged = 1 << 19

// arrangements answer Arrange by table.
//
// Two states are alike if the same sets of placements can join them: then what is
// best to join one is best to join the other. So the answers are kept for each
// group of states that are alike, not for each state: 254 groups for the 2,319
// layouts of an H100.
//
// The multisets of profiles that have a layout are numbered by a tree: at its node
// after p profiles the count of profile p leads on. With a multiset all its parts
// have a layout, so the counts that lead on are those from zero to some greatest,
// and the children of a node are numbered in a row.
//
// Invariants:
//  1. first is ascending. Nodes are numbered level by level, so the children of
//     node n are those from first[n] to first[n+1]-1, and the leaves come last.
//  2. group[s] == group[t] if and only if the same sets can join both.
//  3. added[group[s]*multisets+m] is the state of the set with the profiles of
//     multiset m that is best to join sets[s]; absent, if none can.
type arrangements struct {
	first     []uint32
	multisets int
	group     []uint16 // by state
	added     []uint16 // nil, if the table would be too large
}

// Arrange returns a state that has all instances of s and, for each profile p,
// counts[p] more: whether a set of claims fits one GPU together, and where. Among
// several it returns the one that leaves the most placements open, and among
// equals the least state. It returns false, and s, if there is none. Profiles
// past the last count have none; a negative count fits nowhere.
// Complexity: one look-up for each profile and for each instance that joins, and
// no allocation. A product for which the tables would take more than a megabyte,
// which none of Products is, takes one step for each state of the lattice.
func (l *Lattice) Arrange(s State, counts []int) (State, bool) {
	if !l.has(s) {
		return s, false
	}
	multiset, ok := l.arrangements.multiset(counts, len(l.ofProfile))
	if !ok {
		return s, false
	}
	if l.arrangements.added == nil {
		return l.search(s, counts)
	}
	added := l.arrangements.added[int(l.arrangements.group[s])*l.arrangements.multisets+multiset]
	if added == absentState {
		return s, false
	}
	for rest := l.sets[added]; rest != 0; rest &= rest - 1 {
		s = l.after(s, bits.TrailingZeros64(rest))
	}
	return s, true
}

// multiset returns the number of the multiset with counts[p] of each profile p,
// if it has a layout.
func (a *arrangements) multiset(counts []int, profiles int) (int, bool) {
	for p := profiles; p < len(counts); p++ {
		if counts[p] != 0 {
			return 0, false
		}
	}
	node := 0
	for p := range profiles {
		count := 0
		if p < len(counts) {
			count = counts[p]
		}
		child := a.first[node]
		if uint(count) >= uint(a.first[node+1]-child) {
			return 0, false
		}
		node = int(child) + count
	}
	return node - (len(a.first) - 1), true
}

// search is Arrange without the table.
func (l *Lattice) search(s State, counts []int) (State, bool) {
	wanted := 0
	for _, count := range counts {
		wanted += count
	}
	best, most := s, -1
	// A set that has another as a part is not less than it, so s is the first.
	for t := int(s); t < len(l.sets); t++ {
		if l.sets[t]&l.sets[s] != l.sets[s] || bits.OnesCount64(l.sets[t]^l.sets[s]) != wanted {
			continue
		}
		if left := bits.OnesCount64(l.open[t]); left > most && l.adds(l.sets[t]^l.sets[s], counts) {
			best, most = State(t), left
		}
	}
	return best, most >= 0
}

// adds tells whether the placements are counts[p] of each profile p, given that
// they are as many in all.
func (l *Lattice) adds(placements uint64, counts []int) bool {
	for p, count := range counts {
		if count > 0 && bits.OnesCount64(placements&l.ofProfile[p]) != count {
			return false
		}
	}
	return true
}

// arrange fills the tables of Arrange.
// Complexity: one step for each pair of a group and a set that can join it.
func (l *Lattice) arrange(parents []uint16) {
	a := &l.arrangements
	multisetOf := l.numberMultisets(parents)
	lowest := l.groupStates()
	if len(lowest)*a.multisets > maxArranged {
		return
	}
	a.added = slices.Repeat([]uint16{absentState}, len(lowest)*a.multisets)
	left := make([]int, a.multisets)
	for g, s := range lowest {
		best := a.added[g*a.multisets:][:a.multisets]
		for m := range left {
			left[m] = -1
		}
		// try looks at what s becomes with the set of state added, and with
		// more placements from j on, so that each set is looked at once.
		var try func(state, added State, j int)
		try = func(state, added State, j int) {
			m, open := multisetOf[added], l.open[state]
			count := bits.OnesCount64(open)
			if count > left[m] || count == left[m] && uint16(added) < best[m] {
				left[m], best[m] = count, uint16(added)
			}
			for rest := open >> j << j; rest != 0; rest &= rest - 1 {
				k := bits.TrailingZeros64(rest)
				try(l.after(state, k), l.after(added, k), k+1)
			}
		}
		try(s, 0, 0)
	}
}

// groupStates numbers the groups of states that are alike, and returns a state of
// each. The same sets can join two states if and only if the same placements can,
// and after each of them the states are alike again; and what a state can become
// is greater than the state.
func (l *Lattice) groupStates() []State {
	var members []State
	group := make([]uint16, len(l.sets))
	known := map[string]uint16{}
	var key []byte
	for s := len(l.sets) - 1; s >= 0; s-- {
		if l.open[s] == 0 && len(members) > 0 { // as the greatest, which nothing can join either
			continue
		}
		key = binary.LittleEndian.AppendUint64(key[:0], l.open[s])
		for rest := l.open[s]; rest != 0; rest &= rest - 1 {
			next := l.after(State(s), bits.TrailingZeros64(rest))
			key = binary.LittleEndian.AppendUint16(key, group[next])
		}
		number, ok := known[string(key)]
		if !ok {
			number = uint16(len(members))
			known[string(key)] = number
			members = append(members, State(s))
		}
		group[s] = number
	}
	l.arrangements.group = group
	return members
}

// numberMultisets builds the tree that numbers the multisets of profiles, and
// returns the number for each state. Placements are numbered by profile, so from parent
// to child the profiles of a set come in one order, and each multiset is found by one
// way: as that of the parent, and a profile.
func (l *Lattice) numberMultisets(parents []uint16) []uint16 {
	profiles := len(l.ofProfile)
	found := make([]uint16, len(l.sets))
	texts := []string{string(make([]byte, profiles))} // of counts, a byte for each profile
	with := slices.Repeat([]uint16{absentState}, profiles)
	for s, set := range l.sets[1:] {
		parent, p := found[parents[s+1]], int(l.profileOf[bits.TrailingZeros64(set)])
		next := with[int(parent)*profiles+p]
		if next == absentState {
			next = uint16(len(texts))
			with[int(parent)*profiles+p] = next
			with = append(with, slices.Repeat([]uint16{absentState}, profiles)...)
			counts := []byte(texts[parent])
			counts[p]++
			texts = append(texts, string(counts))
		}
		found[s+1] = next
	}
	sorted := slices.Sorted(slices.Values(texts))
	place := make([]uint16, len(texts))
	for i, text := range texts {
		at, _ := slices.BinarySearch(sorted, text)
		place[i] = uint16(at)
	}
	for s := range found {
		found[s] = place[found[s]]
	}
	l.arrangements.multisets = len(sorted)
	l.arrangements.first = tree(sorted, profiles)
	return found
}

// tree returns the first children of the nodes of a tree whose leaves are the
// given texts, all of one length and in ascending order, and whose levels are
// their bytes; and after them where the children of the last node end.
func tree(texts []string, length int) []uint32 {
	var first []uint32
	starts := []int{0} // where the texts below each node of the level begin
	nodes := 1
	for p := range length {
		var below []int
		for i, start := range starts {
			first = append(first, uint32(nodes+len(below)))
			end := len(texts)
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			for t := start; t < end; t++ {
				if t == start || texts[t][p] != texts[t-1][p] {
					below = append(below, t)
				}
			}
		}
		nodes += len(below)
		starts = below
	}
	return append(first, uint32(nodes))
}
