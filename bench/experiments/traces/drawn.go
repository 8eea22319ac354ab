package traces

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
)

// maxDrawn bounds the jobs that are drawn of a profile.
const maxDrawn = 10_000_000

// drawnTable draws some jobs of each profile, and sets what comes out beside what is
// published.
func drawnTable(jobs int, seed uint64) (*study.Table, error) {
	t := study.NewTable("jobs drawn from summaries, beside what these say",
		"cluster", "jobs", "mean GPUs", "published", "median s", "published", "mean s", "published",
		"GPU-hours a job", "published")
	for _, p := range workload.Profiles() {
		span := berth.Duration(float64(p.Span) * float64(jobs) / float64(p.Jobs))
		w, err := workload.Synthetic{Profile: p, Seed: seed, Span: span}.Workload()
		if err != nil {
			return nil, err
		}
		s := workload.Summarize(w)
		gpus := 0.0
		for _, size := range s.Sizes {
			gpus += float64(size.Milli) / 1000 * float64(size.Jobs)
		}
		count := float64(max(s.Jobs, 1))
		t.Add(p.Name, s.Jobs, gpus/count, p.MeanGPUs, inSeconds(s.MedianRuntime), inSeconds(p.MedianRuntime),
			inSeconds(s.MeanRuntime), inSeconds(p.MeanRuntime), s.GPUHours/count, p.GPUTime/float64(p.Jobs))
	}
	return t, nil
}

func inSeconds(d berth.Duration) float64 { return float64(d) / float64(berth.Second) }
