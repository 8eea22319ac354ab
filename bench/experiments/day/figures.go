package day

import (
	"slices"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// kinds are the kinds of jobs that are told apart.
var kinds = []struct {
	name        string
	first, last report.Category
}{
	{"replicas", report.Inference, report.InferenceShare},
	{"small jobs", report.Notebook, report.BatchShare},
	{"64 GPUs", report.Gang64, report.Gang64},
	{"128", report.Gang128, report.Gang128},
	{"256", report.Gang256, report.Gang256},
	{"512", report.Gang512, report.Gang512},
}

// ofKind sums the rows of a kind over some runs.
func ofKind(runs []*report.Run, first, last report.Category) (sum report.Row) {
	for _, r := range runs {
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Category >= first && row.Category <= last {
				sum.Add(row)
			}
		}
	}
	return sum
}

// heads are the figures of a line.
func heads() []string {
	list := []string{"allocation, %", "most possible, %", "finished", "still waiting", "so far", "evicted", "failed", "GPU-hours lost"}
	for _, k := range kinds {
		list = append(list, "p99 wait, "+k.name)
	}
	return list
}

// byLine has a row for each line.
func (c *comparison) byLine(title, what string) *study.Table {
	t := study.NewTable(title, append([]string{what}, heads()...)...)
	for i := range c.lines {
		t.Add(append([]any{c.lines[i].Name}, figures(c.runs[i], c.most)...)...)
	}
	return t
}

// byFigure has a column for each line.
func (c *comparison) byFigure(title string) *study.Table {
	t := study.NewTable(title, "")
	for i := range c.lines {
		t.Columns = append(t.Columns, c.lines[i].Name)
	}
	for row, head := range heads() {
		cells := []any{head}
		for i := range c.lines {
			cells = append(cells, figures(c.runs[i], c.most)[row])
		}
		t.Add(cells...)
	}
	return t
}

// figures are those of a line, in the order of heads.
func figures(runs []*report.Run, most float64) []any {
	n := len(runs)
	held, capacity := 0.0, 0.0
	for _, r := range runs {
		held, capacity = held+r.Held, capacity+r.Capacity
	}
	all := ofKind(runs, report.Inference, report.HostOnly)
	list := []any{
		100 * held / capacity, 100 * most * float64(n) / capacity, all.Ended() / n, mean(all.Waiting, n), soFar(&all),
		mean(all.Evicted, n), mean(all.Failed, n), all.LostGPUHours / float64(n),
	}
	for _, k := range kinds {
		list = append(list, wait(ofKind(runs, k.first, k.last)))
	}
	return list
}

func mean(sum, n int) any {
	if sum%n == 0 {
		return sum / n
	}
	return float64(sum) / float64(n)
}

func soFar(r *report.Row) any {
	if r.Waiting == 0 {
		return nil
	}
	return report.Span(r.WaitingFor)
}

// wait is the 99th percentile; "+" says that it is of one that still waits.
func wait(r report.Row) any {
	if r.Submitted == 0 {
		return nil
	}
	p99 := r.Quantile(0.99)
	if slices.Contains(r.SoFar, p99) {
		return "over " + report.Span(p99)
	}
	return report.Span(p99)
}
