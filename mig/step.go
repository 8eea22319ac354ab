package mig

import "math/bits"

// A Step creates one instance, or destroys it.
type Step struct {
	// Create an instance at the placement; if not, destroy the one that is there.
	Create    bool      `json:"create,omitempty"`
	Placement Placement `json:"placement"`
}

// String returns the placement with a plus or a minus before it, such as
// "+3g.40gb@4:4".
func (s Step) String() string {
	sign := byte('-')
	if s.Create {
		sign = '+'
	}
	return string(s.Placement.append([]byte{sign}))
}

// Apply returns the state after the step. Its errors are those of PlaceAt and
// Remove.
func (l *Lattice) Apply(s State, step Step) (State, error) {
	if step.Create {
		return l.PlaceAt(s, step.Placement)
	}
	return l.Remove(s, step.Placement)
}

// A neighbor is a state that is one step away.
type neighbor struct {
	Step  Step
	State State
}

// appendNeighbors appends all states that are one step away: first those with one
// instance more, then those with one less, each in the order of Placements. It
// allocates only to grow the slice.
// Complexity: one look-up for each state appended.
func (l *Lattice) appendNeighbors(to []neighbor, s State) []neighbor {
	if !l.has(s) {
		return to
	}
	for rest := l.open[s]; rest != 0; rest &= rest - 1 {
		j := bits.TrailingZeros64(rest)
		to = append(to, neighbor{Step{Create: true, Placement: l.placements[j]}, l.after(s, j)})
	}
	for rest := l.sets[s]; rest != 0; rest &= rest - 1 {
		j := bits.TrailingZeros64(rest)
		to = append(to, neighbor{Step{Placement: l.placements[j]}, l.after(s, j)})
	}
	return to
}

// appendMaximal appends the maximal layouts that have all instances of s, so all
// maximal layouts of the product for the empty state, in ascending order. It
// allocates only to grow the slice.
// Complexity: one step for each state of the lattice.
func (l *Lattice) appendMaximal(to []State, s State) []State {
	if !l.has(s) {
		return to
	}
	// A set that has another as a part is not less than it, so s is the first.
	for t := int(s); t < len(l.sets); t++ {
		if l.open[t] == 0 && l.sets[t]&l.sets[s] == l.sets[s] {
			to = append(to, State(t))
		}
	}
	return to
}
