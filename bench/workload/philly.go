package workload

import (
	"errors"
	"io"
	"os"
	"strconv"
	"time"
)

// Philly opens the jobs of Microsoft's Philly clusters of 2017 in a processed form,
// philly_jobs_sia.csv: one CSV file, plain or compressed with gzip. Close it after use. The
// trace goes with Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for
// DNN Training Workloads", USENIX ATC 2019.
//
// What becomes of the columns:
//
//   - timestamp, "2017-10-09 07:01:55": the submission. It has no zone; it is read as UTC, so
//     across a change of the clocks spans are off by an hour. Time 0 is the first
//     submission.
//   - duration: the run time in seconds, and what is expected of it. What users
//     had said is not known, so schedulers that use estimates have perfect ones.
//   - num_gpus: a gang; see Options.GPUsPerNode.
//   - gpu_time: not read. It is the product of the two.
//   - cluster: the virtual cluster, which is a queue and a tenant.
//
// Jobs have no names there; they are called philly-N after the line they stand in.
//
// The trace does not tell: the fleet (the paper has some 2,490 GPUs in machines of two and
// of eight), what each virtual cluster was entitled to, CPU and memory, which jobs checkpoint,
// how jobs ended, and of those that were retried how often. All jobs are of class Batch.
//
// Rows are far out of order, by up to 105 days, so all are kept until the last is read:
// O(rows log rows), 220 bytes each, which is 18 MB for the published file.
func Philly(file string, o Options) (*Trace, error) { return open(file, o, ReadPhilly) }

// open opens a trace that is one file.
func open(file string, o Options, read func(string, io.Reader, Options) (*Trace, error)) (*Trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	t, err := read(file, f, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.files = append(t.files, f)
	return t, nil
}

// ReadPhilly is Philly for any reader. File names it in errors.
func ReadPhilly(file string, r io.Reader, o Options) (*Trace, error) {
	t := readCSV(file, r)
	p := &phillyRows{
		table: t, timestamp: t.column("timestamp"), duration: t.column("duration"),
		gpus: t.column("num_gpus"), cluster: t.column("cluster"),
	}
	trace, err := newTrace(t, p, false, o)
	if err != nil {
		return nil, err
	}
	trace.jobs.absolute = true
	return trace, nil
}

type phillyRows struct {
	*table
	timestamp, duration, gpus, cluster column
}

func (p *phillyRows) time() column { return p.timestamp }

func (p *phillyRows) read() (record, bool) {
	r := record{
		id: "philly-" + strconv.Itoa(p.in.line()), wait: Unknown,
		at: p.instant(p.timestamp, time.DateTime),
		// A run time of zero would mean one without end.
		runtime: max(p.seconds(p.duration), 1),
		gpus:    p.number(p.gpus, maxJobGPUs),
		queue:   p.common(p.cluster),
	}
	r.expected, r.tenant = r.runtime, r.queue
	if r.gpus == 0 {
		p.refuse(p.gpus, "is zero")
	}
	return r, true
}
