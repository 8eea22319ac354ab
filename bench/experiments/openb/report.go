package openb

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/study"
)

// loads are the loads of the table, in percent of the GPUs, as far as they are played.
var loads = [...]int{80, 90, 95, 100, 110, 130}

func (b *experiment) loads() []int {
	return slices.DeleteFunc(slices.Clone(loads[:]), func(load int) bool { return load > b.Load })
}

// reference is the policy that others are compared with.
const reference = "fgd"

// A percentage is a number with two places, whatever its size.
type percentage float64

func (v percentage) String() string { return fmt.Sprintf("%.2f", float64(v)) }

// report prints what came of a trace.
func (b *experiment) report(t *trace) error {
	b.out.Note("%s: %d nodes with %d GPUs, %d tasks in the list; seeds %s; policies that use the mix %s", t.name,
		len(t.trace.Nodes), t.trace.GPUs(), len(t.trace.Pods), b.seedText(), b.mixText())
	if err := b.out.Print(b.summary(t)); err != nil {
		return err
	}
	b.out.Note("published: by Weng et al.; to %s: how much more is unallocated than there, and that in GPUs.\n", reference)
	if t.bounds == nil {
		return nil
	}
	b.out.Note("Any policy leaves at least %.2f %% over, even one that knows the future, moves tasks at will and turns some away.\n", meanOf(t.bounds))
	return nil
}

func (b *experiment) seedText() string {
	if n := len(b.Seeds); n > 1 && slices.IsSorted(b.Seeds) && b.Seeds[n-1]-b.Seeds[0] == int64(n-1) {
		return fmt.Sprintf("%d-%d", b.Seeds[0], b.Seeds[n-1])
	}
	return fmt.Sprint(b.Seeds)
}

func (b *experiment) mixText() string {
	if b.Play.Learn {
		return "learn it as tasks arrive"
	}
	return "are told that of the list"
}

// summary is the table for people: allocation at loads, and at 100 % what is left over, by policy.
func (b *experiment) summary(t *trace) *study.Table {
	columns := []string{"policy"}
	for _, load := range b.loads() {
		columns = append(columns, fmt.Sprintf("at %d", load))
	}
	columns = append(columns, "unallocated", "sd", "95 %", "published", "to "+reference, "95 %", "GPUs")
	summary := study.NewTable("GPUs allocated at loads, and at 100 % what is unallocated, all in % of the GPUs", columns...)
	for p, policy := range b.policies {
		row := []any{policy.Name}
		for _, load := range b.loads() {
			row = append(row, percentage(meanOf(study.Each(t.runs[p], func(r *openb.Run) float64 { return r.Allocated(load) }))))
		}
		left := t.unallocated(p)
		row = append(row, percentage(meanOf(left)))
		row = append(row, spreadCells(left)...)
		if figure, ok := t.trace.Published(policy.Name); ok {
			row = append(row, percentage(figure))
		} else {
			row = append(row, nil)
		}
		summary.Add(append(row, b.comparison(t, p)...)...)
	}
	return summary
}

// spreadCells are the standard deviation of values and half of the confidence interval of their
// mean; two values say next to nothing about either.
func spreadCells(values []float64) []any {
	if len(values) < study.Fewest {
		return []any{nil, nil}
	}
	return []any{percentage(stat.StdDev(values, nil)), "±" + percentage(study.EstimateOf(values).Half).String()}
}

// comparison is the difference to the reference, seed by seed: its mean, half of its confidence
// interval, and the mean in GPUs.
func (b *experiment) comparison(t *trace, policy int) []any {
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
func (b *experiment) differences(t *trace, policy int) []float64 {
	reference := slices.IndexFunc(b.policies, func(p bench.NamedPolicy) bool { return p.Name == reference })
	if reference < 0 || reference == policy {
		return nil
	}
	return study.Differences(t.unallocated(policy), t.unallocated(reference))
}
