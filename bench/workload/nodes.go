package workload

import (
	"io"
	"os"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology/fabric"
)

// models are the GPUs of published traces whose model is public, with nominal memory.
var models = map[string]berth.GPU{
	"P100":           {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 6}},
	"T4":             {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7, Minor: 5}},
	"V100M16":        {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"V100M32":        {MemoryMiB: 32 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"A10":            {MemoryMiB: 24 << 10, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6}},
	"A100-SXM4-80GB": {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 8}},
	"A800-SXM4-80GB": {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 8}},
	"H800":           {MemoryMiB: 80 << 10, ComputeCapability: berth.ComputeCapability{Major: 9}},
}

// gpusOf are so many GPUs of a model. One that is not public has no memory and no
// compute capability, that is, both are unknown.
func gpusOf(model string, count int) []berth.GPU {
	gpu := models[model]
	gpu.Product = model
	var gpus []berth.GPU
	for range count {
		gpus = append(gpus, gpu)
	}
	return gpus
}

// SpotNodes reads the fleet of the trace of spot GPUs that Alibaba published in 2026 with
// Duan et al., "GFS: A Preemptive Scheduling Framework for GPU Clusters with Predictive
// Spot Management", ASPLOS 2026: one CSV file, plain or compressed with gzip.
//
//   - node_name: the node.
//   - gpu_model: the product. GPU memory and compute capability are those of the public
//     models (A10, A100, A800, H800); GPU-series-1 and 2 are not disclosed.
//   - gpu_capacity_num, cpu_num: GPUs and cores.
//
// It does not tell host memory, which is therefore zero: jobs must claim none. Nor does
// it tell where nodes stand and how their GPUs are linked. The file of the jobs is not
// published with it.
//
// O(nodes), all kept.
func SpotNodes(file string) ([]berth.Node, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSpotNodes(file, f)
}

// ReadSpotNodes is SpotNodes for any reader. File names it in errors.
func ReadSpotNodes(file string, r io.Reader) ([]berth.Node, error) {
	t := readCSV(file, r)
	name, model := t.column("node_name"), t.column("gpu_model")
	count, cores := t.column("gpu_capacity_num"), t.column("cpu_num")
	var nodes []berth.Node
	for t.next() {
		nodes = append(nodes, berth.Node{
			ID: berth.NodeID(t.name(name)), CPUMilli: int64(t.number(cores, maxValue/1000)) * 1000,
			GPUs: gpusOf(t.common(model), t.number(count, berth.MaxGPUs)),
		})
	}
	if t.err != nil {
		return nil, t.err
	}
	return nodes, nil
}

// Lingjun reads the fleet of Alibaba's Lingjun trace of 2023, topo.csv, plain or compressed
// with gzip: 847 hosts in an uneven Clos of three layers. It returns a configuration with
// the levels core, spine and leaf, and the nodes, which are all like the machine but for
// their names and where they stand. The file does not tell what is in a host; the
// paper's test bed has 8 A100 and 4 adapters of 200 Gbit/s (Cao et al., "Crux", ACM SIGCOMM
// 2024). Errors are those of fabric.ReadLingjun. O(nodes), all kept.
func Lingjun(file string, machine berth.Node) (berth.Config, []berth.Node, error) {
	f, err := os.Open(file)
	if err != nil {
		return berth.Config{}, nil, err
	}
	defer f.Close()
	read, err := fabric.ReadLingjun(file, f)
	if err != nil {
		return berth.Config{}, nil, err
	}
	nodes := OnFabric(read, func(fabric.Node) berth.Node { return machine })
	return berth.Config{Levels: read.Levels}, nodes, nil
}

// OnFabric makes the nodes of a fabric, whatever file told it: machine says what each is,
// and its name and domains come from the fabric. The levels of the fabric are to be
// those of the core's configuration. O(nodes).
func OnFabric(f *fabric.Fabric, machine func(fabric.Node) berth.Node) []berth.Node {
	nodes := make([]berth.Node, 0, len(f.Nodes))
	for _, place := range f.Nodes {
		n := machine(place)
		n.ID, n.Domains = berth.NodeID(place.Name), place.Path
		nodes = append(nodes, n)
	}
	return nodes
}
