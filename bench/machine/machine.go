// Package machine has the nodes that experiments run on, and the jobs that fit them.
package machine

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// NodeGPUs is the GPUs of a node, and the NICs.
const NodeGPUs = 8

// H100 makes a node of eight H100 that NVLink joins, with its NICs of 400 Gb/s on rails in order.
func H100(name string, domains ...string) berth.Node {
	n := berth.Node{ID: berth.NodeID(name), Domains: domains, CPUMilli: 128_000, MemoryMiB: 2 << 20}
	n.GPUs = berth.EqualGPUs(NodeGPUs, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559, ComputeCapability: berth.ComputeCapability{Major: 9}, Clique: name})
	for i := range NodeGPUs {
		half := berth.OrdinalOf(2 * i / NodeGPUs)
		n.GPUs[i].NUMANode = half
		n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprintf("mlx5_%d", i), Rail: berth.OrdinalOf(i), MbitPerSecond: 400_000, NUMANode: half})
	}
	return n
}

// Gang is one member on a node of eight GPUs or, of larger jobs, a member on each of several.
func Gang(gpus int) berth.Group {
	if gpus <= NodeGPUs {
		return berth.Group{Members: 1, Claim: berth.Claim{GPUs: gpus}}
	}
	return berth.Group{Members: gpus / NodeGPUs, Claim: berth.Claim{GPUs: NodeGPUs}}
}
