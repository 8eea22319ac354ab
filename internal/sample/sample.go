// Package sample has values for tests: together they use every field of every type that the core is
// told, and each event of [Events] is accepted by a core that [Prepare] has prepared.
//
// Tests by reflection change one field of them at a time. So they fail, and name the sample, where
// a field is in none of them.
package sample

import (
	"errors"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
)

// Node is a node as most are, of the first rack.
func Node(id berth.NodeID) berth.Node {
	n := berth.Node{
		ID: id, Pool: "h100", Domains: []string{"spine-0", "leaf-0"}, CPUMilli: 112_000, MemoryMiB: 2 << 20,
		NICs:   []berth.NIC{{Name: "mlx5_0", Rail: berth.OrdinalOf(0), MbitPerSecond: 400_000, NUMANode: berth.OrdinalOf(1)}},
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

// SmallNode is a node with one GPU, of which everything is said.
func SmallNode(id berth.NodeID) berth.Node {
	return berth.Node{
		ID: id, Pool: "small", Domains: []string{"spine-0", "leaf-1"}, CPUMilli: 8000, MemoryMiB: 1 << 16,
		GPUs: []berth.GPU{{
			Product: "A100-80GB", MemoryMiB: 81_920, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6},
			UUID: "GPU-1", PCI: "0000:10:00.0", NUMANode: berth.OrdinalOf(0), Clique: "d", MIGTable: "A100-80GB", MaxShares: 7, Failed: true,
		}},
		NICs:   []berth.NIC{{Name: "mlx5_1", Rail: berth.OrdinalOf(1), MbitPerSecond: 200_000, NUMANode: berth.OrdinalOf(0)}},
		Labels: map[string]string{"zone": "b"}, Resources: map[string]int64{"scratch": 3500, "rdma/vf": 16},
		Taints: []berth.Taint{{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule}},
	}
}

// DividedNode is a node with links and with GPUs that divide: the first has instances.
func DividedNode(id berth.NodeID) berth.Node {
	n := berth.Node{
		ID: id, Pool: "divided", Domains: []string{"spine-0", "leaf-1"}, CPUMilli: 64_000, MemoryMiB: 1 << 19,
		Links: [][]string{{"X", "NV12", "PIX"}, {"NV12", "X", "PIX"}, {"PIX", "PIX", "X"}},
	}
	for range 3 {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "H100-80GB", MemoryMiB: 81_559, MIGTable: "H100-80GB"})
	}
	n.GPUs[0].Mode, n.GPUs[0].Instances = berth.GPUModeMIG, instances("1g.10gb@0:1", "3g.40gb@4:4")
	return n
}

// tolerations are one of each operator, and together have every field.
func tolerations() []berth.Toleration {
	return []berth.Toleration{{Key: "dedicated", Value: "ml", Effect: berth.TaintNoSchedule}, {Key: "spot", Operator: berth.TolerationExists}}
}

func instances(names ...string) []mig.Placement {
	list := make([]mig.Placement, len(names))
	for i, name := range names {
		if err := list[i].UnmarshalText([]byte(name)); err != nil {
			panic(err)
		}
	}
	return list
}

// Queue is a queue of which everything is said.
func Queue() quota.Queue {
	return quota.Queue{
		Name: "team-b", Parent: "org", Weight: 2, Priority: -1,
		Guarantee: quota.Amounts{quota.GPUMilli: 8000}, Limit: quota.Amounts{quota.CPUMilli: 1_000_000, quota.GPUMilliOf("T4"): 4000},
		LendingLimit: quota.Amounts{quota.GPUMilli: 4000}, BorrowingLimit: quota.Amounts{quota.GPUMilli: 2000},
		GuaranteeShare: quota.Thousandths{quota.MemoryMiB: 250, quota.GPUMilliOf("H100"): 300}, LimitShare: quota.Thousandths{quota.MemoryMiB: 500, quota.GPUMilliOf("H100"): 600},
	}
}

// Table is a table of which everything is said, but that it is uniform.
func Table() mig.Product {
	return mig.Product{
		Name: "own", Architecture: "Hopper", Die: "GH100", ComputeCapability: "9.0", MemoryGB: 96, MemoryMiB: 97_000,
		ComputeSlices: 2, MemorySlices: 2, SMs: 32, GPUSMs: 40, Engines: engines(2),
		Profiles: []mig.Profile{
			{
				Name: profile("1g.48gb"), ID: 9, NVMLIndex: 4, ComputeSlices: 1, MemorySlices: 1, MemoryMiB: 48_000, SMs: 16, Engines: engines(1),
				Starts: []int{0, 1}, MaxCount: 2, Evidence: evidence(),
			},
			{
				Name: profile("2g.96gb"), ID: 5, NVMLIndex: 3, ComputeSlices: 2, MemorySlices: 2, MemoryMiB: 96_000, SMs: 32, Engines: engines(2),
				Starts: []int{0}, MaxCount: 1, Evidence: evidence(),
			},
			{Name: profile("1g.24gb"), ID: 7, NVMLIndex: 6, ComputeSlices: 1, MemorySlices: 1, Starts: []int{1}},
		},
		PCIDeviceIDs: []uint32{0x233010DE}, DeviceNames: []string{"NVIDIA H100 96GB"}, Notes: []string{"as told"}, Sources: []string{"the driver"},
	}
}

// UniformTable is a table of GPUs that are partitioned as a whole.
func UniformTable() mig.Product {
	table := Table()
	table.Uniform = true
	return table
}

func profile(name string) mig.ProfileName {
	p, err := mig.ParseProfileName(name)
	if err != nil {
		panic(err)
	}
	return p
}

func engines(n int) mig.Engines { return mig.Engines{Copy: n, NVDEC: n, NVENC: n, JPEG: n, OFA: n} }

func evidence() mig.Evidence {
	return mig.Evidence{
		Name: mig.ConfidenceMeasured, ID: mig.ConfidenceMeasured, Starts: mig.ConfidenceDerived, Memory: mig.ConfidenceMeasured,
		SMs: mig.ConfidenceDocumented, Engines: mig.ConfidenceAnalogous,
	}
}

// Reservations are one of each way to name nodes, and together have every field.
func Reservations() []berth.Reservation {
	return []berth.Reservation{
		{
			ID: "number", From: Now + 5000, Until: Now + 9000, Queue: "team-a", GPUs: 8, Required: "leaf", Reason: "demo",
			Selector: berth.Selector{
				Pools: []string{"h100"}, Products: []string{"H100-80GB"}, MinGPUMemoryMiB: 1,
				MinComputeCapability: berth.ComputeCapability{Major: 9}, Labels: map[string]string{"zone": "a"}, Tolerations: tolerations(),
			},
		},
		{
			ID: "names", From: Now + 5000, Until: Now + 9000, Nodes: []berth.NodeID{"n1", "later"},
			Selector: berth.Selector{Pools: []string{"h100"}, Products: []string{"H100-80GB"}, Labels: map[string]string{"zone": "a"}},
		},
		{ID: "place", From: Now + 5000, Until: Now + 9000, Domain: []string{"spine-0", "leaf-0"}, Every: berth.Day, Clear: true},
	}
}

// Complete reports whether an error is a *berth.Error with all that promise R1 asks of one.
func Complete(err error) bool {
	var e *berth.Error
	return errors.As(err, &e) && e.Event != "" && e.Reason != "" && e.Kind != nil
}
