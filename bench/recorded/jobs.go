package recorded

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/input"
)

// A Job is one of the file, with whole GPUs.
type Job struct {
	At      berth.Time
	Runtime berth.Duration
	Spec    berth.Job
	// GPUs of all members.
	GPUs int
	// Line of the file, and the partition that it names.
	Line      int
	Partition string
	// Wait as it was; Unset where the file does not tell.
	Wait berth.Duration
}

// Unset is a wait that is not known.
const Unset berth.Duration = -1

// ended is when the job ended, as the file tells it, or when it could have at the earliest.
func (j *Job) ended() berth.Time { return j.At.Add(max(j.Wait, 0)).Add(j.Runtime) }

// A row is what a file tells of a job besides what it asks for.
type row struct {
	line      int
	partition string
	wait      berth.Duration
}

// A source is what a file of jobs holds.
type source struct {
	file string
	// Kind of the file, in words.
	Kind string
	Jobs []Job
	// nodes, where the same file has them.
	nodes []berth.Node
	// Skipped is what is not played or not read, of all files; Marks is what is played as something
	// that it was not.
	Skipped, Marks input.Skips
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
	s, rows := &source{file: o.Jobs.Name, Kind: kind}, map[berth.JobID]row{}
	starts := map[berth.JobID]time.Time{}
	last := time.Time{}
	var trace *workload.Trace
	trace, err := read(o.Jobs.Name, in, workload.Options{
		GPUsPerNode: o.NodeGPUs, ProcessorsPerGPU: o.ProcessorsPerGPU, Nodes: nodes,
		Row: func(id berth.JobID, value func(string) string) {
			r := row{line: trace.Line(), partition: value("Partition"), wait: waited(value)}
			rows[id] = r
			for _, column := range []string{"Submit", "Start", "End"} {
				if at, err := time.Parse(slurmTime, value(column)); err == nil {
					if column == "Start" {
						starts[id] = at
					}
					if at.After(last) {
						last = at
					}
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	for a, more := trace.Next(); more; a, more = trace.Next() {
		if e, is := a.Event.(berth.JobSubmitted); is {
			if at, known := starts[e.Job.ID]; known && a.Runtime == 0 {
				a.Runtime = berth.TimeOf(last).Sub(berth.TimeOf(at))
			}
			s.take(a, e.Job, rows[e.Job.ID])
		}
	}
	s.Skipped = append(trace.Skipped(), s.Skipped...)
	return s, trace.Err()
}

// slurmTime is how sacct writes an instant.
const slurmTime = "2006-01-02T15:04:05"

// waited is the wait that a row tells, in seconds or by two instants.
func waited(value func(string) string) berth.Duration {
	if seconds, err := strconv.ParseFloat(value("wait time"), 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return berth.Duration(seconds * float64(berth.Second))
	}
	submit, err := time.Parse(slurmTime, value("Submit"))
	start, err2 := time.Parse(slurmTime, value("Start"))
	if errors.Join(err, err2) != nil {
		return Unset
	}
	return max(0, berth.TimeOf(start).Sub(berth.TimeOf(submit)))
}

func (s *source) skip(reason string, line int) { s.Skipped.Add(s.file, line, reason) }

// take keeps a job with whole GPUs and counts another.
func (s *source) take(a sim.Arrival, spec berth.Job, r row) {
	gpus, whole := 0, true
	for i := range spec.Groups {
		g := &spec.Groups[i]
		gpus += g.Members * g.Claim.GPUs
		whole = whole && g.Claim.GPUs > 0
	}
	switch c := &spec.Groups[0].Claim; {
	case c.MIG != "" || c.Share != nil:
		s.skip("holds parts of GPUs", r.line)
	case !whole:
		s.skip("holds no GPU", r.line)
	case a.Runtime <= 0:
		s.skip("had not started, or not ended, and tells no run time", r.line)
	default:
		s.Jobs = append(s.Jobs, Job{At: a.At, Runtime: a.Runtime, Spec: spec, GPUs: gpus, Line: r.line, Partition: r.partition, Wait: r.wait})
	}
}
