package record

import (
	"cmp"
	"slices"
)

// A Surplus is what a group of a gang that runs has above its minimum: units of which any may
// go, but only so many members in all. Of a group with segments those are the surplus first that
// have lost members: while the whole ones are the minimum by themselves, the members of a torn one
// count for nothing.
type Surplus struct {
	// Units that run, those first that go first.
	Units [][]int
	// Most members may go and leave the minimum, of units that have Free members or more; those of
	// smaller ones may all go.
	Most, Free int
}

// SurplusOf finds what a group has above its minimum.
func SurplusOf(rep *Replica, group int) Surplus {
	g := &rep.Job.Spec.Groups[group]
	s := Surplus{Most: -Least(g)}
	if Least(g) == g.Members {
		return s
	}
	whole := 0
	first, end := rep.Job.Offset(group), rep.Job.Offset(group+1)
	for ; first < end; first += UnitOf(g) {
		var unit []int
		for flat := first; flat < first+UnitOf(g); flat++ {
			if m := &rep.Members[flat]; m.State == MemberRunning && !m.Imagined {
				unit = append(unit, flat)
			}
		}
		if len(unit) > 0 {
			s.Most += len(unit)
			s.Units = append(s.Units, unit)
		}
		if len(unit) == UnitOf(g) {
			whole += len(unit)
		}
	}
	if whole >= Least(g) {
		s.Most, s.Free = whole-Least(g), UnitOf(g)
	}
	return s
}

// Counts is how many members of a unit count for what may go.
func (s *Surplus) Counts(unit []int) int {
	if len(unit) < s.Free {
		return 0
	}
	return len(unit)
}

// Amount is how many members may go in all.
func (s *Surplus) Amount() int {
	n := s.Most
	for _, unit := range s.Units {
		n += len(unit) - s.Counts(unit)
	}
	return n
}

// InTurn puts the units in the order in which they go for no other gang: those that lack
// members first, and of units that are alike the later ones.
func (s *Surplus) InTurn() {
	slices.SortFunc(s.Units, func(a, b []int) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(b[0], a[0])) })
}

// Extras are the first units, as many as may go together.
func (s *Surplus) Extras() [][]int {
	left := s.Most
	for i, unit := range s.Units {
		if left -= s.Counts(unit); left < 0 {
			return s.Units[:i]
		}
	}
	return s.Units
}
