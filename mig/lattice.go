package mig

import (
	"math/bits"
	"slices"
	"strconv"
)

// A State is a valid layout of a product, as the Lattice of that product numbers
// them. The zero value is the GPU without instances. A state means nothing to the
// lattice of another product, or of the same product with other profiles; to keep
// one for long, keep its Layout.
type State uint16

// A Lattice is all valid layouts of a product, and what can be asked about them,
// in tables. It never changes once built, so it can be shared.
//
// Methods take a profile by its index in the product's Profiles; ProfileIndex
// finds it. No State and no index makes a method panic: what the lattice does not
// have fits nowhere.
//
// Invariants:
//  1. sets is ascending, and sets[0] is the empty set.
//  2. A set is in sets if and only if its placements are disjoint in memory slices,
//     their counters sum to no more than the product's, and they are of one profile
//     if the product is uniform. So with a set all its subsets are there.
//  3. Bit j of open[s] says that placement j can join sets[s].
//  4. toggle[s*len(placements)+j] is the state of sets[s] with placement j joined
//     or, if it is there, gone; absent, if neither is valid.
//  5. more[s*profiles+p] is the most instances of profile p that can join sets[s]
//     together, and best[s*profiles+p] the one that Place chooses; absent, if none.
type Lattice struct {
	product    Product
	placements []Placement // in the order of the profiles, then of starts
	profileOf  []uint8     // by placement
	ofProfile  []uint64    // by profile: the set of its placements
	masks      []Mask      // by placement

	sets     []uint64 // by state: the set of its placements
	open     []uint64
	occupied []Mask
	toggle   []uint16
	more     []uint8
	best     []uint8

	arrangements arrangements
	cheapest     []uint8 // the profiles, in the order of AppendServing
}

const (
	absentState     = MaxStates
	absentPlacement = MaxPlacements
)

// NewLattice builds the lattice of a product. The product is copied.
//
// The error is an *Error: with ErrInvalid it names the field of the product that
// is wrong; with ErrTooLarge the product has more placements or layouts than
// MaxPlacements and MaxStates.
//
// Complexity: with n layouts and m placements it takes time O(n (m + log n)) and
// keeps about 2 n m bytes, and no more than a megabyte beside: 1 ms and 270 kB for
// an H100, of which 70 kB serve Arrange.
func NewLattice(product Product) (*Lattice, error) {
	if err := product.validate(); err != nil {
		return nil, err
	}
	l := &Lattice{product: product.clone()}
	l.list()
	parents, few := l.enumerate()
	if !few {
		return nil, &Error{
			Product: product.Name, Field: "profiles", Kind: ErrTooLarge,
			Reason: "allow more than " + strconv.Itoa(MaxStates) + " layouts",
		}
	}
	l.connect(parents)
	l.rank()
	l.arrange(parents)
	l.sortByCost()
	return l, nil
}

// list numbers the placements.
func (l *Lattice) list() {
	for p := range l.product.Profiles {
		profile := &l.product.Profiles[p]
		var set uint64
		for _, start := range profile.Starts {
			placement := Placement{Profile: profile.Name, Start: uint8(start), Size: uint8(profile.MemorySlices)}
			set |= 1 << len(l.placements)
			l.placements = append(l.placements, placement)
			l.profileOf = append(l.profileOf, uint8(p))
			l.masks = append(l.masks, placement.Mask())
		}
		l.ofProfile = append(l.ofProfile, set)
	}
}

// enumerate finds every valid set, in ascending order, and returns for each the state
// without its lowest placement; false: they are too many. Each set is reached once, by
// adding its placements in descending order, and only through sets that are valid
// themselves; so the work is bounded by the sets found, whatever the product. What has
// one more lower placement comes right after what it is made of, so nothing is sorted.
func (l *Lattice) enumerate() (parents []uint16, few bool) {
	limits, takes, apart := l.product.limits(), make([]counters, len(l.placements)), l.apart()
	for j := range takes {
		takes[j] = l.counters(j)
	}
	var extend func(set, lower uint64, used counters, parent uint16) bool
	extend = func(set, lower uint64, used counters, parent uint16) bool {
		if len(l.sets) == MaxStates {
			return false
		}
		state := uint16(len(l.sets))
		l.sets, parents = append(l.sets, set), append(parents, parent)
		for rest := lower; rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros64(rest)
			with := used.plus(takes[j])
			if _, over := with.above(limits); over {
				continue
			}
			if !extend(set|1<<j, lower&apart[j]&(1<<j-1), with, state) {
				return false
			}
		}
		return true
	}
	return parents, extend(0, 1<<len(l.placements)-1, counters{}, 0)
}

// apart lists, by placement, those that are disjoint from it, and of its profile if the
// product is uniform.
func (l *Lattice) apart() []uint64 {
	apart := make([]uint64, len(l.placements))
	for i := range apart {
		for j := range l.placements {
			if !l.masks[i].Overlaps(l.masks[j]) && (!l.product.Uniform || l.profileOf[i] == l.profileOf[j]) {
				apart[i] |= 1 << j
			}
		}
	}
	return apart
}

// mixes tells whether placement j is of another profile than those of the set, and
// the product does not allow that.
func (l *Lattice) mixes(set uint64, j int) bool {
	return l.product.Uniform && set&^l.ofProfile[l.profileOf[j]] != 0
}

// counters returns what the placement takes beside memory slices.
func (l *Lattice) counters(placement int) counters {
	profile := &l.product.Profiles[l.profileOf[placement]]
	return profile.Engines.counters(profile.ComputeSlices, profile.SMs)
}

// connect fills the tables that lead from state to state. The states below a state are
// those that lead to it from its parent's: a set without some placement is the parent
// without it, with the lowest placement joined, and less than the set itself.
func (l *Lattice) connect(parents []uint16) {
	width := len(l.placements)
	l.open = make([]uint64, len(l.sets))
	l.occupied = make([]Mask, len(l.sets))
	l.toggle = slices.Repeat([]uint16{absentState}, len(l.sets)*width)
	for s, set := range l.sets[1:] {
		s++
		parent, lowest := int(parents[s]), bits.TrailingZeros64(set)
		l.occupied[s] = l.occupied[parent] | l.masks[lowest]
		l.join(parent, s, lowest)
		for rest := set & (set - 1); rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros64(rest)
			without := l.toggle[int(l.toggle[parent*width+j])*width+lowest] // a part of a valid set is valid
			l.join(int(without), s, j)
		}
	}
}

// join notes that placement j leads from one state to another, and back.
func (l *Lattice) join(from, to, j int) {
	l.open[from] |= 1 << j
	l.toggle[to*len(l.placements)+j], l.toggle[from*len(l.placements)+j] = uint16(from), uint16(to)
}

// rank fills the tables that answer by state and profile. A set is less than
// every set that has it as a part, so going down answers for what a state can
// become before the state itself.
func (l *Lattice) rank() {
	profiles := len(l.ofProfile)
	l.more = make([]uint8, len(l.sets)*profiles)
	l.best = make([]uint8, len(l.sets)*profiles)
	for s := len(l.sets) - 1; s >= 0; s-- {
		for p, placements := range l.ofProfile {
			at := s*profiles + p
			l.best[at] = absentPlacement
			most := -1
			for rest := l.open[s] & placements; rest != 0; rest &= rest - 1 {
				j := bits.TrailingZeros64(rest)
				next := int(l.toggle[s*len(l.placements)+j])
				l.more[at] = max(l.more[at], l.more[next*profiles+p]+1)
				if left := bits.OnesCount64(l.open[next]); left > most {
					most = left
					l.best[at] = uint8(j)
				}
			}
		}
	}
}

// Product returns a copy of the product.
func (l *Lattice) Product() Product { return l.product.clone() }

// Profiles returns the number of profiles; their indexes are below it.
func (l *Lattice) Profiles() int { return len(l.ofProfile) }

// Profile returns a copy of a profile, and whether there is one of that index.
func (l *Lattice) Profile(profile int) (Profile, bool) {
	if profile < 0 || profile >= len(l.ofProfile) {
		return Profile{}, false
	}
	return l.product.Profiles[profile].clone(), true
}

// ProfileIndex returns the index of the profile of that name.
func (l *Lattice) ProfileIndex(name ProfileName) (int, bool) {
	for p := range l.product.Profiles {
		if l.product.Profiles[p].Name == name {
			return p, true
		}
	}
	return 0, false
}

// Placements returns all placements of the product: by profile, then by start.
func (l *Lattice) Placements() []Placement { return slices.Clone(l.placements) }

// PlacementSet returns the placements of a state as a set: bit j for the one with number
// j in Placements. It is empty for a state that the lattice does not have.
// Complexity: one look-up.
func (l *Lattice) PlacementSet(s State) uint64 {
	if !l.has(s) {
		return 0
	}
	return l.sets[s]
}

// OpenSet returns the placements that can join a state, each by itself, as a set.
// Complexity: one look-up.
func (l *Lattice) OpenSet(s State) uint64 {
	if !l.has(s) {
		return 0
	}
	return l.open[s]
}

// ProfileSet returns all placements of a profile as a set.
// Complexity: one look-up.
func (l *Lattice) ProfileSet(profile int) uint64 {
	if uint(profile) >= uint(len(l.ofProfile)) {
		return 0
	}
	return l.ofProfile[profile]
}

// Toggle returns the state in which the placement with number j has joined or, if it is
// there, gone. It returns false, and s, if that is not valid.
// Complexity: one look-up.
func (l *Lattice) Toggle(s State, j int) (State, bool) {
	if !l.has(s) || uint(j) >= uint(len(l.placements)) {
		return s, false
	}
	next := l.toggle[int(s)*len(l.placements)+j]
	if next == absentState {
		return s, false
	}
	return State(next), true
}

// has tells whether the lattice has the state, and cell whether it has the
// profile too, and where their answers stand in the tables.
func (l *Lattice) has(s State) bool { return int(s) < len(l.sets) }

func (l *Lattice) cell(s State, profile int) (int, bool) {
	if int(s) >= len(l.sets) || uint(profile) >= uint(len(l.ofProfile)) {
		return 0, false
	}
	return int(s)*len(l.ofProfile) + profile, true
}

// index returns the number of a placement.
func (l *Lattice) index(placement Placement) (int, bool) {
	profile, ok := l.ProfileIndex(placement.Profile)
	if !ok {
		return 0, false
	}
	for rest := l.ofProfile[profile]; rest != 0; rest &= rest - 1 {
		if j := bits.TrailingZeros64(rest); l.placements[j] == placement {
			return j, true
		}
	}
	return 0, false
}
