package gonumview_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/topology/nodegraph"
	"github.com/berth-sched/berth/topology/nodegraph/gonumview"
)

// drawGraph draws a node of up to eight GPUs and three NICs with any paths.
func drawGraph(t *rapid.T) *nodegraph.Graph {
	n := rapid.IntRange(1, 8).Draw(t, "gpus")
	spec := nodegraph.Spec{GPUs: make([]nodegraph.GPUSpec, n), Links: make([][]nodegraph.Link, n)}
	for a := range n {
		spec.Links[a] = make([]nodegraph.Link, n)
		for b := range a {
			link := nodegraph.Link{Kind: nodegraph.PathKind(rapid.IntRange(int(nodegraph.PathNone), int(nodegraph.PathNVLink)).Draw(t, "link"))}
			if link.Kind == nodegraph.PathNVLink {
				link.Count = rapid.IntRange(1, 3).Draw(t, "count")
			}
			spec.Links[a][b], spec.Links[b][a] = link, link
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "nics") {
		nic := nodegraph.NICSpec{Paths: make([]nodegraph.PathKind, n)}
		for gpu := range n {
			nic.Paths[gpu] = nodegraph.PathKind(rapid.IntRange(int(nodegraph.PathSYS), int(nodegraph.PathPIX)).Draw(t, "path"))
		}
		spec.NICs = append(spec.NICs, nic)
	}
	g, err := nodegraph.NewGraph(spec)
	require.NoError(t, err)
	return g
}

// The view has all vertices and shows all widths, and an edge only where there is a path.
func TestViewShowsAllWidths(t *testing.T) {
	drawn.Check(t, func(rt *rapid.T) {
		g := drawGraph(rt)
		view := gonumview.Weighted(g)
		require.Equal(rt, g.GPUs()+g.NICs(), view.Nodes().Len())
		for a := range g.GPUs() {
			for b := range g.GPUs() {
				width, _ := view.Weight(int64(a), int64(b))
				require.Equal(rt, g.PathMBps(a, b), int64(width))
				require.Equal(rt, g.PathMBps(a, b) > 0, view.HasEdgeBetween(int64(a), int64(b)))
			}
			for nic := range g.NICs() {
				width, _ := view.Weight(int64(a), gonumview.Vertex{NIC: true, Index: nic}.ID())
				require.Equal(rt, g.NICPathMBps(a, nic), int64(width))
				require.Positive(rt, width)
			}
		}
		for _, node := range graph.NodesOf(view.Nodes()) {
			require.IsType(rt, gonumview.Vertex{}, node)
		}
	})
}
