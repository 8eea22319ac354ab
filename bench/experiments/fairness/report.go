package fairness

import (
	"fmt"

	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// Report prints the figures of all weeks: of the whole, and of each team under each policy.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	out.Note("%d GPUs; weights 1:2:3; guarantees of %d, %d and %d GPUs; %s from seed %d\n",
		b.gpus(), b.guarantee(0), b.guarantee(1), b.guarantee(2), study.Weeks(b.Seeds, b.Days), b.Seed)
	title := fmt.Sprintf("All teams: means of %d weeks%s", b.Seeds, study.Intervals(b.Seeds))
	if err := out.Print(study.ByFigure(title, b.names, figures, runs)); err != nil {
		return err
	}
	for team := range teams {
		if err := out.Print(b.byTeam(team, runs)); err != nil {
			return err
		}
	}
	return nil
}

// byTeam is the table of a team.
func (b *experiment) byTeam(team int, runs [][]*run) *study.Table {
	var list []study.Figure[*run]
	for _, f := range teamFigures {
		list = append(list, study.Figure[*run]{Name: f.name, Of: func(r *run) float64 { return f.of(r, team) }})
	}
	title := teams[team].name + ", in GPU-hours and hours; guaranteed and borrowed by the core's ledger, with the day before"
	return study.ByLine(title, "policy", b.names, list, runs)
}

// Page has two plots for each team: by how much it was above or below its entitlement under each
// policy, and what it had.
func (b *experiment) Page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title: "Share and entitlement over time",
		Subtitle: fmt.Sprintf("%d GPUs, three teams, the week of seed %d. The entitlement is the weighted max-min fair share, given what each team runs and waits for; the past does not count in it. "+
			"Policies: with %s only what runs now decides which team is served next; with %s past use counts too; %s evicts besides, so that a team takes back its share.",
			b.gpus(), b.Seed, b.names[withoutPast], b.names[withPast], b.names[withReclaim]),
	}
	lines := make([]report.Line, len(b.names))
	for p, name := range b.names {
		lines[p] = report.Line{Name: name, Own: p == withReclaim}
	}
	for team, t := range teams {
		had := func(p int) []float64 { return study.HourMeans(runs[p][0].teams[team].had) }
		note := fmt.Sprintf("Weight %d, %d GPUs guaranteed, %.0f when all want all they can get. Means of an hour.", t.weight, b.guarantee(team), b.evenPart(team))
		page.Sections = append(page.Sections,
			study.DrawHours(t.name+": what it had above its entitlement, or below", note, b.Days, lines, func(p int) []float64 {
				return study.Differences(had(p), study.HourMeans(runs[p][0].teams[team].entitled))
			}),
			study.DrawHours(t.name+": what it had", "Means of an hour.", b.Days, lines, had))
	}
	return page
}
