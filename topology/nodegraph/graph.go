package nodegraph

import (
	"math/bits"
	"slices"
)

// A Graph is a node's GPUs and NICs and the paths between them. It does not change
// once made, and may be shared: by all nodes that are alike (see Key), and among
// goroutines.
//
// Invariants:
//  1. links and oneWay are symmetric, and zero on the diagonal.
//  2. Each GPU is in exactly one island, each island holds its lowest GPU first in
//     the list, and a path of NVLinks joins any two GPUs of an island and no others.
//  3. tables is nil where there are more than exactGPUs GPUs.
type Graph struct {
	n      int
	all    uint64 // all GPUs
	rate   int64  // of one NVLink, MB/s one way
	links  []Link // n x n
	oneWay []int64
	gpus   []GPUSpec // with rates filled in, without addresses

	nics    []NICSpec // with what follows from the rest filled in
	nearest []uint64  // NICs nearest to each GPU
	rails   []int
	numas   []uint64 // GPUs of each NUMA node that has any, and each unknown one alone

	islands []uint64
	tables  *tables
	key     string
}

// NewGraph makes the graph of a node. The Spec is copied. A Spec that makes no sense gets
// an *Error with the path of the field.
//
// Links that nvidia-smi calls NV# and that join every GPU of an island to every
// other are taken for links into a switch when a GPU would have more of them than
// its product has.
//
// Up to 16 GPUs, all answers of Best and AllReduce are worked out here, and they
// are exact. That takes well below a millisecond for 8 GPUs and some tens of
// milliseconds and 2 MB for 16, so keep one graph for all nodes that are alike.
// Beyond, see Best.
func NewGraph(spec Spec) (*Graph, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	rates, known := RatesOf(spec.Product)
	if !known {
		rates = DefaultRates()
	}
	n := len(spec.GPUs)
	g := &Graph{n: n, all: ^uint64(0) >> (64 - n), rate: cmpOr(spec.NVLinkMBps, rates.NVLinkMBps)}
	g.gpus = slices.Clone(spec.GPUs)
	for i := range g.gpus {
		g.gpus[i].Bus = ""
		g.gpus[i].PCIeMBps = cmpOr(g.gpus[i].PCIeMBps, cmpOr(spec.PCIeMBps, rates.PCIeMBps))
	}
	g.links = make([]Link, n*n)
	for a := range n {
		for b := range n {
			switch {
			case a == b:
			case spec.Links != nil:
				g.links[a*n+b] = spec.Links[a][b]
			default:
				g.links[a*n+b] = Link{Kind: g.throughHost(a, g.gpus[b].NUMA)}
			}
		}
	}
	g.islands = g.findIslands()
	g.findSwitched(max(rates.NVLinks, 1))
	g.fillRates()
	g.fillNUMA()
	g.fillNICs(spec.NICs)
	if n <= exactGPUs {
		g.tables = newTables(g)
	}
	g.key = g.makeKey()
	return g, nil
}

func cmpOr(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}

// throughHost is the path from a GPU to something on a NUMA node, where no more
// than the NUMA nodes is known.
func (g *Graph) throughHost(gpu int, numa NUMANode) PathKind {
	if numa != (NUMANode{}) && g.gpus[gpu].NUMA == numa {
		return PathNODE
	}
	return PathSYS
}

// fillRates works out the widths of links and of paths over several of them.
func (g *Graph) fillRates() {
	n := g.n
	g.oneWay = make([]int64, n*n)
	for a := range n {
		for b := range n {
			link := g.links[a*n+b]
			if link.Kind.isNV() {
				g.oneWay[a*n+b] = int64(link.Count) * g.rate
			} else {
				g.oneWay[a*n+b] = min(g.gpus[a].PCIeMBps, g.gpus[b].PCIeMBps) * share(link.Kind) / 100
			}
		}
	}
}

// fillNUMA groups the GPUs by NUMA node. GPUs whose node is not known count as one
// group: nothing tells them apart.
func (g *Graph) fillNUMA() {
	for i := range g.gpus {
		j := 0
		for j < i && g.gpus[j].NUMA != g.gpus[i].NUMA {
			j++
		}
		if j == i {
			g.numas = append(g.numas, 0)
		}
		for group := range g.numas {
			if g.numas[group] == 0 || g.numas[group]>>j&1 == 1 {
				g.numas[group] |= 1 << i
				break
			}
		}
	}
}

// GPUs is the number of GPUs.
func (g *Graph) GPUs() int { return g.n }

// All is the set of all GPUs: bit i stands for GPU i, here and everywhere.
func (g *Graph) All() uint64 { return g.all }

func (g *Graph) has(gpu int) bool { return gpu >= 0 && gpu < g.n }

// Link is the path between two GPUs; the zero Link for a GPU and itself, and for
// GPUs that the node does not have.
func (g *Graph) Link(a, b int) Link {
	if !g.has(a) || !g.has(b) {
		return Link{}
	}
	return g.links[a*g.n+b]
}

// PathMBps is the width of the path between two GPUs in MB/s each way, when nothing
// else uses it; zero where there is none.
func (g *Graph) PathMBps(a, b int) int64 {
	if !g.has(a) || !g.has(b) {
		return 0
	}
	return g.oneWay[a*g.n+b]
}

// NUMA is the GPU's NUMA node, zero where it is not known or the node does not have the GPU.
func (g *Graph) NUMA(gpu int) NUMANode {
	if !g.has(gpu) {
		return NUMANode{}
	}
	return g.gpus[gpu].NUMA
}

// numaNodes is the number of NUMA nodes that a set of GPUs is spread over.
func (g *Graph) numaNodes(set uint64) int {
	nodes := 0
	for _, group := range g.numas {
		if group&set != 0 {
			nodes++
		}
	}
	return nodes
}

// holds reports whether two GPUs are both in a set.
func holds(set uint64, a, b int) bool { return set>>a&1 == 1 && set>>b&1 == 1 }

// lowest takes the lowest index out of a set that is not empty.
func lowest(set uint64) (int, uint64) { return bits.TrailingZeros64(set), set & (set - 1) }
