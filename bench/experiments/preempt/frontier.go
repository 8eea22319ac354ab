package preempt

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// patiences of the policies that choose victims outside.
var patiences = [...]berth.Duration{0, berth.Minute, 2 * berth.Minute, 4 * berth.Minute}

// A frontier has, for each policy, the GPU-hours lost at each p99 of inference, in weeks with
// elastic gangs or without. Numbers are indexes of experiment.policies.
type frontier struct {
	weeks string
	own   int     // berth
	lines [][]int // each by growing patience: killing by priority, asking before, berth
}

// addFrontiers adds the policies that are not compared by name.
func (b *experiment) addFrontiers() {
	add := func(weeks string, rigid bool) {
		f := frontier{weeks: weeks, own: b.point(shipped, 0, rigid)}
		for _, p := range []int{kill, ask} {
			var line []int
			for _, patience := range patiences {
				line = append(line, b.point(p, patience, rigid))
			}
			f.lines = append(f.lines, line)
		}
		f.lines = append(f.lines, []int{f.own})
		b.frontiers = append(b.frontiers, f)
	}
	if b.Elastic > 0 {
		add("with elastic gangs", false)
	}
	add("no gang elastic", b.Elastic > 0)
}

// point is the number of a policy with a patience: one of those compared by name, or a new one.
func (b *experiment) point(p int, patience berth.Duration, rigid bool) int {
	if patience == 0 && !rigid {
		return p
	}
	policy := b.policies[p]
	policy.patience, policy.rigid = patience, rigid
	b.policies = append(b.policies, policy)
	return len(b.policies) - 1
}

// timesLess is, by week, how many times as much as berth a line loses at the p99 of berth.
func (f *frontier) timesLess(line []int, runs [][]*run) []float64 {
	list := make([]float64, len(runs[f.own]))
	for seed, own := range runs[f.own] {
		week := make([]*run, len(line))
		for i, p := range line {
			week[i] = runs[p][seed]
		}
		list[seed] = lostAt(week, own.p99()) / own.lost()
	}
	return list
}

// lostAt is the least that a line loses in one week with a p99 no later than an instant, in
// GPU-hours: at its points, or straight between two of them. Before its first point it is what is
// lost there.
func lostAt(week []*run, p99 float64) float64 {
	before, least := week[0], week[0].lost()
	for _, next := range week[1:] {
		if next.p99() > p99 {
			if part := (p99 - before.p99()) / (next.p99() - before.p99()); part > 0 {
				least = min(least, before.lost()+part*(next.lost()-before.lost()))
			}
			break
		}
		before, least = next, min(least, next.lost())
	}
	return least
}

// frontier has a row for each point.
func (b *experiment) frontier(runs [][]*run) *study.Table {
	t := study.NewTable("The frontier: until 99 of 100 replicas run, in seconds, against GPU-hours lost", "weeks", "policy", "patience", "p99", "lost")
	for _, f := range b.frontiers {
		for _, line := range f.lines {
			for _, p := range line {
				t.Add(f.weeks, b.policies[p].name, b.policies[p].patience.String(), mean(runs[p], (*run).p99), mean(runs[p], (*run).lost))
			}
		}
	}
	return t
}

// page draws the frontiers.
func (b *experiment) page(runs [][]*run) *report.Lines {
	page := &report.Lines{
		Title:    "What preemption for inference loses, and at which delay",
		Subtitle: fmt.Sprintf("%d GPUs, means of %d runs of %d days. To the left is sooner, below is less lost.", b.gpus(), b.Seeds, b.Days),
	}
	for _, f := range b.frontiers {
		s := report.LineSection{Title: "Weeks: " + f.weeks, X: "seconds until 99 of 100 replicas run", Y: "GPU-hours lost"}
		for _, points := range f.lines {
			l := report.Line{Name: b.policies[points[0]].name, Own: points[0] == f.own, Dots: points[0] == f.own}
			for _, p := range points {
				l.Add(mean(runs[p], (*run).p99).Mean, mean(runs[p], (*run).lost).Mean)
				l.Labels = append(l.Labels, fmt.Sprintf("%s, patience %v", l.Name, b.policies[p].patience))
				s.To = max(s.To, l.X[len(l.X)-1])
			}
			s.Lines = append(s.Lines, l)
		}
		page.Sections = append(page.Sections, s)
	}
	t := b.frontier(runs)
	page.Sections = append(page.Sections, t.Section("Figures", t.Title+"."))
	return page
}

func mean(runs []*run, figure func(*run) float64) study.Estimate {
	return study.EstimateOf(study.Each(runs, figure))
}
