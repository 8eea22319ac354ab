package nvmlsrc_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// An agent on a machine without a driver offers it for its host CPU and memory
// alone; on any other it says what is in it.
func Example() {
	var inventory nvmlsrc.Inventory
	source, err := nvmlsrc.Config{Library: "/does/not/exist/libnvidia-ml.so.1"}.Open()
	switch {
	case errors.Is(err, nvmlsrc.ErrNoDriver):
		fmt.Println("no driver")
	case err != nil:
		log.Fatal(err)
	default:
		defer func() { _ = source.Close() }()
		if inventory, err = source.Inventory(); err != nil {
			log.Fatal(err)
		}
	}
	node, err := inventory.Node("node-17")
	if err != nil {
		log.Fatal(err)
	}
	node.CPUMilli, node.MemoryMiB = 64_000, 262_144
	fmt.Println(node.ID, "has", len(node.GPUs), "GPUs")
	// Output:
	// no driver
	// node-17 has 0 GPUs
}

// What an inventory becomes in the core's words.
func ExampleInventory_Node() {
	inventory := nvmlsrc.Inventory{GPUs: []nvmlsrc.GPU{
		{
			Product: "NVIDIA H200", MemoryMiB: 143_771, ComputeMajor: 9, NUMANode: 0,
			NVLink: nvmlsrc.NVLink{Peers: []int{1}},
		},
		{
			Product: "NVIDIA H200", MemoryMiB: 143_771, ComputeMajor: 9, NUMANode: 1,
			NVLink: nvmlsrc.NVLink{Peers: []int{0}},
		},
	}}
	node, err := inventory.Node("node-17")
	if err != nil {
		log.Fatal(err)
	}
	line, err := berth.EncodeEvent(berth.NodeJoined{Node: node})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.GPUs[1].Product, node.GPUs[1].ComputeCapability, node.GPUs[1].Clique, len(line) > 0)
	// Output:
	// NVIDIA H200 9.0 node-17.nvlink0 true
}
