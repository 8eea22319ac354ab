package nodegraph

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// wider is the part of a graph, as gonum has graphs, whose edges pass.
func wider(g *Graph, pass func(a, b int) bool) *simple.UndirectedGraph {
	part := simple.NewUndirectedGraph()
	for a := range g.GPUs() {
		part.AddNode(simple.Node(a))
		for b := range a {
			if pass(a, b) {
				part.SetEdge(part.NewEdge(simple.Node(a), simple.Node(b)))
			}
		}
	}
	return part
}

// Islands are what gonum finds.
func TestGonumTwin(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		g, err := NewGraph(drawSpec(rt, 1, 8, someLinks))
		require.NoError(rt, err)

		var islands []uint64
		for _, component := range topo.ConnectedComponents(wider(g, func(a, b int) bool { return g.Link(a, b).Count > 0 })) {
			island := uint64(0)
			for _, gpu := range component {
				island |= 1 << gpu.ID()
			}
			islands = append(islands, island)
		}
		slices.SortFunc(islands, compareSets)
		require.Equal(rt, islands, g.islands)
	})
}

// The invariants of a Graph, and that equal Specs and only those have one key.
func TestGraphInvariants(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt, 1, 7, someLinks)
		g, err := NewGraph(spec)
		require.NoError(rt, err)
		for a := range g.GPUs() {
			for b := range g.GPUs() {
				require.Equal(rt, g.Link(a, b), g.Link(b, a))
				require.Equal(rt, g.PathMBps(a, b), g.PathMBps(b, a))
			}
			require.Zero(rt, g.Link(a, a))
			require.Zero(rt, g.PathMBps(a, a))
		}
		again, err := NewGraph(spec)
		require.NoError(rt, err)
		require.Equal(rt, g, again)

		spec.GPUs = slices.Clone(spec.GPUs)
		spec.GPUs[0].Bus = "0000:01:00.0"
		same, err := NewGraph(spec)
		require.NoError(rt, err)
		require.Equal(rt, g.Key(), same.Key())
		spec.GPUs[0].NUMA = NUMANodeOf(7)
		other, err := NewGraph(spec)
		require.NoError(rt, err)
		require.NotEqual(rt, g.Key(), other.Key())
		spec.Product = "B200"
		other, err = NewGraph(spec)
		require.NoError(rt, err)
		require.NotContains(rt, []string{g.Key(), same.Key()}, other.Key())
	})
}

// A graph keeps nothing of the Spec, and gives nothing of itself away.
func TestGraphIsItsOwn(t *testing.T) {
	spec, err := ParseMatrix("table", cube)
	require.NoError(t, err)
	g, want := graphOf(t, spec), graphOf(t, spec)
	spec.Links[0][1].Count, spec.GPUs[0].NUMA, spec.NICs[0].Paths[0] = 9, NUMANodeOf(9), PathSYS
	g.Rails()[0], g.NIC(0).Paths[0] = 9, PathSYS
	require.Equal(t, want, g)
}

// Where links are not told, NUMA nodes decide.
func TestNewWithoutLinks(t *testing.T) {
	g := graphOf(t, Spec{GPUs: []GPUSpec{{NUMA: NUMANodeOf(0)}, {NUMA: NUMANodeOf(1)}, {NUMA: NUMANodeOf(1)}, {}, {}}, NICs: []NICSpec{{NUMA: NUMANodeOf(1)}, {}}})
	require.Equal(t, Link{Kind: PathSYS}, g.Link(0, 1))
	require.Equal(t, Link{Kind: PathNODE}, g.Link(1, 2))
	require.Equal(t, Link{Kind: PathSYS}, g.Link(3, 4))
	require.Equal(t, []int{0, 0, 0, 1, 1}, g.Rails())
	require.Equal(t, []uint64{0b11, 0b01, 0b01, 0b11, 0b11}, []uint64{
		g.NearestNICs(0), g.NearestNICs(1), g.NearestNICs(2), g.NearestNICs(3), g.NearestNICs(4),
	})
	got, score := g.Best(g.All(), 2)
	require.Equal(t, set(1, 2), got)
	require.Equal(t, Score{AllReduceMBps: 11_814, PairsMBps: 11_814, NUMANodes: 1, NICs: 1}, score)
}

// GPUs and NICs that are not there are asked about in vain.
func TestOutOfRange(t *testing.T) {
	g := matrix(t, "", cube)
	for _, i := range []int{-1, 8, 1 << 20} {
		require.Zero(t, g.Link(0, i))
		require.Zero(t, g.PathMBps(i, 0)+g.NICPathMBps(i, 0)+g.NICPathMBps(0, i))
		require.Zero(t, g.NearestNICs(i))
		require.Equal(t, NUMANode{}, g.NUMA(i))
		require.Equal(t, -1, g.Rail(i))
		require.Zero(t, g.NIC(i))
	}
}

func TestNewRefusals(t *testing.T) {
	for _, bad := range []struct {
		field string
		kind  error
		spoil func(s *Spec)
	}{
		{"gpus", ErrInvalid, func(s *Spec) { s.GPUs = nil }},
		{"gpus", ErrTooLarge, func(s *Spec) { s.GPUs = make([]GPUSpec, 65) }},
		{"nics", ErrTooLarge, func(s *Spec) { s.NICs = make([]NICSpec, 65) }},
		{"nvlink", ErrInvalid, func(s *Spec) { s.NVLinkMBps = -1 }},
		{"pcie", ErrInvalid, func(s *Spec) { s.PCIeMBps = maxRate + 1 }},
		{"gpus[1].pcie", ErrInvalid, func(s *Spec) { s.GPUs[1].PCIeMBps = -1 }},
		{"gpus[1].numa", ErrInvalid, func(s *Spec) { s.GPUs[1].NUMA = NUMANodeOf(math.MaxInt) }},
		{"gpus[7].numa", ErrInvalid, func(s *Spec) { s.GPUs[7].NUMA = NUMANodeOf(maxNUMA) }},
		{"links", ErrInvalid, func(s *Spec) { s.Links = s.Links[1:] }},
		{"links[3]", ErrInvalid, func(s *Spec) { s.Links[3] = nil }},
		{"links[2][2]", ErrInvalid, func(s *Spec) { s.Links[2][2] = Link{Kind: PathPIX} }},
		{"links[0][1]", ErrInvalid, func(s *Spec) { s.Links[0][1] = Link{Kind: PathNVSwitch + 1} }},
		{"links[0][1]", ErrInvalid, func(s *Spec) { s.Links[0][1].Count = 0 }},
		{"links[0][1]", ErrInvalid, func(s *Spec) { s.Links[0][1].Count = MaxLinks + 1 }},
		{"links[0][7]", ErrInvalid, func(s *Spec) { s.Links[0][7].Count = 1 }},
		{"links[1][0]", ErrInvalid, func(s *Spec) { s.Links[0][1].Count = 3 }},
		{"nics[1].oneWay", ErrInvalid, func(s *Spec) { s.NICs[1].MBps = -1 }},
		{"nics[1].numa", ErrInvalid, func(s *Spec) { s.NICs[1].NUMA = NUMANodeOf(maxNUMA) }},
		{"nics[1].paths", ErrInvalid, func(s *Spec) { s.NICs[1].Paths = []PathKind{} }},
		{"nics[1].paths[2]", ErrInvalid, func(s *Spec) { s.NICs[1].Paths[2] = PathNVLink }},
	} {
		spec, err := ParseMatrix("table", cube)
		require.NoError(t, err)
		bad.spoil(&spec)
		g, err := NewGraph(spec)
		require.Nil(t, g)
		require.ErrorIs(t, err, bad.kind)
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, bad.field, typed.Field)
		require.True(t, strings.HasPrefix(err.Error(), "nodegraph: "+bad.field+": "), err.Error())
		require.NotEmpty(t, typed.Reason)
	}
}

func TestParseLink(t *testing.T) {
	for kind := PathNone; kind <= PathNVSwitch; kind++ {
		link := Link{Kind: kind}
		if kind.isNV() {
			link.Count = 18
		}
		parsed, err := ParseLink(link.String())
		require.NoError(t, err)
		require.Equal(t, link, parsed)
	}
	for text, kind := range map[string]error{
		"": ErrSyntax, "X": ErrSyntax, "NV": ErrSyntax, "sys": ErrSyntax, "PIX1": ErrSyntax,
		"NV0": ErrInvalid, "NV-1": ErrInvalid, "NV65": ErrInvalid, "NVS": ErrInvalid, "NVS0": ErrInvalid,
	} {
		_, err := ParseLink(text)
		require.ErrorIs(t, err, kind, text)
	}
	require.Equal(t, "PathKind(9)", PathKind(9).String())
}

// The figures that data sheets give, which add both ways up.
func TestRatesOf(t *testing.T) {
	for product, both := range map[string]int64{
		"Tesla P100-SXM2-16GB": 160_000, "Tesla V100-SXM2-32GB": 300_000, "NVIDIA A100-SXM4-80GB": 600_000,
		"NVIDIA H100 80GB HBM3": 900_000, "H100-80GB": 900_000, "NVIDIA H200": 900_000, "NVIDIA H20": 900_000,
		"NVIDIA H800": 400_000, "A30-24GB": 200_000, "NVIDIA RTX A6000": 112_496, "NVIDIA B200": 1_800_000,
		"NVIDIA GB200": 1_800_000, "NVIDIA L40S": 0, "AMD Instinct MI300A": 768_000, "AMD Instinct MI210": 300_000,
		"AMD Instinct MI250X / MI250": 700_000, "AMD Instinct MI300X": 896_000,
	} {
		rates, known := RatesOf(product)
		require.True(t, known, product)
		require.Equal(t, both, 2*int64(rates.NVLinks)*rates.NVLinkMBps, product)
		require.Positive(t, rates.PCIeMBps)
	}
	for _, product := range []string{"", "H1000", "XH100", "GeForce"} {
		_, known := RatesOf(product)
		require.False(t, known, product)
	}
	// PCIe x16 in GB/s one way, as tables of the standard have it.
	for tenths, rate := range map[int]int64{25: 4_000, 50: 8_000, 80: 15_753, 160: 31_507, 320: 63_015, 640: 121_000} {
		require.Equal(t, rate, pcieRate(tenths, 16))
	}
}

// number is the number of a NUMA node, -1 where it is not known.
func number(n NUMANode) int {
	number, _ := n.Number()
	return number
}

// A GPU of which nobody says the NUMA node is not on node 0.
func TestTheZeroNUMANodeIsNotKnown(t *testing.T) {
	g := graphOf(t, Spec{GPUs: []GPUSpec{{}, {}, {NUMA: NUMANodeOf(0)}, {NUMA: NUMANodeOf(0)}}, NICs: []NICSpec{{}, {NUMA: NUMANodeOf(0)}}})
	require.Equal(t, PathSYS, g.Link(0, 1).Kind, "two of which it is not known need not be on one")
	require.Equal(t, PathNODE, g.Link(2, 3).Kind)
	require.Equal(t, []PathKind{PathSYS, PathSYS, PathSYS, PathSYS}, g.NIC(0).Paths)
	require.Equal(t, []PathKind{PathSYS, PathSYS, PathNODE, PathNODE}, g.NIC(1).Paths)
	for n, text := range map[int]string{-1: "unknown", 0: "0", 3: "3"} {
		require.Equal(t, text, NUMANodeOf(n).String())
		require.Equal(t, n, number(NUMANodeOf(n)))
	}
	require.Equal(t, NUMANode{}, NUMANodeOf(math.MinInt))
}
