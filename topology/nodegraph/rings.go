package nodegraph

import (
	"math/bits"
	"slices"
)

// packGPUs is the largest mesh for which rings are packed, and packSteps bounds the
// work for one set of GPUs. The meshes that are built (cube meshes, quads, pairs)
// need far fewer steps.
const (
	packGPUs  = 8
	packSteps = 5_000
)

// AllReduceMBps is the bus bandwidth in MB/s that an all-reduce among the GPUs of a set
// can reach by the rates of the links, each GPU sending that much and receiving that
// much; zero for a set of fewer than two GPUs, or of GPUs that are not all connected.
// It bounds tensor-parallel traffic too, which is made of all-reduces. Multiplied by
// k/(2(k-1)) it is the rate at which k GPUs reduce data. What is measured is lower,
// by protocol: NCCL itself counts some 20 of an NVLink's 25 GB/s and 12 of PCIe
// 3.0's 15.75. Only a switch that does the sums itself exceeds it.
//
// It is the greater of two values:
//   - The widest ring: over all cyclic orders of the GPUs, the most that the
//     narrowest path between neighbours carries. This is the whole answer through a
//     switch, where the ring fills every GPU's links, and through PCIe, where it
//     fills the ports.
//   - In a mesh, where links are not shared, the rings together: the most rings that
//     run along NVLinks at once with no link in two of them, each ring used in both
//     directions, so 2 x rings x the rate of a link. A DGX-1 has three, 150 GB/s.
//
// The first is the Hamiltonian cycle of a dynamic programme over sets (Held and
// Karp 1962, with bottleneck in place of sum). The second is what NCCL's search for
// channels looks for; it is found by a search of bounded depth and work, exact
// whenever the work suffices and never too high. Above 8 GPUs in one mesh there is
// no second. Above 16 GPUs in the node the ring of the first is replaced by the
// widest spanning tree, which is the same for PCIe, and else never too low.
//
// The term bus bandwidth, and the factor, are those of nccl-tests
// (doc/PERFORMANCE.md). O(1) up to 16 GPUs, else O(k^2); no allocation. Bits beyond
// the node's GPUs are ignored.
func (g *Graph) AllReduceMBps(set uint64) int64 {
	set &= g.all
	if g.tables != nil {
		return g.tables.allReduce[set]
	}
	return g.spanning(set)
}

// widestRings fills in the width of the widest ring through every set of GPUs. For
// each width that a path has, from the widest: which sets have a ring of paths that
// are no narrower? A path from a set's lowest GPU through all of it may end at
// those GPUs that extend such a path through the set without them. O(w 2^n n).
func (g *Graph) widestRings(into []int64) {
	widths := slices.Clone(g.oneWay)
	slices.Sort(widths)
	widths = slices.Compact(widths)
	slices.Reverse(widths)
	ends := make([]uint16, len(into))
	peers := make([]uint16, g.n)
	for _, width := range widths {
		if width == 0 {
			break
		}
		for a := range g.n {
			peers[a] = 0
			for b := range g.n {
				if g.oneWay[a*g.n+b] >= width {
					peers[a] |= 1 << b
				}
			}
		}
		for set := 1; set < len(into); set++ {
			first := bits.TrailingZeros(uint(set))
			if set&(set-1) == 0 {
				ends[set] = uint16(set)
				continue
			}
			ends[set] = 0
			for rest := uint64(set & (set - 1)); rest != 0; {
				var last int
				last, rest = lowest(rest)
				if ends[set&^(1<<last)]&peers[last] != 0 {
					ends[set] |= 1 << last
				}
			}
			if into[set] == 0 && ends[set]&peers[first] != 0 {
				into[set] = width
			}
		}
	}
}

// packedRings raises the sets inside a mesh to what its rings carry together.
func (g *Graph) packedRings(into []int64) {
	for _, island := range g.islands {
		if n := bits.OnesCount64(island); n < 3 || n > packGPUs {
			continue
		}
		for set := island; set != 0; set = (set - 1) & island {
			if bits.OnesCount64(set) < 3 || g.throughSwitch(set) {
				continue
			}
			p := newPacker(g, set)
			into[set] = max(into[set], 2*int64(p.most())*g.rate)
		}
	}
}

// throughSwitch reports whether any two GPUs of a set are joined by a switch, where
// a pair's links are not its own.
func (g *Graph) throughSwitch(set uint64) bool {
	for a := range g.n {
		for b := range a {
			if holds(set, a, b) && g.links[a*g.n+b].Kind == PathNVSwitch {
				return true
			}
		}
	}
	return false
}

// A packer looks for the most rings through a set of GPUs that fit into its NVLinks
// together. GPUs are numbered anew, from 0.
type packer struct {
	k     int
	links [packGPUs][packGPUs]int
	rings [][packGPUs]uint8 // all rings along links, GPU 0 first
	steps int
	found int
	bound int
}

func newPacker(g *Graph, set uint64) *packer {
	p := &packer{}
	var gpus [packGPUs]int
	for set != 0 {
		gpus[p.k], set = lowest(set)
		p.k++
	}
	for a := range p.k {
		for b := range p.k {
			if link := g.links[gpus[a]*g.n+gpus[b]]; link.Kind == PathNVLink {
				p.links[a][b] = link.Count
			}
		}
	}
	return p
}

// most returns how many rings fit.
func (p *packer) most() int {
	if p.bound = p.cut(); p.bound == 0 {
		return 0
	}
	var ring [packGPUs]uint8
	p.list(&ring, 1, 1)
	p.pack(0, 0)
	return p.found
}

// cut bounds the number of rings: each crosses every cut of the set at least twice.
func (p *packer) cut() int {
	bound := -1
	for side := 1; side < 1<<(p.k-1); side++ {
		crossing := 0
		for a := range p.k {
			for b := range a {
				if side>>a&1 != side>>b&1 {
					crossing += p.links[a][b]
				}
			}
		}
		if bound < 0 || crossing/2 < bound {
			bound = crossing / 2
		}
	}
	return bound
}

// list finds all rings, each in one direction, given its first GPUs and the set of
// those.
func (p *packer) list(ring *[packGPUs]uint8, length int, used uint) {
	last := ring[length-1]
	if length == p.k {
		if p.links[last][0] > 0 && ring[1] < last {
			p.rings = append(p.rings, *ring)
		}
		return
	}
	for next := 1; next < p.k; next++ {
		if used>>next&1 == 0 && p.links[last][next] > 0 {
			ring[length] = uint8(next)
			p.list(ring, length+1, used|1<<next)
		}
	}
}

// pack tries all ways to add rings to those taken, none before the one given.
func (p *packer) pack(from, taken int) {
	p.found = max(p.found, taken)
	for r := from; r < len(p.rings); r++ {
		if p.steps++; p.steps > packSteps || p.found == p.bound || taken+p.room() <= p.found {
			return
		}
		if p.take(r) {
			p.pack(r, taken+1)
			p.give(r, p.k)
		}
	}
}

// room bounds the rings that can still be added: each takes two links of each GPU.
func (p *packer) room() int {
	room := -1
	for a := range p.k {
		links := 0
		for b := range p.k {
			links += p.links[a][b]
		}
		if room < 0 || links/2 < room {
			room = links / 2
		}
	}
	return room
}

// take takes a link from each hop of a ring, or nothing.
func (p *packer) take(r int) bool {
	for hop := range p.k {
		a, b := p.hop(r, hop)
		if p.links[a][b] == 0 {
			p.give(r, hop)
			return false
		}
		p.links[a][b]--
		p.links[b][a]--
	}
	return true
}

// give puts back what take took from the first hops.
func (p *packer) give(r, hops int) {
	for hop := range hops {
		a, b := p.hop(r, hop)
		p.links[a][b]++
		p.links[b][a]++
	}
}

func (p *packer) hop(r, hop int) (a, b uint8) {
	ring := &p.rings[r]
	if hop+1 == p.k {
		return ring[hop], ring[0]
	}
	return ring[hop], ring[hop+1]
}

// spanning is the narrowest path of the widest spanning tree of a set (Prim 1957).
func (g *Graph) spanning(set uint64) int64 {
	if bits.OnesCount64(set) < 2 {
		return 0
	}
	var reach [maxGPUs]int64 // the widest path from the tree to each GPU
	narrowest := int64(-1)
	gpu, rest := lowest(set)
	for rest != 0 {
		next := -1
		for scan := rest; scan != 0; {
			var peer int
			peer, scan = lowest(scan)
			reach[peer] = max(reach[peer], g.oneWay[gpu*g.n+peer])
			if next < 0 || reach[peer] > reach[next] {
				next = peer
			}
		}
		if narrowest < 0 || reach[next] < narrowest {
			narrowest = reach[next]
		}
		gpu, rest = next, rest&^(1<<next)
	}
	return narrowest
}
