package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/berth-sched/berth/bench/report"
)

// fairColours are those of the teams on the page.
var fairColours = [len(fairTeams)]report.Category{report.Batch, report.Inference, report.Gang256}

// writePage draws the first week, if that was asked for.
func (b *fairness) writePage(runs [][]*fairRun) error {
	if b.html == "" {
		return nil
	}
	return writeCharts(b.html, b.page(runs))
}

// writeCharts writes a page into a file.
func writeCharts(path string, page *report.Charts) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteCharts(file, page), file.Close())
}

// page has a section for each team, and in it a plot for each policy.
func (b *fairness) page(runs [][]*fairRun) *report.Charts {
	page := &report.Charts{
		Title: "Share and entitlement over time",
		Subtitle: fmt.Sprintf("%d GPUs, three teams, the week of seed %d. The entitlement is the weighted max-min fair share, given what each team runs and waits for; the past does not count in it.",
			b.gpus(), b.seed),
		AreaName: "had", LineName: "entitled to", Unit: "GPUs", Step: fairSlot,
	}
	for day := range b.days {
		page.Days = append(page.Days, fairDays[day%len(fairDays)])
	}
	for team, t := range fairTeams {
		section := report.ChartSection{
			Title: t.name,
			Note:  fmt.Sprintf("Weight %d, %d GPUs guaranteed, %.0f when all want all they can get.", t.weight, b.guarantee(team), b.evenPart(team)),
		}
		for p, policy := range b.policies {
			f := &runs[p][0].teams[team]
			section.Charts = append(section.Charts, report.Chart{
				Title: policy.name, Colour: fairColours[team], Area: slotMeans(f.had), Line: slotMeans(f.entitled),
			})
		}
		page.Sections = append(page.Sections, section)
	}
	return page
}
