package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
)

// openBLoads are the loads of the table, in percent of the GPUs, as far as they are played.
var openBLoads = [...]int{80, 90, 95, 100, 110, 130}

func (b *openBBench) loads() []int {
	return slices.DeleteFunc(slices.Clone(openBLoads[:]), func(load int) bool { return load > b.load })
}

// openBReference is the policy that others are compared with.
const openBReference = "fgd"

// A percentage is a number with two places, whatever its size.
type percentage float64

func (v percentage) String() string { return fmt.Sprintf("%.2f", float64(v)) }

// report prints what came of a trace.
func (b *openBBench) report(t *openBTrace) error {
	if b.csv || b.json {
		if err := b.print(b.figures(t)); err != nil {
			return err
		}
		return b.print(b.series(t))
	}
	b.note("%s: %d nodes with %d GPUs, %d tasks in the list; seeds %s; policies that use the mix %s%s", t.name,
		len(t.trace.Nodes), t.trace.GPUs(), len(t.trace.Pods), b.seedText(), b.mixText(), b.modeText())
	if err := b.print(b.summary(t)); err != nil || t.bounds == nil {
		return err
	}
	b.note("Any policy leaves at least %.2f %% over, even one that knows the future, moves tasks at will and turns some away.\n", meanOf(t.bounds))
	return nil
}

func (b *openBBench) seedText() string {
	if n := len(b.seeds); n > 1 && slices.IsSorted(b.seeds) && b.seeds[n-1]-b.seeds[0] == int64(n-1) {
		return fmt.Sprintf("%d-%d", b.seeds[0], b.seeds[n-1])
	}
	return fmt.Sprint(b.seeds)
}

func (b *openBBench) mixText() string {
	if b.options.Learn {
		return "learn it as tasks arrive"
	}
	return "are told that of the list"
}

// modeText says what else differs from the published experiment.
func (b *openBBench) modeText() string {
	text := ""
	if n := b.options.Queue; n > 0 {
		text += fmt.Sprintf("; tasks wait in a queue, gone through after each %d arrivals", n)
	}
	if n := b.options.Moves; n > 0 {
		text += fmt.Sprintf("; up to %d tasks move to make room for one", n)
	}
	if n := b.options.MovesInAll; n > 0 && b.options.Moves > 0 {
		text += fmt.Sprintf(", and %d in all", n)
	}
	return text
}

// summary is the table for people: allocation at loads, and at 100 % what is left over, by policy.
func (b *openBBench) summary(t *openBTrace) *table {
	columns := []string{"policy"}
	for _, load := range b.loads() {
		columns = append(columns, fmt.Sprintf("at %d", load))
	}
	columns = append(columns, "unallocated", "sd", "95 %", "published", "to "+openBReference, "95 %", "GPUs", "fragmented", "of free at 80")
	if b.options.Moves > 0 {
		columns = append(columns, "moves")
	}
	summary := newTable("GPUs allocated at loads, and at 100 % what is unallocated and fragmented, all in % of the GPUs", columns...)
	for p, policy := range b.policies {
		row := []any{policy.Name}
		for _, load := range b.loads() {
			row = append(row, percentage(meanOf(t.at(p, load, allocated))))
		}
		left := t.at(p, 100, openb.Point.Unallocated)
		row = append(row, percentage(meanOf(left)))
		row = append(row, spreadCells(left)...)
		if figure, ok := t.trace.Published(policy.Name); ok {
			row = append(row, percentage(figure))
		} else {
			row = append(row, nil)
		}
		row = append(row, b.comparison(t, p)...)
		row = append(row, percentage(meanOf(t.at(p, 100, fragmented))), percentage(meanOf(t.at(p, 80, fragmentedOfFree))))
		if b.options.Moves > 0 {
			row = append(row, fmt.Sprintf("%.0f", meanOf(each(t.runs[p], moved))))
		}
		summary.add(row...)
	}
	return summary
}

func allocated(p openb.Point) float64        { return p.Allocated }
func fragmented(p openb.Point) float64       { return p.Fragmented }
func fragmentedOfFree(p openb.Point) float64 { return p.FragmentedOfFree }

func moved(r *openb.Run) float64 { return float64(r.Moved) }

// spreadCells are the standard deviation of values and half of the confidence interval of their mean.
func spreadCells(values []float64) []any {
	if len(values) < 2 {
		return []any{nil, nil}
	}
	return []any{percentage(stat.StdDev(values, nil)), "±" + percentage(estimateOf(values).half).String()}
}

// comparison is the difference to the reference, seed by seed: its mean, half of its confidence
// interval, and the mean in GPUs.
func (b *openBBench) comparison(t *openBTrace, policy int) []any {
	differences := b.differences(t, policy)
	if differences == nil {
		return []any{nil, nil, nil}
	}
	mean := meanOf(differences)
	return []any{
		fmt.Sprintf("%+.2f", mean), spreadCells(differences)[1], fmt.Sprintf("%+.0f", math.Round(mean/100*float64(t.trace.GPUs()))),
	}
}

// differences of what a policy and the reference leave over, by seed; nil for the reference itself,
// and where it is not played.
func (b *openBBench) differences(t *openBTrace, policy int) []float64 {
	reference := slices.IndexFunc(b.policies, func(p bench.NamedPolicy) bool { return p.Name == openBReference })
	if reference < 0 || reference == policy {
		return nil
	}
	list := t.at(policy, 100, openb.Point.Unallocated)
	for i, left := range t.at(reference, 100, openb.Point.Unallocated) {
		list[i] -= left
	}
	return list
}

// figures has one figure to a line, where programs read.
func (b *openBBench) figures(t *openBTrace) *table {
	list := newTable("figures", "tasks", "policy", "figure", "mean", "sd", "half of 95 %", "published")
	add := func(p int, name string, values []float64, published any) {
		row := []any{t.name, b.policies[p].Name, name, meanOf(values), nil, nil, published}
		if len(values) > 1 {
			row[4], row[5] = stat.StdDev(values, nil), estimateOf(values).half
		}
		list.add(row...)
	}
	if t.bounds != nil {
		list.add(t.name, "any", "unallocated at 100, at the least", meanOf(t.bounds), nil, nil, nil)
	}
	for p, policy := range b.policies {
		for _, load := range b.loads() {
			add(p, fmt.Sprintf("allocated at %d", load), t.at(p, load, allocated), nil)
		}
		var published any
		if figure, ok := t.trace.Published(policy.Name); ok {
			published = figure
		}
		add(p, "unallocated at 100", t.at(p, 100, openb.Point.Unallocated), published)
		add(p, "fragmented at 100", t.at(p, 100, fragmented), nil)
		add(p, "fragmented of free at 80", t.at(p, 80, fragmentedOfFree), nil)
		if b.options.Moves > 0 {
			add(p, "moves", each(t.runs[p], moved), nil)
		}
		if differences := b.differences(t, p); differences != nil {
			add(p, "unallocated at 100, to "+openBReference, differences, nil)
		}
	}
	return list
}

// series has every run at every load, where programs read.
func (b *openBBench) series(t *openBTrace) *table {
	list := newTable("series", "tasks", "policy", "seed", "load", "allocated", "fragmented", "fragmented of free")
	for p, policy := range b.policies {
		for i, run := range t.runs[p] {
			for load := range run.Percent() + 1 {
				at := run.At(load)
				list.add(t.name, policy.Name, b.seeds[i], load, at.Allocated, at.Fragmented, at.FragmentedOfFree)
			}
		}
	}
	return list
}
