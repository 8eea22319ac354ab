package main

import (
	"fmt"
	"os"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology/fabric"
)

// A topoMaker makes one of the fleets.
type topoMaker struct {
	name  string
	fleet func() (*topoFleet, error)
}

func topoFleets(lingjun string) []topoMaker {
	return []topoMaker{
		{"h100", h100Fleet},
		{"nvl72", nvl72Fleet},
		{"lingjun", func() (*topoFleet, error) { return lingjunFleet(lingjun) }},
		{"mixed", mixedFleet},
	}
}

// h100Fleet is 500 nodes of 8 H100 behind rail leaves: a scalable unit of 32 nodes
// has a leaf for each of the eight rails, four units share a spine.
func h100Fleet() (*topoFleet, error) {
	config := berth.Config{
		Levels: []string{"spine", "su"},
		Fabric: berth.Fabric{RailLevel: "su", Tapers: []berth.Taper{{Level: "spine", RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for i := range 500 {
		su := i / 32
		nodes = append(nodes, boxNode(boxH100, fmt.Sprintf("node-%03d", i), fmt.Sprintf("spine-%d", su/4), fmt.Sprintf("su-%02d", su)))
	}
	return newTopoFleet("h100", "500 nodes of 8 H100 and 8 NICs of 400G; 32 nodes to an su with a leaf for each rail, 4 sus to a spine, 2:1 above spines", config, nodes)
}

// nvl72Fleet is the one of the experiment nvl72.
func nvl72Fleet() (*topoFleet, error) {
	config := berth.Config{
		Levels: []string{levelUnit, levelBlock},
		Fabric: berth.Fabric{IslandLevel: levelBlock, Tapers: []berth.Taper{{Level: levelUnit, RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for i := range 5000 {
		nodes = append(nodes, nvlTray(i))
	}
	return newTopoFleet("nvl72", "5,000 trays of 4 GB200 and 4 NICs of 400G; 18 trays to a block, which is an NVLink island, 8 blocks to an su, 2:1 above sus", config, nodes)
}

// lingjunFleet is Alibaba's Lingjun cluster as its trace of 2023 tells it. The file
// does not say what is in a host: 8 A100 and 4 NICs of 200 Gb/s are those of the test
// bed in the paper that goes with it (Cao et al., "Crux", SIGCOMM 2024).
func lingjunFleet(path string) (*topoFleet, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read, err := fabric.ReadLingjun(path, file)
	if err != nil {
		return nil, err
	}
	config := berth.Config{
		Levels: read.Levels,
		Fabric: berth.Fabric{Tapers: []berth.Taper{{Level: read.Levels[len(read.Levels)-1], RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	for _, n := range read.Nodes {
		nodes = append(nodes, boxNode(boxA100Lingjun, n.Name, n.Path...))
	}
	return newTopoFleet("lingjun", fmt.Sprintf("the %d hosts of Alibaba's Lingjun Clos, an uneven one; 8 A100 and 4 NICs of 200G assumed, 2:1 above leaves assumed", len(nodes)), config, nodes)
}

// mixedFleet has three products, each in leaves of its own: 8 H100, 8 A100, and 4 L40S
// without NVLink.
func mixedFleet() (*topoFleet, error) {
	config := berth.Config{
		Levels: []string{"spine", "leaf"},
		Fabric: berth.Fabric{Tapers: []berth.Taper{{Level: "leaf", RatioMilli: 2000}}},
	}
	var nodes []berth.Node
	leaf := 0
	for _, part := range []struct {
		box   box
		count int
	}{{boxH100, 384}, {boxA100, 384}, {boxL40S, 256}} {
		for i := range part.count {
			at := leaf + i/16
			nodes = append(nodes, boxNode(part.box, fmt.Sprintf("%s-%03d", part.box.short, i), fmt.Sprintf("spine-%d", at/8), fmt.Sprintf("leaf-%02d", at)))
		}
		leaf += part.count / 16
	}
	return newTopoFleet("mixed", "384 nodes of 8 H100, 384 of 8 A100, 256 of 4 L40S without NVLink; 16 nodes to a leaf, 8 leaves to a spine, 2:1 above leaves", config, nodes)
}

// A box is a kind of node.
type box struct {
	short, product string
	gpus           int
	memoryMiB      int64
	capability     berth.ComputeCapability
	nics           int
	nicMbit        int64
	nvlink         bool
}

var (
	boxH100        = box{"h100", "H100-80GB", 8, 81_559, berth.ComputeCapability{Major: 9}, 8, 400_000, true}
	boxA100        = box{"a100", "A100-80GB", 8, 81_920, berth.ComputeCapability{Major: 8}, 8, 200_000, true}
	boxA100Lingjun = box{"a100", "A100-80GB", 8, 81_920, berth.ComputeCapability{Major: 8}, 4, 200_000, true}
	boxL40S        = box{"l40s", "L40S", 4, 46_068, berth.ComputeCapability{Major: 8, Minor: 9}, 2, 200_000, false}
)

// boxNode makes a node of a kind, with its NICs on rails in order.
func boxNode(b box, name string, domains ...string) berth.Node {
	n := berth.Node{ID: berth.NodeID(name), Domains: domains, CPUMilli: 128_000, MemoryMiB: 2 << 20}
	for g := range b.gpus {
		gpu := berth.GPU{Product: b.product, MemoryMiB: b.memoryMiB, ComputeCapability: b.capability, NUMANode: 2 * g / b.gpus}
		if b.nvlink {
			gpu.Clique = name
		}
		n.GPUs = append(n.GPUs, gpu)
	}
	for i := range b.nics {
		n.NICs = append(n.NICs, berth.NIC{Name: fmt.Sprintf("mlx5_%d", i), Rail: i, MbitPerSecond: b.nicMbit, NUMANode: 2 * i / b.nics})
	}
	return n
}
