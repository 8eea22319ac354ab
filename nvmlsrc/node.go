package nvmlsrc

import (
	"math"
	"slices"
	"strconv"

	"github.com/berth-sched/berth"
)

// Node says the inventory in the words of the core: a node with the GPUs in the
// driver's order and nothing else. The caller adds what NVML cannot know (pool,
// domains, host CPU and memory, NICs, labels) and, where queues or jobs speak of
// products by other names, replaces the driver's product names.
//
// A GPU that takes no work keeps its index and is marked Failed: one with a
// Failure, one whose product is unknown, and one in MIG mode, of which the core
// offers no instances yet. Since all GPUs of a node must look alike, it then
// borrows product, memory, compute capability and clique from the first that
// does take work.
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
	first := slices.IndexFunc(v.GPUs, GPU.works)
	if first < 0 {
		return berth.Node{}, &Error{
			GPU: NoGPU, Fact: FactProduct, Kind: ErrUnknownGPU,
			Reason: "none of " + strconv.Itoa(len(v.GPUs)) + " GPUs takes work, so what they are is not known",
		}
	}
	model := v.describe(id, first)
	node.GPUs = make([]berth.GPU, len(v.GPUs))
	for i := range v.GPUs {
		g := &node.GPUs[i]
		if *g = v.describe(id, i); v.GPUs[i].works() {
			continue
		}
		g.Failed = true
		g.Product, g.MemoryMiB, g.ComputeCapability, g.Clique = model.Product, model.MemoryMiB, model.ComputeCapability, model.Clique
	}
	return node, nil
}

// works reports whether the core may place work on the GPU.
func (g GPU) works() bool { return g.Failure == nil && g.Product != "" && !g.MIG.Enabled }

func (v Inventory) describe(id berth.NodeID, i int) berth.GPU {
	g := &v.GPUs[i]
	return berth.GPU{
		Product:           g.Product,
		MemoryMiB:         g.MemoryMiB,
		ComputeCapability: berth.ComputeCapability{Major: clamp(g.ComputeMajor), Minor: clamp(g.ComputeMinor)},
		UUID:              g.UUID,
		PCI:               g.PCI,
		NUMANode:          g.NUMANode,
		Clique:            v.clique(id, i),
	}
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
