package workload

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// The files of the trace that OpenB reads.
const (
	OpenBNodes = "openb_node_list_gpu_node.csv"
	// OpenBSource says where the lists are published.
	OpenBSource = "they are in cluster-trace-gpu-v2023/csv of https://github.com/alibaba/clusterdata"
	OpenBTasks  = "openb_pod_list_default.csv"
)

// openBName names the one queue and the one tenant of the trace.
const openBName = "openb"

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
// does not tell the owners: any two tasks may share a GPU, as they did.
//
// As recorded the trace keeps few of its GPUs busy at any time, because its tasks are a
// sample over five months. Tasks are in order of time, so one row is kept at a time.
func OpenB(dir string) (*Trace, error) {
	return OpenBFiles(filepath.Join(dir, OpenBNodes), filepath.Join(dir, OpenBTasks))
}

// OpenBFiles is OpenB for any list of nodes and any list of tasks that has their times. Not all of
// the published ones have: a *TraceError names the column that is missing.
func OpenBFiles(nodeList, taskList string) (*Trace, error) {
	nodes, err := os.Open(nodeList)
	if err != nil {
		return nil, err
	}
	defer nodes.Close()
	tasks, err := os.Open(taskList)
	if err != nil {
		return nil, err
	}
	t, err := ReadOpenB(nodeList, nodes, taskList, tasks)
	if err != nil {
		return nil, errors.Join(err, tasks.Close())
	}
	t.files = append(t.files, tasks)
	return t, nil
}

// ReadOpenB is OpenB for any readers, plain or compressed, which errors name. It reads all nodes,
// and the tasks as Next asks for them.
func ReadOpenB(nodeList string, nodes io.Reader, taskList string, tasks io.Reader) (*Trace, error) {
	fleet, err := readOpenBNodes(nodeList, nodes)
	if err != nil {
		return nil, err
	}
	t := readCSV(taskList, tasks)
	return newTrace(t, newOpenBTasks(t), true, Options{Nodes: fleet, Queues: []quota.Queue{{Name: openBName}}})
}

func readOpenBNodes(file string, r io.Reader) ([]berth.Node, error) {
	t := readCSV(file, r)
	rows := newOpenBNodes(t)
	var fleet []berth.Node
	for t.next() {
		fleet = append(fleet, rows.node())
	}
	return fleet, t.err
}

type openBNodes struct {
	*table
	sn, cpu, memory, gpu, model column
}

func newOpenBNodes(t *table) *openBNodes {
	return &openBNodes{
		table: t, sn: t.column("sn"), cpu: t.column("cpu_milli"), memory: t.column("memory_mib"),
		gpu: t.column("gpu"), model: t.column("model"),
	}
}

// node makes a node of the current row.
func (o *openBNodes) node() berth.Node {
	n := berth.Node{
		ID:       berth.NodeID(o.name(o.sn)),
		CPUMilli: o.amount(o.cpu), MemoryMiB: o.amount(o.memory),
	}
	if gpus := o.number(o.gpu, berth.MaxGPUs); gpus > 0 {
		n.GPUs = gpusOf(o.common(o.model), gpus)
	}
	return n
}

type openBTasks struct {
	*table
	sn, cpu, memory, gpus, milli, spec, qos column
	created, deleted, scheduled             column
}

func newOpenBTasks(t *table) *openBTasks {
	return &openBTasks{
		table: t, sn: t.column("name"), cpu: t.column("cpu_milli"), memory: t.column("memory_mib"),
		gpus: t.column("num_gpu"), milli: t.column("gpu_milli"), spec: t.column("gpu_spec"), qos: t.column("qos"),
		created: t.column("creation_time"), deleted: t.column("deletion_time"), scheduled: t.column("scheduled_time"),
	}
}

func (o *openBTasks) time() column { return o.created }

func (o *openBTasks) read() (record, bool) {
	r := record{
		id: o.name(o.sn), queue: openBName, tenant: openBName, class: o.class(), members: 1,
		cpuMilli: o.amount(o.cpu), memoryMiB: o.amount(o.memory), wait: Unknown,
	}
	r.gpus, r.milli = o.claim(&r)
	r.products = o.models()
	created := o.amount(o.created)
	r.at = berth.Time(0).Add(berth.Duration(created) * berth.Second)
	if o.text(o.deleted) == "" {
		return r, true
	}
	began := created
	if o.text(o.scheduled) != "" {
		began = o.amount(o.scheduled)
	}
	ran := o.amount(o.deleted) - began
	if ran < 0 {
		o.refuse(o.deleted, "is before the task began")
	}
	r.runtime = max(berth.Duration(ran), 1) * berth.Second
	r.expected = r.runtime
	return r, true
}

func (o *openBTasks) class() berth.Class {
	switch o.text(o.qos) {
	case "LS", "Guaranteed":
		return berth.ClassLatencyCritical
	case "Burstable", "BE":
		return berth.ClassBatch
	default:
		o.refuse(o.qos, "is none of LS, Guaranteed, Burstable and BE")
		return 0
	}
}

// claim returns whole GPUs, or thousandths of one.
func (o *openBTasks) claim(r *record) (gpus, milli int) {
	gpus, milli = o.number(o.gpus, berth.MaxGPUs), o.number(o.milli, 1000)
	switch {
	case gpus == 0 && milli != 0:
		o.refuse(o.milli, "is a part of no GPU")
	case gpus == 0 && r.cpuMilli == 0 && r.memoryMiB == 0:
		o.refuse(o.cpu, "and all other claims are zero")
	case gpus > 0 && milli == 0:
		o.refuse(o.milli, "is zero, and num_gpu is not")
	case gpus > 1 && milli < 1000:
		o.refuse(o.milli, "is a part, and of several GPUs")
	case gpus == 1 && milli < 1000:
		return 0, milli
	}
	return gpus, 0
}
