package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/hardware"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/topology"
)

// node is one of so many GPUs of a product with so much memory.
func node(product string, gib int64, gpus int, change ...func(*berth.Node)) *spec.Node {
	n := berth.Node{ID: "n", Domains: []string{"r1"}}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{Product: product, MemoryMiB: gib << 10, ComputeCapability: berth.ComputeCapability{Major: 9}})
	}
	for _, c := range change {
		c(&n)
	}
	known := spec.NodeOf(&n)
	return &known
}

func linked(n *berth.Node) {
	for g := range n.GPUs {
		n.GPUs[g].Clique = "c"
	}
}

// keyOf is the class of a node where the fabric is sound.
func keyOf(n *spec.Node) hardware.Key { return hardware.KeyOf(n, 0) }

func inPool(pool string) func(*berth.Node) { return func(n *berth.Node) { n.Pool = pool } }

func fenced(k hardware.Key, fence string) hardware.Key {
	k.Fence = fence
	return k
}

// Invariants 1 and 2.
func TestNodesThatAreAlikeAreOneClass(t *testing.T) {
	table := hardware.NewTable[string]()
	large, small := keyOf(node("B", 80, 8)), keyOf(node("A", 24, 4))
	require.Equal(t, 1, table.CountWith(large, -1))
	first := table.Add(large, nil, nil)
	require.Equal(t, first, table.Add(large, nil, nil))
	version := table.Version
	second := table.Add(small, nil, nil)
	require.NotEqual(t, first, second)
	require.Greater(t, table.Version, version)
	require.Equal(t, []topology.NodeClass{topology.NodeClass(second), topology.NodeClass(first)}, table.Open(), "less memory first")
	require.NoError(t, table.Check(map[int]int{first: 2, second: 1}))
	require.Error(t, table.Check(map[int]int{first: 1, second: 1}))

	require.Equal(t, 1, table.CountWith(large, second), "the small one goes")
	require.Equal(t, 2, table.CountWith(small, second), "it is back")
	require.Equal(t, 2, table.CountWith(small, first), "one large one stays")
	other := keyOf(node("C", 40, 8))
	require.Equal(t, 3, table.CountWith(other, first))
	require.Equal(t, 2, table.CountWith(other, second))

	version = table.Version
	table.Drop(first)
	require.Equal(t, version, table.Version, "another one is there")
	table.Drop(first)
	require.Greater(t, table.Version, version)
	require.Equal(t, []topology.NodeClass{topology.NodeClass(second)}, table.Open())
	require.Equal(t, first, table.Add(other, nil, []string{"left"}), "a vacant index is used again")
	table.Drop(first)
	require.NoError(t, table.Check(map[int]int{second: 1}), "nothing is left of it")
}

func TestNodesThatAreSetAsideAreAClassOfTheirOwn(t *testing.T) {
	table := hardware.NewTable[string]()
	key := keyOf(node("A", 80, 8))
	open := table.Add(key, nil, nil)
	version := table.Version
	kept := table.Add(fenced(key, "f"), nil, []string{"f"})
	require.NotEqual(t, open, kept)
	require.Equal(t, version, table.Version, "the hardware is the same")
	require.Len(t, table.Open(), 1)
	group := &berth.Group{Members: 1, Claim: berth.WholeGPUs(1)}
	matching := func(admits bool) []topology.NodeClass {
		return table.Matching(group, func(list []string) bool {
			require.Equal(t, []string{"f"}, list)
			return admits
		})
	}
	require.Equal(t, table.Open(), table.Matching(group, nil))
	require.Equal(t, table.Open(), matching(false))
	require.Len(t, matching(true), 2)

	table.Drop(open)
	require.Greater(t, table.Version, version)
	require.Empty(t, table.Open())
	version = table.Version
	table.Drop(kept)
	require.Greater(t, table.Version, version, "the last of its hardware is gone")
	version = table.Version
	table.Outdate()
	require.Greater(t, table.Version, version)
}

// Classes are in one order, by each of what tells them apart.
func TestClassesAreInTheOrderOfTheirKeys(t *testing.T) {
	keys := []hardware.Key{
		keyOf(node("B", 24, 8)), keyOf(node("A", 80, 4)), keyOf(node("A", 80, 8)),
		keyOf(node("A", 80, 8, linked)), keyOf(node("A", 80, 8, inPool("p"))),
		fenced(keyOf(node("A", 80, 8, inPool("p"))), "f"), keyOf(node("B", 80, 1)),
	}
	for first := range keys { // whatever comes first
		table := hardware.NewTable[string]()
		for i := range keys {
			table.Add(keys[(first+i)%len(keys)], nil, nil)
		}
		var order []hardware.Key
		for _, class := range table.Matching(&berth.Group{Members: 1, Claim: berth.WholeGPUs(1)}, func([]string) bool { return true }) {
			order = append(order, table.List[class].Key)
		}
		require.Equal(t, keys, order)
	}
}

func TestAClassAdmitsWhatItsNodesCanServe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*berth.Group)
		admits bool
	}{
		"whole GPUs":       {func(*berth.Group) {}, true},
		"its pool":         {func(g *berth.Group) { g.Selector.Pools = []string{"o", "p"} }, true},
		"another pool":     {func(g *berth.Group) { g.Selector.Pools = []string{"o"} }, false},
		"its product":      {func(g *berth.Group) { g.Selector.Products = []string{"A"} }, true},
		"another product":  {func(g *berth.Group) { g.Selector.Products = []string{"B"} }, false},
		"its memory":       {func(g *berth.Group) { g.Selector.MinGPUMemoryMiB = 80 << 10 }, true},
		"more memory":      {func(g *berth.Group) { g.Selector.MinGPUMemoryMiB = 80<<10 + 1 }, false},
		"its capability":   {func(g *berth.Group) { g.Selector.MinComputeCapability.Major = 9 }, true},
		"a later one":      {func(g *berth.Group) { g.Selector.MinComputeCapability = berth.ComputeCapability{Major: 9, Minor: 1} }, false},
		"all of its GPUs":  {func(g *berth.Group) { g.Claim.GPUs = 8 }, true},
		"one more":         {func(g *berth.Group) { g.Claim.GPUs = 9 }, false},
		"NVLink":           {func(g *berth.Group) { g.Claim.NVLink = true }, false},
		"a known instance": {func(g *berth.Group) { g.Claim = berth.MIGInstance("1g.10gb") }, true},
		"another instance": {func(g *berth.Group) { g.Claim = berth.MIGInstance("1g.99gb") }, false},
		"the host alone":   {func(g *berth.Group) { g.Claim = berth.Claim{CPUMilli: 1} }, true},
	} {
		known := catalogue.New()
		lattice, err := known.Table("H100-80GB")
		require.Nil(t, err)
		table := hardware.NewTable[string]()
		class := table.Add(keyOf(node("A", 80, 8, inPool("p"))), lattice, nil)
		g := berth.Group{Members: 1, Claim: berth.WholeGPUs(1)}
		c.change(&g)
		require.Equal(t, c.admits, table.Admits(class, &g), name)
	}
	empty := keyOf(node("", 0, 0))
	require.False(t, empty.Admits(&berth.Group{Claim: berth.SharedGPU(berth.ShareMPS, 1)}), "no GPU")
	require.True(t, empty.Admits(&berth.Group{Claim: berth.Claim{CPUMilli: 1}}))
	key := keyOf(node("A", 80, 8, linked))
	require.True(t, key.Admits(&berth.Group{Claim: berth.Claim{GPUs: 2, NVLink: true}}))
}

// What may change under members that run changes no shape.
func TestTheShapeOfANodeIsWhatItsMembersStandOn(t *testing.T) {
	is := node("A", 80, 8, linked)
	for name, c := range map[string]struct {
		other *spec.Node
		same  bool
	}{
		"labels": {node("A", 80, 8, linked, func(n *berth.Node) { n.Labels = map[string]string{"a": "b"} }), true},
		"host":   {node("A", 80, 8, linked, func(n *berth.Node) { n.CPUMilli = 1 }), true},
		"health": {node("A", 80, 8, linked, func(n *berth.Node) { n.GPUs[0].Failed = true }), true},
		"another clique": {node("A", 80, 8, func(n *berth.Node) {
			linked(n)
			for g := range n.GPUs {
				n.GPUs[g].Clique = "d"
			}
		}), true},
		"no clique":  {node("A", 80, 8), false},
		"product":    {node("B", 80, 8, linked), false},
		"fewer GPUs": {node("A", 80, 4, linked), false},
		"pool":       {node("A", 80, 8, linked, inPool("p")), false},
		"domain":     {node("A", 80, 8, linked, func(n *berth.Node) { n.Domains = []string{"r2"} }), false},
		"ID":         {node("A", 80, 8, linked, func(n *berth.Node) { n.ID = "m" }), false},
	} {
		require.Equal(t, c.same, hardware.SameShape(is, c.other), name)
	}
}

func TestSoManyMembersMayShareAGPU(t *testing.T) {
	require.Zero(t, hardware.MaxShares(node("", 0, 0)))
	require.Equal(t, 48, hardware.MaxShares(node("A", 80, 8)))
	require.Equal(t, 5, hardware.MaxShares(node("A", 80, 8, func(n *berth.Node) {
		for g := range n.GPUs {
			n.GPUs[g].MaxShares = 5
		}
	})))
	old := func(n *berth.Node) {
		for g := range n.GPUs {
			n.GPUs[g].ComputeCapability.Major = 6
		}
	}
	require.Equal(t, 16, hardware.MaxShares(node("A", 16, 8, old)))
}

// Where the fabric has lost a part, a node is of another class, also one that tells no rate.
func TestWhatTheFabricLostIsInTheKey(t *testing.T) {
	silent := node("A", 80, 8)
	fast := node("A", 80, 8, func(n *berth.Node) {
		n.NICs = []berth.NIC{{Name: "a", MbitPerSecond: 300}, {Name: "b", MbitPerSecond: 100}}
	})
	require.Equal(t, int64(400_000), hardware.KeyOf(fast, 0).Rate)
	require.Equal(t, int64(100_000), hardware.KeyOf(fast, 750).Rate)
	require.Zero(t, hardware.KeyOf(fast, 1000).Rate)
	require.Less(t, hardware.KeyOf(silent, 1).Rate, hardware.KeyOf(silent, 0).Rate)
	require.Zero(t, hardware.KeyOf(node("", 0, 0), 500).Rate)
}

// CountMoved is how many classes there are after the moves.
func TestCountMovedCountsTheMoves(t *testing.T) {
	table := hardware.NewTable[string]()
	a, b := keyOf(node("A", 80, 8)), keyOf(node("B", 80, 8))
	ofA, ofB := table.Add(a, nil, nil), table.Add(b, nil, nil)
	table.Add(b, nil, nil)
	c, d := hardware.KeyOf(node("A", 80, 8), 1), hardware.KeyOf(node("B", 80, 8), 1)
	for _, test := range []struct {
		gone []int
		keys []hardware.Key
		want int
	}{
		{nil, nil, 2},
		{[]int{ofA}, []hardware.Key{c}, 2},
		{[]int{ofB}, []hardware.Key{d}, 3},
		{[]int{ofB, ofB}, []hardware.Key{d, d}, 2},
		{[]int{ofA, ofB, ofB}, []hardware.Key{b, b, a}, 2},
		{[]int{ofA}, []hardware.Key{b}, 1},
		{[]int{ofA, ofB, ofB}, []hardware.Key{c, c, d}, 2},
	} {
		require.Equal(t, test.want, table.CountMoved(test.gone, test.keys), "%v", test.gone)
	}
}
