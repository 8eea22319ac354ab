package workload

import (
	"errors"
	"fmt"
	"io"
	"slices"

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
	}
	return nil
}

// A Trace is the workload of a published trace, in stream: rows are read as they are
// asked for, or all at once where the format does not promise the order of time.
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
	held  *sim.Arrival
	files []io.Closer
}

var _ sim.Workload = (*Trace)(nil)

// A Skip is what a reader of this package passed over, with the line of the first and how many
// there are.
type Skip = skipped.Skip

// newTrace makes the trace of a reader.
func newTrace(t *table, r reader, inOrder bool, o Options) (*Trace, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if t.err != nil {
		return nil, t.err
	}
	if o.GPUsPerNode == 0 {
		o.GPUsPerNode = gpusPerNode
	}
	trace := &Trace{options: o, jobs: newSorted(t, r, inOrder), queues: map[berth.QueueID]bool{}}
	for _, n := range o.Nodes {
		trace.start = append(trace.start, sim.Arrival{Event: berth.NodeJoined{Node: n}})
	}
	for _, q := range o.Queues {
		trace.queues[q.Name] = true
		trace.start = append(trace.start, sim.Arrival{Event: berth.QueueSet{Queue: q}})
	}
	return trace, nil
}

// Nodes lists the fleet. The list is not to be changed.
func (t *Trace) Nodes() []berth.Node { return t.options.Nodes }

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
		return Ran{Line: r.line, Partition: r.partition, QOS: r.qos, Wait: r.wait, SoFar: r.soFar}
	}
	return Ran{Wait: Unknown}
}

// Skipped says which rows were passed over so far, and why.
func (t *Trace) Skipped() []Skip { return slices.Clone(t.jobs.table.skips) }

// Close closes the files that were opened for the trace.
func (t *Trace) Close() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
