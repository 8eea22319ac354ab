package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth"
)

// traceSizes are the classes of jobs by the most GPUs that they claim, in thousandths.
var traceSizes = []struct {
	name string
	most int64
}{{"host", 0}, {"part", 999}, {"1 GPU", 1000}, {"2-4", 4000}, {"5-8", 8000}, {"9-16", 16_000}, {">16", 1 << 62}}

// traceTables are what the experiment traces prints.
type traceTables struct{ jobs, skipped, fleets, queues *table }

func newTraceTables() *traceTables {
	columns := []string{"file", "format", "jobs", "days", "queues"}
	for _, size := range traceSizes {
		columns = append(columns, size.name)
	}
	return &traceTables{
		jobs:    newTable("jobs, by the GPUs that they claim", append(columns, "GPU-hours", "median min", "mean min", "without end")...),
		skipped: newTable("rows that are no jobs, or none that ran", "file", "rows", "reason"),
		fleets:  newTable("fleets", "file", "format", "nodes", "GPUs", "products"),
		queues:  newTable("queues", "file", "queue", "jobs", "GPU-hours"),
	}
}

// filled lists the tables that have something to tell, those of queues where they are wanted.
func (t *traceTables) filled(queues bool) []*table {
	tables := []*table{t.jobs, t.skipped, t.fleets}
	if queues {
		tables = append(tables, t.queues)
	}
	return slices.DeleteFunc(tables, func(t *table) bool { return len(t.rows) == 0 })
}

// add adds what a file holds. It is named as below dir if it was found there.
func (t *traceTables) add(l *traceLook, f traceFile, dir string) {
	name := f.file
	if below, err := filepath.Rel(dir, f.file); err == nil && f.pattern != "" {
		name = filepath.ToSlash(below)
	}
	if l.Nodes > 0 {
		var gpus any // of which some files do not tell
		if l.GPUs > 0 {
			gpus = l.GPUs
		}
		t.fleets.add(name, f.name, l.Nodes, gpus, strings.Join(l.products, ", "))
		return
	}
	t.addJobs(l, name, f.name)
	for _, s := range l.skipped {
		t.skipped.add(name, s.Rows, s.Reason)
	}
}

func (t *traceTables) addJobs(l *traceLook, file, format string) {
	row := []any{file, format, l.Jobs, nil, nil}
	if l.timed {
		row[3], row[4] = float64(l.Last.Sub(l.First))/float64(berth.Day), len(l.Queues)
	}
	for i := range traceSizes {
		row = append(row, l.jobsOf(i))
	}
	if !l.timed {
		t.jobs.add(append(row, nil, nil, nil, nil)...)
		return
	}
	t.jobs.add(append(row, l.GPUHours, inSeconds(l.MedianRuntime)/60, inSeconds(l.MeanRuntime)/60, l.Endless)...)
	for _, q := range l.Queues {
		t.queues.add(file, q.Name, q.Jobs, q.GPUHours)
	}
}

// jobsOf counts the jobs of a class.
func (l *traceLook) jobsOf(class int) int {
	above, count := int64(-1), 0
	if class > 0 {
		above = traceSizes[class-1].most
	}
	for _, size := range l.Sizes {
		if size.Milli > above && size.Milli <= traceSizes[class].most {
			count += size.Jobs
		}
	}
	return count
}
