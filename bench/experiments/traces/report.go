package traces

import (
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// sizes are the classes of jobs by the most GPUs that they claim, in thousandths.
var sizes = []struct {
	name string
	most int64
}{{"host", 0}, {"part", 999}, {"1 GPU", 1000}, {"2-4", 4000}, {"5-8", 8000}, {"9-16", 16_000}, {">16", 1 << 62}}

// tables are what the experiment prints.
type tables struct{ jobs, skipped, fleets *study.Table }

func newTables() *tables {
	columns := []string{"file", "format", "jobs", "days", "queues"}
	for _, size := range sizes {
		columns = append(columns, size.name)
	}
	return &tables{
		jobs:    study.NewTable("jobs, by the GPUs that they claim", append(columns, "GPU-hours", "median min", "mean min", "without end")...),
		skipped: study.NewTable("rows that are no jobs, or none that ran", "file", "rows", "reason"),
		fleets:  study.NewTable("fleets", "file", "format", "nodes", "GPUs", "products"),
	}
}

// add adds what a file holds.
func (t *tables) add(l *look, file, format string) {
	if l.Nodes > 0 {
		var gpus any // of which some files do not tell
		if l.GPUs > 0 {
			gpus = l.GPUs
		}
		t.fleets.Add(file, format, l.Nodes, gpus, strings.Join(l.products, ", "))
		return
	}
	row := []any{file, format, l.Jobs, nil, nil}
	if l.timed {
		row[3], row[4] = float64(l.Last.Sub(l.First))/float64(berth.Day), len(l.Queues)
	}
	for i := range sizes {
		row = append(row, l.jobsOf(i))
	}
	if l.timed {
		minutes := func(d berth.Duration) float64 { return float64(d) / float64(berth.Minute) }
		row = append(row, l.GPUHours, minutes(l.MedianRuntime), minutes(l.MeanRuntime), l.Endless)
	} else {
		row = append(row, nil, nil, nil, nil)
	}
	t.jobs.Add(row...)
	for _, s := range l.skipped {
		t.skipped.Add(file, s.Count, s.Reason)
	}
}

// jobsOf counts the jobs of a class.
func (l *look) jobsOf(class int) int {
	above, count := int64(-1), 0
	if class > 0 {
		above = sizes[class-1].most
	}
	for _, size := range l.Sizes {
		if size.Milli > above && size.Milli <= sizes[class].most {
			count += size.Jobs
		}
	}
	return count
}
