package workload_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/quota"
)

const phillyHeader = "timestamp,duration,num_gpus,gpu_time,cluster\n"

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
			require.Equal(t, berth.JobID("philly-3"), first.ID, "after its line")
			require.Equal(t, 2*berth.Minute, list[1].Runtime)
			require.Equal(t, 2*berth.Minute, first.ExpectedRuntime)
			require.Equal(t, []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 6}}}, first.Groups, "evenly")

			require.Equal(t, berth.Time(0).Add(berth.Hour), list[3].At)
			require.Equal(t, []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}, jobOf(t, list[3]).Groups)
			require.Equal(t, 500*berth.Millisecond, list[4].Runtime)
			require.Equal(t, []berth.Group{
				{Name: "worker", Members: 2, Claim: berth.Claim{GPUs: 8}},
				{Name: "rest", Members: 1, Claim: berth.Claim{GPUs: 4}},
			}, jobOf(t, list[4]).Groups, "20 do not go into three members evenly")
		})
	}
}

// TestPhillyShortJob: zero would mean without end.
func TestPhillyShortJob(t *testing.T) {
	jobs := readTrace(workload.ReadPhilly).jobs(t, phillyHeader+"2017-10-09 07:01:55,0.0,1,0.0,aa\n", workload.Options{})
	require.Equal(t, berth.Millisecond, jobs[0].Runtime)
}

func TestPhillyErrors(t *testing.T) {
	const good = "2017-10-09 07:01:55,66.0,1,66.0,aa\n"
	requireRefusals(t, workload.ReadPhilly, []refusal{
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
	})
}

// TestPhillyTrace reads the published file, where it is beside the repository. The
// expected figures were counted with another program.
func TestPhillyTrace(t *testing.T) {
	trace, err := workload.Philly(realTrace(t, "philly", "philly_jobs_sia.csv.gz"), workload.Options{})
	list, err := drain(t, trace, err)
	require.NoError(t, err)
	first := time.Date(2017, 9, 4, 10, 30, 41, 0, time.UTC)
	sum := sumUp(t, list)
	require.Equal(t, []int{82_247, 15, 3}, []int{sum.jobs, sum.queues, sum.bySize[128]})
	require.Equal(t, int64(978_078), int64(sum.gpuTime/berth.Hour), "GPU-hours")
	last := list[len(list)-1]
	require.Equal(t, time.Date(2017, 12, 22, 8, 2, 11, 0, time.UTC), first.Add(berth.Duration(last.At).Std()))
}

// FuzzPhilly: any bytes give jobs that a core can be told, or a typed error.
func FuzzPhilly(f *testing.F) {
	f.Add([]byte(phillyHeader + "2017-10-09 07:01:55,66.0,1,66.0,aa\n2017-10-08 07:01:55,1,20,20,b\n"))
	f.Add(zipped(f, phillyHeader+"2017-10-09 07:01:55,66.0,1,66.0,aa\n"))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, text []byte) {
		requireTellable(t, workload.ReadPhilly, text)
	})
}
