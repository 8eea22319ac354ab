package preempt

import (
	"fmt"
	"io"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// WritePage draws the policies, if that was asked for.
func (b *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(runs)) })
}

// page has what preemption cost under each policy, what training had less than inference left it in
// the first week, and the tables.
func (b *experiment) page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title:    "Bursts of inference on a full fleet of training",
		Subtitle: fmt.Sprintf("%d GPUs, %s from seed %d; what is drawn over time is the first.", b.gpus(), study.Weeks(b.Seeds, b.Days), b.Seed),
	}
	lost := &tables[0]
	bars := &report.Bars{Unit: "GPU-hours of a draw, mean"}
	for _, f := range lost.figures[1:] {
		bars.Parts = append(bars.Parts, f.name)
	}
	idle := report.LineSection{
		Title: "GPUs that inference leaves, and training makes no use of", Note: "Means of an hour of the first draw.",
		Y: "GPUs", To: float64(b.Days), Days: study.Days(b.Days),
	}
	late := report.LineSection{
		Title: "GPUs that inference asked for and did not have", Note: "Means of an hour of the first draw.",
		Y: "GPUs", To: float64(b.Days), Days: study.Days(b.Days),
	}
	for p := range b.policies {
		name, book := b.policies[p].name, &runs[p][0].book
		bar := report.Bar{Name: name, Own: p == shipped}
		for _, f := range lost.figures[1:] {
			bar.Values = append(bar.Values, stat.Mean(study.Each(runs[p], f.of), nil))
		}
		bars.Bars = append(bars.Bars, bar)
		unused, missing := report.Line{Name: name, Own: p == shipped, Kin: p == atOnce}, report.Line{Name: name, Own: p == shipped, Kin: p == atOnce}
		asked, served, training := study.HourMeans(book.slots[asked]), study.HourMeans(book.slots[served]), study.HourMeans(book.slots[atWork])
		for hour := range asked {
			unused.AddHour(hour, max(0, float64(b.gpus())-asked[hour]-training[hour])) // less: training holds what inference waits for
			missing.AddHour(hour, asked[hour]-served[hour])
		}
		idle.Lines, late.Lines = append(idle.Lines, unused), append(late.Lines, missing)
	}
	page.Sections = append(page.Sections, report.LineSection{Title: "What preemption cost", Note: lost.title + ". Under the first three policies the victim is killed, or asked for a checkpoint, for each replica that finds no place; berth weighs gain and cost, at once without checkpoints; off evicts nobody.", Bars: bars}, idle, late)
	for i := range tables {
		page.Sections = append(page.Sections, b.table(&tables[i], runs).Section(tables[i].title, ""))
	}
	return page
}
