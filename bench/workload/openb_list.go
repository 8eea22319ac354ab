package workload

import (
	"io"
	"strings"

	"github.com/berth-sched/berth/bench"
)

// An OpenBPod is a task of a list in the format of the openb trace, without its times.
type OpenBPod struct {
	Name    string
	Request bench.Request
}

// ReadOpenBNodeList reads a list of nodes in the format of the openb trace, plain or compressed,
// as it stands: the columns sn, cpu_milli, memory_mib, gpu and model, in any order; others are
// passed over. A node without GPUs needs no model. Errors are a *TraceError, which names the file
// as the caller does: a column that is missing, a value that makes no sense, a name that comes
// again.
func ReadOpenBNodeList(file string, r io.Reader) ([]bench.NodeSpec, error) {
	t := readCSV(file, r)
	rows := newOpenBNodes(t)
	var list []bench.NodeSpec
	names := map[string]bool{}
	for t.next() {
		n := rows.node()
		rows.once(rows.sn, string(n.ID), names)
		list = append(list, bench.SpecOf(&n))
	}
	if t.err != nil {
		return nil, t.err
	}
	return list, nil
}

// ReadOpenBPodList is ReadOpenBNodeList for a list of tasks: the columns name, cpu_milli,
// memory_mib, num_gpu and gpu_milli, and gpu_spec if there is one. Several of the published lists
// have no more than these.
func ReadOpenBPodList(file string, r io.Reader) ([]OpenBPod, error) {
	t := readCSV(file, r)
	rows := &openBTasks{
		table: t, sn: t.column("name"), cpu: t.column("cpu_milli"), memory: t.column("memory_mib"),
		gpus: t.column("num_gpu"), milli: t.column("gpu_milli"), spec: t.optional("gpu_spec"),
	}
	var list []OpenBPod
	names := map[string]bool{}
	for t.next() {
		pod := OpenBPod{Name: rows.name(rows.sn), Request: rows.request()}
		rows.once(rows.sn, pod.Name, names)
		list = append(list, pod)
	}
	if t.err != nil {
		return nil, t.err
	}
	return list, nil
}

// request is the claim of the current row, as package bench has it.
func (o *openBTasks) request() bench.Request {
	r := record{cpuMilli: o.amount(o.cpu), memoryMiB: o.amount(o.memory)}
	r.gpus, r.milli = o.claim(&r)
	request := bench.Request{CPUMilli: r.cpuMilli, MemoryMiB: r.memoryMiB, GPUs: r.gpus, Models: o.models()}
	switch {
	case r.milli > 0:
		request.GPUs, request.Milli = 1, r.milli
	case r.gpus > 0:
		request.Milli = bench.WholeGPU
	}
	return request
}

// models are the products that will do, parted by "|".
func (o *openBTasks) models() string {
	models := o.text(o.spec)
	if models == "" {
		return ""
	}
	for model := range strings.SplitSeq(models, "|") {
		o.checkName(o.spec, model)
	}
	return o.intern(models)
}

// once refuses a name that an earlier row has.
func (t *table) once(c column, name string, names map[string]bool) {
	if names[name] {
		t.refuse(c, "is the name of an earlier row, too")
	}
	names[name] = true
}
