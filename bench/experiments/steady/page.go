package steady

import (
	"fmt"
	"math"

	"github.com/berth-sched/berth/bench/report"
)

// Page has a plot of each figure in which the policies differ, with a line for each, and a table of
// each load.
func (b *experiment) Page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title: "A fleet in steady state, by policy of placement",
		Subtitle: fmt.Sprintf("Tasks of the list %s arrive by chance and leave again: %d GPUs, %d hours, seeds %v. Every policy is the scheduling core with that policy as its scorer.",
			b.Pods, b.gpus(), b.Hours, b.Seeds),
	}
	level := 0
	for _, f := range figures() {
		if s := b.plot(&f, runs); differ(s.Lines) {
			page.Sections = append(page.Sections, s)
		} else {
			level++
		}
	}
	if level > 0 {
		page.Subtitle += fmt.Sprintf(" In %d figures all policies are level: these are in the tables alone.", level)
	}
	for at, load := range b.Loads {
		t := b.table(load, runs[at*len(b.policies):][:len(b.policies)])
		page.Sections = append(page.Sections, t.Section(fmt.Sprintf("Load %d %%", load), t.Title))
	}
	return page
}

// differ reports whether some lines are apart by more than a twentieth of the largest value: less
// is not to be seen.
func differ(lines []report.Line) bool {
	apart, most := 0.0, 0.0
	for i := range lines {
		for k, y := range lines[i].Y {
			apart, most = max(apart, math.Abs(y-lines[0].Y[k])), max(most, math.Abs(y))
		}
	}
	return apart > most/20
}

func (b *experiment) plot(f *figure, runs [][]*run) report.LineSection {
	s := report.LineSection{Title: f.title, X: "load, % of the GPUs", Y: "%", From: float64(b.Loads[0]), To: float64(b.Loads[0])}
	if f.minutes {
		s.Y = "minutes"
	}
	for p, policy := range b.policies {
		line := report.Line{Name: policy.Name, About: policy.About, Own: policy.Name == own}
		for at, load := range b.Loads {
			s.From, s.To = min(s.From, float64(load)), max(s.To, float64(load))
			c := compare(f, runs[at*len(b.policies)+p], runs[at*len(b.policies)])
			line.Add(float64(load), c.mean)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}
