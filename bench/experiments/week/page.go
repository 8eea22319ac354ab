package week

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// page draws the schedulers.
func (b *experiment) page(runs []*run) *report.Lines {
	page := &report.Lines{
		Title:    "Your week under three schedulers",
		Subtitle: fmt.Sprintf("%d jobs in %s, on %d GPUs in %d nodes (%s).", len(b.Jobs), report.Span(b.Length), b.FleetGPUs(), len(b.Nodes), b.FleetSays),
	}
	add := func(t *study.Table) {
		if len(t.Rows) > 0 {
			page.Sections = append(page.Sections, t.Section(heading(t.Title)))
		}
	}
	add(b.summary(runs))
	add(b.distance(runs))
	page.Sections = append(page.Sections, b.waitsDrawn(runs),
		b.overTime(runs, "GPUs in use", "GPUs", func(s *life.Slot) float64 { return s.Held }),
		b.overTime(runs, "Jobs that wait", "jobs", func(s *life.Slot) float64 { return s.Waiting }))
	for _, t := range []*study.Table{
		b.waits("size", sizeOf, runs), b.waits("account", accountOf, runs), b.against(runs), b.worse(runs), b.sensitivity(runs), b.reservations(runs), b.demand(),
		b.passedOver(),
	} {
		add(t)
	}
	return page
}

// heading parts the title of a table into a short one and what explains it.
func heading(text string) (title, note string) {
	text = strings.ReplaceAll(text, "\n", " ")
	at := strings.IndexAny(text, ":.")
	if at < 0 {
		return text, ""
	}
	note = strings.TrimSpace(text[at+1:])
	return text[:at], strings.ToUpper(note[:1]) + note[1:] + "."
}

// overTime draws what was so over time.
func (b *experiment) overTime(runs []*run, title, unit string, of func(*life.Slot) float64) report.LineSection {
	s := report.LineSection{Title: title, Note: fmt.Sprintf("Means of %v.", b.step()), X: "days", Y: unit, To: float64(b.Length) / float64(berth.Day)}
	_, list := b.columns(runs)
	for _, r := range list {
		if r == nil {
			continue
		}
		line := report.Line{Name: r.scheduler, Own: r.scheduler == b.judged(), Kin: r.scheduler == b.other()}
		for i, slots := 0, b.slots(r); i < len(slots); i++ {
			line.Add((float64(b.firstSlot(r)+i)+0.5)*float64(r.Step)/float64(berth.Day), of(&slots[i]))
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

// waitsDrawn draws the part of the jobs that waited for no longer than a time.
func (b *experiment) waitsDrawn(runs []*run) report.LineSection {
	s := report.LineSection{
		Title: "Waits", Note: "The part of the jobs that waited for no longer than that.",
		X: "wait, minutes (logarithmic; the left edge is a minute or less)", Y: "jobs, %", From: 1, To: 10, LogX: true,
	}
	names, list := b.columns(runs)
	var lines []report.Line
	var delays [][]float64
	for c, r := range list {
		lines = append(lines, report.Line{Name: names[c], Own: names[c] == b.judged(), Kin: names[c] == b.other(), Mark: r == nil})
		delays = append(delays, b.delays(r, all))
	}
	s.AddParts(lines, delays)
	return s
}
