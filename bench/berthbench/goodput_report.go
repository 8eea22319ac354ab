package main

import (
	"errors"
	"fmt"
	"os"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
)

// A goodputFigure is about a run.
type goodputFigure struct {
	name string
	of   func(*goodputRun) float64
}

// goodputTimes are what became of the time, in percent of it. They add up to 100.
var goodputTimes = []goodputFigure{
	{"effective %", (*goodputRun).effective},
	{"detection", func(r *goodputRun) float64 { return r.percent(r.gang.detection) }},
	{"rework", func(r *goodputRun) float64 { return r.percent(r.gang.rework) }},
	{"waiting", func(r *goodputRun) float64 { return r.percent(r.gang.waiting) }},
	{"restart", func(r *goodputRun) float64 { return r.percent(r.gang.restart) }},
	{"writing", func(r *goodputRun) float64 { return r.percent(r.gang.writing) }},
}

// goodputOthers are the other figures, which are means of the runs.
var goodputOthers = []goodputFigure{
	{"failures", func(r *goodputRun) float64 { return float64(r.count.interruptions) }},
	{"drains", func(r *goodputRun) float64 { return float64(r.count.drains) }},
	{"too late", func(r *goodputRun) float64 { return float64(r.count.late) }},
	{"starts", func(r *goodputRun) float64 { return float64(r.gang.places.starts) }},
	{"moved", func(r *goodputRun) float64 { return float64(r.gang.places.moved()) }},
	{"in leaf", func(r *goodputRun) float64 { return float64(r.gang.places.sameLeaf) }},
	{"in pod", func(r *goodputRun) float64 { return float64(r.gang.places.samePod) }},
	{"split", func(r *goodputRun) float64 { return float64(r.gang.places.time) / float64(r.until) }},
	{"background", func(r *goodputRun) float64 { return float64(r.small.done) / float64(r.until) }},
	{"lost", func(r *goodputRun) float64 { return float64(r.small.lost) / float64(r.until) }},
	{"stopped", func(r *goodputRun) float64 { return float64(r.small.stopped) }},
}

func (r *goodputRun) percent(d berth.Duration) float64 { return 100 * float64(d) / float64(r.until) }

// effective is the part of the time that was useful in the end, in percent.
func (r *goodputRun) effective() float64 { return r.percent(r.gang.useful) }

// eachGoodput gives a figure of every run.
func eachGoodput(runs []*goodputRun, figure func(*goodputRun) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = figure(r)
	}
	return list
}

// report prints what became of the time, and what each mechanism contributed.
func (g *goodput) report(s *session, runs [][]*goodputRun) error {
	if s.csv || s.json {
		return s.print(g.long(runs))
	}
	s.note("%d GPUs train for %d days beside %d nodes, %d of them spare where there are spares; %d runs from seed %d\n",
		g.nodes*fairNodeGPUs, g.days, g.beside, g.spares(), g.seeds, g.seed)
	for _, t := range []*table{g.causes(), g.times(runs), g.contributions(runs), g.others(runs)} {
		if err := s.print(t); err != nil {
			return err
		}
	}
	return nil
}

// spares is how many nodes are kept free.
func (g *goodput) spares() int { return (g.sparesMil*(g.nodes+g.beside) + 999) / 1000 }

// causes tells what the failures are, and what is assumed about them.
func (g *goodput) causes() *table {
	t := newTable("Interruptions in 54 days on 16,384 H100, by cause (The Llama 3 Herd of Models, table 5); noticed and announced are assumed",
		"cause", "count", "what fails", "Xid", "noticed after", "announced %")
	for i := range goodputCauses {
		c := &goodputCauses[i]
		var xid any
		if c.xid > 0 {
			xid = c.xid
		}
		t.add(c.name, c.count, [...]string{"GPU", "node", "process"}[c.what], xid, c.noticed.String(), c.announced)
	}
	return t
}

// times tells what became of the time on each line.
func (g *goodput) times(runs [][]*goodputRun) *table {
	columns := []string{"line"}
	for _, figure := range goodputTimes {
		columns = append(columns, figure.name)
	}
	t := newTable(fmt.Sprintf("Time of the gang, percent of %d days: means of %d runs with 95 %% confidence intervals", g.days, g.seeds), columns...)
	for l := range g.lines {
		row := []any{g.lines[l].name}
		for _, figure := range goodputTimes {
			row = append(row, estimateOf(eachGoodput(runs[l], figure.of)).String())
		}
		t.add(row...)
	}
	return t
}

// contributions compares lines on the same failures: each with the one it adds to.
func (g *goodput) contributions(runs [][]*goodputRun) *table {
	columns := []string{"what it adds", "to"}
	for _, figure := range goodputTimes {
		columns = append(columns, figure.name)
	}
	t := newTable("What each mechanism contributes, in points: differences on the same failures", columns...)
	for l := range g.lines {
		for _, base := range g.lines[l].above {
			row := []any{g.lines[l].name, g.lines[base].name}
			for _, figure := range goodputTimes {
				row = append(row, estimateOf(differences(eachGoodput(runs[l], figure.of), eachGoodput(runs[base], figure.of))).String())
			}
			t.add(row...)
		}
	}
	return t
}

func (g *goodput) others(runs [][]*goodputRun) *table {
	columns := []string{"line"}
	for _, figure := range goodputOthers {
		columns = append(columns, figure.name)
	}
	t := newTable(fmt.Sprintf("Failures of the gang; drains of its nodes, and those that came too late; its starts; members moved, inside their leaf and pod; of %d pipelines those across leaves; and nodes' worth of background done, lost, and jobs stopped: means",
		(g.nodes+goodputPipeline-1)/goodputPipeline), columns...)
	for l := range g.lines {
		row := []any{g.lines[l].name}
		for _, figure := range goodputOthers {
			row = append(row, stat.Mean(eachGoodput(runs[l], figure.of), nil))
		}
		t.add(row...)
	}
	return t
}

// long has all figures, one to a line, where programs read.
func (g *goodput) long(runs [][]*goodputRun) *table {
	t := newTable("figures", "line", "figure", "mean", "mean±")
	for l := range g.lines {
		for _, list := range [][]goodputFigure{goodputTimes, goodputOthers} {
			for _, figure := range list {
				e := estimateOf(eachGoodput(runs[l], figure.of))
				t.add(g.lines[l].name, figure.name, e.mean, e.half)
			}
		}
	}
	return t
}

// writePage draws the first run, if that was asked for.
func (g *goodput) writePage(runs [][]*goodputRun) error {
	if g.html == "" {
		return nil
	}
	file, err := os.Create(g.html)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteCharts(file, g.page(runs)), file.Close())
}

// page has a plot for each line.
func (g *goodput) page(runs [][]*goodputRun) *report.Charts {
	page := &report.Charts{
		Title:    "Effective training time",
		Subtitle: fmt.Sprintf("%d GPUs in one synchronous gang for %d days, the failures of seed %d.", g.nodes*fairNodeGPUs, g.days, g.seed),
		AreaName: "effective", LineName: "target", Unit: "% of the day", Step: berth.Day,
	}
	for day := range g.days {
		page.Days = append(page.Days, fmt.Sprint(day+1))
	}
	section := report.ChartSection{Title: "By day", Note: "Steps that a failure undid are taken from the day of the failure."}
	for l := range g.lines {
		chart := report.Chart{Title: g.lines[l].name, Colour: report.Gang256}
		for _, useful := range runs[l][0].days {
			chart.Area = append(chart.Area, 100*max(0, float64(useful)/float64(berth.Day)))
			chart.Line = append(chart.Line, goodputLeast)
		}
		section.Charts = append(section.Charts, chart)
	}
	page.Sections = append(page.Sections, section)
	return page
}
