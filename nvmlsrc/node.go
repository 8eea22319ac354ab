package nvmlsrc

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology/nodegraph"
)

// Node says the inventory in the words of the core: a node with the GPUs in the
// driver's order, how they reach each other, and the NICs that they use first. The
// caller adds what neither NVML nor sysfs can know (pool, domains, host CPU and memory,
// labels, other rails than those that are told) and, where queues or jobs speak of
// products by other names, replaces the driver's product names.
//
// A GPU that takes no work keeps its index and is marked Failed: one with a
// Failure, and one whose product is unknown. Since all GPUs of a node must look
// alike, it then borrows product, memory, compute capability and clique from one
// that does take work.
//
// If a GPU can do MIG all GPUs name the table by which it divides, of which the
// core may have to be told before: see [Inventory.Tables]. The core wants one table
// for a node: that of most GPUs in MIG mode. A GPU in MIG mode that divides in
// another way is out of work, with its Failure saying so; one that is not in MIG
// mode goes by the table of the others. A GPU in MIG mode offers the instances that
// exist; one whose instances could not be listed has a Failure. Beside GPUs that
// are not in MIG mode it borrows the clique, because it has no NVLink for the
// time, and memory and compute capability, of which NVML may say less.
//
// While members run on a node its table must stay. What a driver reports in MIG
// mode can differ from what it reports outside: an update of such a node has the
// table's former name in its GPUs.
//
// NVML does not know whether a GPU is meant for MPS or for time slices: a GPU that
// is not in MIG mode is in GPUModeWhole.
//
// The clique is the NVLink fabric if that spans machines. Otherwise it is the
// set of GPUs that all reach one another, named after the node. GPUs that reach
// only some of their neighbours' neighbours (a DGX-1's mesh) get none, because a
// clique promises every pair. A machine bridged in pairs has several cliques,
// which the core refuses for now: clear them to offer it without NVLink.
//
// The error is an *Error of the kind ErrUnknownGPU if no GPU takes work. A
// machine without GPUs is a valid node.
func (v Inventory) Node(id berth.NodeID) (berth.Node, error) {
	node := berth.Node{ID: id}
	if len(v.GPUs) == 0 {
		return node, nil
	}
	first := slices.IndexFunc(v.GPUs, func(g GPU) bool { return g.works() && !g.MIG.Enabled })
	if first < 0 {
		first = slices.IndexFunc(v.GPUs, GPU.works)
	}
	if first < 0 {
		return berth.Node{}, &Error{
			GPU: NoGPU, Query: queryProduct, Kind: ErrUnknownGPU,
			Reason: "none of " + strconv.Itoa(len(v.GPUs)) + " GPUs takes work, so what they are is not known",
		}
	}
	table, _ := v.table()
	model := v.describe(id, first)
	node.GPUs = make([]berth.GPU, len(v.GPUs))
	node.NICs = v.railed()
	for i := range v.GPUs {
		from, g := &v.GPUs[i], &node.GPUs[i]
		*g = v.describe(id, i)
		g.Mode = berth.GPUModeWhole
		g.Failed = !from.works() || from.MIG.Enabled && table.lattice == nil
		if g.Failed {
			g.Product = model.Product
		}
		if (g.Failed || from.MIG.Enabled) && g.Product == model.Product {
			g.MemoryMiB, g.ComputeCapability, g.Clique = model.MemoryMiB, model.ComputeCapability, model.Clique
		}
		if table.lattice != nil {
			g.MIGTable = table.Name
			partition(g, from)
		}
	}
	node.Links = v.words(node.GPUs, first)
	if slices.ContainsFunc(node.GPUs, func(g berth.GPU) bool { return g.Clique != node.GPUs[0].Clique }) {
		for i := range node.GPUs {
			node.GPUs[i].Clique = ""
		}
	}
	return node, nil
}

// railed lists the NICs that GPUs use first and that are up, in the order of their rails.
func (v Inventory) railed() []berth.NIC {
	var nics []berth.NIC
	for _, nic := range v.NICs {
		if nic.Rail != (berth.Ordinal{}) && nic.Active {
			nics = append(nics, berth.NIC{Name: nic.Name, Rail: nic.Rail, MbitPerSecond: nic.MbitPerSecond, NUMANode: nic.NUMANode})
		}
	}
	slices.SortFunc(nics, func(a, b berth.NIC) int {
		i, _ := a.Rail.Number()
		j, _ := b.Rail.Number()
		return cmp.Compare(i, j)
	})
	return nics
}

// words says the links in the words of the core; nil if some are not known. A GPU that has
// borrowed the clique of others, because it is out of work or in MIG mode, borrows their
// links into the switch too: it will have them again when it is back. Elsewhere what is not
// known of one that is out of work counts as the longest path, until NodeUpdated.
func (v Inventory) words(gpus []berth.GPU, model int) [][]string {
	if len(v.Links) != len(gpus) || len(gpus) < 2 {
		return nil
	}
	var into nodegraph.Link
	for _, link := range v.Links[model] {
		if link.Kind == nodegraph.PathNVSwitch {
			into = link
		}
	}
	words := make([][]string, len(gpus))
	for i := range gpus {
		words[i] = make([]string, len(gpus))
		for j := range gpus {
			link := v.Links[i][j]
			borrowed := gpus[i].Failed || gpus[j].Failed || v.GPUs[i].MIG.Enabled || v.GPUs[j].MIG.Enabled
			switch {
			case i == j:
				words[i][j] = "X"
				continue
			case borrowed && into.Count > 0 && gpus[i].Clique == gpus[j].Clique:
				link = into
			case link.Kind == nodegraph.PathNone && (gpus[i].Failed || gpus[j].Failed):
				link.Kind = nodegraph.PathSYS // it could not be asked
			case link.Kind == nodegraph.PathNone:
				return nil
			}
			words[i][j] = link.String()
		}
	}
	return words
}

// works reports whether the core may place work on the GPU.
func (g GPU) works() bool { return g.Failure == nil && g.Product != "" }

func (v Inventory) describe(id berth.NodeID, i int) berth.GPU {
	g := &v.GPUs[i]
	return berth.GPU{
		MaxShares:         v.maxShares(g),
		Product:           g.Product,
		MemoryMiB:         g.MemoryMiB,
		ComputeCapability: berth.ComputeCapability{Major: clamp(g.ComputeMajor), Minor: clamp(g.ComputeMinor)},
		UUID:              g.UUID,
		PCI:               g.PCI,
		NUMANode:          g.NUMANode,
		Clique:            v.clique(id, i),
	}
}

// maxShares is how many clients MPS takes, where that is not what the core assumes: 60 from CUDA
// 13.1 on, which came with driver 590.
func (v Inventory) maxShares(g *GPU) int {
	major, _, _ := strings.Cut(v.Driver, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 590 || g.ComputeMajor < 7 {
		return 0
	}
	return 60
}

// partition sets the mode. A GPU in MIG mode that takes no work stays in it, without
// instances: once repaired it takes none until the core is told which there are.
func partition(g *berth.GPU, from *GPU) {
	if !from.MIG.Enabled {
		return
	}
	g.Mode = berth.GPUModeMIG
	if !g.Failed {
		g.Instances = from.layout()
	}
}

// layout lists where the instances are.
func (g *GPU) layout() []mig.Placement {
	var layout []mig.Placement
	for _, instance := range g.MIG.Instances {
		layout = append(layout, instance.Placement)
	}
	slices.SortFunc(layout, mig.Placement.Compare)
	return layout
}

// Partitioned says how the GPU is divided, for a core that has to be told because
// somebody else has changed it. The GPU keeps its index.
func (g *GPU) Partitioned(node berth.NodeID) berth.GPUPartitioned {
	return g.partitioned(node, g.Index)
}

// partitioned is Partitioned of a GPU that the core knows by another index.
func (g *GPU) partitioned(node berth.NodeID, index int) berth.GPUPartitioned {
	e := berth.GPUPartitioned{Node: node, GPU: index, Mode: berth.GPUModeWhole}
	if g.MIG.Enabled {
		e.Mode, e.Instances = berth.GPUModeMIG, g.layout()
	}
	return e
}

// clique names the set of GPUs in which every pair is connected that a GPU
// belongs to; empty if there is none or if it is alone. O(peers²).
func (v Inventory) clique(id berth.NodeID, i int) string {
	g := &v.GPUs[i]
	if g.NVLink.Fabric != "" {
		return g.NVLink.Fabric
	}
	if len(g.NVLink.Peers) == 0 {
		return ""
	}
	members := slices.Sorted(slices.Values(append([]int{i}, g.NVLink.Peers...)))
	for _, j := range members {
		if j < 0 || j >= len(v.GPUs) {
			return "" // an inventory that no driver gave
		}
		if others := slices.Sorted(slices.Values(append([]int{j}, v.GPUs[j].NVLink.Peers...))); !slices.Equal(others, members) {
			return ""
		}
	}
	return string(id) + ".nvlink" + strconv.Itoa(members[0])
}

func clamp(v int) uint8 { return uint8(min(max(v, 0), math.MaxUint8)) }
