package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/mig"
)

// eachGraph calls f for every product, drawn with its classic profiles and with all.
func eachGraph(t *testing.T, f func(*testing.T, *graph)) {
	t.Helper()
	for _, product := range mig.Products() {
		for name, profiles := range map[string][]mig.Profile{"classic": classic(product), "all": product.Profiles} {
			t.Run(product.Name+"/"+name, func(t *testing.T) {
				g, err := newGraph(product, profiles)
				require.NoError(t, err)
				f(t, g)
			})
		}
	}
}

func graphOf(t *testing.T, product, profiles string, all bool) *graph {
	t.Helper()
	p, err := findProduct(product)
	require.NoError(t, err)
	chosen, err := choose(p, profiles, all)
	require.NoError(t, err)
	g, err := newGraph(p, chosen)
	require.NoError(t, err)
	return g
}

// find returns the set of that label, such as 3g + 1g.
func (g *graph) find(t *testing.T, parts ...string) *set {
	t.Helper()
	for _, row := range g.rows {
		for _, s := range row {
			if slices.Equal(g.parts(s), parts) {
				return s
			}
		}
	}
	require.Fail(t, "no such set", "%v", parts)
	return nil
}

func TestH100(t *testing.T) {
	g := graphOf(t, "H100-80GB", "", false)
	require.Equal(t, []string{"1g", "2g", "3g", "4g", "7g"}, g.labels)
	require.Equal(t, []int{298, 19, 38, 14}, []int{g.lattice.States(), g.maximal, g.sets, g.maximalSets})
	require.True(t, g.lines())

	s := g.find(t, "3g", "3×1g")
	require.True(t, s.trap())
	require.Equal(t, "3g.40gb@0:4 1g.10gb@4:1 1g.10gb@5:1 1g.10gb@6:1", g.lattice.Layout(s.stuck).String())
	require.Equal(t, []string{"dead end in 1 of 5:"}, g.verdict(s))
	require.Equal(t, []string{"full, 1 compute idle"}, g.verdict(g.find(t, "2×3g")))
	require.Equal(t, []string{"full, 1 memory idle"}, g.verdict(g.find(t, "7×1g")))
	require.Equal(t, []string{"full, no slice idle"}, g.verdict(g.find(t, "4g", "3g")))
	require.Empty(t, g.verdict(g.find(t, "empty")))

	g = graphOf(t, "H100-80GB", "", true)
	require.Equal(t, []string{"1g.10gb", "1g+me", "1g.20gb", "2g", "3g", "4g", "7g"}, g.labels)
	require.Equal(t, []int{2319, 239, 128, 64}, []int{g.lattice.States(), g.maximal, g.sets, g.maximalSets})
	require.False(t, g.lines())
}

// Sets and steps against a count of their own: by the names in each layout, and by
// creating an instance at every start.
func TestSetsAndSteps(t *testing.T) {
	eachGraph(t, func(t *testing.T, g *graph) {
		type tally struct {
			layouts, maximal int
			from             map[string]int
			to               map[string]string
		}
		tallies := map[string]*tally{}
		for i := range g.lattice.States() {
			state := mig.State(i)
			name := names(g.lattice.Layout(state))
			if tallies[name] == nil {
				tallies[name] = &tally{from: map[string]int{}, to: map[string]string{}}
			}
			tallies[name].layouts++
			open := map[string]string{}
			for _, placement := range g.lattice.Placements() {
				if next, err := g.lattice.PlaceAt(state, placement); err == nil {
					open[placement.Profile.String()] = names(g.lattice.Layout(next))
				}
			}
			if len(open) == 0 {
				tallies[name].maximal++
			}
			for profile, next := range open {
				tallies[name].from[profile]++
				tallies[name].to[profile] = next
			}
		}
		require.Len(t, tallies, g.sets)
		maximal := 0
		for _, of := range tallies {
			maximal += min(of.maximal, 1)
		}
		require.Equal(t, maximal, g.maximalSets)
		number := 0
		for instances, row := range g.rows {
			require.NotEmpty(t, row)
			for _, s := range row {
				number++
				require.Equal(t, number, s.number)
				require.Equal(t, instances, s.instances)
				name := names(g.lattice.Layout(s.best))
				want := tallies[name]
				require.Equal(t, want.layouts, s.layouts, name)
				require.Equal(t, want.maximal, s.maximal, name)
				require.Len(t, s.steps, len(want.from), name)
				for _, next := range s.steps {
					profile := g.profiles[next.profile].Name.String()
					require.Equal(t, want.from[profile], next.from)
					require.Equal(t, want.to[profile], names(g.lattice.Layout(next.to.best)))
					require.Equal(t, instances+1, next.to.instances)
				}
				if s.maximal > 0 {
					require.True(t, g.lattice.Maximal(s.stuck))
					require.Equal(t, name, names(g.lattice.Layout(s.stuck)))
				}
				delete(tallies, name)
			}
		}
	})
}

func names(layout mig.Layout) string {
	text := ""
	for _, name := range layout.Profiles() {
		text += name.String() + " "
	}
	return text
}

// What the order of the rows is for: fewer crossings, by a count over all pairs of steps.
func TestUntangle(t *testing.T) {
	improved := false
	eachGraph(t, func(t *testing.T, g *graph) {
		if !g.lines() {
			t.Skip("steps are no lines")
		}
		after := crossingsOf(g.rows)
		require.Equal(t, pairsThatCross(g.rows), after)
		var natural [][]*set
		for _, row := range g.rows {
			row = slices.Clone(row)
			slices.SortFunc(row, func(a, b *set) int { return compareCounts(b.counts, a.counts) })
			natural = append(natural, row)
		}
		before := pairsThatCross(natural)
		require.LessOrEqual(t, after, before)
		improved = improved || after < before
	})
	require.True(t, improved)
}

func pairsThatCross(rows [][]*set) int {
	type end struct{ from, to int }
	n := 0
	for i := 1; i < len(rows); i++ {
		var ends []end
		for from, s := range rows[i-1] {
			for to, u := range rows[i] {
				for _, next := range s.steps {
					if next.to == u {
						ends = append(ends, end{from, to})
					}
				}
			}
		}
		for a := range ends {
			for b := range a {
				if (ends[a].from-ends[b].from)*(ends[a].to-ends[b].to) < 0 {
					n++
				}
			}
		}
	}
	return n
}

// A tangle of two rows that is known to come undone.
func TestUntangleSmall(t *testing.T) {
	a, b, c := &set{number: 1}, &set{number: 2}, &set{number: 3}
	x, y, z := &set{number: 4}, &set{number: 5}, &set{number: 6}
	a.steps = []step{{to: z}}
	b.steps = []step{{to: y}, {to: z}}
	c.steps = []step{{to: x}}
	rows := [][]*set{{a, b, c}, {x, y, z}}
	require.Equal(t, 4, crossingsOf(rows))
	untangle(rows)
	require.Zero(t, crossingsOf(rows))
	require.ElementsMatch(t, []*set{a, b, c}, rows[0])
	require.ElementsMatch(t, []*set{x, y, z}, rows[1])
}
