package answer

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/topology"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// bandwidth estimates what the placement of a replica gives; nil where it holds no
// whole GPUs.
func (an *Answers) bandwidth(rep *record.Replica) *berth.Bandwidth {
	m := fabricModel{an}
	all := m.gather(rep.Members)
	if len(all) == 0 {
		return nil
	}
	b := &berth.Bandwidth{AllReduce: m.allReduce(all), Best: m.best(all)}
	for g := range rep.Job.Spec.Groups {
		for part := range slices.Chunk(rep.MembersOf(g), innermost(&rep.Job.Spec.Groups[g])) {
			if some := m.gather(part); gpusOf(some) > 1 {
				rate := m.allReduce(some)
				if b.Tensor == 0 || rate < b.Tensor {
					b.Tensor = rate
				}
			}
		}
	}
	return b
}

// innermost is the number of members of a tensor-parallel group.
func innermost(g *berth.Group) int {
	if n := len(g.Topology.Segments); n > 0 {
		return g.Topology.Segments[n-1].Size
	}
	return 1
}

// A fabricModel estimates bandwidths.
type fabricModel struct{ core *Answers }

// A part is what a gang has of a node.
type part struct {
	node *record.Node
	gpus berth.GPUSet
}

// gather lists the whole GPUs of some members, node by node in order of name.
func (m *fabricModel) gather(members []record.Member) []part {
	var list []part
	for i := range members {
		if h := &members[i].Hold; members[i].State.Holds() && h.GPUs != 0 && h.Share.GPUMilli == 0 {
			list = append(list, part{members[i].Node, berth.GPUSet(h.GPUs)})
		}
	}
	slices.SortFunc(list, func(a, b part) int { return record.CompareNodes(a.node, b.node) })
	merged := list[:0]
	for _, p := range list {
		if last := len(merged) - 1; last >= 0 && merged[last].node == p.node {
			merged[last].gpus |= p.gpus
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

func gpusOf(parts []part) int {
	n := 0
	for _, p := range parts {
		n += p.gpus.Len()
	}
	return n
}

// allReduce is the bus bandwidth among the GPUs of some nodes.
func (m *fabricModel) allReduce(parts []part) berth.MBps {
	if gpusOf(parts) < 2 {
		return 0
	}
	islands := m.islands(parts)
	if len(islands) == 1 {
		return m.inside(parts)
	}
	rate := m.tapered(parts)
	for _, island := range islands {
		rate = min(rate, m.inside(island), nicsOf(island))
	}
	return rate
}

// never64 is more than any rate.
const never64 berth.MBps = 1<<63 - 1

// inside is the bandwidth inside one island; more than any rate for a single GPU.
func (m *fabricModel) inside(island []part) berth.MBps {
	switch {
	case gpusOf(island) < 2:
		return never64
	case len(island) == 1:
		return withinNode(island[0].node, island[0].gpus)
	}
	return nvlinkOf(island[0].node)
}

// islands divides nodes by NVLink island: the domain of the island level where all
// GPUs are of one clique, else the node.
func (m *fabricModel) islands(parts []part) [][]part {
	tree := m.core.state.Fleet.Tree()
	level, _ := tree.Level(m.core.state.Config.Fabric.IslandLevel)
	if level == topology.LevelFleet {
		return chunks(parts)
	}
	sorted := slices.Clone(parts)
	domain := func(p part) topology.DomainIndex { return tree.DomainOf(p.node.Index, level) }
	clique := func(p part) string { return p.node.Spec.Clique }
	slices.SortStableFunc(sorted, func(a, b part) int {
		return cmp.Or(cmp.Compare(domain(a), domain(b)), cmp.Compare(clique(a), clique(b)))
	})
	var list [][]part
	for i, p := range sorted {
		if i > 0 && domain(p) == domain(sorted[i-1]) && clique(p) == clique(sorted[i-1]) && clique(p) != "" {
			list[len(list)-1] = append(list[len(list)-1], p)
		} else {
			list = append(list, []part{p})
		}
	}
	return list
}

func chunks(parts []part) [][]part {
	list := make([][]part, len(parts))
	for i := range parts {
		list[i] = parts[i : i+1]
	}
	return list
}

// tapered is the least that a domain with a taper lets out, if the gang leaves it.
func (m *fabricModel) tapered(parts []part) berth.MBps {
	tree := m.core.state.Fleet.Tree()
	rate := never64
	for _, taper := range m.core.state.Config.Fabric.Oversubscription {
		level, _ := tree.Level(taper.Level)
		if level >= m.islandLevel() {
			continue // traffic inside an island takes no uplink
		}
		domain := func(p part) topology.DomainIndex {
			if level == tree.NodeLevel() {
				return topology.DomainIndex(p.node.Index)
			}
			return tree.DomainOf(p.node.Index, level)
		}
		shares := map[topology.DomainIndex]berth.MBps{}
		for _, p := range parts {
			shares[domain(p)] += nicsOf([]part{p})
		}
		if len(shares) < 2 {
			continue
		}
		for _, p := range parts {
			rate = min(rate, shares[domain(p)]*1000/berth.MBps(taper.RatioMilli))
		}
	}
	return rate
}

// islandLevel is the level of NVLink islands.
func (m *fabricModel) islandLevel() topology.Level {
	if level, ok := m.core.state.Fleet.Tree().Level(m.core.state.Config.Fabric.IslandLevel); ok {
		return level
	}
	return m.core.state.Fleet.Tree().NodeLevel() + 1
}

// nicsOf is what the NICs of some nodes carry for a gang, a node shared with others in
// proportion.
func nicsOf(parts []part) berth.MBps {
	total := berth.MBps(0)
	for _, p := range parts {
		mbit := int64(0)
		for _, nic := range p.node.Spec.NICs {
			mbit += nic.MbitPerSecond
		}
		mbit -= mbit * int64(p.node.LostMilli) / 1000
		total += berth.MBps(mbit / 8 * int64(p.gpus.Len()) / int64(len(p.node.Spec.GPUs)))
	}
	return total
}

// nvlinkOf is what the NVLinks of one GPU of a node carry.
func nvlinkOf(n *record.Node) berth.MBps {
	rates, known := nodegraph.RatesOf(n.Spec.Product)
	if !known || n.Spec.Clique == "" {
		return 0
	}
	return berth.MBps(int64(rates.NVLinks) * rates.NVLinkMBps)
}

// best is the most that hardware like that of the placement can give to as many GPUs.
func (m *fabricModel) best(parts []part) berth.MBps {
	gpus := gpusOf(parts)
	if gpus < 2 {
		return 0
	}
	best := berth.MBps(0)
	for _, p := range parts {
		n := p.node
		all := part{n, berth.GPUSet(1)<<len(n.Spec.GPUs) - 1}
		var rate berth.MBps
		switch {
		case gpus <= all.gpus.Len():
			rate = withinNode(n, bestOf(n, all.gpus, gpus))
		case m.core.state.Config.Fabric.IslandLevel != "" && nvlinkOf(n) > 0:
			rate = nvlinkOf(n)
			if island := m.islandOf(n); gpus > gpusOf(island) {
				rate = min(rate, nicsOf(island))
			}
		default:
			rate = min(withinNode(n, all.gpus), nicsOf([]part{all}))
		}
		best = max(best, rate)
	}
	return best
}

// islandOf lists the nodes of the island of a node, with all their GPUs.
func (m *fabricModel) islandOf(n *record.Node) []part {
	tree := m.core.state.Fleet.Tree()
	level, _ := tree.Level(m.core.state.Config.Fabric.IslandLevel)
	var list []part
	for _, other := range m.core.state.NodesBelow(tree.DomainOf(n.Index, level)) {
		if len(other.Spec.GPUs) > 0 && other.Spec.Clique == n.Spec.Clique {
			list = append(list, part{other, berth.GPUSet(1)<<len(other.Spec.GPUs) - 1})
		}
	}
	return list
}

// withinNode is the bus bandwidth of an all-reduce among GPUs of one node: by its links,
// or, where it tells none, of NVLink through a switch if the GPUs have a clique, and
// of PCIe across sockets if not.
func withinNode(n *record.Node, gpus berth.GPUSet) berth.MBps {
	if n.Graph != nil {
		return berth.MBps(n.Graph.Graph.AllReduceMBps(uint64(gpus)))
	}
	if rate := nvlinkOf(n); rate > 0 || gpus.Len() < 2 {
		return rate
	}
	rates, known := nodegraph.RatesOf(n.Spec.Product)
	if !known {
		rates = nodegraph.DefaultRates()
	}
	return berth.MBps(rates.PCIeMBps / 2)
}

// bestOf is the set of so many GPUs that reach each other best.
func bestOf(n *record.Node, free berth.GPUSet, k int) berth.GPUSet {
	if n.Graph == nil {
		return berth.GPUSet(1)<<k - 1
	}
	set, _ := n.Graph.Graph.Best(uint64(free), k)
	return berth.GPUSet(set)
}
