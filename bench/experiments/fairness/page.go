package fairness

import (
	"fmt"
	"io"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// colours are those of the teams on the page.
var colours = [len(teams)]report.Category{report.Batch, report.Inference, report.Gang256}

// WritePage draws the first week, if that was asked for.
func (b *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteCharts(w, b.page(runs)) })
}

// page has a section for each team, and in it a plot for each policy.
func (b *experiment) page(runs [][]*run) *report.Charts {
	page := &report.Charts{
		Title: "Share and entitlement over time",
		Subtitle: fmt.Sprintf("%d GPUs, three teams, the week of seed %d. The entitlement is the weighted max-min fair share, given what each team runs and waits for; the past does not count in it.",
			b.gpus(), b.Seed),
		AreaName: "had", LineName: "entitled to", Unit: "GPUs", Step: study.Slot, Days: study.Days(b.Days),
	}
	for team, t := range teams {
		section := report.ChartSection{
			Title: t.name,
			Note:  fmt.Sprintf("Weight %d, %d GPUs guaranteed, %.0f when all want all they can get.", t.weight, b.guarantee(team), b.evenPart(team)),
		}
		for p, policy := range b.policies {
			f := &runs[p][0].teams[team]
			section.Charts = append(section.Charts, report.Chart{
				Title: policy.name, Colour: colours[team], Area: study.SlotMeans(f.had), Line: study.SlotMeans(f.entitled),
			})
		}
		page.Sections = append(page.Sections, section)
	}
	return page
}
