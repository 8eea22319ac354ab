package workload_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// TestSyntheticHasTheFigures draws fifty thousand jobs of each cluster, and the figures
// that they are fitted to come out. Tolerances are what a sample of that size needs.
func TestSyntheticHasTheFigures(t *testing.T) {
	const jobs = 50_000
	for _, p := range workload.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			s := workload.Synthetic{Profile: p, Seed: 1, Span: berth.Duration(float64(p.Span) * jobs / float64(p.Jobs))}
			got := figuresOf(t, s)
			require.InEpsilon(t, float64(jobs), float64(got.jobs), 0.02, "jobs")
			require.InDelta(t, 0.6, got.singles, 0.01, "share of jobs with one GPU")
			require.InEpsilon(t, p.MeanGPUs, got.meanGPUs, 0.05, "mean of GPUs")
			require.LessOrEqual(t, got.maxGPUs, p.MaxGPUs)
			require.InEpsilon(t, float64(p.MedianRuntime), got.median, 0.05, "median run time")
			require.InEpsilon(t, float64(p.MeanRuntime), got.mean, 0.15, "mean run time")
			require.LessOrEqual(t, got.longest, p.MaxRuntime)
			require.InEpsilon(t, p.GPUTime/float64(p.Jobs)*float64(berth.Hour), got.gpuTime, 0.3, "GPU time of a job")
			require.False(t, got.underrated, "nobody expects too little")
		})
	}
}

// figures are those of jobs that were drawn, times in milliseconds.
type figures struct {
	jobs                  int
	singles, meanGPUs     float64
	maxGPUs               int
	median, mean, gpuTime float64
	longest               berth.Duration
	underrated            bool
}

func figuresOf(t *testing.T, s workload.Synthetic) figures {
	t.Helper()
	w, err := s.Workload()
	require.NoError(t, err)
	var f figures
	var runtimes []berth.Duration
	for a, more := w.Next(); more; a, more = w.Next() {
		e, isJob := a.Event.(berth.JobSubmitted)
		if !isJob {
			continue
		}
		gpus := gpusOf(e.Job)
		f.meanGPUs += float64(gpus)
		f.maxGPUs = max(f.maxGPUs, gpus)
		if gpus == 1 {
			f.singles++
		}
		f.mean += float64(a.Runtime)
		f.gpuTime += float64(a.Runtime) * float64(gpus)
		f.underrated = f.underrated || e.Job.ExpectedRuntime < a.Runtime
		runtimes = append(runtimes, a.Runtime)
	}
	slices.Sort(runtimes)
	f.jobs, f.median, f.longest = len(runtimes), float64(runtimes[len(runtimes)/2]), runtimes[len(runtimes)-1]
	for _, sum := range []*float64{&f.singles, &f.meanGPUs, &f.mean, &f.gpuTime} {
		*sum /= float64(f.jobs)
	}
	return f
}

// TestSyntheticQueues: a job never comes from a queue that is too small for it, and large
// queues have more jobs.
func TestSyntheticQueues(t *testing.T) {
	venus, err := workload.FindProfile("venus")
	require.NoError(t, err)
	w, err := workload.Synthetic{Profile: venus, Span: 10 * berth.Day}.Workload()
	require.NoError(t, err)
	own, jobs, guaranteed, gpus := map[string]int{}, map[string]int{}, int64(0), 0
	for _, q := range venus.Queues {
		own[q.Name] = q.GPUs
	}
	for a, more := w.Next(); more; a, more = w.Next() {
		switch e := a.Event.(type) {
		case berth.NodeJoined:
			gpus += len(e.Node.GPUs)
		case berth.QueueSet:
			guaranteed += e.Queue.Guarantee[quota.GPUMilli]
		case berth.JobSubmitted:
			jobs[string(e.Job.Queue)]++
			require.LessOrEqual(t, gpusOf(e.Job), own[string(e.Job.Queue)])
		}
	}
	require.Equal(t, 1022, gpus)
	require.InDelta(t, 1_022_000, guaranteed, 15, "all of the fleet, but for rounding")
	require.Len(t, jobs, len(venus.Queues))
	require.Greater(t, jobs["vcJsw"], 10*jobs["vcgkz"], "256 GPUs against 8")
}

// TestSyntheticIsTellable has a core take a week, and the same seed draw the same.
func TestSyntheticIsTellable(t *testing.T) {
	kalos, err := workload.FindProfile("kalos")
	require.NoError(t, err)
	s := workload.Synthetic{Profile: kalos, Seed: 7, Span: berth.Day, LoadPercent: 50}
	first, err := s.Workload()
	require.NoError(t, err)
	second, err := s.Workload()
	require.NoError(t, err)
	sched, err := core.New(s.Config())
	require.NoError(t, err)
	for {
		a, more := first.Next()
		b, _ := second.Next()
		require.Equal(t, a, b)
		if !more {
			return
		}
		require.NoError(t, sched.Apply(a.At, a.Event))
	}
}

func TestSyntheticErrors(t *testing.T) {
	_, err := workload.FindProfile("pluto")
	require.ErrorIs(t, err, workload.ErrOptions)
	require.ErrorContains(t, err, "venus, earth")
	for name, change := range map[string]func(*workload.Synthetic){
		"no name":                       func(s *workload.Synthetic) { s.Profile.Name = "" },
		"GPUs are outside":              func(s *workload.Synthetic) { s.Profile.GPUs = 0 },
		"jobs or span":                  func(s *workload.Synthetic) { s.Profile.Jobs = 0 },
		"no power of two":               func(s *workload.Synthetic) { s.Profile.MaxGPUs = 100 },
		"mean of GPUs is not between":   func(s *workload.Synthetic) { s.Profile.MeanGPUs = 1 },
		"no shares of sizes up to 2":    func(s *workload.Synthetic) { s.Profile.MaxGPUs, s.Profile.MeanGPUs = 2, 1.9 },
		"do not rise":                   func(s *workload.Synthetic) { s.Profile.MeanRuntime = s.Profile.MedianRuntime },
		"over ten years":                func(s *workload.Synthetic) { s.Profile.MaxRuntime = 10_000 * berth.Day },
		"no positive number":            func(s *workload.Synthetic) { s.Profile.GPUTime = -1 },
		"no run times have this median": func(s *workload.Synthetic) { s.Profile.GPUTime = 1 },
		"a queue has no name":           func(s *workload.Synthetic) { s.Profile.Queues = []workload.QueueShare{{GPUs: 1}} },
		"LoadPercent: -1 is negative":   func(s *workload.Synthetic) { s.LoadPercent = -1 },
		"Span: -1ms is negative":        func(s *workload.Synthetic) { s.Span = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := workload.Synthetic{Profile: workload.Profiles()[0]}
			change(&s)
			_, err := s.Workload()
			require.ErrorIs(t, err, workload.ErrOptions)
			require.ErrorContains(t, err, name)
		})
	}
}

// TestProfilesAreThePublishedOnes compares with the files, where they are beside the repository.
func TestProfilesAreThePublishedOnes(t *testing.T) {
	helios := summaryRows(t, realTrace(t, "helios", "helios_cluster_summary.csv"))
	acme := summaryRows(t, realTrace(t, "acme", "cluster_summary.csv"))
	for _, p := range workload.Profiles() {
		row, known := helios[p.Name]
		longest := acme["helios"]
		if known {
			require.Equal(t, row["gpu_num"], float64(p.GPUs))
		} else {
			row = acme[p.Name]
			longest = row
			require.Equal(t, row["max_gpu"], float64(p.MaxGPUs))
		}
		seconds := func(d berth.Duration) float64 { return float64(d) / 1000 }
		require.Equal(t, row["gpu_job_num"], float64(p.Jobs), p.Name)
		require.Equal(t, row["avg_gpu_num"], p.MeanGPUs, p.Name)
		require.Equal(t, 1.0, row["med_gpu_num"], p.Name)
		require.InDelta(t, row["avg_run_time_gpu"], seconds(p.MeanRuntime), 0.001, p.Name)
		require.InDelta(t, row["med_run_time_gpu"], seconds(p.MedianRuntime), 0.001, p.Name)
		require.Equal(t, longest["max_run_time_gpu"], seconds(p.MaxRuntime), p.Name)
		require.InDelta(t, row["complete_gpu_time"]+row["cancel_gpu_time"]+row["fail_gpu_time"], p.GPUTime*3600, 1, p.Name)
	}
	venus, err := workload.FindProfile("venus")
	require.NoError(t, err)
	published := summaryRows(t, realTrace(t, "helios", "Venus_vc_config.csv"))
	require.Len(t, venus.Queues, len(published))
	for _, q := range venus.Queues {
		require.Equal(t, published[q.Name]["num"]*8, float64(q.GPUs), q.Name)
	}
}

// summaryRows reads a table of numbers, by the name in its first column, in lower case as
// profiles have it but for virtual clusters.
func summaryRows(t *testing.T, file string) map[string]map[string]float64 {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	rows := map[string]map[string]float64{}
	for _, line := range lines[1:] {
		row := map[string]float64{}
		for i, name := range lines[0] {
			row[name], _ = strconv.ParseFloat(line[i], 64) // names and gaps are zero
		}
		name := line[0]
		if !strings.HasPrefix(name, "vc") {
			name = strings.ToLower(name)
		}
		rows[name] = row
	}
	return rows
}
