package workload_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/sim"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/quota"
)

const phillyHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n"

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

func TestPhillyJobs(t *testing.T) {
	text := phillyHeader +
		"2017-10-09 07:01:55,66.0,1,66.0,aa\n" +
		"2017-10-09 06:01:55,120.0,12,1440.0,bb\n" +
		"2017-10-09 07:01:55,0.5,20,10.0,aa\n"
	for name, input := range map[string][]byte{"plain": []byte(text), "gzip": zipped(t, text)} {
		t.Run(name, func(t *testing.T) {
			trace, err := workload.ReadPhilly("jobs.csv", bytes.NewReader(input), workload.Options{})
			list, err := drain(t, trace, err)
			require.NoError(t, err)
			require.Len(t, list, 5, "three jobs, and a queue before the first of each")
			require.Equal(t, berth.QueueSet{Queue: quota.Queue{Name: "bb"}}, list[0].Event)

			first := jobOf(t, list[1])
			require.Zero(t, list[1].At, "time 0 is the first submission, wherever it stands")
			require.Equal(t, time.Date(2017, 10, 9, 6, 1, 55, 0, time.UTC), trace.Epoch())
			require.Equal(t, berth.JobID("philly-3"), first.ID, "after its line")
			require.Equal(t, 2*berth.Minute, list[1].Runtime)
			require.Equal(t, 2*berth.Minute, first.ExpectedRuntime)
			require.Equal(t, []berth.Group{{Replicas: 2, Claim: berth.Claim{GPUs: 6}}}, first.Groups, "evenly")

			require.Equal(t, berth.Time(0).Add(berth.Hour), list[3].At)
			require.Equal(t, []berth.Group{{Replicas: 1, Claim: berth.Claim{GPUs: 1}}}, jobOf(t, list[3]).Groups)
			require.Equal(t, 500*berth.Millisecond, list[4].Runtime)
			require.Equal(t, []berth.Group{
				{Name: "worker", Replicas: 2, Claim: berth.Claim{GPUs: 8}},
				{Name: "rest", Replicas: 1, Claim: berth.Claim{GPUs: 4}},
			}, jobOf(t, list[4]).Groups, "20 do not go into three members evenly")
		})
	}
}

func TestPhillyErrors(t *testing.T) {
	const good = "2017-10-09 07:01:55,66.0,1,66.0,aa\n"
	for _, c := range []struct {
		name, text   string
		line, column int
		field        string
		kind         error
		reason       string
	}{
		{"nothing", "", 1, 0, "", workload.ErrHeader, "is empty"},
		{"another file", "a,b\n", 1, 0, "", workload.ErrHeader, `no column "timestamp"; the columns are "a,b"`},
		{"not an instant", phillyHeader + good + "yesterday,66.0,1,66.0,aa\n", 3, 1, "timestamp", workload.ErrValue, `"yesterday" is no instant`},
		{"before its time", phillyHeader + "1917-10-09 07:01:55,66.0,1,66.0,aa\n", 2, 1, "timestamp", workload.ErrValue, "since 1970"},
		{"not a number", phillyHeader + "2017-10-09 07:01:55,1e3,1,66.0,aa\n", 2, 21, "duration", workload.ErrValue, `"1e3" is no number`},
		{"a negative span", phillyHeader + "2017-10-09 07:01:55,-1,1,66.0,aa\n", 2, 21, "duration", workload.ErrValue, `"-1" is no number`},
		{"a part of a GPU", phillyHeader + "2017-10-09 07:01:55,6.0,1.5,66.0,aa\n", 2, 25, "num_gpus", workload.ErrValue, `"1.5" is no whole number`},
		{"no GPU", phillyHeader + "2017-10-09 07:01:55,6.0,0,66.0,aa\n", 2, 25, "num_gpus", workload.ErrValue, "is zero"},
		{"too many GPUs", phillyHeader + "2017-10-09 07:01:55,6.0,65537,66.0,aa\n", 2, 25, "num_gpus", workload.ErrValue, "is more than 65536"},
		{"no cluster", phillyHeader + "2017-10-09 07:01:55,6.0,1,6.0,\n", 2, 31, "cluster", workload.ErrValue, "is no name"},
		{"a column too few", phillyHeader + "2017-10-09 07:01:55,6.0,1,6.0\n", 2, 0, "", workload.ErrRow, "4 columns instead of 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace, err := workload.ReadPhilly("jobs.csv", strings.NewReader(c.text), workload.Options{})
			_, err = drain(t, trace, err)
			requireRefusal(t, err, "jobs.csv", c.line, c.column, c.field, c.kind, c.reason)
		})
	}
}

// requireRefusal checks every part of a TraceError.
func requireRefusal(t *testing.T, err error, file string, line, column int, field string, kind error, reason string) {
	t.Helper()
	var e *workload.TraceError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, kind)
	require.Contains(t, e.Reason, reason)
	require.Equal(t, []any{file, line, column, field}, []any{e.File, e.Line, e.Column, e.Field}, e.Error())
}

// TestPhillyTrace reads the published file, where it is beside the repository. The
// expected figures were counted with another program.
func TestPhillyTrace(t *testing.T) {
	trace, err := workload.Philly(realTrace(t, "philly", "philly_jobs_sia.csv.gz"), workload.Options{})
	list, err := drain(t, trace, err)
	require.NoError(t, err)
	require.Equal(t, time.Date(2017, 9, 4, 10, 30, 41, 0, time.UTC), trace.Epoch())
	jobs, queues, large := 0, 0, 0
	var gpuTime berth.Duration
	for i, a := range list {
		require.True(t, i == 0 || list[i-1].At <= a.At, "in order of time")
		e, isJob := a.Event.(berth.JobSubmitted)
		if !isJob {
			queues++
			continue
		}
		jobs++
		gpus := 0
		for _, g := range e.Job.Groups {
			gpus += g.Replicas * g.Claim.GPUs
		}
		if gpus == 128 {
			large++
		}
		gpuTime += a.Runtime * berth.Duration(gpus)
	}
	require.Equal(t, []int{82_247, 15, 3}, []int{jobs, queues, large})
	require.Equal(t, int64(978_078), int64(gpuTime/berth.Hour), "GPU-hours")
	last := list[len(list)-1]
	require.Equal(t, time.Date(2017, 12, 22, 8, 2, 11, 0, time.UTC), trace.Epoch().Add(berth.Duration(last.At).Std()))
}

// FuzzPhilly: any bytes give jobs that a core can be told, or a typed error.
func FuzzPhilly(f *testing.F) {
	f.Add([]byte(phillyHeader + "2017-10-09 07:01:55,66.0,1,66.0,aa\n2017-10-08 07:01:55,1,20,20,b\n"))
	f.Add(zipped(f, phillyHeader+"2017-10-09 07:01:55,66.0,1,66.0,aa\n"))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := workload.ReadPhilly("jobs.csv", bytes.NewReader(text), workload.Options{})
		requireTellable(t, trace, err)
	})
}

// requireTellable reads a trace of any bytes: a core takes all it gives, and where it
// ends early there is a typed error that says where.
func requireTellable(t *testing.T, trace *workload.Trace, err error) {
	t.Helper()
	list, err := drain(t, trace, err)
	if err != nil {
		var e *workload.TraceError
		require.ErrorAs(t, err, &e)
		require.Positive(t, e.Line)
		require.NotEmpty(t, e.Reason)
	}
	core, err := berth.New(berth.Config{})
	require.NoError(t, err)
	for i := range list {
		if err := core.Apply(list[i].At, list[i].Event); err != nil {
			require.ErrorIs(t, err, berth.ErrDuplicate, "a name that stands there twice")
		}
	}
}
