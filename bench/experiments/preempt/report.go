package preempt

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// Report prints the figures of all weeks, a table for each group of them.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	out.Note("%d GPUs; means of %d runs of each policy, of %d days from seed %d on%s\n", b.gpus(), b.Seeds, b.Days, b.Seed, study.Intervals(b.Seeds))
	for i := range tables {
		if err := out.Print(b.table(i, runs)); err != nil {
			return err
		}
	}
	return nil
}

func (b *experiment) table(i int, runs [][]*run) *study.Table {
	return study.ByLine(tables[i].title, "policy", b.names(), tables[i].figures, runs)
}

// Page has what preemption cost under each policy, what training had less than inference left it in
// the first week, and the tables.
func (b *experiment) Page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title:    "Bursts of inference on a full fleet of training",
		Subtitle: fmt.Sprintf("%d GPUs, %s from seed %d; what is drawn over time is the first.", b.gpus(), study.Weeks(b.Seeds, b.Days), b.Seed),
	}
	lost := &tables[0]
	bars := &report.Bars{Unit: "GPU-hours of a draw, mean"}
	for _, f := range lost.figures[1:] {
		bars.Parts = append(bars.Parts, f.Name)
	}
	lines := make([]report.Line, len(b.policies))
	for p, name := range b.names() {
		lines[p] = report.Line{Name: name, Own: p == shipped, Kin: p == atOnce}
		bar := report.Bar{Name: name, Own: p == shipped}
		for _, f := range lost.figures[1:] {
			bar.Values = append(bar.Values, stat.Mean(study.Each(runs[p], f.Of), nil))
		}
		bars.Bars = append(bars.Bars, bar)
	}
	hours := func(p, level int) []float64 { return study.HourMeans(runs[p][0].book.slots[level]) }
	const note = "Means of an hour of the first draw."
	page.Sections = append(page.Sections,
		report.LineSection{Title: "What preemption cost", Note: lost.title + ". Under the first three policies the victim is killed, or asked for a checkpoint, for each replica that finds no place; berth weighs gain and cost, at once without checkpoints; off evicts nobody.", Bars: bars},
		study.DrawHours("GPUs that inference leaves, and training makes no use of", note, b.Days, lines, func(p int) []float64 {
			idle := hours(p, atWork)
			for hour, asked := range hours(p, asked) {
				idle[hour] = max(0, float64(b.gpus())-asked-idle[hour]) // less: training holds what inference waits for
			}
			return idle
		}),
		study.DrawHours("GPUs that inference asked for and did not have", note, b.Days, lines, func(p int) []float64 {
			return study.Differences(hours(p, asked), hours(p, served))
		}))
	for i := range tables {
		page.Sections = append(page.Sections, b.table(i, runs).Section(tables[i].title, ""))
	}
	return page
}
