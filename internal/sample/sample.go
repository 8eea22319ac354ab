// Package sample has values for tests that use as much of a type as can be used at once.
package sample

import (
	"errors"

	"github.com/berth-sched/berth"
)

// Node is a node with every field that a node can have.
func Node(id berth.NodeID) berth.Node {
	n := berth.Node{
		ID: id, Pool: "h100", Domains: []string{"spine-0", "leaf-0"}, CPUMilli: 112_000, MemoryMiB: 2 << 20,
		NICs:   []berth.NIC{{Name: "mlx5_0", Rail: berth.OrdinalOf(0), MbitPerSecond: 400_000}},
		Labels: map[string]string{"zone": "a", "arch": "amd64"},
	}
	for range 8 {
		n.GPUs = append(n.GPUs, berth.GPU{
			Product: "H100-80GB", MemoryMiB: 81_559, ComputeCapability: berth.ComputeCapability{Major: 9},
			UUID: "GPU-0", PCI: "0000:0f:00.0", NUMANode: berth.OrdinalOf(1), Clique: "c",
		})
	}
	return n
}

// Complete reports whether an error is a *berth.Error with all that promise R1 asks of one.
func Complete(err error) bool {
	var e *berth.Error
	return errors.As(err, &e) && e.Event != "" && e.Reason != "" && e.Kind != nil
}
