package mig

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// countsOf returns the number of instances of each profile of a state.
func countsOf(l *Lattice, s State) []int {
	counts := make([]int, l.Profiles())
	for p := range counts {
		counts[p] = l.Instances(s, p)
	}
	return counts
}

// multisets returns the counts of every multiset that has a layout, without the
// tree that numbers them.
func multisets(l *Lattice) [][]int {
	var list [][]int
	for s := range l.States() {
		list = append(list, countsOf(l, State(s)))
	}
	slices.SortFunc(list, slices.Compare)
	return slices.CompactFunc(list, slices.Equal)
}

// The table against a walk over all states, for each state and each multiset of
// each product; and the walk against the twin in TestArrangeAgreesWithTheTwin.
func TestArrangeTableAgreesWithTheWalk(t *testing.T) {
	var checked []*Lattice
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		require.NotNil(t, l.arrangements.added)
		same := slices.IndexFunc(checked, func(k *Lattice) bool { return slices.Equal(k.sets, l.sets) })
		if same >= 0 {
			require.Equal(t, checked[same].arrangements, l.arrangements, product.Name)
			continue
		}
		checked = append(checked, l)
		all := multisets(l)
		require.Len(t, all, l.arrangements.multisets)
		for m, counts := range all {
			number, ok := l.arrangements.multiset(counts, l.Profiles())
			require.True(t, ok)
			require.Equal(t, m, number)
			for s := range State(l.States()) {
				want, wantOK := l.search(s, counts)
				if got, ok := l.Arrange(s, counts); got != want || ok != wantOK {
					t.Fatalf("%s: %s and %v: %s, %t; the walk finds %s, %t",
						product.Name, l.Layout(s), counts, l.Layout(got), ok, l.Layout(want), wantOK)
				}
			}
		}
	}
	require.GreaterOrEqual(t, len(checked), 4)
}

// States are in a group if and only if the same sets can join them.
func TestGroupsAreOfStatesThatAreAlike(t *testing.T) {
	for _, name := range []string{"A30", "RTX PRO 6000", "MI300X"} {
		l := lattice(t, name)
		future := make([][]uint64, l.States())
		for s := range future {
			for _, set := range l.sets {
				if set&l.sets[s] == l.sets[s] {
					future[s] = append(future[s], set&^l.sets[s])
				}
			}
			slices.Sort(future[s])
		}
		member := map[uint16]int{}
		for s, group := range l.arrangements.group {
			first, ok := member[group]
			if !ok {
				first, member[group] = s, s
			}
			require.True(t, slices.Equal(future[first], future[s]), "%s: %d and %d", name, first, s)
		}
		distinct := slices.Clone(future)
		slices.SortFunc(distinct, slices.Compare)
		require.Len(t, slices.CompactFunc(distinct, slices.Equal), len(member), name)
	}
}

// A product whose table would be too large is answered all the same.
func TestArrangeWithoutTable(t *testing.T) {
	p := slabs(1, 15)
	p.Profiles = append(p.Profiles, Profile{
		Name: ProfileName{ComputeSlices: 15}, ComputeSlices: 15, MemorySlices: 15, Starts: []int{0},
	})
	l, err := NewLattice(p)
	require.NoError(t, err)
	require.Nil(t, l.arrangements.added)
	s, ok := l.Arrange(0, []int{2})
	require.True(t, ok)
	require.Equal(t, 2, sizeOf(l.Occupied(s)))
	again, ok := l.Arrange(s, []int{14})
	require.False(t, ok)
	require.Equal(t, s, again)
	s, ok = l.Arrange(0, []int{0, 1})
	require.True(t, ok)
	require.Equal(t, 15, sizeOf(l.Occupied(s)))
	_, ok = l.Arrange(0, []int{1, 1})
	require.False(t, ok)
}
