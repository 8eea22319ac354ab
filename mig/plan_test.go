package mig

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// fewestDestroyed finds, by a search through all layouts one step at a time, the
// fewest instances that any way from one to each other destroys, without touching
// those of held.
func fewestDestroyed(w *twin, sets []uint64, from, held uint64) map[uint64]int {
	cost := map[uint64]int{from: 0}
	for changed := true; changed; {
		changed = false
		for _, set := range sets {
			so, ok := cost[set]
			if !ok {
				continue
			}
			for j := range w.placements {
				next, destroyed := set^1<<j, int(set>>j&1)
				if held>>j&1 != 0 || !w.valid(next) {
					continue
				}
				if known, ok := cost[next]; !ok || so+destroyed < known {
					cost[next], changed = so+destroyed, true
				}
			}
		}
	}
	return cost
}

// Every pair of layouts of an A30, and some of what is held.
func TestPlanDestroysTheFewest(t *testing.T) {
	l := lattice(t, "A30")
	w := newTwin(l.Product())
	sets := w.reachable()
	for from := range State(l.States()) {
		held := State(0)
		if from%3 == 1 {
			held = l.after(from, bits.TrailingZeros64(l.sets[from])) // all but one
		}
		cost := fewestDestroyed(w, sets, l.sets[from], l.sets[held])
		for to := range State(l.States()) {
			steps, err := l.Plan(from, to, held)
			if l.sets[held]&^l.sets[to] != 0 {
				require.ErrorIs(t, err, ErrConflict)
				continue
			}
			require.NoError(t, err)
			destroyed := 0
			for _, step := range steps {
				if !step.Create {
					destroyed++
				}
			}
			require.Equal(t, cost[l.sets[to]], destroyed)
		}
	}
}

// S5: every step of a plan leads to a valid layout and touches nothing in use.
func TestS5_EveryStepOfAPlanIsValid(t *testing.T) {
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		w := newTwin(product)
		drawn.Check(t, func(t *rapid.T) {
			state := rapid.IntRange(0, l.States()-1)
			from, to := State(state.Draw(t, "from")), State(state.Draw(t, "to"))
			common, err := l.StateOf(w.layout(l.sets[from] & l.sets[to] & rapid.Uint64().Draw(t, "held")))
			require.NoError(t, err)
			steps, err := l.Plan(from, to, common)
			require.NoError(t, err)
			checkSteps(t, l, w, from, to, common, steps)
		})
	}
}

func checkSteps(t require.TestingT, l *Lattice, w *twin, from, to, held State, steps []Step) {
	s := from
	for _, step := range steps {
		var err error
		s, err = l.Apply(s, step)
		require.NoError(t, err)
		require.True(t, w.holds(l.Layout(s)))
		require.Zero(t, l.sets[held]&^l.sets[s], "a step touches what is held")
	}
	require.Equal(t, to, s)
	require.Len(t, steps, bits.OnesCount64(l.sets[from]^l.sets[to]))
}

func TestPlanRefuses(t *testing.T) {
	l := lattice(t, "H100-80GB")
	state := func(texts ...string) State {
		s, err := l.StateOf(placements(t, texts...))
		require.NoError(t, err)
		return s
	}
	three, both := state("3g.40gb@4:4"), state("3g.40gb@4:4", "2g.20gb@0:2")
	for _, test := range []struct {
		from, to, held State
		kind           error
		text           string
	}{
		{both, state("7g.80gb@0:8"), three, ErrConflict, `mig: product "H100-80GB": 3g.40gb@4:4: is held, and the new layout does not have it`},
		{three, both, both, ErrNotPlaced, `mig: product "H100-80GB": 2g.20gb@0:2: is held, and no such instance is there`},
		{State(l.States()), 0, 0, ErrUnknown, `mig: product "H100-80GB": state 2319: the lattice has no such state`},
		{0, math.MaxUint16, 0, ErrUnknown, ""},
		{0, 0, math.MaxUint16, ErrUnknown, ""},
	} {
		got, err := l.Plan(test.from, test.to, test.held)
		require.ErrorIs(t, err, test.kind)
		if test.text != "" {
			require.EqualError(t, err, test.text)
		}
		require.Nil(t, got)
	}
	for _, test := range []struct {
		from, held State
		counts     []int
	}{
		{State(l.States()), 0, nil},
		{0, State(l.States()), nil},
		{three, both, nil},
		{both, three, []int{-1}},
		{both, three, []int{0, 0, 0, 0, 0, 0, 1}}, // a 7g beside what is held
		{both, three, []int{0, 0, 0, 0, 0, 0, 0, 1}},
		{both, three, []int{math.MaxInt, math.MaxInt}},
	} {
		to, steps, ok := l.PlanFor(test.from, test.held, test.counts)
		require.False(t, ok)
		require.Nil(t, steps)
		require.Equal(t, test.from, to)
	}
}

// reachTwin looks at every layout that has what is held and enough that is idle.
func reachTwin(l *Lattice, w *twin, open []int, from, held State, counts []int) (State, bool) {
	var best []int
	for t, set := range l.sets {
		if l.sets[held]&^set != 0 {
			continue
		}
		enough := true
		for p := range counts {
			name := w.product.Profiles[p].Name
			idle := 0
			for j, placement := range w.placements {
				if placement.Profile == name && (set&^l.sets[held])>>j&1 != 0 {
					idle++
				}
			}
			enough = enough && idle >= counts[p]
		}
		if !enough {
			continue
		}
		key := []int{
			bits.OnesCount64(l.sets[from] &^ set), bits.OnesCount64(set &^ l.sets[from]), -open[t], t,
		}
		if best == nil || slices.Compare(key, best) < 0 {
			best = key
		}
	}
	if best == nil {
		return from, false
	}
	return State(best[3]), true
}

// Every layout of an A30, everything that may be held of it, every multiset.
func TestPlanForAgreesWithTheTwinOnAnA30(t *testing.T) {
	l := lattice(t, "A30")
	w, open := newTwin(l.Product()), openCounts(l)
	all := multisets(l)
	found := 0
	for from := range State(l.States()) {
		for held := range State(l.States()) {
			if l.sets[held]&^l.sets[from] != 0 {
				continue
			}
			for _, counts := range all {
				want, wantOK := reachTwin(l, w, open, from, held, counts)
				to, steps, ok := l.PlanFor(from, held, counts)
				if to != want || ok != wantOK {
					t.Fatalf("from %s with %s held to %v: %s, and the twin %s", l.Layout(from), l.Layout(held), counts, l.Layout(to), l.Layout(want))
				}
				if ok {
					found++
					checkSteps(t, l, w, from, to, held, steps)
				}
			}
		}
	}
	require.Greater(t, found, 1000)
}

// Random cases on every product: 100 each.
func TestPlanForAgreesWithTheTwin(t *testing.T) {
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		w, open := newTwin(product), openCounts(l)
		all := multisets(l)
		found := 0
		drawn.Check(t, func(t *rapid.T) {
			from := State(rapid.IntRange(0, l.States()-1).Draw(t, "from"))
			held, err := l.StateOf(w.layout(l.sets[from] & rapid.Uint64().Draw(t, "held")))
			require.NoError(t, err)
			counts := rapid.SampledFrom(all).Draw(t, "counts")
			if rapid.Bool().Draw(t, "few") { // much of what is drawn does not fit beside what is held
				counts = slices.Clone(counts)
				for p := range counts {
					counts[p] = min(counts[p], rapid.IntRange(0, 1).Draw(t, "most"))
				}
			}
			want, wantOK := reachTwin(l, w, open, from, held, counts)
			to, steps, ok := l.PlanFor(from, held, counts)
			require.Equal(t, wantOK, ok)
			require.Equal(t, want, to)
			if ok {
				found++
				checkSteps(t, l, w, from, to, held, steps)
			}
		})
		if drawn.Many() {
			require.Greater(t, found, 10, product.Name)
		}
	}
}

// openInAll is how many placements are open, of all profiles: [Lattice.Place] keeps it high.
func openInAll(l *Lattice, s State) int { return bits.OnesCount64(l.OpenSet(s)) }

func openCounts(l *Lattice) []int {
	open := make([]int, l.States())
	for s := range open {
		open[s] = openInAll(l, State(s))
	}
	return open
}

// Sets of a size come in ascending order, each once.
func TestNextOfSize(t *testing.T) {
	const n = 10
	var all []uint64
	for size := range n + 1 {
		for set := uint64(1)<<size - 1; set < 1<<n; set = nextOfSize(set) {
			require.Equal(t, size, bits.OnesCount64(set))
			all = append(all, set)
		}
	}
	require.True(t, slices.IsSortedFunc(all, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(bits.OnesCount64(a), bits.OnesCount64(b)), cmp.Compare(a, b))
	}))
	require.Len(t, all, 1<<n)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 1<<n)
}
