package mig

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every state one step away of every state of every product, against the twin.
func TestNextStatesAgreeWithTheTwin(t *testing.T) {
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		w := newTwin(product)
		var next []neighbor
		for s := range State(l.States()) {
			set := w.setOf(l.Layout(s))
			next = l.appendNeighbors(next[:0], s)
			i := 0
			for _, create := range []bool{true, false} {
				for j, placement := range w.placements {
					there := set&(1<<j) != 0
					if there == create || create && !w.valid(set|1<<j) {
						continue
					}
					if i == len(next) || next[i].Step != (Step{create, placement}) ||
						w.setOf(l.Layout(next[i].State)) != set^1<<j {
						t.Fatalf("%s: after %s, step %d is not %s", product.Name, l.Layout(s), i, placement)
					}
					i++
				}
			}
			if len(next) != i {
				t.Fatalf("%s: after %s come %v", product.Name, l.Layout(s), next)
			}
		}
	}
}

// The maximal layouts above each of some states of every product, against the
// twin, and the published number of them.
func TestMaximalAgreesWithTheTwin(t *testing.T) {
	for _, product := range Products() {
		l, err := NewLattice(product)
		require.NoError(t, err)
		w := newTwin(product)
		var maximal []uint64
		for _, set := range w.reachable() {
			if len(w.open(set)) == 0 {
				maximal = append(maximal, set)
			}
		}
		slices.Sort(maximal)
		for s := 0; s < l.States(); s += 23 {
			set := w.setOf(l.Layout(State(s)))
			var want, got []uint64
			for _, m := range maximal {
				if m&set == set {
					want = append(want, m)
				}
			}
			for _, m := range l.appendMaximal(nil, State(s)) {
				got = append(got, w.setOf(l.Layout(m)))
			}
			require.Equal(t, want, got)
		}
	}
	require.Len(t, lattice(t, "A100-40GB").appendMaximal(nil, 0), 239)
}

func TestApply(t *testing.T) {
	l := lattice(t, "H100-80GB")
	three := Step{Create: true, Placement: placements(t, "3g.40gb@4:4")[0]}
	require.Equal(t, "+3g.40gb@4:4", three.String())
	s, err := l.Apply(0, three)
	require.NoError(t, err)
	_, err = l.Apply(s, three)
	require.ErrorIs(t, err, ErrConflict)
	text, err := json.Marshal(three)
	require.NoError(t, err)
	require.JSONEq(t, `{"create": true, "placement": "3g.40gb@4:4"}`, string(text))
	three.Create = false
	require.Equal(t, "-3g.40gb@4:4", three.String())
	s, err = l.Apply(s, three)
	require.NoError(t, err)
	require.Zero(t, s)
	_, err = l.Apply(s, three)
	require.ErrorIs(t, err, ErrNotPlaced)
	outside := State(l.States())
	require.Empty(t, l.appendNeighbors(nil, outside))
	require.Empty(t, l.appendMaximal(nil, outside))
}
