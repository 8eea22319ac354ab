package dra_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/berth-sched/berth/nvmlsrc/dra"
)

// A node with two GPUs, as NVIDIA's driver tells them, becomes a node of the core.
func Example() {
	const slices = `{"items": [{
	  "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n1-gpus"},
	  "spec": {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
	    "devices": [
	      {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}}, "capacity": {"memory": {"value": "81559Mi"}}},
	      {"name": "gpu-1", "attributes": {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}}, "capacity": {"memory": {"value": "81559Mi"}}}
	    ]}
	}]}`
	dump, err := dra.Read("slices.json", strings.NewReader(slices))
	if err != nil {
		log.Fatal(err)
	}
	nodes, skipped := dump.Nodes()
	for _, n := range nodes {
		fmt.Printf("%s: %d x %s, %d MiB each\n", n.ID, len(n.GPUs), n.GPUs[0].Product, n.GPUs[0].MemoryMiB)
	}
	fmt.Println("passed over:", len(skipped))
	// Output:
	// n1: 2 x NVIDIA H100 80GB HBM3, 81559 MiB each
	// passed over: 0
}
