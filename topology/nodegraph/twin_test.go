package nodegraph

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// A mixed bag of links, such that meshes, bridges, gaps and ties all come up.
var someLinks = []string{"none", "SYS", "SYS", "NODE", "PHB", "PIX", "NV1", "NV1", "NV2", "NV3"}

func members(set uint64) []int {
	var list []int
	for gpu := range maxGPUs {
		if set>>gpu&1 == 1 {
			list = append(list, gpu)
		}
	}
	return list
}

// orders lists all orders of the GPUs that begin with the first.
func orders(gpus []int) [][]int {
	if len(gpus) <= 1 {
		return [][]int{slices.Clone(gpus)}
	}
	var all [][]int
	for i := 1; i < len(gpus); i++ {
		rest := append([]int{gpus[i]}, slices.Delete(slices.Clone(gpus[1:]), i-1, i)...)
		for _, order := range orders(rest) {
			all = append(all, append([]int{gpus[0]}, order...))
		}
	}
	return all
}

// slowAllReduce follows the words of AllReduce.
func slowAllReduce(g *Graph, set uint64) int64 {
	gpus := members(set)
	if len(gpus) < 2 {
		return 0
	}
	ring := int64(0)
	for _, order := range orders(gpus) {
		narrowest := int64(1) << 62
		for i, gpu := range order {
			narrowest = min(narrowest, g.PathMBps(gpu, order[(i+1)%len(order)]))
		}
		ring = max(ring, narrowest)
	}
	links := map[[2]int]int{}
	for _, a := range gpus {
		for _, b := range gpus {
			switch link := g.Link(a, b); {
			case link.Kind == PathNVSwitch:
				return ring
			case a < b && link.Kind == PathNVLink:
				links[[2]int{a, b}] = link.Count
			}
		}
	}
	if len(gpus) == 2 {
		return ring
	}
	return max(ring, 2*int64(slowRings(gpus, links, map[string]int{}))*g.rate)
}

func slowRings(gpus []int, links map[[2]int]int, known map[string]int) int {
	key := fmt.Sprint(links)
	if most, ok := known[key]; ok {
		return most
	}
	most := 0
	for _, order := range orders(gpus) {
		left := map[[2]int]int{}
		for pair, count := range links {
			left[pair] = count
		}
		fits := true
		for i, a := range order {
			b := order[(i+1)%len(order)]
			pair := [2]int{min(a, b), max(a, b)}
			left[pair]--
			fits = fits && left[pair] >= 0
		}
		if fits {
			most = max(most, 1+slowRings(gpus, left, known))
		}
	}
	known[key] = most
	return most
}

// AllReduce is what trying all orders of the GPUs, and all packings of rings, finds.
func TestAllReduceTwin(t *testing.T) {
	packed := 0
	drawn.Check(t, func(rt *rapid.T) {
		words := rapid.SampledFrom([][]string{someLinks, {"NV1", "NV2", "NV3"}, {"SYS", "NV2", "NV1", "NV3"}, {"PIX", "NVS3", "NV2"}}).Draw(rt, "words")
		g, err := NewGraph(drawSpec(rt, 2, 5, words))
		require.NoError(rt, err)
		for set := range g.All() + 1 {
			require.Equal(rt, slowAllReduce(g, set), g.AllReduceMBps(set), "set %b of %s", set, g.Key())
			if k := bits.OnesCount64(set); k > 2 && g.AllReduceMBps(set) > 2*g.rate {
				packed++
			}
		}
	})
	if drawn.Many() {
		require.NotZero(t, packed, "no set had several rings")
	}
}

// slowDivided is the most AllReduce in sum over disjoint sets of a size.
func slowDivided(g *Graph, set uint64, size int) int64 {
	most := int64(0)
	for part := range set + 1 {
		if part&^set == 0 && bits.OnesCount64(part) == size {
			most = max(most, g.AllReduceMBps(part)+slowDivided(g, set&^part, size))
		}
	}
	return most
}

func slowNUMAs(g *Graph, set uint64) int {
	seen := map[int]bool{}
	for _, gpu := range members(set) {
		seen[number(g.NUMA(gpu))] = true
	}
	return len(seen)
}

func slowScore(g *Graph, set uint64) Score {
	s := Score{AllReduceMBps: g.AllReduceMBps(set), NUMANodes: slowNUMAs(g, set)}
	nics := map[int]bool{}
	for _, a := range members(set) {
		nearest := PathNone
		for nic := range g.NICs() {
			nearest = max(nearest, g.NIC(nic).Paths[a])
		}
		for nic := range g.NICs() {
			if g.NIC(nic).Paths[a] == nearest {
				nics[nic] = true
			}
		}
		for _, b := range members(set) {
			if a < b {
				s.PairsMBps += g.PathMBps(a, b)
			}
		}
	}
	s.NICs = len(nics)
	return s
}

// slowBest follows the words of Best, candidate by candidate.
func slowBest(g *Graph, free uint64, k int) uint64 {
	better := func(a, b uint64) bool {
		x, y := slowScore(g, a), slowScore(g, b)
		by := cmp.Or(
			-cmp.Compare(x.AllReduceMBps, y.AllReduceMBps), -cmp.Compare(x.PairsMBps, y.PairsMBps),
			cmp.Compare(x.NUMANodes, y.NUMANodes), -cmp.Compare(x.NICs, y.NICs),
		)
		for _, size := range []int{16, 8, 4, 2} {
			by = cmp.Or(by, -cmp.Compare(slowDivided(g, free&^a, size), slowDivided(g, free&^b, size)))
		}
		for size := 15; size > 2; size-- {
			by = cmp.Or(by, -cmp.Compare(slowWidest(g, free&^a, size), slowWidest(g, free&^b, size)))
		}
		by = cmp.Or(by, cmp.Compare(slowNUMAs(g, free&^a), slowNUMAs(g, free&^b)))
		return cmp.Or(by, slices.Compare(members(a), members(b))) < 0
	}
	best := uint64(0)
	for set := range free + 1 {
		if set != 0 && set&^free == 0 && bits.OnesCount64(set) == k && (best == 0 || better(set, best)) {
			best = set
		}
	}
	return best
}

// slowWidest is the best set of a size in another: of 8 and 4 it is known that they are equal.
func slowWidest(g *Graph, in uint64, size int) int64 {
	best := int64(0)
	for set := range in + 1 {
		if set&^in == 0 && bits.OnesCount64(set) == size && size != 4 && size != 8 {
			best = max(best, slowScore(g, set).AllReduceMBps)
		}
	}
	return best
}

// Best is the best of all sets, compared one by one.
func TestBestTwin(t *testing.T) {
	words := append([]string{"NVS4", "NVS4", "NVS4"}, someLinks...)
	drawn.Check(t, func(rt *rapid.T) {
		few := rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(rt, "words") // so that there are ties
		g, err := NewGraph(drawSpec(rt, 1, 6, few))
		require.NoError(rt, err)
		for range 40 {
			free := rapid.Uint64Range(0, g.All()).Draw(rt, "free")
			k := rapid.IntRange(1, g.GPUs()).Draw(rt, "k")
			got, score := g.Best(free, k)
			want := slowBest(g, free, k)
			require.Equal(rt, want, got, "best %d of %b in %s", k, free, g.Key())
			if want == 0 {
				require.Zero(rt, score)
				continue
			}
			require.Equal(rt, slowScore(g, want), score)
		}
	})
}

// So it is where answers are searched for and not in a table.
func TestBestTwinBetween9And16(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		few := rapid.SliceOfN(rapid.SampledFrom(someLinks), 1, 3).Draw(rt, "words")
		g, err := NewGraph(drawSpec(rt, 9, 10, few))
		require.NoError(rt, err)
		require.Nil(rt, g.tables.answers)
		free := rapid.Uint64Range(0, g.All()).Draw(rt, "free")
		for bits.OnesCount64(free) > 6 {
			free &= free - 1
		}
		for k := range 6 {
			got, _ := g.Best(free, k+1)
			require.Equal(rt, slowBest(g, free, k+1), got, "best %d of %b in %s", k+1, free, g.Key())
		}
	})
}

// Through a hierarchy of PCIe the widest spanning tree is as wide as the widest
// ring, and so AllReduce means the same above 16 GPUs.
func TestSpanningTreeIsTheRingOfPCIe(t *testing.T) {
	for _, n := range []int{4, 8, 16} {
		g := pcieOnly(t, n)
		for set := range g.All() + 1 {
			require.Equal(t, g.AllReduceMBps(set), g.spanning(set), "%b", set)
		}
	}
	big, small := pcieOnly(t, 24), pcieOnly(t, 16)
	require.Nil(t, big.tables)
	for _, s := range []uint64{set(0), set(0, 1), set(0, 1, 2), set(0, 4), set(0, 1, 2, 3, 4, 5)} {
		require.Equal(t, small.AllReduceMBps(s), big.AllReduceMBps(s))
	}
}

// The widest spanning tree of a set is as wide as the paths that connect it.
func TestSpanningTwin(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		g, err := NewGraph(drawSpec(rt, 1, 8, someLinks))
		require.NoError(rt, err)
		for set := range g.All() + 1 {
			width := g.spanning(set)
			if bits.OnesCount64(set) < 2 {
				require.Zero(rt, width)
				continue
			}
			connected := func(least int64) bool {
				seen := set & -set
				for range members(set) {
					for _, a := range members(seen) {
						for _, b := range members(set) {
							if g.PathMBps(a, b) >= least {
								seen |= 1 << b
							}
						}
					}
				}
				return seen == set
			}
			require.True(rt, connected(width))
			require.False(rt, connected(width+1))
		}
	})
}

// Above 16 GPUs two are the best two of all, and more make a sensible set.
func TestBestAbove16(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		g, err := NewGraph(drawSpec(rt, 17, 20, someLinks))
		require.NoError(rt, err)
		free := rapid.Uint64Range(0, g.All()).Draw(rt, "free")
		got, score := g.Best(free, 2)
		var best Score
		for _, a := range members(free) {
			for _, b := range members(free) {
				if s := g.Score(set(a, b)); a < b && (best == Score{} || s.Compare(best) < 0) {
					best = s
				}
			}
		}
		require.Equal(rt, best, score)
		require.Zero(rt, got&^free)
		k := rapid.IntRange(0, 20).Draw(rt, "k")
		got, _ = g.Best(free, k)
		if k <= bits.OnesCount64(free) {
			require.Equal(rt, k, bits.OnesCount64(got))
			require.Zero(rt, got&^free)
		} else {
			require.Zero(rt, got)
		}
	})
	g := pcieOnly(t, 24)
	got, _ := g.Best(g.All()&^set(0), 2)
	require.Equal(t, set(2, 3), got)
	got, _ = g.Best(g.All()&^set(0), 1)
	require.Equal(t, set(1), got, "the one whose partner is gone")
	got, _ = g.Best(g.All()&^set(0), 4)
	require.Equal(t, set(4, 5, 6, 7), got)
}

// Above 16 GPUs on a switch: each a NIC of its own, and a NUMA node left whole.
func TestTiesAbove16(t *testing.T) {
	spec := node(t, "H100", 24, 12, func(int, int) string { return "NV18" })
	g := graphOf(t, spec)
	got, _ := g.Best(set(0, 1, 2, 3, 4, 23), 1)
	require.Equal(t, set(23), got)
	for nic := range 12 {
		paths := make([]PathKind, 24)
		for gpu := range paths {
			paths[gpu] = PathSYS
		}
		paths[2*nic], paths[2*nic+1] = PathPIX, PathPIX
		spec.NICs = append(spec.NICs, NICSpec{Paths: paths})
	}
	got, score := graphOf(t, spec).Best(g.All(), 4)
	require.Equal(t, members(set(0, 2, 4, 6)), members(got))
	require.Equal(t, Score{AllReduceMBps: 450_000, PairsMBps: 6 * 450_000, NUMANodes: 1, NICs: 4}, score)
}
