package mig

import (
	"math/bits"
	"slices"
)

// States returns the number of valid layouts, the empty one among them. They are
// the states from 0 to one less.
func (l *Lattice) States() int { return len(l.sets) }

// Layout returns the placements of a state, in ascending order. It is nil for the
// empty state, and for a state that the lattice does not have.
func (l *Lattice) Layout(s State) Layout {
	if !l.has(s) {
		return nil
	}
	var layout Layout
	for rest := l.sets[s]; rest != 0; rest &= rest - 1 {
		layout = append(layout, l.placements[bits.TrailingZeros64(rest)])
	}
	slices.SortFunc(layout, Placement.Compare)
	return layout
}

// StateOf returns the state in which just the given instances exist, in whatever
// order they are given. The error is an *Error: with ErrUnknown for a placement
// that the product does not have, with ErrConflict for one that cannot exist
// beside those before it, or that is there twice.
func (l *Lattice) StateOf(placements []Placement) (State, error) {
	var s State
	for _, placement := range placements {
		next, err := l.PlaceAt(s, placement)
		if err != nil {
			return 0, err
		}
		s = next
	}
	return s, nil
}

// Occupied returns the memory slices that are taken.
func (l *Lattice) Occupied(s State) Mask {
	if !l.has(s) {
		return 0
	}
	return l.occupied[s]
}

// Instances returns how many instances of the profile the state has.
func (l *Lattice) Instances(s State, profile int) int {
	if _, ok := l.cell(s, profile); !ok {
		return 0
	}
	return bits.OnesCount64(l.sets[s] & l.ofProfile[profile])
}

// Usage is what the instances of a state take together, beside memory slices.
type Usage struct {
	ComputeSlices int     `json:"computeSlices"`
	SMs           int     `json:"sms"`
	Engines       Engines `json:"engines"`
}

// Used returns what the instances of the state take together. SMs that are not
// known count as none.
func (l *Lattice) Used(s State) Usage {
	if !l.has(s) {
		return Usage{}
	}
	var sum counters
	for rest := l.sets[s]; rest != 0; rest &= rest - 1 {
		sum = sum.plus(l.counters(bits.TrailingZeros64(rest)))
	}
	return Usage{
		ComputeSlices: sum[0], SMs: sum[1],
		Engines: Engines{Copy: sum[2], NVDEC: sum[3], NVENC: sum[4], JPEG: sum[5], OFA: sum[6]},
	}
}
