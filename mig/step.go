package mig

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
