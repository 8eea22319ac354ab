package mig

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// Asking and placing allocate nothing, in any state.
func TestQuestionsDoNotAllocate(t *testing.T) {
	for _, name := range []string{"H100-80GB", "RTX PRO 6000"} {
		l := lattice(t, name)
		wanted := make([]int, l.Profiles())
		wanted[0], wanted[1] = 2, 1
		serving, open := make([]int, 0, MaxProfiles), make([]Placement, 0, MaxPlacements)
		s, placed := State(0), 0
		allocations := testing.AllocsPerRun(500, func() {
			s = (s + 61) % State(l.States())
			for p := range l.Profiles() {
				if l.Fits(s, p) && l.Free(s, p) > 0 {
					open = l.AppendOpen(open[:0], s, p)
					placement, next, _ := l.Place(s, p)
					back, err := l.Remove(next, placement)
					if err == nil && back == s {
						placed++
					}
					_, _ = l.PlaceAt(s, placement)
				}
			}
			_, _ = l.StateOf(open[:0])
			_, _ = l.Arrange(s, wanted)
			_ = l.Used(s)
			serving = l.AppendServing(serving[:0], Need{SMs: 30})
			held := State(0)
			for p := range l.Profiles() {
				if l.Instances(s, p) > 0 && held == 0 {
					_, held, _ = l.Place(0, p) // in use, if it is where s has one
				}
			}
			_, _ = l.reach(s, held, wanted)
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

func BenchmarkAppendServing(b *testing.B) {
	serving := make([]int, 0, MaxProfiles)
	benchmark(b, func(l *Lattice, s State, p int) bool {
		serving = l.AppendServing(serving[:0], Need{SMs: int(s % 128), MemoryMiB: int64(p) << 13})
		return len(serving) > 0
	})
}

// From any state, with nothing held, to one more instance of a profile: the most
// sets of idle instances to try.
func BenchmarkReach(b *testing.B) {
	var counts [MaxProfiles]int
	benchmark(b, func(l *Lattice, s State, p int) bool {
		counts[p] = 1 + l.Instances(s, p)
		_, ok := l.reach(s, 0, counts[:l.Profiles()])
		counts[p] = 0
		return ok
	})
}

// The same with the first instance of the state in use, and the steps.
func BenchmarkPlanFor(b *testing.B) {
	var counts [MaxProfiles]int
	benchmark(b, func(l *Lattice, s State, p int) bool {
		counts[p] = 1
		held := State(0)
		if l.sets[s] != 0 {
			held = l.after(0, bits.TrailingZeros64(l.sets[s]))
		}
		_, _, ok := l.PlanFor(s, held, counts[:l.Profiles()])
		counts[p] = 0
		return ok
	})
}

func BenchmarkPlan(b *testing.B) {
	last := State(0)
	benchmark(b, func(l *Lattice, s State, _ int) bool {
		_, err := l.Plan(last, s, 0)
		last = s
		return err == nil
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
