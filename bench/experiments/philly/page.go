package philly

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/report"
)

// page has the figures, what was in use and how many waited over time, which jobs waited for how
// long by size, and how every virtual cluster fared against its private share.
func (b *experiment) page(runs [][]*run) *report.Lines {
	days := float64(b.length) / float64(berth.Day)
	page := &report.Lines{
		Title: "Whole lives of Philly's jobs, by policy",
		Subtitle: fmt.Sprintf("%d jobs of %d virtual clusters, submitted in %.0f days, on %d GPUs. Arrivals and run times as recorded in 2017; fleet and shares are ours.",
			len(b.whole.Jobs), len(b.shares), days, b.fleet.gpus()),
	}
	summary := b.summary(runs)
	page.Sections = append(page.Sections, summary.Section("Figures", summary.Title+"."))
	page.Sections = append(
		page.Sections,
		b.overTime(runs, "GPUs in use", "GPUs", func(s *life.Slot) float64 { return s.Held }),
		b.overTime(runs, "Jobs that wait", "jobs", func(s *life.Slot) float64 { return s.Waiting }),
		b.overTime(runs, "GPUs that are free though a waiting job asks for as many", "GPUs", func(s *life.Slot) float64 { return s.Idle }),
	)
	for class := range sizes {
		page.Sections = append(page.Sections, b.waitsOf(runs, class))
	}
	return b.addSharing(page, runs)
}

func (b *experiment) addSharing(page *report.Lines, runs [][]*run) *report.Lines {
	page.Sections = append(page.Sections, b.againstPrivate(runs))
	for p := range b.policies {
		t := b.sharing(runs[p])
		page.Sections = append(page.Sections, t.Section("Virtual clusters under "+b.policies[p].name, t.Title+"."))
	}
	return page
}

// drawnHours is how many hours a point of a line over time stands for.
const drawnHours = 6

// overTime draws the means of some hours.
func (b *experiment) overTime(runs [][]*run, title, unit string, of func(*life.Slot) float64) report.LineSection {
	s := report.LineSection{Title: title, Note: "Means of six hours.", X: "days", Y: unit, To: float64(b.length) / float64(berth.Day)}
	for p := range b.policies {
		line := report.Line{Name: b.policies[p].name, Own: b.policies[p].name == own}
		slots := runs[p][inShared].slots
		for from := 0; from+drawnHours <= len(slots); from += drawnHours {
			sum := 0.0
			for i := range slots[from : from+drawnHours] {
				sum += of(&slots[from+i])
			}
			line.Add(float64(from+drawnHours/2)/24, sum/drawnHours)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

// waitsOf draws the part of the jobs of a class that was delayed for no longer than a time.
func (b *experiment) waitsOf(runs [][]*run, class int) report.LineSection {
	s := report.LineSection{
		Title: fmt.Sprintf("Delays of jobs by GPUs: %s", sizes[class].name),
		Note:  "The part of the jobs that was delayed for no longer than that.",
		X:     "delay, minutes (logarithmic; the left edge is a minute or less)", Y: "jobs, %", From: 1, To: 10, LogX: true,
	}
	var lines []report.Line
	var delays [][]float64
	for p := range b.policies {
		lines = append(lines, report.Line{Name: b.policies[p].name, Own: b.policies[p].name == own})
		delays = append(delays, life.Minutes(runs[p][inShared].ofSize(class), (*life.Job).Delay))
	}
	s.AddParts(lines, delays)
	return s
}

// againstPrivate has a dot for each virtual cluster and policy. Those above the diagonal are worse
// off than they would be by themselves.
func (b *experiment) againstPrivate(runs [][]*run) report.LineSection {
	s := report.LineSection{
		Title: "Sharing against private shares",
		Note:  "A dot is a virtual cluster under a policy. Above the line its jobs are delayed for longer than if its share were its own.",
		X:     "mean delay in private, minutes (logarithmic; the left edge is a minute or less)", Y: "mean delay, shared, minutes",
		From: 1, To: 10, LogX: true, LogY: true,
	}
	for p := range b.policies {
		dots := report.Line{Name: b.policies[p].name, Own: b.policies[p].name == own, Dots: true}
		for i := range b.shares {
			v := b.versus(runs[p], i)
			dots.Add(v.private.mean, v.shared.mean)
			dots.Labels = append(dots.Labels, fmt.Sprintf("%s: %.1f min, in private %.1f", b.shares[i].Queue, v.shared.mean, v.private.mean))
			s.To = max(s.To, v.private.mean, v.shared.mean)
		}
		s.Lines = append(s.Lines, dots)
	}
	s.Lines = append(s.Lines, report.Line{Name: "as in private", Mark: true, X: []float64{1, s.To}, Y: []float64{1, s.To}})
	return s
}
