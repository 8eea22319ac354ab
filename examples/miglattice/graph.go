package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth/mig"
)

// A set is a node of the drawing: the layouts which have the same number of instances
// of each profile, wherever those lie.
type set struct {
	// number by which drawings and texts call the set: from 1, by rows.
	number int
	// counts of instances by profile, and their sum.
	counts    []int
	instances int
	// layouts of the set, and how many of them are maximal: nothing fits beside them.
	layouts, maximal int
	// best is the layout that leaves the most placements open, and stuck the first
	// maximal one. Among equals it is the least state.
	best, stuck mig.State
	// steps to the next row, by profile.
	steps []step
}

// full tells whether nothing fits beside the set however its instances lie.
func (s *set) full() bool { return s.maximal == s.layouts }

// trap tells whether the set can be laid out so that nothing fits any more, although
// more would fit if it were laid out otherwise.
func (s *set) trap() bool { return s.maximal > 0 && !s.full() }

// A step is the creation of one instance.
type step struct {
	profile int
	// to is the set that it leads to.
	to *set
	// from is how many layouts of the set can make the step.
	from int
}

// A graph is the lattice of a product, with layouts merged into sets, in rows by the
// number of instances. A step leads from a row to the next, always.
type graph struct {
	// product with all its profiles.
	product mig.Product
	// lattice of the chosen profiles alone.
	lattice  *mig.Lattice
	profiles []mig.Profile
	// labels are short names of the profiles.
	labels []string
	rows   [][]*set
	// atMost is how many instances of each profile of the product fit together.
	atMost []int
	// maximal layouts, sets of which some layout is maximal, and sets in all.
	maximal, maximalSets, sets int
}

// newGraph builds the graph of a product with some of its profiles.
//
// Complexity: one look at each layout for each profile.
func newGraph(product mig.Product, profiles []mig.Profile) (*graph, error) {
	part := product
	part.Profiles = profiles
	lattice, err := mig.NewLattice(part)
	if err != nil {
		return nil, err
	}
	whole, err := mig.NewLattice(product)
	if err != nil {
		return nil, err
	}
	g := &graph{product: product, lattice: lattice, profiles: profiles, labels: shortNames(profiles)}
	for p := range product.Profiles {
		g.atMost = append(g.atMost, whole.Free(0, p))
	}
	sets := g.merge()
	for i := range profiles {
		for _, s := range sets {
			g.addStep(s, i, sets)
		}
	}
	for _, s := range sets {
		for s.instances >= len(g.rows) {
			g.rows = append(g.rows, nil)
		}
		g.rows[s.instances] = append(g.rows[s.instances], s)
	}
	for _, row := range g.rows {
		slices.SortFunc(row, func(a, b *set) int { return compareCounts(b.counts, a.counts) })
	}
	if g.lines() {
		untangle(g.rows)
	}
	for _, row := range g.rows {
		for _, s := range row {
			g.sets++
			s.number = g.sets
		}
	}
	return g, nil
}

// merge collects the layouts into sets, by a key of their counts.
func (g *graph) merge() map[string]*set {
	sets := map[string]*set{}
	for i := range g.lattice.States() {
		state := mig.State(i)
		counts := make([]int, len(g.profiles))
		for p := range counts {
			counts[p] = g.lattice.Instances(state, p)
		}
		s := sets[key(counts)]
		if s == nil {
			s = &set{counts: counts, best: state}
			for _, n := range counts {
				s.instances += n
			}
			sets[key(counts)] = s
		}
		s.layouts++
		if g.lattice.OpenInAll(state) > g.lattice.OpenInAll(s.best) {
			s.best = state
		}
		if g.lattice.Maximal(state) {
			if s.maximal == 0 {
				s.stuck = state
				g.maximalSets++
			}
			s.maximal++
			g.maximal++
		}
		for p := range g.profiles {
			s.countStep(p, g.lattice.Fits(state, p))
		}
	}
	return sets
}

// countStep notes that a layout of the set can make a step, or cannot.
func (s *set) countStep(profile int, can bool) {
	i := slices.IndexFunc(s.steps, func(t step) bool { return t.profile == profile })
	switch {
	case !can:
	case i < 0:
		s.steps = append(s.steps, step{profile: profile, from: 1})
	default:
		s.steps[i].from++
	}
}

// addStep finds out where the step of a profile leads.
func (g *graph) addStep(s *set, profile int, sets map[string]*set) {
	for i := range s.steps {
		if s.steps[i].profile == profile {
			counts := slices.Clone(s.counts)
			counts[profile]++
			s.steps[i].to = sets[key(counts)]
		}
	}
	slices.SortFunc(s.steps, func(a, b step) int { return cmp.Compare(a.profile, b.profile) })
}

func key(counts []int) string { return fmt.Sprint(counts) }

// compareCounts orders sets by the profiles that a listing gives last, the largest.
func compareCounts(a, b []int) int {
	for i := len(a) - 1; i >= 0; i-- {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// width returns the number of sets in the longest row.
func (g *graph) width() int {
	width := 0
	for _, row := range g.rows {
		width = max(width, len(row))
	}
	return width
}

// traps tells whether any set is a trap.
func (g *graph) traps() bool {
	for _, row := range g.rows {
		if slices.ContainsFunc(row, (*set).trap) {
			return true
		}
	}
	return false
}

// mostAcross is the most sets side by side: what a wide screen or a page across shows
// with texts of their natural size.
const mostAcross = 10

// lines tells whether steps are drawn as lines. Where a row has to be broken they would
// run across sets, and be too many to follow; the sets then list their steps by number.
func (g *graph) lines() bool { return g.width() <= mostAcross }

// efficient tells whether the instances of the set take all slices.
func (g *graph) efficient(s *set) bool {
	compute, memory, _ := g.idle(s)
	return compute == 0 && memory == 0
}

// idle returns what no instance of the set takes: compute slices, memory slices and
// SMs, these only if they are known.
func (g *graph) idle(s *set) (compute, memory, sms int) {
	used := g.lattice.Used(s.best)
	return g.product.ComputeSlices - used.ComputeSlices,
		g.product.MemorySlices - g.lattice.Occupied(s.best).Len(),
		max(g.product.SMs-used.SMs, 0)
}
