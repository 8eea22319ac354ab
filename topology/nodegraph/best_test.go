package nodegraph

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

func requireBest(t *testing.T, g *Graph, free uint64, k int, want uint64, allReduce int64) {
	t.Helper()
	got, score := g.Best(free, k)
	require.Equal(t, members(want), members(got), "best %d of %v", k, members(free))
	require.Equal(t, allReduce, score.AllReduceMBps, "best %d of %v", k, members(free))
}

// On a DGX-1: a doubled edge, with a NIC for each end; a quad; three rings through
// all eight, and no better half left behind than needed.
func TestBestOnACubeMesh(t *testing.T) {
	g := matrix(t, "Tesla V100-SXM2-32GB", cube)
	all := g.All()
	requireBest(t, g, all, 2, set(0, 3), 50_000)
	require.Equal(t, Link{PathNVLink, 2}, g.Link(0, 3))
	requireBest(t, g, all&^set(0, 3), 2, set(1, 2), 50_000) // the rest of the same quad
	requireBest(t, g, all&^set(0), 2, set(1, 2), 50_000)
	requireBest(t, g, all, 4, set(0, 1, 2, 3), 100_000)
	requireBest(t, g, all&^set(1), 4, set(4, 5, 6, 7), 100_000)
	requireBest(t, g, all, 8, all, 150_000)
	requireBest(t, g, all&^set(5), 1, set(4), 0) // leaves a quad and a doubled edge
	requireBest(t, g, set(0, 5, 6), 2, set(5, 6), 50_000)
	requireBest(t, g, set(0, 5), 2, set(0, 5), g.gpus[0].PCIeMBps/2)

	require.Equal(t, []uint64{all}, g.islands)
	require.Equal(t, []int{0, 0, 1, 1, 2, 2, 3, 3}, g.Rails())
	require.Equal(t, "mlx5_2", g.NIC(2).Name)
	require.Equal(t, NUMANodeOf(1), g.NIC(2).NUMA, "of the GPUs nearby")
}

// Bridged cards: two are a pair, and of one the partner is in use.
func TestBestOfBridgedPairs(t *testing.T) {
	g := bridged(t, "A100-PCIE-80GB", 8)
	all := g.All()
	require.Equal(t, []uint64{set(0, 1), set(2, 3), set(4, 5), set(6, 7)}, g.islands)
	requireBest(t, g, all, 2, set(0, 1), 300_000)
	requireBest(t, g, all&^set(0), 2, set(2, 3), 300_000)
	requireBest(t, g, all&^set(4), 1, set(5), 0)
	requireBest(t, g, all&^set(0, 6), 1, set(1), 0)
	requireBest(t, g, all, 4, set(0, 1, 2, 3), g.gpus[0].PCIeMBps*75/100)
	requireBest(t, g, all&^set(2), 4, set(4, 5, 6, 7), g.gpus[0].PCIeMBps*75/100)
	requireBest(t, g, all&^set(2), 3, set(0, 1, 3), g.gpus[0].PCIeMBps*75/100) // leaves four of a kind
	requireBest(t, g, all&^set(2), 5, set(3, 4, 5, 6, 7), g.gpus[0].PCIeMBps*50/100)
}

// Without NVLinks: the same switch, then the same host bridge, then the same NUMA
// node.
func TestBestThroughPCIe(t *testing.T) {
	g := pcieOnly(t, 8)
	all := g.All()
	require.Len(t, g.islands, 8)
	requireBest(t, g, all, 2, set(0, 1), 31_507)
	requireBest(t, g, all&^set(1), 2, set(2, 3), 31_507)
	requireBest(t, g, set(0, 2, 5, 7), 2, set(0, 2), 31_507*83/100)
	requireBest(t, g, set(0, 4, 6), 2, set(4, 6), 31_507*83/100)
	requireBest(t, g, all, 4, set(0, 1, 2, 3), 31_507*83/100)
	requireBest(t, g, all&^set(0), 1, set(1), 0)
}

// On a switch all sets have the same rate: one NUMA node, what leaves a NUMA node
// whole, the lowest indexes.
func TestBestThroughASwitch(t *testing.T) {
	g := switched(t, "NVIDIA H100 80GB HBM3", "NV18", 8)
	all := g.All()
	require.Equal(t, Link{PathNVSwitch, 18}, g.Link(2, 7))
	requireBest(t, g, all, 2, set(0, 1), 450_000)
	requireBest(t, g, all&^set(0, 1, 2), 4, set(4, 5, 6, 7), 450_000)
	requireBest(t, g, all&^set(0, 1, 2), 2, set(4, 5), 450_000)
	requireBest(t, g, set(0, 4, 5, 6, 7), 1, set(0), 0)
	requireBest(t, g, set(0, 1, 2, 3, 7), 1, set(7), 0)
	requireBest(t, g, all, 8, all, 450_000)
	require.Equal(t, int64(900_000), switched(t, "NVIDIA GB200", "NV18", 4).AllReduceMBps(0b1111))
}

// Four GPUs with links to each other make as many rings as their links allow.
func TestMeshesUseAllTheirLinks(t *testing.T) {
	for product, link := range map[string]string{"A100": "NV4", "H100": "NV6", "V100": "NV2"} {
		g := switched(t, product, link, 4)
		rates, _ := RatesOf(product)
		require.Equal(t, PathNVLink, g.Link(0, 1).Kind, product)
		require.Equal(t, int64(rates.NVLinks)*rates.NVLinkMBps, g.AllReduceMBps(0b1111), product)
		require.Equal(t, int64(rates.NVLinks/3)*2*rates.NVLinkMBps, g.AllReduceMBps(0b0111), product)
		require.Equal(t, int64(rates.NVLinks/3)*rates.NVLinkMBps, g.AllReduceMBps(0b0011), product)
	}
}

// In the meshes that are built the search ends at once, at as many rings as the
// narrowest cut lets through.
func TestRingsArePackedToTheEnd(t *testing.T) {
	most := 0
	for _, g := range []*Graph{matrix(t, "V100", cube), switched(t, "A100", "NV4", 4), switched(t, "H100", "NV6", 4), switched(t, "V100", "NV1", 4)} {
		for set := range g.All() + 1 {
			if bits.OnesCount64(set) > 2 {
				p := newPacker(g, set)
				require.LessOrEqual(t, p.most(), p.bound)
				if g.GPUs() == 4 || set == 0x0f || set == 0xf0 || set == 0xff {
					require.Equal(t, p.bound, p.found, "%b", set)
				}
				most = max(most, p.steps)
				if set == 0b1111 && p.links[0][1] > 0 && p.links[0][2] > 0 && p.links[0][3] > 0 {
					require.Len(t, p.rings, 3, "four GPUs have three cyclic orders")
				}
			}
		}
	}
	t.Logf("%d steps at most", most)
	require.Less(t, most, packSteps/10)
}

func TestBestOfNothing(t *testing.T) {
	g := matrix(t, "", cube)
	for _, ask := range []struct {
		free uint64
		k    int
	}{{g.All(), 0}, {g.All(), -1}, {g.All(), 9}, {0, 1}, {^g.All(), 1}, {set(1, 2), 3}} {
		got, score := g.Best(ask.free, ask.k)
		require.Zero(t, got)
		require.Zero(t, score)
	}
	got, _ := g.Best(^uint64(0), 8)
	require.Equal(t, g.All(), got)
	require.Equal(t, g.Score(g.All()), g.Score(^uint64(0)))
}

// What carries more links than a GPU has is a switch, if it joins all to all.
func TestSwitchOrMesh(t *testing.T) {
	require.Equal(t, PathNVSwitch, switched(t, "", "NV12", 3).Link(0, 1).Kind)
	require.Equal(t, PathNVSwitch, switched(t, "V100", "NV6", 3).Link(0, 1).Kind)
	require.Equal(t, PathNVLink, switched(t, "", "NV9", 3).Link(0, 1).Kind, "18 are what a GPU may have")
	require.Equal(t, PathNVLink, switched(t, "L40S", "NV1", 2).Link(0, 1).Kind)
	open := graphOf(t, node(t, "V100", 4, 2, func(a, b int) string {
		if b-a == 2 {
			return "SYS"
		}
		return "NV6"
	}))
	require.Equal(t, PathNVLink, open.Link(0, 1).Kind, "two are not joined")
}

// Asking allocates nothing, in any of the three ways of answering.
func TestQuestionsDoNotAllocate(t *testing.T) {
	for _, g := range []*Graph{matrix(t, "V100", cube), switched(t, "V100", "NV6", 16), pcieOnly(t, 24)} {
		free, sum := uint64(0x5bd1e995a7c3f00d), 0
		allocations := testing.AllocsPerRun(20, func() {
			free = free<<7 | free>>57
			for k := 1; k <= 8; k++ {
				got, score := g.Best(free, k)
				sum += int(got) + score.NICs + int(g.AllReduceMBps(free)) + int(g.Score(free).PairsMBps)
			}
			sum += int(g.PathMBps(0, 1)+g.NICPathMBps(0, 0)) + number(g.NUMA(0)) + g.Rail(0)
			sum += int(g.NearestNICs(0)) + g.Link(0, 1).Count + len(g.Key())
		})
		require.Zero(t, allocations)
		require.NotZero(t, sum)
	}
}

func BenchmarkBest(b *testing.B) {
	for _, bench := range []struct {
		name string
		g    *Graph
		k    int
	}{
		{"cube mesh, 4 of 8", matrix(b, "V100", cube), 4},
		{"switch, 2 of 8", switched(b, "H100", "NV18", 8), 2},
		{"switch, 4 of 16", switched(b, "V100", "NV6", 16), 4},
		{"switch, 8 of 16", switched(b, "V100", "NV6", 16), 8},
		{"pairs, 2 of 16", bridged(b, "A100", 16), 2},
		{"pcie, 4 of 24", pcieOnly(b, 24), 4},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			free, found := bench.g.All(), 0
			for b.Loop() {
				if free--; bits.OnesCount64(free) < bench.k {
					free = bench.g.All()
				}
				if got, _ := bench.g.Best(free, bench.k); got != 0 {
					found++
				}
			}
			if found == 0 {
				b.Fatal("nothing was found")
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, bench := range []struct {
		name string
		spec Spec
	}{
		{"switch of 8", node(b, "H100", 8, 4, func(int, int) string { return "NV18" })},
		{"dense mesh of 8", node(b, "", 8, 4, func(x, y int) string {
			return []string{"NV1", "NV2", "NV3"}[(x*y+x)%3]
		})},
		{"switch of 16", node(b, "V100", 16, 8, func(int, int) string { return "NV6" })},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := NewGraph(bench.spec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	spec, err := ParseMatrix("", cube)
	require.NoError(b, err)
	b.Run("cube mesh", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := NewGraph(spec); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Of four GPUs, or eight, the NVLinks of one are down: a claim of one takes that, so that three, or
// seven, go on at the rate of NVLink. So it is with two that are down, and for claims of two.
func TestWhatIsOffNVLinkGoesFirst(t *testing.T) {
	for _, gpus := range []int{4, 8, 10} {
		for off := range gpus {
			spec := Spec{Product: "GB300", GPUs: make([]GPUSpec, gpus), Links: make([][]Link, gpus)}
			for a := range gpus {
				spec.Links[a] = make([]Link, gpus)
				for b := range gpus {
					switch {
					case a == b:
					case a == off || b == off:
						spec.Links[a][b] = Link{Kind: PathPHB}
					default:
						spec.Links[a][b] = Link{PathNVSwitch, 18}
					}
				}
			}
			g := graphOf(t, spec)
			one, _ := g.Best(g.All(), 1)
			require.Equal(t, members(set(off)), members(one), "%d of %d is off", off, gpus)
			_, rest := g.Best(g.All()&^one, gpus-1)
			require.Equal(t, int64(900_000), rest.AllReduceMBps)
			two, score := g.Best(g.All(), 2)
			require.Zero(t, two&set(off))
			require.Equal(t, int64(900_000), score.AllReduceMBps)
		}
	}
}
