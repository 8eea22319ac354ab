// Package machine has the nodes that experiments run on, and the jobs that fit them.
package machine

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A Box is a kind of node.
type Box struct {
	// Short is a name for names, Product that of the GPUs.
	Short, Product string
	GPUs           int
	MemoryMiB      int64 // of a GPU
	Capability     berth.ComputeCapability
	NICs           int
	NICMbit        int64 // of a NIC
	// NVLink: all GPUs are linked.
	NVLink bool
}

// The boxes. What is in a host of Lingjun its trace does not say: 8 A100 and 4 NICs of 200 Gb/s
// are those of the test bed in the paper that goes with it (Cao et al., "Crux", SIGCOMM 2024).
var (
	H100        = Box{"h100", "H100-80GB", NodeGPUs, 81_559, berth.ComputeCapability{Major: 9}, 8, 400_000, true}
	A100        = Box{"a100", "A100-80GB", NodeGPUs, 81_920, berth.ComputeCapability{Major: 8}, 8, 200_000, true}
	A100Lingjun = Box{"a100", "A100-80GB", NodeGPUs, 81_920, berth.ComputeCapability{Major: 8}, 4, 200_000, true}
	L40S        = Box{"l40s", "L40S", 4, 46_068, berth.ComputeCapability{Major: 8, Minor: 9}, 2, 200_000, false}
)

// NodeGPUs is the GPUs of a node of H100 or A100.
const NodeGPUs = 8

// Node makes a node of a kind, with its NICs on rails in order.
func (b Box) Node(name string, domains ...string) berth.Node {
	n := berth.Node{ID: berth.NodeID(name), Domains: domains, CPUMilli: 128_000, MemoryMiB: 2 << 20}
	for g := range b.GPUs {
		gpu := berth.GPU{Product: b.Product, MemoryMiB: b.MemoryMiB, ComputeCapability: b.Capability, NUMANode: berth.OrdinalOf(2 * g / b.GPUs)}
		if b.NVLink {
			gpu.Clique = name
		}
		n.GPUs = append(n.GPUs, gpu)
	}
	for i := range b.NICs {
		n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprintf("mlx5_%d", i), Rail: berth.OrdinalOf(i), MbitPerSecond: b.NICMbit, NUMANode: berth.OrdinalOf(2 * i / b.NICs)})
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

// A fleet of GB200 NVL72: trays of 4 GPUs, 18 trays to a block, which is an NVLink domain, 8 blocks
// to a scalable unit. Gangs of more than a tray come in segments of up to 16, each in one block.
const (
	TrayGPUs     = 4
	BlockTrays   = 18
	UnitBlocks   = 8
	SegmentTrays = 16
	LevelUnit    = "su"
	LevelBlock   = "block"
)

// Tray is the i-th tray of an NVL72 fleet: four GB200 and four NICs of 400 Gb/s.
func Tray(i int) berth.Node {
	block := i / BlockTrays
	name := fmt.Sprintf("block-%03d", block)
	n := berth.Node{
		ID:       berth.NodeID(fmt.Sprintf("tray-%05d", i)),
		Domains:  []string{fmt.Sprintf("su-%02d", block/UnitBlocks), name},
		CPUMilli: 144_000, MemoryMiB: 960 << 10,
	}
	for g := range TrayGPUs {
		n.GPUs = append(n.GPUs, berth.GPU{
			Product: "GB200", MemoryMiB: 189_471, ComputeCapability: berth.ComputeCapability{Major: 10},
			NUMANode: berth.OrdinalOf(g / 2), Clique: name,
		})
		n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprintf("mlx5_%d", g), Rail: berth.OrdinalOf(g), MbitPerSecond: 400_000, NUMANode: berth.OrdinalOf(g / 2)})
	}
	return n
}

// Queue is the only queue of experiments that are not about queues.
const Queue = "bench"

// OneQueue makes a core with that queue.
func OneQueue(config berth.Config) (*core.Core, error) {
	sched, err := core.New(config)
	if err != nil {
		return nil, err
	}
	return sched, sched.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: Queue}})
}
