package fairness

import (
	"fmt"
	"io"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// WritePage draws the first week, if that was asked for.
func (b *experiment) WritePage(runs [][]*run) error {
	return study.WritePage(b.HTML, func(w io.Writer) error { return report.WriteLines(w, b.page(runs)) })
}

// page has a section for each team: by how much it was above or below its entitlement under each
// policy, and what it had.
func (b *experiment) page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title: "Share and entitlement over time",
		Subtitle: fmt.Sprintf("%d GPUs, three teams, the week of seed %d. The entitlement is the weighted max-min fair share, given what each team runs and waits for; the past does not count in it. "+
			"Policies: with %s only what runs now decides which team is served next; with %s past use counts too; %s evicts besides, so that a team takes back its share.",
			b.gpus(), b.Seed, b.policies[withoutPast].name, b.policies[withPast].name, b.policies[withReclaim].name),
	}
	for team, t := range teams {
		beside := report.LineSection{
			Title: t.name + ": what it had above its entitlement, or below",
			Note:  fmt.Sprintf("Weight %d, %d GPUs guaranteed, %.0f when all want all they can get. Means of an hour.", t.weight, b.guarantee(team), b.evenPart(team)),
			Y:     "GPUs", To: float64(b.Days), Days: study.Days(b.Days),
		}
		had := report.LineSection{Title: t.name + ": what it had", Note: "Means of an hour.", Y: "GPUs", To: float64(b.Days), Days: beside.Days}
		for p, policy := range b.policies {
			f := &runs[p][0].teams[team]
			means, entitled := study.HourMeans(f.had), study.HourMeans(f.entitled)
			apart, whole := report.Line{Name: policy.name, Own: p == withReclaim}, report.Line{Name: policy.name, Own: p == withReclaim}
			for hour := range means {
				apart.AddHour(hour, means[hour]-entitled[hour])
				whole.AddHour(hour, means[hour])
			}
			beside.Lines, had.Lines = append(beside.Lines, apart), append(had.Lines, whole)
		}
		page.Sections = append(page.Sections, beside, had)
	}
	return page
}
