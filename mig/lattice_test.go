package mig

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

func lattice(t testing.TB, product string) *Lattice {
	t.Helper()
	p, ok := Lookup(product)
	require.True(t, ok, product)
	l, err := NewLattice(p)
	require.NoError(t, err)
	return l
}

func profileIndex(t testing.TB, l *Lattice, name string) int {
	t.Helper()
	parsed, err := ParseProfileName(name)
	require.NoError(t, err)
	p, ok := l.ProfileIndex(parsed)
	require.True(t, ok, name)
	return p
}

func placements(t testing.TB, texts ...string) []Placement {
	t.Helper()
	list := make([]Placement, len(texts))
	for i, text := range texts {
		var err error
		list[i], err = ParsePlacement(text)
		require.NoError(t, err)
	}
	return list
}

// Every state of every product, and every answer about it, against the rule.
func TestLatticeAgreesWithTheTwin(t *testing.T) {
	for _, product := range Products() {
		t.Run(product.Name, func(t *testing.T) {
			l, err := NewLattice(product)
			require.NoError(t, err)
			w := newTwin(product)
			require.Equal(t, w.placements, l.Placements())
			reachable := w.reachable()
			require.Equal(t, len(reachable), l.States())
			slices.Sort(reachable)
			for s := range l.States() {
				compareState(t, l, w, State(s), reachable[s])
			}
		})
	}
}

func compareState(t *testing.T, l *Lattice, w *twin, s State, set uint64) {
	layout := l.Layout(s)
	if set != w.setOf(layout) { // require is slow in a loop this hot
		t.Fatalf("state %d is %s, and not %s", s, layout, w.layout(set))
	}
	open := w.open(set)
	if openInAll(l, s) != len(open) {
		t.Fatalf("%s: %d placements are open, and not %d", layout, openInAll(l, s), len(open))
	}
	var taken Mask
	for _, placement := range layout {
		taken |= placement.Mask()
	}
	if l.Occupied(s) != taken {
		t.Fatalf("%s occupies %s", layout, l.Occupied(s))
	}
	for p, profile := range w.product.Profiles {
		openOf, free := w.openOf(set, profile.Name), w.free(set, profile.Name, 0)
		starts := l.AppendOpen(nil, s, p)
		agrees := l.Fits(s, p) == (len(openOf) > 0) && l.Free(s, p) == free &&
			slices.EqualFunc(starts, openOf, func(a Placement, j int) bool { return a == w.placements[j] })
		if !agrees {
			t.Fatalf("%s, %s: open at %v, %d free; the twin says %v, %d", layout, profile.Name, starts, l.Free(s, p), openOf, free)
		}
		placement, next, ok := l.Place(s, p)
		comparePlaced(t, l, w, s, set, p, placement, next, ok)
	}
	compareMoves(t, l, w, s, set)
}

func comparePlaced(
	t *testing.T, l *Lattice, w *twin, s State, set uint64, p int,
	placement Placement, next State, ok bool,
) {
	j, want := w.place(set, w.product.Profiles[p].Name)
	if ok != want || !ok && next != s {
		t.Fatalf("%s, %s: placed %t, and the twin %t", l.Layout(s), w.product.Profiles[p].Name, ok, want)
	}
	if ok && (placement != w.placements[j] || w.setOf(l.Layout(next)) != set|1<<j) {
		t.Fatalf("%s: placed %s, and the twin %s", l.Layout(s), placement, w.placements[j])
	}
}

// compareMoves tries each placement of the product, there and away.
func compareMoves(t *testing.T, l *Lattice, w *twin, s State, set uint64) {
	for j, placement := range w.placements {
		present := set&(1<<j) != 0
		joins := !present && w.valid(set|1<<j)
		if !joins && s%16 != 0 {
			continue // refusals build a text: a sample of them is enough
		}
		next, err := l.PlaceAt(s, placement)
		if joins != (err == nil) || joins && w.setOf(l.Layout(next)) != set|1<<j {
			t.Fatalf("%s: %s gives %v", l.Layout(s), placement, err)
		}
		if !joins && (next != s || !errors.Is(err, ErrConflict) || reasonOf(err) == "") {
			t.Fatalf("%s: %s gives %v, and leads to %s", l.Layout(s), placement, err, l.Layout(next))
		}
		back, err := l.Remove(next, placement)
		switch {
		case joins || present:
			if err != nil || w.setOf(l.Layout(back)) != set&^(1<<j) {
				t.Fatalf("%s: %s does not go: %v", l.Layout(next), placement, err)
			}
		case back != next || !errors.Is(err, ErrNotPlaced):
			t.Fatalf("%s: %s goes: %v", l.Layout(next), placement, err)
		}
	}
}

func reasonOf(err error) string {
	var refusal *Error
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Reason
}

// S5: whatever is created and destroyed, the layout is valid for the product.
func TestS5_LayoutIsAlwaysValid(t *testing.T) {
	for _, product := range Products() {
		t.Run(product.Name, func(t *testing.T) {
			l, err := NewLattice(product)
			require.NoError(t, err)
			w := newTwin(product)
			drawn.Check(t, func(t *rapid.T) {
				var s State
				there := map[Placement]bool{}
				profile := rapid.IntRange(-1, l.Profiles())
				anywhere := rapid.SampledFrom(l.Placements())
				t.Repeat(map[string]func(*rapid.T){
					"place": func(t *rapid.T) {
						placement, next, ok := l.Place(s, profile.Draw(t, "profile"))
						if ok {
							there[placement] = true
						} else {
							require.Equal(t, s, next)
						}
						s = next
					},
					"place at": func(t *rapid.T) {
						placement := anywhere.Draw(t, "placement")
						next, err := l.PlaceAt(s, placement)
						if err == nil {
							require.False(t, there[placement])
							there[placement] = true
						}
						s = next
					},
					"remove": func(t *rapid.T) {
						placement := anywhere.Draw(t, "placement")
						next, err := l.Remove(s, placement)
						require.Equal(t, there[placement], err == nil)
						delete(there, placement)
						s = next
					},
					"": func(t *rapid.T) {
						layout := l.Layout(s)
						require.Len(t, layout, len(there))
						for _, placement := range layout {
							require.True(t, there[placement])
						}
						require.True(t, w.holds(layout), "%s", layout)
						again, err := l.StateOf(layout)
						require.NoError(t, err)
						require.Equal(t, s, again)
					},
				})
			})
		})
	}
}

// What real GPUs printed in the Free column of nvidia-smi mig -lgip.
func TestFreeAsPrintedByGPUs(t *testing.T) {
	for _, vector := range []struct {
		product string
		placed  []string
		free    map[string]int
	}{
		{"A100-40GB", nil, map[string]int{
			"1g.5gb": 7, "1g.5gb+me": 1, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1,
		}},
		{"H100-94GB", []string{"3g.47gb@0:4", "3g.47gb@4:4"}, map[string]int{
			"1g.12gb": 0, "1g.12gb+me": 0, "1g.24gb": 0, "2g.24gb": 0, "3g.47gb": 0, "4g.47gb": 0, "7g.94gb": 0,
		}},
		// From the prose of a tutorial, whose GPU chose the start itself.
		{"A100-80GB", []string{"3g.40gb@0:4"}, map[string]int{"3g.40gb": 1, "1g.10gb": 3}},
	} {
		l := lattice(t, vector.product)
		s, err := l.StateOf(placements(t, vector.placed...))
		require.NoError(t, err)
		for name, free := range vector.free {
			require.Equal(t, free, l.Free(s, profileIndex(t, l, name)), "%s with %v: %s", vector.product, vector.placed, name)
		}
	}
}

// What a driver was seen to choose; Place agrees in these cases, which the two do
// not always.
func TestPlaceAsSeenOnGPUs(t *testing.T) {
	for _, seen := range []struct {
		product  string
		profiles []string
		layout   string
	}{
		{"RTX PRO 6000", []string{"2g.48gb", "1g.24gb", "1g.24gb"}, "2g.48gb@0:6 1g.24gb@6:3 1g.24gb@9:3"},
		{"A100-40GB", []string{"3g.20gb", "3g.20gb"}, "3g.20gb@0:4 3g.20gb@4:4"},
	} {
		l := lattice(t, seen.product)
		var s State
		for _, name := range seen.profiles {
			var ok bool
			_, s, ok = l.Place(s, profileIndex(t, l, name))
			require.True(t, ok)
		}
		require.Equal(t, seen.layout, l.Layout(s).String())
	}
}

// What a lattice does not have fits nowhere, and nothing panics.
func TestOutsideOfTheLattice(t *testing.T) {
	l := lattice(t, "A100-40GB")
	check := func(s State, p int) {
		require.False(t, l.Fits(s, p))
		require.Zero(t, l.Free(s, p))
		require.Zero(t, l.Instances(s, p))
		require.Empty(t, l.AppendOpen(nil, s, p))
		_, next, ok := l.Place(s, p)
		require.False(t, ok)
		require.Equal(t, s, next)
	}
	for _, p := range []int{-1, l.Profiles(), math.MaxInt, math.MinInt} {
		check(0, p)
		_, ok := l.Profile(p)
		require.False(t, ok)
	}
	for _, s := range []State{State(l.States()), math.MaxUint16} {
		check(s, 0)
		require.Nil(t, l.Layout(s))
		require.Zero(t, l.Occupied(s))
		require.Zero(t, l.Used(s))
		require.Zero(t, openInAll(l, s))
		_, ok := l.Arrange(s, nil)
		require.False(t, ok)
		_, err := l.PlaceAt(s, l.Placements()[0])
		require.ErrorIs(t, err, ErrUnknown)
		_, err = l.Remove(s, l.Placements()[0])
		require.ErrorIs(t, err, ErrUnknown)
	}
	_, err := new(Lattice).PlaceAt(0, Placement{})
	require.ErrorIs(t, err, ErrUnknown)
}

// A refusal says what is in the way.
func TestRefusals(t *testing.T) {
	a100, a30 := lattice(t, "A100-40GB"), lattice(t, "A30")
	for _, test := range []struct {
		lattice *Lattice
		layout  []string
		text    string
		kind    error
	}{
		{a100, []string{"3g.20gb@4:4", "2g.10gb@4:2"}, `mig: product "A100-40GB": 2g.10gb@4:2: memory slices 4-5 are taken by 3g.20gb@4:4`, ErrConflict},
		{a100, []string{"1g.5gb@0:1", "1g.5gb@0:1"}, `mig: product "A100-40GB": 1g.5gb@0:1: memory slices 0 are taken by 1g.5gb@0:1`, ErrConflict},
		{a100, []string{"1g.5gb+me@0:1", "1g.5gb+me@1:1"}, `mig: product "A100-40GB": 1g.5gb+me@1:1: needs 1 of the JPEG engines, and 0 are free`, ErrConflict},
		{a30, []string{"2g.12gb+me@0:2", "1g.6gb+me@2:1"}, `mig: product "A30": 1g.6gb+me@2:1: needs 1 of the JPEG engines, and 0 are free`, ErrConflict},
		{a100, []string{"3g.20gb@1:4"}, `mig: product "A100-40GB": 3g.20gb@1:4: the product has no such start for the profile`, ErrUnknown},
		{a100, []string{"3g.20gb@0:3"}, `mig: product "A100-40GB": 3g.20gb@0:3: the profile takes 4 memory slices`, ErrUnknown},
		{a100, []string{"3g.40gb@0:4"}, `mig: product "A100-40GB": 3g.40gb@0:4: the product has no such profile`, ErrUnknown},
	} {
		_, err := test.lattice.StateOf(placements(t, test.layout...))
		require.ErrorIs(t, err, test.kind)
		require.EqualError(t, err, test.text)
	}
	_, err := a100.Remove(0, placements(t, "3g.20gb@0:4")[0])
	require.ErrorIs(t, err, ErrNotPlaced)
	require.EqualError(t, err, `mig: product "A100-40GB": 3g.20gb@0:4: no such instance is there`)
}

func TestUsed(t *testing.T) {
	l := lattice(t, "H100-80GB")
	s, err := l.StateOf(placements(t, "4g.40gb@0:4", "1g.20gb@4:2", "1g.10gb+me@6:1"))
	require.NoError(t, err)
	require.Equal(t, Usage{
		ComputeSlices: 6, SMs: 64 + 26 + 16, Engines: Engines{Copy: 6, NVDEC: 6, JPEG: 6, OFA: 1},
	}, l.Used(s))
	require.Equal(t, "0-6", l.Occupied(s).String())
	require.Equal(t, 7, sizeOf(l.Occupied(s)))
	require.Equal(t, 1, l.Instances(s, profileIndex(t, l, "1g.20gb")))
}

// A lattice keeps a product of its own, and gives none of it away.
func TestLatticeDoesNotShareItsProduct(t *testing.T) {
	p, _ := Lookup("A30")
	l, err := NewLattice(p)
	require.NoError(t, err)
	p.Profiles[0].Starts[0] = 3
	copied := l.Product()
	copied.Profiles[1].Starts[0] = 3
	profile, _ := l.Profile(0)
	profile.Starts[0] = 3
	l.Placements()[0].Start = 3
	fresh, _ := Lookup("A30")
	require.Equal(t, fresh, l.Product())
	require.EqualValues(t, 0, l.Placements()[0].Start)
}

// The numbered questions say the same as those by placement.
func TestPlacementSets(t *testing.T) {
	for _, p := range Products() {
		l, err := NewLattice(p)
		require.NoError(t, err)
		placements := l.Placements()
		for s := range l.States() {
			state := State(s)
			layout := l.Layout(state)
			for j, placement := range placements {
				there := slices.Contains(layout, placement)
				with, err := l.PlaceAt(state, placement)
				open := err == nil
				if there {
					with, err = l.Remove(state, placement)
				}
				next, ok := l.Toggle(state, j)
				if there != (l.PlacementSet(state)>>j&1 == 1) || open != (l.OpenSet(state)>>j&1 == 1) || ok != (err == nil) || next != with {
					t.Fatalf("%s: %v and %s: there %t, open %t, then %v (%t), not %v (%v)", p.Name, layout, placement, there, open, next, ok, with, err)
				}
			}
		}
		for j, placement := range placements {
			i, _ := l.ProfileIndex(placement.Profile)
			require.Equal(t, uint64(1), l.ProfileSet(i)>>j&1)
		}
		_, ok := l.Toggle(0, len(placements))
		require.False(t, ok)
		_, ok = l.Toggle(State(l.States()), 0)
		require.False(t, ok)
		require.Zero(t, l.PlacementSet(State(l.States()))|l.OpenSet(State(l.States()))|l.ProfileSet(-1))
	}
}
