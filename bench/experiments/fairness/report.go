package fairness

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/study"
)

// window is a line of the table over time.
const (
	window         = 6 * berth.Hour
	slotsPerWindow = int(window / study.Slot)
)

// Report prints the week of the first seed over time, then the figures of all.
func (b *experiment) Report(out *study.Printer, runs [][]*run) error {
	if out.ForPrograms() {
		if err := out.Print(b.series(runs)); err != nil {
			return err
		}
		return out.Print(b.long(runs))
	}
	out.Note("%d GPUs; weights 1:2:3; guarantees of %d, %d and %d GPUs; %s from seed %d\n",
		b.gpus(), b.guarantee(0), b.guarantee(1), b.guarantee(2), study.Weeks(b.Seeds, b.Days), b.Seed)
	for p := range b.policies {
		if err := out.Print(b.windows(p, runs[p][0])); err != nil {
			return err
		}
	}
	b.sparklines(out, runs)
	if err := out.Print(b.summary(runs)); err != nil {
		return err
	}
	return out.Print(b.byTeam(runs))
}

// windows is a policy's week, six hours to a line.
func (b *experiment) windows(p int, r *run) *study.Table {
	columns := []string{"day", "hours"}
	for _, t := range teams {
		columns = append(columns, t.name, "of", "diff")
	}
	t := study.NewTable(fmt.Sprintf("%s, seed %d: share of the fleet, entitlement (of), and the difference, percent", b.policies[p].name, b.Seed),
		append(columns, "idle")...)
	days := study.Days(b.Days)
	for at := 0; at < b.Days*slotsPerDay; at += slotsPerWindow {
		from := at % slotsPerDay * 24 / slotsPerDay
		row, idle := []any{days[at/slotsPerDay], fmt.Sprintf("%02d-%02d", from, from+int(window/berth.Hour))}, 100.0
		for team := range r.teams {
			had := r.percent(sum(r.teams[team].had[at:at+slotsPerWindow]), slotsPerWindow)
			entitled := r.percent(sum(r.teams[team].entitled[at:at+slotsPerWindow]), slotsPerWindow)
			row = append(row, fixed(had), fixed(entitled), fmt.Sprintf("%+.1f", had-entitled))
			idle -= had
		}
		t.Add(append(row, fixed(max(idle, 0)))...)
	}
	return t
}

// A fixed is a number with one place, whatever its size.
type fixed float64

func (v fixed) String() string { return fmt.Sprintf("%.1f", float64(v)) }

// sparks are heights of an eighth of the fleet.
var sparks = []rune(" ▁▂▃▄▅▆▇█")

// sparklines draw each team's week, two hours to a character.
func (b *experiment) sparklines(out *study.Printer, runs [][]*run) {
	const slots = int(2 * berth.Hour / study.Slot)
	draw := func(r *run, series []int64) string {
		var line strings.Builder
		for at := 0; at < len(series); at += slots {
			share := r.percent(sum(series[at:at+slots]), slots)
			line.WriteRune(sparks[int(math.Round(share/100*float64(len(sparks)-1)))])
			if (at+slots)%slotsPerDay == 0 {
				line.WriteRune('│')
			}
		}
		return line.String()
	}
	width := 0
	for _, policy := range b.policies {
		width = max(width, len(policy.name))
	}
	out.Note("Share of the fleet and entitlement over time, seed %d: two hours to a character, a day to a field, full height is the fleet", b.Seed)
	for team, t := range teams {
		for p, policy := range b.policies {
			r := runs[p][0]
			out.Note("  %-6s  %-*s  has       %s", t.name, width, policy.name, draw(r, r.teams[team].had))
			out.Note("  %-6s  %-*s  entitled  %s", t.name, width, policy.name, draw(r, r.teams[team].entitled))
		}
	}
	out.Note("")
}

// summary compares the policies: a line for each figure, with the difference to the
// first policy in the same weeks.
func (b *experiment) summary(runs [][]*run) *study.Table {
	columns := []string{"figure"}
	for p, policy := range b.policies {
		columns = append(columns, policy.name)
		if p > 0 {
			columns = append(columns, "difference")
		}
	}
	t := study.NewTable(fmt.Sprintf("All teams: means of %d weeks%s", b.Seeds, study.Intervals(b.Seeds)), columns...)
	for _, figure := range figures {
		row, first := []any{figure.name}, study.Each(runs[0], figure.of)
		for p := range b.policies {
			values := study.Each(runs[p], figure.of)
			row = append(row, study.EstimateOf(values).String())
			if p > 0 {
				row = append(row, study.EstimateOf(study.Differences(values, first)).String())
			}
		}
		t.Add(row...)
	}
	return t
}

// byTeam has a line for each team and policy.
func (b *experiment) byTeam(runs [][]*run) *study.Table {
	columns := []string{"team", "policy"}
	for _, figure := range teamFigures {
		columns = append(columns, figure.name)
	}
	t := study.NewTable("By team, in GPU-hours and hours: means of the weeks; guaranteed and borrowed by the core's ledger, with the day before", columns...)
	for team, named := range teams {
		for p, policy := range b.policies {
			row := []any{named.name, policy.name}
			for _, figure := range teamFigures {
				row = append(row, stat.Mean(study.Each(runs[p], func(r *run) float64 { return figure.of(r, team) }), nil))
			}
			t.Add(row...)
		}
	}
	return t
}

// long has all figures, one to a line, where programs read.
func (b *experiment) long(runs [][]*run) *study.Table {
	t := study.NewTable("figures", "policy", "team", "figure", "mean", "mean±")
	for p, policy := range b.policies {
		for _, figure := range figures {
			e := study.EstimateOf(study.Each(runs[p], figure.of))
			t.Add(policy.name, "", figure.name, e.Mean, e.Half)
		}
		for team, named := range teams {
			for _, figure := range teamFigures {
				e := study.EstimateOf(study.Each(runs[p], func(r *run) float64 { return figure.of(r, team) }))
				t.Add(policy.name, named.name, figure.name, e.Mean, e.Half)
			}
		}
	}
	return t
}

// series is what programs read: a line for each policy, slot and team, of the first
// seed.
func (b *experiment) series(runs [][]*run) *study.Table {
	t := study.NewTable("series", "policy", "hour", "team", "gpus", "entitled", "wanted")
	for p, policy := range b.policies {
		var had, entitled, wanted [len(teams)][]float64
		for team := range teams {
			f := &runs[p][0].teams[team]
			had[team], entitled[team], wanted[team] = study.SlotMeans(f.had), study.SlotMeans(f.entitled), study.SlotMeans(f.wanted)
		}
		for slot := range b.Days * slotsPerDay {
			for team, named := range teams {
				hour := float64(slot) * float64(study.Slot) / float64(berth.Hour)
				t.Add(policy.name, hour, named.name, had[team][slot], entitled[team][slot], wanted[team][slot])
			}
		}
	}
	return t
}
