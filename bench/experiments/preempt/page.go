package preempt

import (
	"fmt"
	"io"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// WritePage draws the first week, if that was asked for.
func (b *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteCharts(w, b.page(runs)) })
}

// page has a section for each policy: the inference that runs, below what is asked for, and
// the training that makes progress, below what inference leaves of the fleet.
func (b *experiment) page(runs [][]*run) *report.Charts {
	page := &report.Charts{
		Title:    "Bursts of inference on a full fleet",
		Subtitle: fmt.Sprintf("%d GPUs, the week of seed %d.", b.gpus(), b.Seed),
		AreaName: "at work", LineName: "asked for, or left over", Unit: "GPUs", Step: study.Slot, Days: study.Days(b.Days),
	}
	for p, policy := range b.policies {
		r := runs[p][0]
		asked := study.SlotMeans(r.book.slots[asked])
		left := make([]float64, len(asked))
		for slot := range asked {
			left[slot] = float64(b.gpus()) - asked[slot]
		}
		page.Sections = append(page.Sections, report.ChartSection{
			Title: policy.name,
			Note: fmt.Sprintf("%.0f GPU-hours lost; 99 of 100 replicas ran within %.0f seconds; %d gangs evicted and %d shrunk, the largest of %d GPUs for %d.",
				r.lost(), r.wait(0.99), r.book.evicted, r.book.shrunk, r.book.worst.gpus, r.book.worst.asked),
			Charts: []report.Chart{
				{Title: "Inference", Colour: report.Inference, Area: study.SlotMeans(r.book.slots[served]), Line: asked},
				{Title: "Training", Colour: report.Gang256, Area: study.SlotMeans(r.book.slots[atWork]), Line: left},
			},
		})
	}
	return page
}
