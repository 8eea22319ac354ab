package traces

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// sizes are the classes of jobs by the most GPUs that they claim, in thousandths.
var sizes = []struct {
	name string
	most int64
}{{"host", 0}, {"part", 999}, {"1 GPU", 1000}, {"2-4", 4000}, {"5-8", 8000}, {"9-16", 16_000}, {">16", 1 << 62}}

// tables are what the experiment traces prints.
type tables struct{ jobs, skipped, fleets, queues *study.Table }

func newTables() *tables {
	columns := []string{"file", "format", "jobs", "days", "queues"}
	for _, size := range sizes {
		columns = append(columns, size.name)
	}
	return &tables{
		jobs:    study.NewTable("jobs, by the GPUs that they claim", append(columns, "GPU-hours", "median min", "mean min", "without end")...),
		skipped: study.NewTable("rows that are no jobs, or none that ran", "file", "rows", "reason"),
		fleets:  study.NewTable("fleets", "file", "format", "nodes", "GPUs", "products"),
		queues:  study.NewTable("queues", "file", "queue", "jobs", "GPU-hours"),
	}
}

// filled lists the tables that have something to tell, those of queues where they are wanted.
func (t *tables) filled(queues bool) []*study.Table {
	tables := []*study.Table{t.jobs, t.skipped, t.fleets}
	if queues {
		tables = append(tables, t.queues)
	}
	return slices.DeleteFunc(tables, func(t *study.Table) bool { return len(t.Rows) == 0 })
}

// add adds what a file holds. It is named as below dir if it was found there.
func (t *tables) add(l *look, f file, dir string) {
	name := f.file
	if below, err := filepath.Rel(dir, f.file); err == nil && f.pattern != "" {
		name = filepath.ToSlash(below)
	}
	if l.Nodes > 0 {
		var gpus any // of which some files do not tell
		if l.GPUs > 0 {
			gpus = l.GPUs
		}
		t.fleets.Add(name, f.name, l.Nodes, gpus, strings.Join(l.products, ", "))
		return
	}
	t.addJobs(l, name, f.name)
	for _, s := range l.skipped {
		t.skipped.Add(name, s.Rows, s.Reason)
	}
}

func (t *tables) addJobs(l *look, file, format string) {
	row := []any{file, format, l.Jobs, nil, nil}
	if l.timed {
		row[3], row[4] = float64(l.Last.Sub(l.First))/float64(berth.Day), len(l.Queues)
	}
	for i := range sizes {
		row = append(row, l.jobsOf(i))
	}
	if !l.timed {
		t.jobs.Add(append(row, nil, nil, nil, nil)...)
		return
	}
	t.jobs.Add(append(row, l.GPUHours, inSeconds(l.MedianRuntime)/60, inSeconds(l.MeanRuntime)/60, l.Endless)...)
	for _, q := range l.Queues {
		t.queues.Add(file, q.Name, q.Jobs, q.GPUHours)
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
