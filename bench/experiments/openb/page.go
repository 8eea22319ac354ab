package openb

import (
	"fmt"

	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/report"
)

// page has for each list what is left over by load, the mean of the seeds, and the table.
func (b *experiment) page() *report.Lines {
	page := &report.Lines{
		Title: "GPUs left over, by policy of placement",
		Subtitle: fmt.Sprintf("Tasks of the openb trace arrive in an order drawn from a seed, and never leave. Seeds %s; policies that use the mix %s. Core is the scheduling core, which learns the mix; berth is a policy as the others are.",
			b.seedText(), b.mixText()),
	}
	for _, t := range b.traces {
		page.Sections = append(page.Sections, b.section(t))
	}
	return page
}

// The loads that are drawn, in percent: those of the figures that were published.
const drawnFrom, drawnTo = 75, 120

func (b *experiment) section(t *trace) report.LineSection {
	summary := b.summary(t)
	s := summary.Section("List "+t.name, fmt.Sprintf("%d nodes with %d GPUs. Below: %s.", len(t.trace.Nodes), t.trace.GPUs(), summary.Title))
	s.X, s.Y, s.From, s.To = "asked for, % of the GPUs", "unallocated, % of the GPUs", drawnFrom, drawnTo
	if t.bounds != nil {
		s.Note += fmt.Sprintf(" Any policy leaves at least %.2f %% over at 100.", meanOf(t.bounds))
	}
	for p, policy := range b.policies {
		line := report.Line{
			Name: policy.Name, Own: policy.Name == "core",
			About: fmt.Sprintf("%s; %.2f %% of the GPUs are left over at 100", policy.About, meanOf(t.at(p, 100, openb.Point.Unallocated))),
		}
		for load := drawnFrom; load <= min(drawnTo, b.Load); load++ {
			line.Add(float64(load), meanOf(t.at(p, load, openb.Point.Unallocated)))
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}
