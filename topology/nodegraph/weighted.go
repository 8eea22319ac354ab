package nodegraph

import (
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"
)

// A Vertex is a GPU or a NIC of the gonum view.
type Vertex struct {
	// NIC tells a NIC from a GPU.
	NIC bool
	// Index of the GPU or the NIC.
	Index int
}

// ID is the index of a GPU, and MaxGPUs and the index of a NIC.
func (v Vertex) ID() int64 {
	if v.NIC {
		return MaxGPUs + int64(v.Index)
	}
	return int64(v.Index)
}

// Weighted is the node as a gonum graph, for gonum's algorithms: a Vertex for each
// GPU and NIC, and an edge with the width in MB/s one way for each path between two
// GPUs and between a GPU and a NIC. What has no path has no edge and the weight 0, and
// so has a vertex to itself. For reports: nothing in this package decides by it, and
// gonum lists vertices and edges in no fixed order.
//
// A path of PCIe through a host bridge is an edge like any other: edges compete for
// ports that the view does not show.
func (g *Graph) Weighted() graph.WeightedUndirected {
	view := simple.NewWeightedUndirectedGraph(0, 0)
	for a := range g.n {
		view.AddNode(Vertex{Index: a})
	}
	for a := range g.n {
		for b := range a {
			if width := g.OneWay(a, b); width > 0 {
				view.SetWeightedEdge(view.NewWeightedEdge(Vertex{Index: b}, Vertex{Index: a}, float64(width)))
			}
		}
	}
	for nic := range g.nics {
		view.AddNode(Vertex{NIC: true, Index: nic})
		for gpu := range g.n {
			if width := g.NICOneWay(gpu, nic); width > 0 {
				view.SetWeightedEdge(view.NewWeightedEdge(Vertex{Index: gpu}, Vertex{NIC: true, Index: nic}, float64(width)))
			}
		}
	}
	return view
}
