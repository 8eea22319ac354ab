package goodput

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// A figure is about a run.
type figure struct {
	name string
	of   func(*run) float64
}

// times are what became of the time, in percent of it. They add up to 100.
var times = []figure{
	{"effective %", (*run).effective},
	{"detection", func(r *run) float64 { return r.percent(r.gang.detection) }},
	{"rework", func(r *run) float64 { return r.percent(r.gang.rework) }},
	{"waiting", func(r *run) float64 { return r.percent(r.gang.waiting) }},
	{"restart", func(r *run) float64 { return r.percent(r.gang.restart) }},
	{"writing", func(r *run) float64 { return r.percent(r.gang.writing) }},
}

// others are the other figures, which are means of the runs.
var others = []figure{
	{"failures", func(r *run) float64 { return float64(r.count.interruptions) }},
	{"drains", func(r *run) float64 { return float64(r.count.drains) }},
	{"too late", func(r *run) float64 { return float64(r.count.late) }},
	{"starts", func(r *run) float64 { return float64(r.gang.places.starts) }},
	{"moved", func(r *run) float64 { return float64(r.gang.places.moved()) }},
	{"in leaf", func(r *run) float64 { return float64(r.gang.places.sameLeaf) }},
	{"in pod", func(r *run) float64 { return float64(r.gang.places.samePod) }},
	{"split", func(r *run) float64 { return float64(r.gang.places.time) / float64(r.until) }},
	{"background", func(r *run) float64 { return float64(r.small.done) / float64(r.until) }},
	{"lost", func(r *run) float64 { return float64(r.small.lost) / float64(r.until) }},
	{"stopped", func(r *run) float64 { return float64(r.small.stopped) }},
}

func (r *run) percent(d berth.Duration) float64 { return 100 * float64(d) / float64(r.until) }

// effective is the part of the time that was useful in the end, in percent.
func (r *run) effective() float64 { return r.percent(r.gang.useful) }

// Report prints what became of the time, and what each mechanism contributed.
func (g *experiment) Report(out *study.Printer, runs [][]*run) error {
	if out.ForPrograms() {
		return out.Print(g.long(runs))
	}
	out.Note("%d GPUs train for %d days beside %d nodes, %d of them hot spares where the policy has any; %d runs from seed %d\n",
		g.Nodes*machine.NodeGPUs, g.Days, g.Beside, g.spares(), g.Seeds, g.Seed)
	for _, t := range []*study.Table{g.causes(), g.times(runs), g.contributions(runs), g.others(runs)} {
		if err := out.Print(t); err != nil {
			return err
		}
	}
	return nil
}

// spares is how many nodes are kept free.
func (g *experiment) spares() int { return (g.SparesMilli*(g.Nodes+g.Beside) + 999) / 1000 }

// causes tells what the failures are, and what is assumed about them.
func (g *experiment) causes() *study.Table {
	t := study.NewTable("Interruptions in 54 days on 16,384 H100, by cause (The Llama 3 Herd of Models, table 5); noticed and announced are assumed",
		"cause", "count", "what fails", "Xid", "noticed after", "announced %")
	for i := range causes {
		c := &causes[i]
		var xid any
		if c.xid > 0 {
			xid = c.xid
		}
		t.Add(c.name, c.count, [...]string{"GPU", "node", "process"}[c.what], xid, c.noticed.String(), c.announced)
	}
	return t
}

// times tells what became of the time on each line.
func (g *experiment) times(runs [][]*run) *study.Table {
	columns := []string{"line"}
	for _, figure := range times {
		columns = append(columns, figure.name)
	}
	t := study.NewTable(fmt.Sprintf("Time of the gang, percent of %d days: means of %d runs%s", g.Days, g.Seeds, study.Intervals(g.Seeds)), columns...)
	for l := range g.lines {
		row := []any{g.lines[l].name}
		for _, figure := range times {
			row = append(row, study.EstimateOf(study.Each(runs[l], figure.of)).String())
		}
		t.Add(row...)
	}
	return t
}

// contributions compares lines on the same failures: each with the one it adds to.
func (g *experiment) contributions(runs [][]*run) *study.Table {
	columns := []string{"what it adds", "to"}
	for _, figure := range times {
		columns = append(columns, figure.name)
	}
	t := study.NewTable("What each mechanism contributes, in points: differences on the same failures", columns...)
	for l := range g.lines {
		for _, base := range g.lines[l].above {
			row := []any{g.lines[l].name, g.lines[base].name}
			for _, figure := range times {
				row = append(row, study.EstimateOf(study.Differences(study.Each(runs[l], figure.of), study.Each(runs[base], figure.of))).String())
			}
			t.Add(row...)
		}
	}
	return t
}

func (g *experiment) others(runs [][]*run) *study.Table {
	columns := []string{"line"}
	for _, figure := range others {
		columns = append(columns, figure.name)
	}
	t := study.NewTable(fmt.Sprintf("Failures of the gang; drains of its nodes, and those that came too late; its starts; members moved, inside their leaf and pod; of %d pipelines those across leaves; and nodes' worth of background done, lost, and jobs stopped: means",
		(g.Nodes+pipeline-1)/pipeline), columns...)
	for l := range g.lines {
		row := []any{g.lines[l].name}
		for _, figure := range others {
			row = append(row, stat.Mean(study.Each(runs[l], figure.of), nil))
		}
		t.Add(row...)
	}
	return t
}

// long has all figures, one to a line, where programs read.
func (g *experiment) long(runs [][]*run) *study.Table {
	t := study.NewTable("figures", "line", "figure", "mean", "mean±")
	for l := range g.lines {
		for _, list := range [][]figure{times, others} {
			for _, figure := range list {
				e := study.EstimateOf(study.Each(runs[l], figure.of))
				t.Add(g.lines[l].name, figure.name, e.Mean, e.Half)
			}
		}
	}
	return t
}

// WritePage draws what was lost, if that was asked for.
func (g *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(g.HTML, func(w io.Writer) error { return report.WriteLines(w, g.page(runs)) })
}

// drawnTo is where the axis of what is lost ends, in percent of the time.
const drawnTo = 10

// page has a bar for each line, of what its time was lost to.
func (g *experiment) page(runs [][]*run) *report.Lines {
	bars := &report.Bars{Unit: "% of the time of the gang", To: drawnTo}
	for _, figure := range times[1:] {
		bars.Parts = append(bars.Parts, figure.name)
	}
	for l := range g.lines {
		bar := report.Bar{Name: g.lines[l].name, Own: l == len(g.lines)-1}
		for _, figure := range times[1:] {
			bar.Values = append(bar.Values, stat.Mean(study.Each(runs[l], figure.of), nil))
		}
		bars.Bars = append(bars.Bars, bar)
	}
	page := &report.Lines{
		Title: "Training time that is lost",
		Subtitle: fmt.Sprintf("%d GPUs in one synchronous gang for %d days; means of %d runs from seed %d. What is left is effective; %d %% is the target.",
			g.Nodes*machine.NodeGPUs, g.Days, g.Seeds, g.Seed, least),
	}
	page.Sections = append(page.Sections, report.LineSection{
		Title: "Lost, by what the core may do",
		Note: "Until the failure is noticed (detection); steps done again (rework); until there is a place (waiting); from there until the first step (restart); " +
			"and checkpoints (writing). An arrow: the bar is longer than the axis.",
		Bars: bars,
	})
	for _, t := range []*study.Table{g.times(runs), g.contributions(runs), g.causes()} {
		page.Sections = append(page.Sections, t.Section(t.Title, ""))
	}
	return page
}
