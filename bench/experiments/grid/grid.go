package grid

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench/study"
)

// Help says what the experiment does, and what it does not.
const Help = `grid plays jobs that are drawn under the core as it comes, EASY backfill with the same estimates
and with exact run times, FIFO, and greedy best fit: in cells that differ in the size of the fleet,
its topology, the load, what is known of run times, how many jobs write checkpoints, and whether
queues share the fleet. Every seed is another draw of the jobs, the same for every scheduler.

A row for each cell sets berth beside EASY; the summary has a row for each scheduler. Delay is all
time without progress, weighted by GPUs. Slowdown is bounded at 10 seconds. Useful time is what was
held until the last submission, less what was lost. "Least" is a delay that no scheduler goes
below, with gangs as a fluid and all run times known. A ratio is of the means over the seeds, and
below a minute nothing is better than a minute. A cell is worse, or better, where the 95 % interval
of the difference to EASY says so; with fewer than three seeds, where the mean does.

FIFO, EASY and greedy know no queues and evict nothing; guarantees are not measured. Gangs prefer a
leaf and do not require one. Orders are carried out at once.

`

// Options say what is played.
type Options struct {
	study.Output
	Cells, Jobs, Seeds int
	Seed               uint64
	Knobs              bool
}

// Defaults are the options that berthbench has by default.
func Defaults() Options { return Options{Cells: 100, Jobs: 2000, Seeds: 3, Seed: 1} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Int(&o.Cells, "cells", 1, 1440, "cells, of which the first are those of a smaller grid")
	f.Int(&o.Jobs, "jobs", 10, 100_000, "jobs in a cell")
	f.Int(&o.Seeds, "seeds", 1, 100, "draws of the jobs of a cell")
	f.Seed(&o.Seed, "seed of the first draw")
	f.Yes(&o.Knobs, "knobs", "play other policies of the core as well")
}

// A result is a cell that was played.
type result struct {
	cell  cell
	least []float64   // by seed
	runs  [][]figures // by line, then by seed
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	list := lines()
	if o.Knobs {
		list = append(list, knobs()...)
	}
	results, err := o.play(ctx, list)
	if err != nil {
		return err
	}
	out := o.To(w)
	return errors.Join(out.Print(byCell(o.Seeds, results)), out.Print(summary(list, results)), out.Print(foreseen(results)))
}

// play plays all cells on all lines.
func (o *Options) play(ctx context.Context, list []line) ([]result, error) {
	chosen := cells(o.Cells)
	type run struct {
		figures
		least float64
	}
	runs, err := study.PlayRuns(ctx, o.Output, len(chosen)*len(list), o.Seeds, func(at, seed int) (run, error) {
		c, l := chosen[at/len(list)], list[at%len(list)]
		jobs := draw(c, o.Jobs, o.Seed+uint64(seed))
		f, err := l.play(c, jobs)
		r := run{figures: f}
		if at%len(list) == 0 { // once for a cell
			r.least = leastDelay(jobs)
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	results := make([]result, len(chosen))
	for i, c := range chosen {
		of := runs[i*len(list) : (i+1)*len(list)]
		results[i] = result{cell: c, least: study.Each(of[0], func(r run) float64 { return r.least })}
		for _, seeds := range of {
			alone := make([]figures, len(seeds))
			for s := range seeds {
				alone[s] = seeds[s].figures
			}
			results[i].runs = append(results[i].runs, alone)
		}
	}
	return results, nil
}

// The figures by which a cell is judged.
func delay(f figures) float64    { return f.delay }
func slowdown(f figures) float64 { return f.slowdown }
func useful(f figures) float64   { return f.useful }
func lost(f figures) float64     { return f.lost }
func large(f figures) float64    { return f.large }
func longest(f figures) float64  { return f.longest }

// at is the mean of a figure of a line of a cell.
func (r *result) at(line int, of func(figures) float64) float64 {
	return stat.Mean(study.Each(r.runs[line], of), nil)
}

// marked is the line of EASY.
const marked = 1

// ratio is of a line to EASY. What is below the least counts as that.
func (r *result) ratio(line int, of func(figures) float64, least float64) float64 {
	return max(r.at(line, of), least) / max(r.at(marked, of), least)
}

// verdict is 1 where a line is worse than EASY, and -1 where it is better.
func (r *result) verdict(line int, of func(figures) float64) int {
	d := study.Differences(study.Each(r.runs[line], of), study.Each(r.runs[marked], of))
	mean, half := stat.Mean(d, nil), 0.0
	if len(d) >= study.Fewest {
		half = study.EstimateOf(d).Half
	}
	switch {
	case mean > half:
		return 1
	case mean < -half:
		return -1
	}
	return 0
}

// aMinute is the least delay, and aRun the least slowdown, that a ratio tells from none.
const aMinute, aRun = 1, 1

func byCell(seeds int, results []result) *study.Table {
	columns := []string{"cell"}
	for d := range dimensions {
		columns = append(columns, dimensions[d].name)
	}
	t := study.NewTable(fmt.Sprintf("berth as it comes beside EASY, means of %d draws%s", seeds, study.Intervals(seeds)),
		append(columns, "delay, min", "EASY", "least", "ratio", "slowdown", "EASY", "useful, %", "EASY", "lost, %", "p99 wait of an eighth, min", "EASY", "longest wait, min", "EASY", "")...)
	for i := range results {
		r := &results[i]
		row := []any{i + 1}
		for d := range dimensions {
			row = append(row, r.cell.is(d))
		}
		verdict := map[int]string{1: "worse", 0: "", -1: "better"}[r.verdict(0, delay)]
		t.Add(append(row, r.at(0, delay), r.at(marked, delay), stat.Mean(r.least, nil), r.ratio(0, delay, aMinute), r.at(0, slowdown), r.at(marked, slowdown),
			r.at(0, useful), r.at(marked, useful), r.at(0, lost), r.at(0, large), r.at(marked, large), r.at(0, longest), r.at(marked, longest), verdict)...)
	}
	return t
}

// foreseen has a row for each thing that may be known of run times.
func foreseen(results []result) *study.Table {
	t := study.NewTable("Jobs that ran for half to twice as long as expected under berth, %, means over the cells", "run times", "as told, or assumed", "as learned")
	for v, name := range dimensions[known].values {
		var told, learned []float64
		for i := range results {
			if r := &results[i]; r.cell[known] == v {
				told = append(told, r.at(0, func(f figures) float64 { return f.told }))
				learned = append(learned, r.at(0, func(f figures) float64 { return f.learned }))
			}
		}
		if len(told) > 0 {
			t.Add(name, stat.Mean(told, nil), stat.Mean(learned, nil))
		}
	}
	return t
}

// summary has a row for each line.
func summary(list []line, results []result) *study.Table {
	t := study.NewTable("Means over the cells", "scheduler", "delay, of EASY's", "cells worse", "better", "slowdown, of EASY's", "worse", "better", "useful, % more", "lost, %", "most lost, %", "longest wait, of EASY's at most")
	for l := range list {
		var delays, slowdowns, gains, losses, most, waits float64
		verdicts := [2]map[int]int{{}, {}}
		for i := range results {
			r := &results[i]
			delays += r.ratio(l, delay, aMinute)
			slowdowns += r.ratio(l, slowdown, aRun)
			gains += r.at(l, useful) - r.at(marked, useful)
			losses += r.at(l, lost)
			most = max(most, r.at(l, lost))
			waits = max(waits, r.ratio(l, longest, aMinute))
			verdicts[0][r.verdict(l, delay)]++
			verdicts[1][r.verdict(l, slowdown)]++
		}
		n := float64(len(results))
		t.Add(list[l].Name, delays/n, verdicts[0][1], verdicts[0][-1], slowdowns/n, verdicts[1][1], verdicts[1][-1], gains/n, losses/n, most, waits)
	}
	return t
}
