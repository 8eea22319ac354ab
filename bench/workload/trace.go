package workload

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/skipped"
	"github.com/berth-sched/berth/quota"
)

// Options say what a trace does not: on what its jobs are to run, and under which
// quota. The zero value is good to look at a trace; to run one, give it nodes.
type Options struct {
	// Nodes join first, at time 0.
	Nodes []berth.Node
	// Queues are set next, in this order, so parents go before children. A queue that
	// jobs name and that is not here is set, without limits, before its first job.
	Queues []quota.Queue
	// GPUsPerNode divides a job of which the trace tells the number of GPUs alone: among as
	// few members as nodes of so many GPUs can hold, evenly where that comes out. Zero: 8.
	GPUsPerNode int
	// Window is how many rows are kept to put them in order of time; a row that is earlier
	// than one that left the window is an error. Zero: what the format promises, which is one
	// row for a file that is in order, and all of them for one that is not. A row that is
	// kept takes some 220 bytes: a reader of strangers' files should set a window.
	Window int
	// ProcessorsPerGPU is how many processors of a log in the standard workload format count
	// as one GPU; zero: 1. Other formats tell GPUs.
	ProcessorsPerGPU int
	// Change has the last word on every job: it may add what the trace does not tell, such
	// as what a checkpoint costs. Nil: jobs stay as they are.
	Change func(*berth.Job)
}

func (o *Options) check() error {
	switch {
	case o.GPUsPerNode < 0 || o.GPUsPerNode > berth.MaxGPUs:
		return fmt.Errorf("workload: GPUsPerNode: %d is outside 0..%d: %w", o.GPUsPerNode, berth.MaxGPUs, ErrOptions)
	case o.ProcessorsPerGPU < 0 || o.ProcessorsPerGPU > maxProcessors:
		return fmt.Errorf("workload: ProcessorsPerGPU: %d is outside 0..%d: %w", o.ProcessorsPerGPU, maxProcessors, ErrOptions)
	case o.Window < 0:
		return fmt.Errorf("workload: Window: %d is negative: %w", o.Window, ErrOptions)
	}
	return nil
}

// A Trace is the workload of a published trace, in stream: rows are read as they are
// asked for, in O(log window) each. See Options.Window for what is kept of them.
//
// Next ends early when a line makes no sense; Err then says which. Ask it after
// the run.
type Trace struct {
	options Options
	jobs    *sorted
	// start is what is still to be told before the jobs.
	start []sim.Arrival
	// queues that were set.
	queues map[berth.QueueID]bool
	// held is the job whose queue had to be set first.
	held *sim.Arrival
	// compress divides arrival times.
	compress int64
	files    []io.Closer
}

var _ sim.Workload = (*Trace)(nil)

// A Skip is what a reader of this package passed over, with the line of the first and how many
// there are.
type Skip = skipped.Skip

// newTrace makes the trace of a reader. Window is what the format needs, or zero for all rows.
func newTrace(t *table, r reader, window int, o Options) (*Trace, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if t.err != nil {
		return nil, t.err
	}
	if o.GPUsPerNode == 0 {
		o.GPUsPerNode = gpusPerNode
	}
	if o.Window > 0 {
		window = o.Window
	}
	trace := &Trace{options: o, jobs: newSorted(t, r, window), queues: map[berth.QueueID]bool{}, compress: 1}
	for _, n := range o.Nodes {
		trace.start = append(trace.start, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	for _, q := range o.Queues {
		trace.queues[q.Name] = true
		trace.start = append(trace.start, sim.Arrival{Event: berth.QueueSet{Queue: q}})
	}
	return trace, nil
}

// Config is the configuration of a core for the trace's fleet.
func (t *Trace) Config() berth.Config { return berth.Config{} }

// Nodes lists the fleet. The list is not to be changed.
func (t *Trace) Nodes() []berth.Node { return t.options.Nodes }

// Compress makes the jobs arrive n times as fast, and run as long as ever; n below
// 1 means 1. It fills a fleet that a trace, being a sample, keeps idle. To be called before
// Next.
func (t *Trace) Compress(n int64) { t.compress = max(n, 1) }

// Next returns the nodes, the queues and then one job after the other, each queue
// before its first job.
func (t *Trace) Next() (sim.Arrival, bool) {
	if len(t.start) > 0 {
		a := t.start[0]
		t.start = t.start[1:]
		return a, true
	}
	if t.held != nil {
		a := *t.held
		t.held = nil
		return a, true
	}
	r, ok := t.jobs.next()
	if !ok {
		return sim.Arrival{}, false
	}
	a := r.arrival(t.options.GPUsPerNode)
	a.At /= berth.Time(t.compress)
	job := a.Event.(berth.JobSubmitted).Job
	if t.options.Change != nil {
		t.options.Change(&job)
		a.Event = berth.JobSubmitted{Job: job}
	}
	if t.queues[job.Queue] {
		return a, true
	}
	t.queues[job.Queue] = true
	t.held = &a
	return sim.Arrival{At: a.At, Event: berth.QueueSet{Queue: quota.Queue{Name: job.Queue}}}, true
}

// Err is the *TraceError that ended the jobs early; nil if they ended by themselves.
func (t *Trace) Err() error { return t.jobs.table.err }

// Ran is what the file tells of the job that Next gave last; it is known when Next gives its queue.
func (t *Trace) Ran() Ran {
	if r := t.jobs.given; r != nil {
		return Ran{Line: r.line, Partition: r.partition, Wait: r.wait, SoFar: r.soFar}
	}
	return Ran{Wait: Unknown}
}

// Skipped says which rows were passed over so far, and why.
func (t *Trace) Skipped() []Skip { return slices.Clone(t.jobs.table.skips) }

// Epoch is what the clock showed at time 0, in UTC, or the zero time where the trace
// does not tell. It is known after the first job.
func (t *Trace) Epoch() time.Time {
	if t.jobs.epoch == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t.jobs.epoch)).UTC()
}

// Close closes the files that were opened for the trace.
func (t *Trace) Close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
