package workload

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/sim"
	"github.com/berth-sched/berth/quota"
)

// The files of the trace that OpenB reads.
const (
	OpenBNodes = "openb_node_list_gpu_node.csv"
	OpenBTasks = "openb_pod_list_default.csv"
)

// openBName names the one queue and the one tenant of the trace.
const openBName = "openb"

// A Trace is the workload of a published trace, in stream: tasks are read as they
// are asked for.
//
// Next ends early when a line makes no sense; Err then says which. Ask it after
// the run.
type Trace struct {
	nodes []berth.Node
	tasks *table
	start []sim.Arrival
	last  int64
	err   error
	// compress divides arrival times.
	compress int64
	files    []io.Closer
}

var _ sim.Workload = (*Trace)(nil)

// OpenB opens the trace that Alibaba published with "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent" (Weng et
// al., USENIX ATC 2023), given the directory with its CSV files: the GPU nodes and
// the default list of tasks. Close it after use.
//
// What becomes of the columns:
//
//   - sn, cpu_milli, memory_mib: the node as it is. The trace says nothing about
//     where nodes stand, so the fleet is flat.
//   - model: the product. GPU memory and compute capability are those of the
//     public models (P100 and T4: 16 GB, V100M16 and V100M32: 16 and 32 GB, A10:
//     24 GB). G2 and G3 are not disclosed: both stay unknown.
//   - num_gpu, gpu_milli: one GPU with less than 1000 is a share of it by MPS, with
//     memory in proportion; 1000 is whole GPUs; no GPU is the host alone.
//   - gpu_spec, "A|B": the products that will do.
//   - qos: LS and Guaranteed are latency-critical, Burstable and BE are batch.
//   - creation_time: the arrival. The run time is from scheduled_time, or creation_time
//     where it never was scheduled, to deletion_time, and a second at the least.
//     Without a deletion_time the task runs on for ever.
//   - pod_phase: not used; it says how the task stood when the trace was taken.
//
// All tasks are of one queue without limits and of one tenant, because the trace
// does not tell who owns what: any two tasks may share a GPU, as they did.
func OpenB(dir string) (*Trace, error) {
	nodes, err := os.Open(filepath.Join(dir, OpenBNodes))
	if err != nil {
		return nil, err
	}
	defer nodes.Close()
	tasks, err := os.Open(filepath.Join(dir, OpenBTasks))
	if err != nil {
		return nil, err
	}
	t, err := ReadOpenB(nodes, tasks)
	if err != nil {
		return nil, errors.Join(err, tasks.Close())
	}
	t.files = append(t.files, tasks)
	return t, nil
}

// ReadOpenB is OpenB for any readers. It reads all nodes, and the tasks as Next
// asks for them.
func ReadOpenB(nodes, tasks io.Reader) (*Trace, error) {
	t := &Trace{compress: 1}
	list, err := newTable(OpenBNodes, nodes, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, err
	}
	for list.next() {
		n, ok := openBNode(list)
		if !ok {
			break
		}
		t.nodes = append(t.nodes, n)
		t.start = append(t.start, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	if list.err != nil {
		return nil, list.err
	}
	t.start = append(t.start, sim.Arrival{Event: berth.QueueSet{Queue: quota.Queue{Name: openBName}}})
	t.tasks, err = newTable(
		OpenBTasks, tasks, "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec",
		"qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time",
	)
	return t, err
}

// Config is the configuration of a core for the trace's fleet.
func (t *Trace) Config() berth.Config { return berth.Config{} }

// Nodes lists the fleet. The list is not to be changed.
func (t *Trace) Nodes() []berth.Node { return t.nodes }

// Compress makes the tasks arrive n times as fast, and run as long as ever; n below
// 1 means 1. As recorded the trace keeps few of its GPUs busy at any time, because
// its tasks are a sample over five months; compressed some thousand times, it fills
// them. To be called before Next.
func (t *Trace) Compress(n int64) { t.compress = max(n, 1) }

// Next returns the nodes, the queue and then one task after the other.
func (t *Trace) Next() (sim.Arrival, bool) {
	if len(t.start) > 0 {
		a := t.start[0]
		t.start = t.start[1:]
		return a, true
	}
	if t.err != nil || !t.tasks.next() {
		t.err = cmp.Or(t.err, t.tasks.err)
		return sim.Arrival{}, false
	}
	a := openBTask(t.tasks)
	if created := int64(a.At) / int64(berth.Second); created < t.last {
		t.tasks.refuse("creation_time", "is before that of the task above: the list is in order of time")
	} else {
		t.last = created
	}
	a.At /= berth.Time(t.compress)
	if t.tasks.err != nil {
		t.err = t.tasks.err
		return sim.Arrival{}, false
	}
	return a, true
}

// Err is the error that ended the tasks early, a *TraceError or one of the reader;
// nil if they ended by themselves.
func (t *Trace) Err() error { return t.err }

// Close closes the files that OpenB opened.
func (t *Trace) Close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// openBModels are the public models: memory in MiB and compute capability.
var openBModels = map[string]berth.GPU{
	"P100":    {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 6}},
	"T4":      {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7, Minor: 5}},
	"V100M16": {MemoryMiB: 16 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"V100M32": {MemoryMiB: 32 << 10, ComputeCapability: berth.ComputeCapability{Major: 7}},
	"A10":     {MemoryMiB: 24 << 10, ComputeCapability: berth.ComputeCapability{Major: 8, Minor: 6}},
}

func openBNode(row *table) (berth.Node, bool) {
	n := berth.Node{
		ID:       berth.NodeID(row.name("sn")),
		CPUMilli: row.amount("cpu_milli"), MemoryMiB: row.amount("memory_mib"),
	}
	if gpus := row.number("gpu", berth.MaxGPUs); gpus > 0 {
		model := row.name("model")
		gpu := openBModels[model]
		gpu.Product = model
		for range gpus {
			n.GPUs = append(n.GPUs, gpu)
		}
	}
	return n, row.err == nil
}

// openBTask reads the current row. What it returns counts only if the table has no
// error.
func openBTask(row *table) sim.Arrival {
	job := berth.Job{
		ID: berth.JobID(row.name("name")), Queue: openBName, Tenant: openBName, Class: openBClass(row),
		Groups: []berth.Group{{Replicas: 1, Claim: openBClaim(row)}},
	}
	if models := row.text("gpu_spec"); models != "" {
		for _, model := range strings.Split(models, "|") {
			row.checkName("gpu_spec", model)
			job.Groups[0].Selector.Products = append(job.Groups[0].Selector.Products, model)
		}
	}
	created := row.amount("creation_time")
	a := sim.Arrival{At: berth.Time(0).Add(berth.Duration(created) * berth.Second)}
	if row.text("deletion_time") != "" {
		began := created
		if row.text("scheduled_time") != "" {
			began = row.amount("scheduled_time")
		}
		ran := row.amount("deletion_time") - began
		if ran < 0 {
			row.refuse("deletion_time", "is before the task began")
		}
		a.Runtime = max(berth.Duration(ran), 1) * berth.Second
		job.ExpectedRuntime = a.Runtime
	}
	a.Event = berth.JobSubmitted{Job: job}
	return a
}

func openBClass(row *table) berth.Class {
	switch qos := row.text("qos"); qos {
	case "LS", "Guaranteed":
		return berth.LatencyCritical
	case "Burstable", "BE":
		return berth.Batch
	default:
		row.refuse("qos", "is none of LS, Guaranteed, Burstable and BE")
		return 0
	}
}

func openBClaim(row *table) berth.Claim {
	c := berth.Claim{CPUMilli: row.amount("cpu_milli"), MemoryMiB: row.amount("memory_mib")}
	gpus, milli := row.number("num_gpu", berth.MaxGPUs), row.number("gpu_milli", 1000)
	switch {
	case gpus == 0 && milli != 0:
		row.refuse("gpu_milli", "is a part of no GPU")
	case gpus == 0 && c.CPUMilli == 0 && c.MemoryMiB == 0:
		row.refuse("cpu_milli", "and all other claims are zero")
	case gpus > 0 && milli == 0:
		row.refuse("gpu_milli", "is zero, and num_gpu is not")
	case gpus > 1 && milli < 1000:
		row.refuse("gpu_milli", "is a part, and of several GPUs")
	case gpus == 1 && milli < 1000:
		c.Share = &berth.Share{Mode: berth.MPS, Milli: milli}
	default:
		c.GPUs = gpus
	}
	return c
}
