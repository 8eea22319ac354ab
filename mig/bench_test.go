package mig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Asking and placing allocate nothing, in any state.
func TestQuestionsDoNotAllocate(t *testing.T) {
	for _, name := range []string{"H100-80GB", "RTX PRO 6000"} {
		l := lattice(t, name)
		weights := make([]uint32, l.Profiles())
		weights[2] = 7
		wanted := make([]int, l.Profiles())
		wanted[0], wanted[1] = 2, 1
		open, layout := make([]Placement, 0, MaxPlacements), make(Layout, 0, MaxPlacements)
		s, placed := State(0), 0
		allocations := testing.AllocsPerRun(500, func() {
			s = (s + 61) % State(l.States())
			for p := range l.Profiles() {
				if l.Fits(s, p) && l.Free(s, p) > 0 && l.Open(s, p) <= l.OpenInAll(s) {
					open = l.AppendOpen(open[:0], s, p)
					_, _, _ = l.PlaceWeighted(s, p, weights)
					placement, next, _ := l.Place(s, p)
					back, err := l.Remove(next, placement)
					if err == nil && back == s {
						placed++
					}
					_, _ = l.PlaceAt(s, placement)
				}
			}
			layout = l.AppendLayout(layout[:0], s)
			_, _ = l.StateOf(layout)
			_, _ = l.Arrange(s, wanted)
			_ = l.Used(s)
		})
		require.Zero(t, allocations)
		require.NotZero(t, placed)
	}
}

// The states to ask about: all of them, in turn, so that the tables are read as a
// fleet of mixed GPUs would.
func benchmark(b *testing.B, ask func(l *Lattice, s State, profile int) bool) {
	l := lattice(b, "H100-80GB")
	b.ReportAllocs()
	states, profiles := State(l.States()), l.Profiles()
	s, p, yes := State(0), 0, 0
	for b.Loop() {
		if s += 61; s >= states {
			s -= states
			if p++; p == profiles {
				p = 0
			}
		}
		if ask(l, s, p) {
			yes++
		}
	}
	b.ReportMetric(float64(yes)/float64(b.N), "yes/op")
}

func BenchmarkFits(b *testing.B) {
	benchmark(b, (*Lattice).Fits)
}

func BenchmarkFree(b *testing.B) {
	benchmark(b, func(l *Lattice, s State, p int) bool { return l.Free(s, p) > 1 })
}

func BenchmarkPlace(b *testing.B) {
	benchmark(b, func(l *Lattice, s State, p int) bool {
		_, _, ok := l.Place(s, p)
		return ok
	})
}

func BenchmarkPlaceWeighted(b *testing.B) {
	weights := []uint32{5, 0, 1, 3, 2, 0, 1}
	benchmark(b, func(l *Lattice, s State, p int) bool {
		_, _, ok := l.PlaceWeighted(s, p, weights)
		return ok
	})
}

func BenchmarkPlaceAndRemove(b *testing.B) {
	benchmark(b, func(l *Lattice, s State, p int) bool {
		placement, next, ok := l.Place(s, p)
		if ok {
			_, err := l.Remove(next, placement)
			ok = err == nil
		}
		return ok
	})
}

func BenchmarkArrange(b *testing.B) {
	wanted := []int{2, 0, 0, 1}
	benchmark(b, func(l *Lattice, s State, _ int) bool {
		_, ok := l.Arrange(s, wanted)
		return ok
	})
}

func BenchmarkNewLattice(b *testing.B) {
	product, _ := Lookup("H100-80GB")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewLattice(product); err != nil {
			b.Fatal(err)
		}
	}
}
