package philly

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// excerpt writes a trace of a seed in the shape of Philly's: many jobs of one GPU, some gangs, run
// times over five orders of magnitude, four virtual clusters of which one is a crowd.
func excerpt(t *testing.T, seed uint64, jobs int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 8))
	var b strings.Builder
	b.WriteString("timestamp,duration,num_gpus,gpu_time,cluster\n")
	begin := time.Date(2017, 10, 2, 0, 0, 0, 0, time.UTC)
	for range jobs {
		cluster := study.Pick(random, []string{"crowd", "vision", "speech", "idle"}, []int{60, 20, 15, 5})
		gpus := study.Pick(random, []int{1, 2, 4, 8, 16, 32}, []int{70, 8, 8, 9, 4, 1})
		runtime := study.LogNormal(random, 20*berth.Minute, 6, berth.Second, 2*berth.Day) / berth.Second
		at := begin.Add(time.Duration(random.Int64N(int64(48 * time.Hour))))
		fmt.Fprintf(&b, "%s,%d,%d,%d,%s\n", at.Format(time.DateTime), runtime, gpus, int64(runtime)*int64(gpus), cluster)
	}
	file := filepath.Join(t.TempDir(), "jobs.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return file
}

// A log in the Standard Workload Format is played as the trace is, its queues as virtual clusters
// and its processors as GPUs.
func TestALogOfOnesOwn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 8))
	var b strings.Builder
	b.WriteString("; Queue: 1 crowd\n; Queue: 2 vision\n")
	for i := range 300 {
		runtime, processors := 60+random.IntN(20_000), 4*study.Pick(random, []int{1, 2, 8, 16}, []int{70, 15, 12, 3})
		fmt.Fprintf(&b, "%d %d -1 %d %d -1 -1 %d %d -1 1 7 1 -1 %d -1 -1 -1\n", 1+i, 300*i, runtime, processors, processors, 3*runtime, 1+random.IntN(4)/3)
	}
	o := Defaults()
	o.File, o.GPUs, o.Processors, o.Policies, o.Check = filepath.Join(t.TempDir(), "own.swf"), 64, 4, []string{"EASY", own, learned}, true
	o.Tolerance = 100 * time.Hour // it is not judged
	require.NoError(t, os.WriteFile(o.File, []byte(b.String()), 0o600))
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{"300 jobs", "64 GPUs", "Virtual clusters under untold", "crowd", "vision"} {
		require.Contains(t, out, text)
	}
}

// Every policy plays a small trace to its end under the checker, shared and in private; programs
// can read what comes of it.
func TestPhilly(t *testing.T) {
	o := Defaults()
	o.File, o.GPUs, o.Check = excerpt(t, 1, 900), 200, true
	out, err := studytest.Tell(Run, o)
	require.NoError(t, err)
	for _, text := range []string{
		"900 jobs", "200 GPUs: 18 nodes of 8 and 28 of 2", "Virtual clusters under cells", "simulated days and", "if no job tells its run time",
		"Under berth no virtual cluster waits longer than its private share would have had it wait.",
	} {
		require.Contains(t, out, text)
	}

	o.Check, o.Policies, o.JSON = false, []string{"fifo", "EASY"}, true
	out, err = studytest.Tell(Run, o)
	require.NoError(t, err)
	require.Equal(t, []string{"figure", "FIFO", "EASY"}, studytest.Tables(t, out)[0].Columns)
}

func TestOptions(t *testing.T) {
	o := Defaults()
	o.File = excerpt(t, 2, 400)
	studytest.Refuses(t, Run, o,
		func(o *Options) { o.File = "" },
		func(o *Options) { o.GPUs = 7 },
		func(o *Options) { o.GPUs = 32 },
		func(o *Options) { o.From = 30 },
		func(o *Options) { o.Policies = []string{"best"} },
	)
}

// What the flags leave of the trace, and how the fleet is divided.
func TestPhillyTraceOnAFleet(t *testing.T) {
	b := loaded(t, excerpt(t, 2, 400), func(o *Options) { o.From, o.Days = 1, 1 })
	all := loaded(t, excerpt(t, 2, 400), func(*Options) {})
	require.Less(t, len(b.whole.Jobs), len(all.whole.Jobs))
	require.Less(t, b.length, berth.Day)
	nodes, jobs := 0, 0
	for i := range all.private {
		nodes += len(all.private[i].Nodes)
		jobs += len(all.private[i].Jobs)
	}
	require.Equal(t, len(all.whole.Nodes), nodes, "every node is in one share")
	require.Equal(t, len(all.whole.Jobs), jobs)

	o := Defaults()
	o.File, o.GPUs = excerpt(t, 2, 400), 32
	_, err := newExperiment(o)
	require.ErrorContains(t, err, "too few for the largest jobs")
}

func loaded(t *testing.T, file string, change func(*Options)) *experiment {
	t.Helper()
	o := Defaults()
	o.File, o.GPUs = file, 200
	change(&o)
	b, err := newExperiment(o)
	require.NoError(t, err)
	return b
}

// A virtual cluster that is worse off is named, with by how much.
func TestPhillyVerdict(t *testing.T) {
	minute := func(n int) berth.Time { return berth.Time(0).Add(berth.Duration(n) * berth.Minute) }
	jobs := func(ends ...int) *run {
		r := &run{policy: &policy{name: own}}
		for _, end := range ends {
			r.jobs = append(r.jobs, &life.Job{Queue: "v", GPUs: 1, Runtime: 10 * berth.Minute, Ended: minute(end)})
		}
		return r
	}
	b := &experiment{Options: Defaults(), policies: []policy{{name: own}}, shares: []life.Share{{Queue: "v"}}}
	p := study.Output{}.To(io.Discard)
	require.Empty(t, b.Verdict(p, [][]*run{{jobs(10, 20), jobs(12, 20)}}))
	require.Empty(t, b.Verdict(p, [][]*run{{jobs(14, 24), jobs(10, 20)}}), "within the tolerance")
	require.Contains(t, b.Verdict(p, [][]*run{{jobs(16, 26), jobs(10, 20)}}),
		"berth: v is delayed by 11.0 min on average and 16.0 min at the 99th percentile, in private by 5.0 and 10.0")
	require.Contains(t, strings.Join(b.Verdict(p, [][]*run{{jobs(10, 10, 10, 10, 30), jobs(10, 10, 10, 10, 10)}}), "; "), "at the 99th percentile")
}

// The index is 100 if all have what they are entitled to, whatever that is.
func TestPhillyFairness(t *testing.T) {
	b := loaded(t, excerpt(t, 3, 200), func(*Options) {})
	slots := func(held ...float64) *run {
		r := &run{gpus: b.fleet.gpus()}
		for range 24 {
			s := life.Slot{}
			for _, h := range held {
				s.Queues = append(s.Queues, life.QueueSlot{Held: h, Wanted: 10})
			}
			r.slots = append(r.slots, s)
		}
		return r
	}
	require.InDelta(t, 100, b.fairness(slots(10, 10, 10, 10)), 1e-9)
	require.InDelta(t, 25, b.fairness(slots(10, 0, 0, 0)), 1e-9)
}
