package workload_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/skipped"
)

var readSWF readTrace = workload.ReadSWF

const swfText = `; Version: 2.2
; UnixStartTime: 870000000
; Queue: 2 batch (jobs of up to a day)
; Queues: this says nothing about one
;
  1     0    10   3600     4   -1   -1     8  7200   -1  1   5   1   7  2  1 -1 -1

  2    10.5  -1      0    12   -1   -1    -1    -1   -1  0  -1  -1  -1  0 -1 -1 -1
  3    11    -1     -1.00  4   -1   -1     4    -1   -1  5   5   1  -1  2  1 -1 -1
  4    12    -1     60     4   -1   -1     4    -1   -1  2   5   1  -1  2  1 -1 -1
  5    13    -1     60     0   -1   -1    -1    -1   -1  1   5   1  -1  2  1 -1 -1
  6    13    -1     60     1   -1   -1     0    -1   -1  1   5   1  -1 -1  1 -1 -1
`

func TestSWFJobs(t *testing.T) {
	trace, err := workload.ReadSWF("log", strings.NewReader(swfText), workload.Options{})
	list, err := drain(t, trace, err)
	require.NoError(t, err)
	require.Equal(t, skipped.List{
		{Reason: "never ran", Count: 1, Line: 9}, {Reason: "a part of a job", Count: 1, Line: 10}, {Reason: "asks for no processor", Count: 1, Line: 11},
	}, ofRows(trace.Skipped()))
	require.Len(t, list, 6, "three jobs, each the first of its queue")

	require.Equal(t, sim.Arrival{Runtime: berth.Hour, Event: berth.JobSubmitted{Job: berth.Job{
		ID: "swf-1", Queue: "batch", Tenant: "user-5", Program: "user-5/7", ExpectedRuntime: 2 * berth.Hour,
		Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}},
	}}}, list[1])
	require.Equal(t, sim.Arrival{At: 10_500, Runtime: berth.Millisecond, Event: berth.JobSubmitted{Job: berth.Job{
		ID: "swf-2", Queue: "queue-0", Groups: []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 6}}},
	}}}, list[3], "what is allocated stands for what is requested, and less than a second is not no end")
	require.Equal(t, berth.QueueID("queue"), jobOf(t, list[5]).Queue)
}

func TestSWFProcessors(t *testing.T) {
	jobs := readSWF.jobs(t, swfText, workload.Options{ProcessorsPerGPU: 5, GPUsPerNode: 1})
	require.Equal(t, []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 1}}}, jobOf(t, jobs[0]).Groups, "8 processors")
	require.Equal(t, []berth.Group{{Members: 3, Claim: berth.Claim{GPUs: 1}}}, jobOf(t, jobs[1]).Groups, "12 processors")
}

func TestSWFErrors(t *testing.T) {
	line := func(changes ...string) string {
		return strings.NewReplacer(changes...).Replace("1 20 -1 3600 4 -1 -1 8 7200 -1 1 5 1 -1 2 1 -1 -1\n")
	}
	requireRefusals(t, workload.ReadSWF, []refusal{
		{"too few fields", "; Version: 2.2\n1 2 3\n", 2, 0, "", workload.ErrRow, "has 3 columns instead of 18"},
		{"too many fields", line("-1 -1\n", "-1 -1 0\n"), 1, 0, "", workload.ErrRow, "has 19 columns instead of 18"},
		{"no number", line("1 20", "one 20"), 1, 1, "job number", workload.ErrValue, `"one"`},
		{"a strange run time", "\n\n" + line("3600", "1h"), 3, 9, "run time", workload.ErrValue, `"1h"`},
		{"many processors", line(" 8 ", " 65537 "), 1, 22, "requested processors", workload.ErrValue, "more than 65536"},
		{"out of order", line() + line("20", "19"), 2, 3, "submit time", workload.ErrValue, "in order of time"},
	})
}

func TestSWFReportsTheReader(t *testing.T) {
	broken := errors.New("the disk is broken")
	_, err := workload.ReadSWF("log", iotest.ErrReader(broken), workload.Options{})
	require.ErrorIs(t, err, broken)
}

func FuzzSWF(f *testing.F) {
	f.Add([]byte(swfText))
	f.Add([]byte("; Queue: 2 x(\n1 20 -1 3600 4 -1 -1 8 7200 -1 1 5 1 -1 2 1 -1 -1"))
	f.Fuzz(func(t *testing.T, text []byte) { requireTellable(t, workload.ReadSWF, text) })
}
