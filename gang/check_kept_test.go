package gang

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// fleetWithAll is a fleet of which everything is kept that a fleet can keep: nodes with whole GPUs
// held, with shares and with instances, losses that were asked about, and a diagnosis.
func fleetWithAll(t *testing.T) *Fleet {
	t.Helper()
	f, err := NewFleet("leaf")
	require.NoError(t, err)
	product, _ := mig.Lookup("A30")
	lattice, err := mig.NewLattice(product)
	require.NoError(t, err)
	f.SetLoss(kinds{0: 7, 1: 8, 2: 9})
	for i, class := range []topology.NodeClass{0, 0, 1, 2, 2} {
		spec := NodeSpec{Name: string(rune('a' + i)), Path: []string{string(rune('x' + i/2))}, Class: class, GPUs: 4, GPUMemoryMiB: 1000}
		if class == 2 {
			spec.Lattice = lattice
		}
		_, err := f.AddNode(spec)
		require.NoError(t, err)
	}
	require.NoError(t, f.Hold(Hold{Node: 0, GPUs: 3}))
	require.NoError(t, f.Hold(Hold{Node: 2, GPUs: 1, Share: Share{GPUMilli: 300, MemoryMiB: 300, Owner: 1}}))
	for gpu := range 2 {
		require.NoError(t, f.SetPartitioning(3, gpu, PartitioningPerClaim, 0))
	}
	require.NoError(t, f.Hold(Hold{Node: 3, GPUs: 1, Instance: lattice.Placements()[0]}))
	f.SetRanking(lattice, mig.NewRanking(lattice, []uint32{1, 2, 3}))
	for _, claim := range []Claim{{GPUs: 1}, {Share: Share{GPUMilli: 100, Owner: 1}}} {
		for n := range topology.NodeIndex(5) {
			f.LossOn(&claim, n)
		}
	}
	f.Diagnose(&Request{Groups: []Group{{Members: 100, Claim: Claim{GPUs: 4}, Classes: []topology.NodeClass{0, 1, 2}}}})
	require.NoError(t, f.Check())
	return f
}

// Everything that a fleet keeps is worked out anew by Check: a fault in any of it is found.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	for name, spoil := range map[string]func(f *Fleet){
		"the generation of a node":            func(f *Fleet) { f.nodes[1].generation++ },
		"the generation of a class":           func(f *Fleet) { f.divided[1].generation = f.divided[0].generation },
		"a generation that is yet to come":    func(f *Fleet) { f.generations = 1 },
		"the nodes of a class":                func(f *Fleet) { f.divided[0].nodes++ },
		"the lattice of a class":              func(f *Fleet) { f.divided[0].geometry = f.divided[2].geometry },
		"the placements of a lattice":         func(f *Fleet) { f.divided[2].geometry.placements = nil },
		"the extents of a lattice":            func(f *Fleet) { f.divided[2].geometry.extents[0]++ },
		"the ranking of a lattice":            func(f *Fleet) { f.rankings[0].ranking = mig.NewRanking(f.rankings[0].lattice, nil) },
		"a shared GPU":                        func(f *Fleet) { f.shared[1].Clear(false) },
		"a divided GPU":                       func(f *Fleet) { f.divided[2].gpus.DeleteMin() },
		"the GPUs of a lot":                   func(f *Fleet) { f.divided[2].lots[0].gpus++ },
		"the position of a lot":               func(f *Fleet) { f.divided[2].lots[0].position = f.divided[2].lots[1].position },
		"a vacant position":                   func(f *Fleet) { f.divided[2].vacant = append(f.divided[2].vacant, 0) },
		"a bid":                               func(f *Fleet) { f.divided[2].offers[0].free[0].loss++ },
		"what is free in the tree":            func(f *Fleet) { f.tree.SetFree(1, 1) },
		"the condition of a node":             func(f *Fleet) { f.census.of[4].condition = f.census.of[3].condition },
		"the domain of a node":                func(f *Fleet) { f.census.of[4].domain = f.census.of[0].domain },
		"a node in no condition":              func(f *Fleet) { f.census.of[4].condition = -1 },
		"the nodes in a condition":            func(f *Fleet) { f.census.conditions[0].nodes++ },
		"the key of a condition":              func(f *Fleet) { f.census.conditions[0].key += "x" },
		"a condition by its key":              func(f *Fleet) { f.census.byKey[f.census.conditions[0].key] = 1 },
		"the sample of a condition":           func(f *Fleet) { f.census.conditions[f.census.of[0].condition].whole = 1 },
		"a lattice of a condition":            func(f *Fleet) { f.census.conditions[f.census.of[3].condition].geometry = nil },
		"a slot of a condition":               func(f *Fleet) { f.census.conditions[f.census.of[2].condition].slots[3].milli++ },
		"the crowds of a domain":              func(f *Fleet) { f.census.at[f.census.of[0].domain][0].nodes++ },
		"a domain without its crowds":         func(f *Fleet) { f.census.at[f.census.of[0].domain] = nil },
		"a change that nobody counts":         func(f *Fleet) { f.census.of[1].stale = true },
		"a vacant condition":                  func(f *Fleet) { f.census.vacant = append(f.census.vacant, 0) },
		"the stock of a node":                 func(f *Fleet) { f.stocks.of[4].stock = f.stocks.of[1].stock },
		"the place of a node in its stock":    func(f *Fleet) { f.stocks.of[1].at++ },
		"what a stock has left of GPUs":       func(f *Fleet) { f.stockAt(0).Left[0]++ },
		"what a stock has left of its host":   func(f *Fleet) { f.stockAt(0).Host[0]++ },
		"the class of a stock":                func(f *Fleet) { f.stockAt(2).Class = 2 },
		"the generation of a stock":           func(f *Fleet) { f.stockAt(2).generation++ },
		"the key of a stock":                  func(f *Fleet) { f.stockAt(0).key += "x" },
		"the birth of a stock":                func(f *Fleet) { f.stockAt(0).birth = f.stockAt(1).birth },
		"the list of a class":                 func(f *Fleet) { f.stocks.lists[0] = f.stocks.lists[0][:1] },
		"the place in the list of a class":    func(f *Fleet) { f.stocks.at[f.stocks.of[0].stock]++ },
		"the number of stocks with nodes":     func(f *Fleet) { f.stocks.live++ },
		"a node that goes unnoted":            func(f *Fleet) { f.stocks.of[1].stale = true },
		"a key of no stock":                   func(f *Fleet) { f.stocks.byKey["x"] = 0 },
		"a loss":                              func(f *Fleet) { f.losses.claims[0].known[f.stocks.of[0].stock].least++ },
		"what a GPU has left that is lost":    func(f *Fleet) { f.losses.claims[1].known[f.stocks.of[2].stock].left++ },
		"the losses by a claim":               func(f *Fleet) { f.losses.claims[0].key.gpus++ },
		"a choice of places that is not over": func(f *Fleet) { f.search.picks.on = true },
		"a node that the tree is not told of": func(f *Fleet) { f.untold = append(f.untold, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetWithAll(t)
			spoil(f)
			require.Error(t, f.Check())
		})
	}
}

func (f *Fleet) stockAt(n topology.NodeIndex) *Stock { return &f.stocks.list[f.stocks.of[n].stock] }

// The tags of stocks are for the caller to check: of all that are kept, whether or not a node has
// as much left, but for those of classes that are gone.
func TestCheckTagsShowsTheStocksThatAreKept(t *testing.T) {
	f := fleetWithAll(t)
	seen := func() (list []topology.NodeClass) {
		require.NoError(t, f.CheckTags(func(s *Stock) error { list = append(list, s.Class); return nil }))
		return list
	}
	require.ElementsMatch(t, []topology.NodeClass{0, 0, 1, 2, 2}, seen())
	require.NoError(t, f.SetClass(2, 3))
	require.ElementsMatch(t, []topology.NodeClass{0, 0, 2, 2}, seen(), "nobody has counted yet that there is one of class 3")
	require.ErrorIs(t, f.CheckTags(func(*Stock) error { return ErrInvalid }), ErrInvalid)
}
