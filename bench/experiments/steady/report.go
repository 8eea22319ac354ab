package steady

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench/study"
)

// A figure is of a run, nothing if there was nothing to measure.
type figure struct {
	name string
	of   func(*run) (value float64, ok bool)
	// more is better; else less is.
	more bool
	// minutes: a wait; else percent.
	minutes bool
}

// figures are those of the whole, then those of each size.
func figures() []figure {
	list := []figure{
		{name: "allocated, %", more: true, of: func(r *run) (float64, bool) { return r.allocation(), true }},
		{name: "turned away, %", of: func(r *run) (float64, bool) { return percent(sum(r.turnedAway[:]), sum(r.arrived[:])) }},
	}
	for size := range sizes {
		name := sizes[size].name
		list = append(list,
			figure{name: name + " mean", minutes: true, of: func(r *run) (float64, bool) {
				return stat.Mean(r.waits[size], nil), len(r.waits[size]) > 0
			}},
			figure{name: name + " p99", minutes: true, of: func(r *run) (float64, bool) {
				return quantile(r.waits[size], 0.99), len(r.waits[size]) > 0
			}},
			figure{name: name + " turned away, %", of: func(r *run) (float64, bool) { return percent(r.turnedAway[size], r.arrived[size]) }},
		)
	}
	return list
}

func sum(values []int) (sum int) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func percent(part, of int) (float64, bool) { return 100 * float64(part) / float64(max(of, 1)), of > 0 }

// quantile leaves the values as they are.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return study.Quantile(slices.Clone(values), q)
}

// pairs are the figures of two lines on the seeds of which both have one.
func pairs(f *figure, a, b []*run) (first, second []float64) {
	for i := range a {
		x, ok := f.of(a[i])
		y, too := f.of(b[i])
		if ok && too {
			first, second = append(first, x), append(second, y)
		}
	}
	return first, second
}

// A comparison is of a policy with the core, seed by seed.
type comparison struct {
	mean float64
	// difference is the policy's figure less the core's. With a single seed it has no interval.
	difference study.Estimate
	seeds      int
}

func compare(f *figure, policy, core []*run) comparison {
	own, others := pairs(f, core, policy)
	c := comparison{seeds: len(own)}
	if c.seeds == 0 {
		return c
	}
	c.mean = stat.Mean(others, nil)
	c.difference = study.Estimate{Mean: others[0] - own[0], Values: 1}
	if c.seeds > 1 {
		c.difference = study.EstimateOf(study.Differences(others, own))
	}
	return c
}

// better reports whether the policy is better than the core by more than chance and tolerance.
func (c *comparison) better(f *figure, tolerance float64) bool {
	gain := -c.difference.Mean
	if f.more {
		gain = -gain
	}
	return c.seeds > 1 && gain > c.difference.Half && gain > tolerance
}

// Report prints a table for each load.
func (b *experiment) Report(p *study.Printer, runs [][]*run) error {
	p.Note("%s: %d nodes with %d GPUs; %d tasks in the list, %d %% of those of %d GPUs as gangs; %d hours measured after %d; seeds %v",
		b.Pods, len(b.nodes), b.gpus(), len(b.tasks.jobs), b.Gangs, gangGPUs, b.Hours, b.Warmup, b.Seeds)
	if n := b.tasks.leftOut; n > 0 {
		p.Note("%d more tasks of the list fit on none of these nodes and are left out; -nodes 0 plays all of it.", n)
	}
	p.Note("Every policy is the scheduling core with that policy as its scorer, core the core as it comes.\n")
	for at, load := range b.Loads {
		if err := p.Print(b.table(load, runs[at*len(b.policies):][:len(b.policies)])); err != nil {
			return err
		}
	}
	return nil
}

// table has a line for each figure of a load and a column for each policy.
func (b *experiment) table(load int, runs [][]*run) *study.Table {
	columns := []string{"figure", "tasks"}
	for _, policy := range b.policies {
		columns = append(columns, policy.Name)
	}
	t := study.NewTable(fmt.Sprintf("Load %d %%: waits in minutes by size; means over seeds, and the difference to %s%s", load, own, study.Intervals(len(b.Seeds))), columns...)
	for _, f := range figures() {
		row := []any{f.name, b.counted(&f, runs[0])}
		for p := range b.policies {
			c := compare(&f, runs[p], runs[0])
			switch {
			case c.seeds == 0:
				row = append(row, nil)
			case p == 0:
				row = append(row, c.mean)
			default:
				row = append(row, fmt.Sprintf("%s (%s)", study.Cell(c.mean), signed(c.difference)))
			}
		}
		t.Add(row...)
	}
	return t
}

// counted is how many tasks a figure of a size is about in all seeds.
func (b *experiment) counted(f *figure, runs []*run) any {
	name, _, _ := strings.Cut(f.name, " ")
	for size := range sizes {
		if sizes[size].name == name && f.minutes {
			tasks := 0
			for _, r := range runs {
				tasks += r.arrived[size]
			}
			return tasks
		}
	}
	return nil
}

func signed(e study.Estimate) string {
	sign := ""
	if e.Mean > 0 {
		sign = "+"
	}
	return sign + e.Short()
}

// Verdict names the figures in which another policy is better than the core.
func (b *experiment) Verdict(p *study.Printer, runs [][]*run) []string {
	var worse []string
	cells := 0
	for line := range runs {
		policy, load := b.line(line)
		for _, f := range figures() {
			tolerance := b.TolerancePercent
			if f.minutes {
				tolerance = b.Tolerance
			}
			if line%len(b.policies) == 0 {
				cells++
			}
			c := compare(&f, runs[line], runs[line-line%len(b.policies)])
			if c.better(&f, tolerance) {
				worse = append(worse, fmt.Sprintf("load %d %%, %s: %s has %s, the core %s", load, f.name, policy.Name, study.Cell(c.mean), study.Cell(c.mean-c.difference.Mean)))
			}
		}
	}
	switch {
	case len(worse) == 0 && len(runs[0]) < study.Fewest:
		p.Note("Seeds: %d. Whether a policy is better than the core can be said from %d on.", len(runs[0]), study.Fewest)
		return nil
	case len(worse) == 0:
		p.Note("The core is first, or level with the first, in all of %d figures.", cells)
		return nil
	}
	p.Note("Another policy is better than the core in %d of %d comparisons:\n  %s", len(worse), cells*(len(b.policies)-1), strings.Join(worse, "\n  "))
	return []string{fmt.Sprintf("another policy is better than the core in %d comparisons", len(worse))}
}
