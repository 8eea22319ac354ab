package mig

import (
	"math/bits"
	"slices"
)

// A twin answers as a Lattice does, from the rule alone: no table, no shortcut
// but to remember what it has found valid. It is slow and easy to believe.
type twin struct {
	product    Product
	placements []Placement
	counters   bool // whether engines, SMs and compute slices count
	maxCount   bool // whether MaxCount does
	known      map[uint64]bool
}

func newTwin(product Product) *twin {
	t := &twin{product: product, counters: true, known: map[uint64]bool{}}
	for _, profile := range product.Profiles {
		for _, start := range profile.Starts {
			t.placements = append(t.placements, Placement{profile.Name, uint8(start), uint8(profile.MemorySlices)})
		}
	}
	return t
}

func (t *twin) layout(set uint64) Layout {
	var layout Layout
	for j := range t.placements {
		if set&(1<<j) != 0 {
			layout = append(layout, t.placements[j])
		}
	}
	slices.SortFunc(layout, Placement.Compare)
	return layout
}

func (t *twin) valid(set uint64) bool {
	valid, ok := t.known[set]
	if !ok {
		valid = t.holds(t.layout(set))
		t.known[set] = valid
	}
	return valid
}

// holds is the rule.
func (t *twin) holds(layout []Placement) bool {
	taken := map[int]bool{}
	count := map[ProfileName]int{}
	var compute, sms, copying, nvdec, nvenc, jpeg, ofa int
	for _, placement := range layout {
		profile, ok := t.product.Profile(placement.Profile)
		if !ok || int(placement.Size) != profile.MemorySlices || !slices.Contains(profile.Starts, int(placement.Start)) {
			return false
		}
		for slice := int(placement.Start); slice < int(placement.Start)+profile.MemorySlices; slice++ {
			if taken[slice] || slice >= t.product.MemorySlices {
				return false
			}
			taken[slice] = true
		}
		if t.product.Uniform && placement.Profile != layout[0].Profile {
			return false
		}
		count[profile.Name]++
		if t.maxCount && count[profile.Name] > profile.MaxCount {
			return false
		}
		compute += profile.ComputeSlices
		sms += profile.SMs
		copying += profile.Engines.Copy
		nvdec += profile.Engines.NVDEC
		nvenc += profile.Engines.NVENC
		jpeg += profile.Engines.JPEG
		ofa += profile.Engines.OFA
	}
	if !t.counters {
		return true
	}
	whole := t.product
	return compute <= whole.ComputeSlices && (whole.SMs == 0 || sms <= whole.SMs) &&
		copying <= whole.Engines.Copy && nvdec <= whole.Engines.NVDEC && nvenc <= whole.Engines.NVENC &&
		jpeg <= whole.Engines.JPEG && ofa <= whole.Engines.OFA
}

// reachable returns every set that can be built one instance at a time.
func (t *twin) reachable() []uint64 {
	seen := map[uint64]bool{0: true}
	sets := []uint64{0}
	for i := 0; i < len(sets); i++ {
		for j := range t.placements {
			with := sets[i] | 1<<j
			if !seen[with] && t.valid(with) {
				seen[with] = true
				sets = append(sets, with)
			}
		}
	}
	return sets
}

// open returns the numbers of the placements that can join.
func (t *twin) open(set uint64) []int {
	var open []int
	for j := range t.placements {
		if set&(1<<j) == 0 && t.valid(set|1<<j) {
			open = append(open, j)
		}
	}
	return open
}

func (t *twin) openOf(set uint64, name ProfileName) []int {
	return slices.DeleteFunc(t.open(set), func(j int) bool { return t.placements[j].Profile != name })
}

// free tries every choice of starts.
func (t *twin) free(set uint64, name ProfileName, from int) int {
	most := 0
	for _, j := range t.openOf(set, name) {
		if j >= from {
			most = max(most, 1+t.free(set|1<<j, name, j+1))
		}
	}
	return most
}

// place returns the placement after which the most others are open; a lower start wins
// among equals.
func (t *twin) place(set uint64, name ProfileName) (int, bool) {
	best, most := -1, 0
	for _, j := range t.openOf(set, name) {
		if open := len(t.open(set | 1<<j)); best < 0 || open > most {
			best, most = j, open
		}
	}
	return best, best >= 0
}

// counts is what mig_counts.txt tells of a set of profiles.
type counts struct {
	placements, layouts, maximal, multisets, maximalMultisets int
}

func (t *twin) counts() (counts, []string) {
	all, maximal := map[string]bool{}, map[string]bool{}
	c := counts{placements: len(t.placements)}
	for _, set := range t.reachable() {
		key := multisetKey(t.layout(set).Profiles())
		c.layouts++
		all[key] = true
		if len(t.open(set)) == 0 {
			c.maximal++
			maximal[key] = true
		}
	}
	c.multisets, c.maximalMultisets = len(all), len(maximal)
	var keys []string
	for key := range maximal {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return c, keys
}

func latticeCounts(l *Lattice) (counts, []string) {
	c := counts{placements: len(l.Placements()), layouts: l.States()}
	for s := range l.States() {
		if openInAll(l, State(s)) == 0 {
			c.maximal++
		}
	}
	c.multisets = len(profileSets(l, false))
	var keys []string
	for _, multiset := range profileSets(l, true) {
		keys = append(keys, multisetKey(multiset))
	}
	slices.Sort(keys)
	c.maximalMultisets = len(keys)
	return c, keys
}

// multisetKey writes the names as mig_counts.txt does: ordered as texts.
func multisetKey(names []ProfileName) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, name.String())
	}
	slices.Sort(texts)
	key := ""
	for i, text := range texts {
		if i > 0 {
			key += ","
		}
		key += text
	}
	return key
}

// setOf returns the twin's set of a layout.
func (t *twin) setOf(layout []Placement) uint64 {
	var set uint64
	for _, placement := range layout {
		set |= 1 << slices.Index(t.placements, placement)
	}
	if bits.OnesCount64(set) != len(layout) {
		panic("a layout with a placement twice")
	}
	return set
}

// profileSets returns the distinct multisets of profiles that have a valid layout,
// each ascending, in ascending order; the empty one is first. With maximal alone
// it returns those of maximal layouts.
func profileSets(l *Lattice, maximal bool) [][]ProfileName {
	var multisets [][]ProfileName
	for s := range l.sets {
		if !maximal || l.open[s] == 0 {
			multisets = append(multisets, l.Layout(State(s)).Profiles())
		}
	}
	order := func(a, b []ProfileName) int { return slices.CompareFunc(a, b, ProfileName.Compare) }
	slices.SortFunc(multisets, order)
	return slices.CompactFunc(multisets, func(a, b []ProfileName) bool { return order(a, b) == 0 })
}
