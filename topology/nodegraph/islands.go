package nodegraph

import (
	"math/bits"
	"slices"
)

// islandSets lists the sets of GPUs that NVLinks join, by their lowest GPU. A GPU
// without NVLinks is an island of its own. O(GPUs), one allocation.
func (g *Graph) islandSets() []uint64 { return slices.Clone(g.islands) }

// islandOf is the set of GPUs that NVLinks join to a GPU, the GPU among them; the
// empty set for a GPU that the node does not have.
func (g *Graph) islandOf(gpu int) uint64 {
	if !g.has(gpu) {
		return 0
	}
	for _, island := range g.islands {
		if island>>gpu&1 == 1 {
			return island
		}
	}
	return 0
}

func (g *Graph) findIslands() []uint64 {
	var islands []uint64
	for rest := g.all; rest != 0; {
		first, _ := lowest(rest)
		island, frontier := uint64(0), uint64(1)<<first
		for frontier != 0 {
			var gpu int
			gpu, frontier = lowest(frontier)
			island |= 1 << gpu
			frontier |= g.nvPeers(gpu) &^ island
		}
		islands = append(islands, island)
		rest &^= island
	}
	return islands
}

// nvPeers is the set of GPUs that NVLinks join to the GPU without a third.
func (g *Graph) nvPeers(gpu int) uint64 {
	var peers uint64
	for peer := range g.n {
		if g.links[gpu*g.n+peer].Kind.isNV() {
			peers |= 1 << peer
		}
	}
	return peers
}

// findSwitched finds the islands that hang on a switch though their links do not
// say so. With a switch, nvidia-smi shows all links of a GPU towards each peer, and
// so a GPU seems to have more of them than it can.
func (g *Graph) findSwitched(most int) {
	for _, island := range g.islands {
		complete, seems := true, 0
		for rest := island; rest != 0; {
			var gpu int
			gpu, rest = lowest(rest)
			complete = complete && g.nvPeers(gpu)|1<<gpu == island
			links := 0
			for peer := range g.n {
				links += g.links[gpu*g.n+peer].Count
			}
			seems = max(seems, links)
		}
		if !complete || seems <= most {
			continue
		}
		for a := range g.n {
			for b := range g.n {
				if a != b && holds(island, a, b) {
					g.links[a*g.n+b].Kind = PathNVSwitch
				}
			}
		}
	}
}

// A pcieSwitch is a PCIe switch, or a group of switches behind one port of a host
// bridge: devices that reach each other without a host bridge.
type pcieSwitch struct {
	GPUs, NICs uint64
}

// pcieSwitches lists the PCIe switches that have two devices or more below them, as far
// as the paths of GPUs show them: two GPUs on one may have an NVLink instead of a
// PCIe path on record, and then only a common NIC tells. By the lowest GPU.
func (g *Graph) pcieSwitches() []pcieSwitch { return slices.Clone(g.switches) }

func (g *Graph) findSwitches() []pcieSwitch {
	var found []pcieSwitch
	for rest := g.all; rest != 0; {
		first, _ := lowest(rest)
		s := pcieSwitch{GPUs: 1 << first}
		for grown := true; grown; {
			before := s
			for gpu := range g.n {
				if s.GPUs>>gpu&1 == 1 {
					s = s.grow(g, gpu)
				}
			}
			for nic := range g.nics {
				if s.NICs>>nic&1 == 1 {
					for gpu, kind := range g.nics[nic].Paths {
						if kind == PathPIX || kind == PathPXB {
							s.GPUs |= 1 << gpu
						}
					}
				}
			}
			grown = s != before
		}
		if bits.OnesCount64(s.GPUs)+bits.OnesCount64(s.NICs) > 1 {
			found = append(found, s)
		}
		rest &^= s.GPUs
	}
	return found
}

// grow adds what is below the same switch as a GPU.
func (s pcieSwitch) grow(g *Graph, gpu int) pcieSwitch {
	for peer := range g.n {
		if kind := g.links[gpu*g.n+peer].Kind; kind == PathPIX || kind == PathPXB {
			s.GPUs |= 1 << peer
		}
	}
	for nic := range g.nics {
		if kind := g.nics[nic].Paths[gpu]; kind == PathPIX || kind == PathPXB {
			s.NICs |= 1 << nic
		}
	}
	return s
}
