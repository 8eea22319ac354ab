package spec

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/mig"
)

// A Node is the description of a node.
type Node struct {
	// Node has no GPUs: they are in Model and GPUs.
	berth.Node
	Model
	GPUs []GPU
}

// A Model is what the GPUs of a node have in common; the zero value where there are none.
type Model struct {
	Product           string
	GPUMemoryMiB      int64
	ComputeCapability berth.ComputeCapability
	Clique, MIGTable  string
	MaxShares         int
}

// A GPU is what each GPU of a node has for itself. Its mode is never unset.
type GPU struct {
	UUID, PCI string
	NUMANode  berth.Ordinal
	Mode      berth.GPUMode
	Failed    bool
	Instances []mig.Placement
}

// NodeOf is the description of a checked node. It shares no memory with the node.
func NodeOf(n *berth.Node) Node {
	rest := *n
	rest.GPUs = nil
	kept := Node{Node: values.CloneNode(&rest), GPUs: make([]GPU, len(n.GPUs))}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		kept.GPUs[i] = GPU{g.UUID, g.PCI, g.NUMANode, cmp.Or(g.Mode, berth.GPUModeWhole), g.Failed, slices.Clone(g.Instances)}
	}
	if len(n.GPUs) > 0 {
		g := &n.GPUs[0]
		kept.Model = Model{g.Product, g.MemoryMiB, g.ComputeCapability, g.Clique, g.MIGTable, g.MaxShares}
	}
	return kept
}

// Full is the node in the words of the contract. It shares memory with what the core keeps.
func (n *Node) Full() berth.Node {
	full, _ := n.FullIn(make([]berth.GPU, 0, len(n.GPUs)))
	return full
}

// FullIn is Full, with the GPUs at the end of a list, which it returns.
func (n *Node) FullIn(list []berth.GPU) (full berth.Node, longer []berth.GPU) {
	from := len(list)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		list = append(list, berth.GPU{
			Product: n.Product, MemoryMiB: n.GPUMemoryMiB, ComputeCapability: n.ComputeCapability,
			UUID: g.UUID, PCI: g.PCI, NUMANode: g.NUMANode, Clique: n.Clique, MIGTable: n.MIGTable,
			Mode: g.Mode, Instances: g.Instances, MaxShares: n.MaxShares, Failed: g.Failed,
		})
	}
	full = n.Node
	full.GPUs = list[from:len(list):len(list)]
	return full, list
}
