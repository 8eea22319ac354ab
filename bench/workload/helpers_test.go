package workload_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/skipped"
)

// A readTrace is one of the functions that read a trace.
type readTrace func(string, io.Reader, workload.Options) (*workload.Trace, error)

// all reads a text to its end.
func (read readTrace) all(tb testing.TB, text string, o workload.Options) ([]sim.Arrival, error) {
	tb.Helper()
	t, err := read("file", strings.NewReader(text), o)
	return drain(tb, t, err)
}

// jobs reads a text to its end, and leaves out what is no job.
func (read readTrace) jobs(tb testing.TB, text string, o workload.Options) []sim.Arrival {
	tb.Helper()
	list, err := read.all(tb, text, o)
	require.NoError(tb, err)
	var jobs []sim.Arrival
	for _, a := range list {
		if _, isJob := a.Event.(berth.JobSubmitted); isJob {
			jobs = append(jobs, a)
		}
	}
	return jobs
}

// drain reads a trace to its end.
func drain(tb testing.TB, t *workload.Trace, err error) ([]sim.Arrival, error) {
	tb.Helper()
	if err != nil {
		return nil, err
	}
	var list []sim.Arrival
	for {
		a, more := t.Next()
		if !more {
			require.NoError(tb, t.Close())
			return list, t.Err()
		}
		list = append(list, a)
	}
}

// jobOf is the job that an arrival submits.
func jobOf(tb testing.TB, a sim.Arrival) berth.Job {
	tb.Helper()
	require.IsType(tb, berth.JobSubmitted{}, a.Event)
	return a.Event.(berth.JobSubmitted).Job
}

// gpusOf counts the whole GPUs that a job claims.
func gpusOf(job berth.Job) int {
	gpus := 0
	for _, g := range job.Groups {
		gpus += g.Members * g.Claim.GPUs
	}
	return gpus
}

// realTrace returns the path of a published file, or skips the test where it is absent.
func realTrace(tb testing.TB, elements ...string) string {
	tb.Helper()
	file := filepath.Join(append([]string{"..", "..", "..", "shared", "data", "traces"}, elements...)...)
	if _, err := os.Stat(file); err != nil {
		tb.Skipf("%s is not at ../shared/data/traces beside the repository", filepath.Join(elements...))
	}
	return file
}

// zipped compresses a text.
func zipped(tb testing.TB, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// A refusal is a text that makes no sense, and every part of the error about it.
type refusal struct {
	name, text   string
	line, column int
	field        string
	kind         error
	reason       string
}

func requireRefusals(t *testing.T, read readTrace, list []refusal) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			_, err := read.all(t, c.text, workload.Options{})
			var e *workload.TraceError
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, c.kind)
			require.Contains(t, e.Reason, c.reason)
			require.Equal(t, []any{"file", c.line, c.column, c.field}, []any{e.File, e.Line, e.Column, e.Field}, e.Error())
		})
	}
}

// sums are what a test compares with figures that another program counted.
type sums struct {
	jobs, queues, endless int
	bySize                map[int]int
	gpuTime               berth.Duration
}

// sumUp adds up arrivals, which have to be in order of time.
func sumUp(t *testing.T, list []sim.Arrival) sums {
	t.Helper()
	s := sums{bySize: map[int]int{}}
	for i, a := range list {
		require.True(t, i == 0 || list[i-1].At <= a.At, "in order of time")
		switch e := a.Event.(type) {
		case berth.QueueSet:
			s.queues++
		case berth.JobSubmitted:
			s.jobs++
			gpus := gpusOf(e.Job)
			s.bySize[gpus]++
			s.gpuTime += a.Runtime * berth.Duration(gpus)
			if a.Runtime == 0 {
				s.endless++
			}
		}
	}
	return s
}

// requireTellable reads a trace of any bytes: a core takes all it gives, and where it
// ends early there is a typed error that says where.
func requireTellable(t *testing.T, read readTrace, text []byte) {
	t.Helper()
	list, err := read.all(t, string(text), workload.Options{})
	if err != nil {
		var e *workload.TraceError
		require.ErrorAs(t, err, &e)
		require.Positive(t, e.Line)
		require.NotEmpty(t, e.Reason)
	}
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	for i := range list {
		if err := sched.Apply(list[i].At, list[i].Event); err != nil {
			require.ErrorIs(t, err, berth.ErrDuplicate, "a name that stands there twice")
		}
	}
}

// ofRows is what is told of rows, and not of the header, without names of files.
func ofRows(list skipped.List) skipped.List {
	list = slices.DeleteFunc(slices.Clone(list), func(s skipped.Skip) bool { return s.Line == 1 })
	for i := range list {
		list[i].File = ""
	}
	return list
}
