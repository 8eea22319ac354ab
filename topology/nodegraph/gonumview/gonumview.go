// Package gonumview shows a node as a gonum graph, for gonum's algorithms and for
// reports. It stands beside package nodegraph so that what decides does not draw in
// gonum, which brings linear algebra along.
package gonumview

import (
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/berth-sched/berth/topology/nodegraph"
)

// A Vertex is a GPU or a NIC of the view.
type Vertex struct {
	// NIC tells a NIC from a GPU.
	NIC bool
	// Index of the GPU or the NIC.
	Index int
}

// ID is the index of a GPU, and nodegraph.MaxGPUs and the index of a NIC.
func (v Vertex) ID() int64 {
	if v.NIC {
		return nodegraph.MaxGPUs + int64(v.Index)
	}
	return int64(v.Index)
}

// Weighted is the view of a node: a Vertex for each GPU and NIC, and an edge with the
// width in MB/s one way for each path between two GPUs and between a GPU and a NIC.
// What has no path has no edge and the weight 0, and so has a vertex to itself. gonum
// lists vertices and edges in no fixed order.
//
// A path of PCIe through a host bridge is an edge like any other: edges compete for
// ports that the view does not show.
func Weighted(g *nodegraph.Graph) graph.WeightedUndirected {
	view := simple.NewWeightedUndirectedGraph(0, 0)
	connect := func(a, b Vertex, width int64) {
		if width > 0 {
			view.SetWeightedEdge(view.NewWeightedEdge(a, b, float64(width)))
		}
	}
	for a := range g.GPUs() {
		view.AddNode(Vertex{Index: a})
		for b := range a {
			connect(Vertex{Index: b}, Vertex{Index: a}, g.PathMBps(a, b))
		}
	}
	for nic := range g.NICs() {
		at := Vertex{NIC: true, Index: nic}
		view.AddNode(at)
		for gpu := range g.GPUs() {
			connect(Vertex{Index: gpu}, at, g.NICPathMBps(gpu, nic))
		}
	}
	return view
}
