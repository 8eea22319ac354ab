package gang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// This file is about classes whose number is given again.

// kinds are losses by what the class of a stock stands for just now.
type kinds map[topology.NodeClass]int64

func (kinds) Version() uint32                          { return 1 }
func (k kinds) Loss(_ *Claim, s *Stock, _ int16) int64 { return k[s.Class] }

// joins adds a node with two GPUs.
func joins(t *testing.T, f *Fleet, name string, class topology.NodeClass, l *mig.Lattice) topology.NodeIndex {
	t.Helper()
	n, err := f.AddNode(NodeSpec{Name: name, Class: class, GPUs: 2, Lattice: l})
	require.NoError(t, err)
	return n
}

// A stock ends with its class: nodes with as much left that get the number of the class later have
// one of their own, without what the caller kept with it, and what was lost on it is asked anew.
func TestAStockEndsWithItsClass(t *testing.T) {
	for _, test := range []struct {
		name string
		goes func(f *Fleet, n topology.NodeIndex) error
	}{
		{"the last node goes", func(f *Fleet, n topology.NodeIndex) error { return f.RemoveNode(n) }},
		{"the last node becomes another", func(f *Fleet, n topology.NodeIndex) error { return f.SetClass(n, 1) }},
	} {
		for _, looks := range []bool{true, false} { // between
			f, err := NewFleet()
			require.NoError(t, err)
			meant := kinds{0: 7, 1: 7}
			f.SetLoss(meant)
			claim := &Claim{GPUs: 1}
			n := joins(t, f, "a", 0, nil)
			f.StockOf(n).Tag = "seven"
			least, _, ok := f.LossOn(claim, n)
			require.True(t, ok)
			require.EqualValues(t, 7, least)

			require.NoError(t, test.goes(f, n))
			if looks {
				f.Stocks(func(*Stock) {})
			}
			meant[0] = 9
			n = joins(t, f, "b", 0, nil)
			require.Nil(t, f.StockOf(n).Tag, test.name)
			least, _, ok = f.LossOn(claim, n)
			require.True(t, ok)
			require.EqualValues(t, 9, least, test.name)
			require.NoError(t, f.Check())
		}
	}
}

// While a class has a node, its stocks are kept though no node has as much left.
func TestAStockIsKeptWithItsClass(t *testing.T) {
	f, err := NewFleet()
	require.NoError(t, err)
	f.SetLoss(kinds{})
	n := joins(t, f, "a", 0, nil)
	f.StockOf(n).Tag = "two"
	require.NoError(t, f.Hold(Hold{Node: n, GPUs: 1}))
	require.Nil(t, f.StockOf(n).Tag)
	require.NoError(t, f.Release(Hold{Node: n, GPUs: 1}))
	require.Equal(t, "two", f.StockOf(n).Tag)
}

// A diagnosis takes no node for one of a class that is gone, though it comes to the new one before
// it comes to the last of the old ones.
func TestAConditionEndsWithItsClass(t *testing.T) {
	lattice := func(name string) *mig.Lattice {
		product, known := mig.Lookup(name)
		require.True(t, known)
		l, err := mig.NewLattice(product)
		require.NoError(t, err)
		return l
	}
	sevens, fours := lattice("A100-80GB"), lattice("A30")
	divided := func(f *Fleet, n topology.NodeIndex) {
		for gpu := range 2 {
			require.NoError(t, f.SetPartitioning(n, gpu, PartitioningPerClaim, 0))
		}
	}
	fit := func(f *Fleet, class topology.NodeClass) int {
		s, _ := f.Diagnose(&Request{Groups: []Group{{Members: 100, Claim: Claim{Instances: []ClassProfile{{Class: class}}}, Classes: []topology.NodeClass{class}}}})
		return s.Members
	}
	f, err := NewFleet()
	require.NoError(t, err)
	a := joins(t, f, "a", 0, sevens)
	b := joins(t, f, "b", 2, nil)
	divided(f, a)
	require.Equal(t, 14, fit(f, 0))

	f.SetHealthy(b, 0, false) // it is noted first
	require.NoError(t, f.RemoveNode(b))
	require.NoError(t, f.SetClass(a, 1))
	c := joins(t, f, "c", 0, fours)
	require.Equal(t, b, c)
	divided(f, c)
	require.Equal(t, 8, fit(f, 0))
	require.Equal(t, 14, fit(f, 1))
	require.NoError(t, f.Check())
}
