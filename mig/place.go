package mig

import (
	"math/bits"
	"strconv"
)

// Fits tells whether another instance of the profile can be created.
// Complexity: one look-up.
func (l *Lattice) Fits(s State, profile int) bool {
	cell, ok := l.cell(s, profile)
	return ok && l.more[cell] > 0
}

// Free returns how many more instances of the profile can exist together with
// what is there. It is the Free column of nvidia-smi mig -lgip.
// Complexity: one look-up.
func (l *Lattice) Free(s State, profile int) int {
	cell, ok := l.cell(s, profile)
	if !ok {
		return 0
	}
	return int(l.more[cell])
}

// AppendOpen appends the placements at which an instance of the profile can be
// created, by ascending start. It allocates only to grow the slice.
func (l *Lattice) AppendOpen(to []Placement, s State, profile int) []Placement {
	if _, ok := l.cell(s, profile); !ok {
		return to
	}
	for rest := l.open[s] & l.ofProfile[profile]; rest != 0; rest &= rest - 1 {
		to = append(to, l.placements[bits.TrailingZeros64(rest)])
	}
	return to
}

// Place chooses where to create an instance of the profile, and returns the state
// after it: at the start that leaves the most placements open, of all profiles
// together, and among equals at the lowest. It returns false, and s, if the
// profile fits nowhere.
// Complexity: one look-up.
func (l *Lattice) Place(s State, profile int) (Placement, State, bool) {
	cell, ok := l.cell(s, profile)
	if !ok || l.best[cell] == absentPlacement {
		return Placement{}, s, false
	}
	j := int(l.best[cell])
	return l.placements[j], l.after(s, j), true
}

// PlaceAt returns the state after an instance is created at the placement. The
// error is an *Error: with ErrUnknown if the product has no such placement or
// state, with ErrConflict if it cannot exist beside what is there, and then it
// says what is in the way.
// Complexity: the placements of the profile.
func (l *Lattice) PlaceAt(s State, placement Placement) (State, error) {
	j, err := l.find(s, placement)
	if err != nil {
		return s, err
	}
	if l.open[s]>>j&1 == 0 {
		return s, l.refuse(placement.String(), l.obstacle(l.sets[s], j), ErrConflict)
	}
	return l.after(s, j), nil
}

// Remove returns the state after the instance at the placement is destroyed. The
// error is an *Error: with ErrUnknown if the product has no such placement or
// state, with ErrNotPlaced if there is no such instance.
// Complexity: the placements of the profile.
func (l *Lattice) Remove(s State, placement Placement) (State, error) {
	j, err := l.find(s, placement)
	if err != nil {
		return s, err
	}
	if l.sets[s]>>j&1 == 0 {
		return s, l.refuse(placement.String(), "no such instance is there", ErrNotPlaced)
	}
	return l.after(s, j), nil
}

// after returns the state with placement j joined or gone; j is open or in s.
func (l *Lattice) after(s State, j int) State {
	return State(l.toggle[int(s)*len(l.placements)+j])
}

// find returns the number of a placement.
func (l *Lattice) find(s State, placement Placement) (int, error) {
	if !l.has(s) {
		return 0, l.refuseState(s)
	}
	j, ok := l.index(placement)
	if ok {
		return j, nil
	}
	reason := "the product has no such start for the profile"
	if profile, ok := l.ProfileIndex(placement.Profile); !ok {
		reason = "the product has no such profile"
	} else if size := l.product.Profiles[profile].MemorySlices; size != int(placement.Size) {
		reason = "the profile takes " + strconv.Itoa(size) + " memory slices"
	}
	return 0, l.refuse(placement.String(), reason, ErrUnknown)
}

// obstacle says what keeps placement j out of the set.
func (l *Lattice) obstacle(set uint64, j int) string {
	if l.mixes(set, j) {
		there := l.placements[bits.TrailingZeros64(set)]
		return "the GPU is divided into " + there.Profile.String() + ", and holds one kind of instance at a time"
	}
	limits := l.product.limits()
	used := l.counters(j)
	for rest := set; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if common := l.masks[i] & l.masks[j]; common != 0 {
			return "memory slices " + common.String() + " are taken by " + l.placements[i].String()
		}
		used = used.plus(l.counters(i))
	}
	i, over := used.above(limits)
	if !over {
		return "" // not reached: a placement that nothing obstructs is open
	}
	free := limits[i] - used[i] + l.counters(j)[i]
	return "needs " + strconv.Itoa(l.counters(j)[i]) + " of the " + counterName(i) + ", and " + strconv.Itoa(free) + " are free"
}

func (l *Lattice) refuse(field, reason string, kind error) error {
	return &Error{Product: l.product.Name, Field: field, Reason: reason, Kind: kind}
}

func (l *Lattice) refuseState(s State) error {
	return l.refuse("state "+strconv.Itoa(int(s)), "the lattice has no such state", ErrUnknown)
}
