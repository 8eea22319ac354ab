package workload

import (
	"io"

	"github.com/berth-sched/berth"
)

// DLRM opens the instances of recommendation models that Alibaba published in 2025 with
// Yang et al., "GPU-Disaggregated Serving for Deep Learning Recommendation Models at
// Scale", USENIX NSDI 2025: one CSV file, plain or compressed with gzip. Close it after
// use.
//
// Each instance is a job of one member and class LatencyCritical:
//
//   - instance_sn: its name.
//   - app_name: the service, which is a queue and a tenant.
//   - cpu_request, cores; memory_request, GiB; gpu_request, whole GPUs: the claim.
//   - creation_time, seconds: the arrival; nothing means that the instance was there
//     before the trace began, and it arrives at time 0.
//   - deletion_time, seconds: the end. The run time is counted from scheduled_time, or
//     from the arrival where there is none. Nothing means that the instance outlived the
//     trace: it runs on for ever.
//
// Not told to the core, because it knows of no such thing: rdma_request, per cent of an
// adapter's bandwidth, disk_request, and max_instance_per_node, which bounds how many of a
// service a node takes; Options.Row sees them. So a run is easier than it was there. Not
// read: role, which follows from gpu_request, and limits, which equal requests but for disks.
// The trace does not tell the fleet.
//
// Rows are a little out of order, so all are kept until the last is read, unless
// Options.Window says otherwise: O(rows log rows), 220 bytes each.
func DLRM(file string, o Options) (*Trace, error) { return openTrace(file, o, ReadDLRM) }

// ReadDLRM is DLRM for any reader. File names it in errors.
func ReadDLRM(file string, r io.Reader, o Options) (*Trace, error) {
	t := readCSV(file, r)
	return newTrace(t, &dlrmRows{
		table: t, id: t.column("instance_sn"), app: t.column("app_name"),
		cpu: t.column("cpu_request"), memory: t.column("memory_request"), gpus: t.column("gpu_request"),
		created: t.column("creation_time"), scheduled: t.column("scheduled_time"), deleted: t.column("deletion_time"),
	}, 0, o)
}

type dlrmRows struct {
	*table
	id, app, cpu, memory, gpus, created, scheduled, deleted column
}

func (d *dlrmRows) time() column { return d.created }

func (d *dlrmRows) read() (record, bool) {
	r := record{
		id: d.name(d.id), queue: d.common(d.app), class: berth.ClassLatencyCritical, members: 1,
		gpus:      d.number(d.gpus, berth.MaxGPUs),
		cpuMilli:  d.within(d.cpu, d.thousandths(d.cpu)),
		memoryMiB: d.within(d.memory, divide(d.thousandths(d.memory)<<10, 1000)),
	}
	r.tenant = r.queue
	if r.gpus == 0 && r.cpuMilli == 0 && r.memoryMiB == 0 {
		d.refuse(d.gpus, "and all other requests are zero")
	}
	began := d.optionalSeconds(d.created)
	r.at = berth.Time(began)
	if d.text(d.scheduled) != "" {
		began = d.seconds(d.scheduled)
	}
	if d.text(d.deleted) != "" {
		ran := d.seconds(d.deleted) - began
		if ran < 0 {
			d.refuse(d.deleted, "is before the instance began")
		}
		r.runtime = max(ran, 1) // zero would mean without end
	}
	return r, true
}

// within refuses an amount that no core takes.
func (d *dlrmRows) within(c column, amount int64) int64 {
	if amount > maxValue {
		d.refuse(c, "is more than any node has")
		return 0
	}
	return amount
}

// optionalSeconds returns zero where there is nothing.
func (d *dlrmRows) optionalSeconds(c column) berth.Duration {
	if d.text(c) == "" {
		return 0
	}
	return d.seconds(c)
}
