package main

import (
	"fmt"

	"github.com/berth-sched/berth/bench/report"
)

// writePage draws the first week, if that was asked for.
func (b *yieldBench) writePage(runs [][]*yieldRun) error {
	if b.html == "" {
		return nil
	}
	return writeCharts(b.html, b.page(runs))
}

// page has a section for each policy: the inference that runs, below what is asked for, and
// the training that makes progress, below what inference leaves of the fleet.
func (b *yieldBench) page(runs [][]*yieldRun) *report.Charts {
	page := &report.Charts{
		Title:    "Bursts of inference on a full fleet",
		Subtitle: fmt.Sprintf("%d GPUs, the week of seed %d.", b.gpus(), b.seed),
		AreaName: "at work", LineName: "asked for, or left over", Unit: "GPUs", Step: fairSlot,
	}
	for day := range b.days {
		page.Days = append(page.Days, fairDays[day%len(fairDays)])
	}
	for p, policy := range b.policies {
		r := runs[p][0]
		asked := slotMeans(r.book.slots[yieldAsked])
		left := make([]float64, len(asked))
		for slot := range asked {
			left[slot] = float64(b.gpus()) - asked[slot]
		}
		page.Sections = append(page.Sections, report.ChartSection{
			Title: policy.name,
			Note: fmt.Sprintf("%.0f GPU-hours lost; 99 of 100 replicas ran within %.0f seconds; %d gangs evicted and %d shrunk, the largest of %d GPUs for %d.",
				r.lost(), r.wait(0.99), r.book.evicted, r.book.shrunk, r.book.worst.gpus, r.book.worst.asked),
			Charts: []report.Chart{
				{Title: "Inference", Colour: report.Inference, Area: slotMeans(r.book.slots[yieldServed]), Line: asked},
				{Title: "Training", Colour: report.Gang256, Area: slotMeans(r.book.slots[yieldAtWork]), Line: left},
			},
		})
	}
	return page
}
