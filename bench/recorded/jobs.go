package recorded

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/input"
	"github.com/berth-sched/berth/internal/skipped"
)

// A Job is one of the file, with whole GPUs.
type Job struct {
	At      berth.Time
	Runtime berth.Duration
	Spec    berth.Job
	// GPUs of all members.
	GPUs int
	// What else the file tells: the line, the partition, and the wait as it was.
	workload.Ran
}

// Unset is a wait that is not known.
const Unset = workload.Unknown

// ended is when the job ended, as the file tells it, or when it could have at the earliest.
func (j *Job) ended() berth.Time { return j.At.Add(max(j.Wait, 0)).Add(j.Runtime) }

// A source is what a file of jobs holds.
type source struct {
	file string
	// Kind of the file, in words.
	Kind string
	Jobs []Job
	// nodes, where the same file has them.
	nodes []berth.Node
	// Skipped is what is not read or not played, of all files, or is played as something that it
	// was not.
	Skipped skipped.List
	// firstEnd is when the first of all jobs ended, with or without GPUs.
	firstEnd berth.Time
	taken    map[berth.JobID]bool
}

// readJobs reads a file of whichever format.
func readJobs(o *Options, nodes []berth.Node) (*source, error) {
	in, err := input.Unzip(o.Jobs.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Jobs.Name, err)
	}
	start, _ := in.Peek(512)
	first := strings.TrimSpace(strings.TrimPrefix(string(start), "\ufeff"))
	switch {
	case strings.HasPrefix(first, "{"):
		return readKubernetes(o.Jobs.Name, in)
	case strings.HasPrefix(first, ";"), first != "" && strings.Trim(first[:1], "0123456789") == "" && !strings.Contains(first, "|"):
		return readTrace(o, in, nodes, "a log in the Standard Workload Format", workload.ReadSWF)
	}
	return readTrace(o, in, nodes, "accounts of sacct", workload.ReadSacct)
}

// readTrace reads a trace of package workload.
func readTrace(o *Options, in io.Reader, nodes []berth.Node, kind string, read func(string, io.Reader, workload.Options) (*workload.Trace, error)) (*source, error) {
	s := &source{file: o.Jobs.Name, Kind: kind, taken: map[berth.JobID]bool{}}
	trace, err := read(o.Jobs.Name, in, workload.Options{GPUsPerNode: o.NodeGPUs, ProcessorsPerGPU: o.ProcessorsPerGPU, Nodes: nodes})
	if err != nil {
		return nil, err
	}
	for a, more := trace.Next(); more; a, more = trace.Next() {
		if e, is := a.Event.(berth.JobSubmitted); is {
			s.take(a, e.Job, trace.Ran())
		}
	}
	s.Skipped = append(trace.Skipped(), s.Skipped...)
	return s, trace.Err()
}

func (s *source) skip(reason string, line int) { s.Skipped.Add(s.file, line, reason) }

// take keeps a job with whole GPUs and counts another.
func (s *source) take(a sim.Arrival, spec berth.Job, r workload.Ran) {
	if end := a.At.Add(max(r.Wait, 0)).Add(a.Runtime); a.Runtime > 0 && (s.firstEnd == 0 || end < s.firstEnd) {
		s.firstEnd = end
	}
	gpus, parts := 0, false
	var whole []berth.Group
	for _, g := range spec.Groups {
		parts = parts || g.Claim.MIG != "" || g.Claim.Share != nil
		if g.Claim.GPUs > 0 {
			gpus += g.Members * g.Claim.GPUs
			whole = append(whole, g)
		}
	}
	switch {
	case s.taken[spec.ID]:
		s.skip("is told again", r.Line)
		return
	case parts:
		s.skip("holds parts of GPUs", r.Line)
		return
	case gpus == 0:
		s.skip("holds no GPU", r.Line)
		return
	case a.Runtime <= 0 && r.SoFar <= 0:
		s.skip("had not started, or not ended, and tells no run time", r.Line)
		return
	case a.Runtime <= 0:
		s.skip("had not ended: played with the time until the latest instant of the file", r.Line)
		a.Runtime = r.SoFar
	}
	if len(whole) < len(spec.Groups) {
		s.skip("has a part that holds no GPU: played without", r.Line)
	}
	spec.Groups, s.taken[spec.ID] = whole, true
	s.Jobs = append(s.Jobs, Job{At: a.At, Runtime: a.Runtime, Spec: spec, GPUs: gpus, Ran: r})
}
