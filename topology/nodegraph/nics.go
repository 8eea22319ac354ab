package nodegraph

import (
	"math/bits"
	"slices"
)

// NICs is the number of NICs.
func (g *Graph) NICs() int { return len(g.nics) }

// NIC returns a NIC with its NUMA node and its paths filled in; the zero NIC for one
// that the node does not have. It allocates the copy of the paths.
func (g *Graph) NIC(nic int) NICSpec {
	if nic < 0 || nic >= len(g.nics) {
		return NICSpec{}
	}
	n := g.nics[nic]
	n.Paths = slices.Clone(n.Paths)
	return n
}

// NICPathMBps is the width of the path between a GPU and a NIC in MB/s each way: that
// of the PCIe path, and no more than the NIC's own rate where it is known.
func (g *Graph) NICPathMBps(gpu, nic int) int64 {
	if !g.has(gpu) || nic < 0 || nic >= len(g.nics) {
		return 0
	}
	width := g.gpus[gpu].PCIeMBps * share(g.nics[nic].Paths[gpu]) / 100
	if rate := g.nics[nic].MBps; rate > 0 {
		width = min(width, rate)
	}
	return width
}

// NearestNICs is the set of NICs that are nearest to a GPU, by the kind of the path:
// bit i stands for NIC i. Empty where no NIC has a path.
func (g *Graph) NearestNICs(gpu int) uint64 {
	if !g.has(gpu) {
		return 0
	}
	return g.nearest[gpu]
}

// Rail is the NIC through which a GPU's traffic leaves the node, -1 where there is
// none: one of its nearest, such that GPUs that share their nearest NICs share them
// out evenly, lower indexes first.
func (g *Graph) Rail(gpu int) int {
	if !g.has(gpu) {
		return -1
	}
	return g.rails[gpu]
}

// Rails lists the Rail of each GPU.
func (g *Graph) Rails() []int { return slices.Clone(g.rails) }

func (g *Graph) fillNICs(nics []NICSpec) {
	g.nics = slices.Clone(nics)
	for i := range g.nics {
		nic := &g.nics[i]
		if nic.Paths != nil {
			nic.Paths = slices.Clone(nic.Paths)
		} else {
			nic.Paths = make([]PathKind, g.n)
			for gpu := range nic.Paths {
				nic.Paths[gpu] = g.throughHost(gpu, nic.NUMA)
			}
		}
		if nic.NUMA == (NUMANode{}) {
			nic.NUMA = g.numaOf(nic.Paths)
		}
	}
	g.nearest = make([]uint64, g.n)
	for gpu := range g.n {
		best := PathNone
		for i, nic := range g.nics {
			if kind := nic.Paths[gpu]; kind > best {
				best, g.nearest[gpu] = kind, 0
			}
			if best != PathNone && nic.Paths[gpu] == best {
				g.nearest[gpu] |= 1 << i
			}
		}
	}
	g.fillRails()
}

// numaOf is the NUMA node of the GPUs that a NIC reaches without leaving its own,
// or zero where there are none or they do not agree.
func (g *Graph) numaOf(paths []PathKind) (numa NUMANode) {
	for gpu, kind := range paths {
		if kind <= PathSYS {
			continue
		}
		if own := g.gpus[gpu].NUMA; numa == (NUMANode{}) {
			numa = own
		} else if numa != own {
			return NUMANode{}
		}
	}
	return numa
}

func (g *Graph) fillRails() {
	g.rails = make([]int, g.n)
	users := make([]int, len(g.nics))
	for gpu := range g.n {
		g.rails[gpu] = -1
		for rest := g.nearest[gpu]; rest != 0; {
			var nic int
			nic, rest = lowest(rest)
			if g.rails[gpu] < 0 || users[nic] < users[g.rails[gpu]] {
				g.rails[gpu] = nic
			}
		}
		if g.rails[gpu] >= 0 {
			users[g.rails[gpu]]++
		}
	}
}

// nicCount is the number of NICs that are nearest to a GPU of the set.
func (g *Graph) nicCount(set uint64) int {
	var nics uint64
	for set != 0 {
		var gpu int
		gpu, set = lowest(set)
		nics |= g.nearest[gpu]
	}
	return bits.OnesCount64(nics)
}
