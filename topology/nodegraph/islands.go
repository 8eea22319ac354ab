package nodegraph

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
