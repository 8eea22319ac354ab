package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// treeWithAll is a tree of which everything is kept that a tree and its shares can keep.
func treeWithAll(t *testing.T) (*Tree, *Shares) {
	t.Helper()
	tree := NewTree()
	require.NoError(t, tree.SetHalfLife(64_000))
	mustSet(t, tree, Queue{Name: "a", Guarantee: GPUs(4), LendingLimit: GPUs(1)})
	mustSet(t, tree, Queue{Name: "a1", Parent: "a", Guarantee: Amounts{GPUMilliOf("X"): 1000}})
	mustSet(t, tree, Queue{Name: "a2", Parent: "a", Weight: 3})
	mustSet(t, tree, Queue{Name: "b", Priority: 1})
	mustSet(t, tree, Queue{Name: "gone"})
	_, err := tree.RetainProduct("Y")
	require.NoError(t, err)
	gone, err := tree.RetainProduct("Z")
	require.NoError(t, err)
	last, err := tree.RetainProduct("last")
	require.NoError(t, err)
	require.NotZero(t, last)
	tree.ReleaseProduct(gone)
	require.NoError(t, tree.Remove("gone"))
	require.NoError(t, tree.SetCapacity(GPUMilli, 10_000))
	shares, err := NewShares(tree, GPUMilli, 1000)
	require.NoError(t, err)
	for name, gpus := range map[QueueID]int64{"a1": 2, "a2": 9, "b": 3} {
		i, _ := tree.Lookup(name)
		require.NoError(t, tree.Charge(i, Charge{GPUMilli: 1000, Product: tree.Product("X")}))
		require.NoError(t, tree.SetNext(i, Charge{GPUMilli: 1000 * gpus}))
		require.NoError(t, shares.SetDemand(i, 1000*gpus))
	}
	require.NoError(t, tree.Advance(1000))
	shares.All(nil)
	shares.AllGuaranteed(nil)
	require.NotEmpty(t, tree.order)
	require.NoError(t, tree.Check())
	require.NoError(t, shares.Check())
	return tree, shares
}

// Everything that a tree keeps is worked out anew by Check, and so is what is kept of shares: a
// fault in any of it is found.
func TestCheckFindsWhatIsKeptAndWrong(t *testing.T) {
	const a, a1, b, vacant = 1, 2, 4, 5
	for name, spoil := range map[string]func(t *Tree, s *Shares){
		"what is used":              func(t *Tree, _ *Shares) { t.nodes[a].host[gpuID].used++ },
		"what is used below zero":   func(t *Tree, _ *Shares) { t.nodes[a1].host[1].used = -1 },
		"what is promised below":    func(t *Tree, _ *Shares) { t.nodes[RootQueue].host[gpuID].below++ },
		"what is covered below":     func(t *Tree, _ *Shares) { t.nodes[RootQueue].host[gpuID].coveredBelow++ },
		"what is kept":              func(t *Tree, _ *Shares) { t.nodes[a].host[gpuID].kept++ },
		"what is kept below":        func(t *Tree, _ *Shares) { t.nodes[a].host[gpuID].keptBelow++ },
		"what is used of a product": func(t *Tree, _ *Shares) { t.nodes[a].sparse[0].used++ },
		"a guarantee":               func(t *Tree, _ *Shares) { t.nodes[a1].sparse[0].guarantee++ },
		"an account of nothing": func(t *Tree, _ *Shares) {
			t.nodes[b].sparse = append(t.nodes[b].sparse, emptyAccount(firstProduct+3))
		},
		"the weight":                      func(t *Tree, _ *Shares) { t.nodes[b].weight++ },
		"the children of a queue":         func(t *Tree, _ *Shares) { t.nodes[a].below = t.nodes[a].below[:1] },
		"a name":                          func(t *Tree, _ *Shares) { t.byName["b"] = a1 },
		"the name of a queue that is not": func(t *Tree, _ *Shares) { t.byName["c"] = a1 },
		"the birth of a queue":            func(t *Tree, _ *Shares) { t.nodes[b].birth = t.nodes[a].birth },
		"a birth that is yet to come":     func(t *Tree, _ *Shares) { t.births = 1 },
		"what is left of a queue":         func(t *Tree, _ *Shares) { t.nodes[vacant].members = 1 },
		"the past of a queue that is not": func(t *Tree, _ *Shares) { t.nodes[vacant].history.average = 1 },
		"an index that is not vacant":     func(t *Tree, _ *Shares) { t.free = nil },
		"the order of queues":             func(t *Tree, _ *Shares) { t.order[1], t.order[2] = t.order[2], t.order[1] },
		"the table of the decay":          func(t *Tree, _ *Shares) { t.decay.table[7]++ },
		"a tilt":                          func(t *Tree, _ *Shares) { t.nodes[b].history.tilt = 0 },
		"a turn":                          func(t *Tree, _ *Shares) { t.nodes[b].turn.within = !t.nodes[b].turn.within },
		"a place in the heap":             func(t *Tree, _ *Shares) { t.nodes[b].position = 7 },
		"a queue that is not active":      func(t *Tree, _ *Shares) { t.nodes[b].active = false },
		"the use of a product":            func(t *Tree, _ *Shares) { t.product(t.Product("Y")).retained = 0 },
		"the queues that state a product": func(t *Tree, _ *Shares) { t.product(t.Product("X")).stated++ },
		"the index of a product":          func(t *Tree, _ *Shares) { t.byProduct["Y"] = t.Product("X") },
		"the name of a product":           func(t *Tree, _ *Shares) { t.names[t.Product("Y").id()] = GPUMilliOf("W") },
		"a product that is not":           func(t *Tree, _ *Shares) { t.product(t.Product("Y") + 1).retained = 1 },
		"the jobs of a queue":             func(t *Tree, _ *Shares) { t.nodes[a].members = 1 },

		"what a leaf wants":                 func(_ *Tree, s *Shares) { s.wants[b].most++ },
		"what is guaranteed of it":          func(_ *Tree, s *Shares) { s.wants[a].base++ },
		"the rank of a queue":               func(_ *Tree, s *Shares) { s.wants[b].rank++ },
		"a demand":                          func(_ *Tree, s *Shares) { s.demand[b].amount++ },
		"the demand of a queue before it":   func(_ *Tree, s *Shares) { s.demand[b].birth-- },
		"how a queue divides":               func(_ *Tree, s *Shares) { s.fair.levels[RootQueue].rest++ },
		"how it divides what is promised":   func(_ *Tree, s *Shares) { s.promised.levels[a].from++ },
		"a share of all that were swept":    func(_ *Tree, s *Shares) { s.fair.all[b]++ },
		"a guaranteed share of all of them": func(_ *Tree, s *Shares) { s.promised.all[a1]++ },
	} {
		t.Run(name, func(t *testing.T) {
			tree, shares := treeWithAll(t)
			spoil(tree, shares)
			require.False(t, tree.Check() == nil && shares.Check() == nil)
		})
	}
}

// A queue that was removed has no past, whatever becomes of the half-life and of the past of
// others.
func TestARemovedQueueHasNoPast(t *testing.T) {
	tree := NewTree()
	mustSet(t, tree, Queue{Name: "gone"})
	mustSet(t, tree, Queue{Name: "stays"})
	require.NoError(t, tree.Remove("gone"))
	for _, halfLife := range []int64{64_000, 0, 128_000} {
		require.NoError(t, tree.SetHalfLife(halfLife))
		require.NoError(t, tree.Check())
	}
	other := NewTree()
	mustSet(t, other, Queue{Name: "gone"})
	mustSet(t, other, Queue{Name: "stays"})
	require.NoError(t, other.Remove("gone"))
	require.NoError(t, other.SetPast(tree.Past()))
	require.NoError(t, other.Check())
}
