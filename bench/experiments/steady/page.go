package steady

import (
	"fmt"
	"io"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// WritePage draws every figure by load, if that was asked for.
func (b *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(runs)) })
}

// page has a plot of each figure with a line for each policy, and a table of each load.
func (b *experiment) page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title: "A fleet in steady state, by policy of placement",
		Subtitle: fmt.Sprintf("Tasks of %s arrive by chance and leave again: %d GPUs, %d hours, %d seeds. Every policy is the scheduling core with that policy as its scorer.",
			b.Pods, b.gpus(), b.Hours, len(b.Seeds)),
	}
	for _, f := range figures() {
		page.Sections = append(page.Sections, b.plot(&f, runs))
	}
	for at, load := range b.Loads {
		t := b.table(load, runs[at*len(b.policies):][:len(b.policies)])
		page.Sections = append(page.Sections, report.LineSection{Title: fmt.Sprintf("Load %d %%", load), Note: t.Title, Head: t.Columns, Rows: t.Cells()})
	}
	return page
}

func (b *experiment) plot(f *figure, runs [][]*run) report.LineSection {
	s := report.LineSection{Title: f.name, X: "load, % of the GPUs", Y: f.name, From: float64(b.Loads[0]), To: float64(b.Loads[0])}
	if f.minutes {
		s.Y += ", minutes"
	}
	for p, policy := range b.policies {
		line := report.Line{Name: policy.Name, About: policy.About}
		for at, load := range b.Loads {
			s.From, s.To = min(s.From, float64(load)), max(s.To, float64(load))
			c := compare(f, runs[at*len(b.policies)+p], runs[at*len(b.policies)])
			line.X, line.Y = append(line.X, float64(load)), append(line.Y, c.mean)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}
