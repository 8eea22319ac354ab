package main

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth"
)

// fairWindow is a line of the table over time.
const (
	fairWindow     = 6 * berth.Hour
	slotsPerWindow = int(fairWindow / fairSlot)
)

// report prints the week of the first seed over time, then the figures of all.
func (b *fairness) report(s *session, runs [][]*fairRun) error {
	if s.csv || s.json {
		if err := s.print(b.series(runs)); err != nil {
			return err
		}
		return s.print(b.long(runs))
	}
	s.note("%d GPUs; weights 1:2:3; guarantees of %d, %d and %d GPUs; %d weeks of %d days from seed %d\n",
		b.gpus(), b.guarantee(0), b.guarantee(1), b.guarantee(2), b.seeds, b.days, b.seed)
	for p := range b.policies {
		if err := s.print(b.windows(p, runs[p][0])); err != nil {
			return err
		}
	}
	b.sparklines(s, runs)
	if err := s.print(b.summary(runs)); err != nil {
		return err
	}
	return s.print(b.byTeam(runs))
}

var fairDays = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// windows is a policy's week, six hours to a line.
func (b *fairness) windows(p int, r *fairRun) *table {
	columns := []string{"day", "hours"}
	for _, t := range fairTeams {
		columns = append(columns, t.name, "of", "diff")
	}
	t := newTable(fmt.Sprintf("%s, seed %d: share of the fleet, entitlement (of), and the difference, percent", b.policies[p].name, b.seed),
		append(columns, "idle")...)
	for at := 0; at < b.days*slotsPerDay; at += slotsPerWindow {
		from := at % slotsPerDay * 24 / slotsPerDay
		row, idle := []any{fairDays[at/slotsPerDay%7], fmt.Sprintf("%02d-%02d", from, from+int(fairWindow/berth.Hour))}, 100.0
		for team := range r.teams {
			had := r.percent(sum(r.teams[team].had[at:at+slotsPerWindow]), slotsPerWindow)
			entitled := r.percent(sum(r.teams[team].entitled[at:at+slotsPerWindow]), slotsPerWindow)
			row = append(row, fixed(had), fixed(entitled), fmt.Sprintf("%+.1f", had-entitled))
			idle -= had
		}
		t.add(append(row, fixed(max(idle, 0)))...)
	}
	return t
}

// A fixed is a number with one place, whatever its size.
type fixed float64

func (v fixed) String() string { return fmt.Sprintf("%.1f", float64(v)) }

// sparks are heights of an eighth of the fleet.
var sparks = []rune(" ▁▂▃▄▅▆▇█")

// sparklines draw each team's week, two hours to a character.
func (b *fairness) sparklines(s *session, runs [][]*fairRun) {
	const slots = int(2 * berth.Hour / fairSlot)
	draw := func(r *fairRun, series []int64) string {
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
	s.note("Share of the fleet and entitlement over time, seed %d: two hours to a character, a day to a field, full height is the fleet", b.seed)
	for team, t := range fairTeams {
		for p, policy := range b.policies {
			r := runs[p][0]
			s.note("  %-6s  %-*s  has       %s", t.name, width, policy.name, draw(r, r.teams[team].had))
			s.note("  %-6s  %-*s  entitled  %s", t.name, width, policy.name, draw(r, r.teams[team].entitled))
		}
	}
	s.note("")
}

// summary compares the policies: a line for each figure, with the difference to the
// first policy in the same weeks.
func (b *fairness) summary(runs [][]*fairRun) *table {
	columns := []string{"figure"}
	for p, policy := range b.policies {
		columns = append(columns, policy.name)
		if p > 0 {
			columns = append(columns, "difference")
		}
	}
	t := newTable(fmt.Sprintf("All teams: means of %d weeks with 95 %% confidence intervals", b.seeds), columns...)
	for _, figure := range fairFigures {
		row, first := []any{figure.name}, each(runs[0], figure.of)
		for p := range b.policies {
			values := each(runs[p], figure.of)
			row = append(row, estimateOf(values).String())
			if p > 0 {
				row = append(row, estimateOf(differences(values, first)).String())
			}
		}
		t.add(row...)
	}
	return t
}

// byTeam has a line for each team and policy.
func (b *fairness) byTeam(runs [][]*fairRun) *table {
	columns := []string{"team", "policy"}
	for _, figure := range fairTeamFigures {
		columns = append(columns, figure.name)
	}
	t := newTable("By team, in GPU-hours and hours: means of the weeks; guaranteed and borrowed by the core's ledger, with the day before", columns...)
	for team, named := range fairTeams {
		for p, policy := range b.policies {
			row := []any{named.name, policy.name}
			for _, figure := range fairTeamFigures {
				row = append(row, stat.Mean(each(runs[p], func(r *fairRun) float64 { return figure.of(r, team) }), nil))
			}
			t.add(row...)
		}
	}
	return t
}

// long has all figures, one to a line, where programs read.
func (b *fairness) long(runs [][]*fairRun) *table {
	t := newTable("figures", "policy", "team", "figure", "mean", "mean±")
	for p, policy := range b.policies {
		for _, figure := range fairFigures {
			e := estimateOf(each(runs[p], figure.of))
			t.add(policy.name, "", figure.name, e.mean, e.half)
		}
		for team, named := range fairTeams {
			for _, figure := range fairTeamFigures {
				e := estimateOf(each(runs[p], func(r *fairRun) float64 { return figure.of(r, team) }))
				t.add(policy.name, named.name, figure.name, e.mean, e.half)
			}
		}
	}
	return t
}

// series is what programs read: a line for each policy, slot and team, of the first
// seed.
func (b *fairness) series(runs [][]*fairRun) *table {
	t := newTable("series", "policy", "hour", "team", "gpus", "entitled", "wanted")
	for p, policy := range b.policies {
		var had, entitled, wanted [len(fairTeams)][]float64
		for team := range fairTeams {
			f := &runs[p][0].teams[team]
			had[team], entitled[team], wanted[team] = slotMeans(f.had), slotMeans(f.entitled), slotMeans(f.wanted)
		}
		for slot := range b.days * slotsPerDay {
			for team, named := range fairTeams {
				hour := float64(slot) * float64(fairSlot) / float64(berth.Hour)
				t.add(policy.name, hour, named.name, had[team][slot], entitled[team][slot], wanted[team][slot])
			}
		}
	}
	return t
}

// slotMeans are GPUs, by slot.
func slotMeans(slots []int64) []float64 {
	means := make([]float64, len(slots))
	for i, v := range slots {
		means[i] = float64(v) / float64(fairSlot)
	}
	return means
}
