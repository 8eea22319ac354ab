// Package optimum is the experiment on how far the core is from the best that a policy can do
// which knows what will be asked for, and not when. Help tells of it.
package optimum

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
)

// Help says what the experiment does.
const Help = `usage: berthbench optimum [flags]

How far is the core from the best possible? On fleets of two or three nodes tasks arrive one after the other,
each of a kind that is drawn from a known mix, until they have asked for some 130 % of the GPUs; they never
leave, and one that fits nowhere is dropped. The best policy that knows the mix and what has arrived, and not
what comes, is found exactly, by dynamic programming over all states of the fleet. It is compared with the core
that has seen 200 members of the mix, and with policies as its scorer, on the same arrivals. "may refuse" is the
best that a policy can do that also turns away tasks with a place: the core never does. With -verify the exit status
is 1 if something does better than the best, beyond the noise.

`

// Options say how much is played.
type Options struct {
	study.Output
	Policies []string
	Runs     int
	Seed     uint64
}

// Defaults are options that take some seconds.
func Defaults() Options {
	return Options{Policies: []string{"fgd", "best-fit", "first-fit"}, Runs: 300, Seed: 1}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Words(&o.Policies, "policies", "policies of package bench to play beside the core")
	f.Int(&o.Runs, "runs", 2, 100_000, "runs of each fleet")
	f.Seed(&o.Seed, "seed of the first run")
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	policies := []bench.NamedPolicy{{Name: "core"}}
	for _, name := range o.Policies {
		p, err := bench.Find(name)
		if err != nil || p.Name == "core" {
			return flagline.Misused("there is no policy %q to play beside the core", name)
		}
		policies = append(policies, p)
	}
	columns := []string{"fleet", "arrivals", "states", "may refuse", "optimum"}
	for _, p := range policies {
		columns = append(columns, p.Name, "of the optimum")
	}
	out := o.To(w)
	t := study.NewTable(fmt.Sprintf("GPUs in use in the end: the optimum exactly, policies as means of %d runs with 95 %% intervals; then in percent of the optimum, on the same arrivals", o.Runs), columns...)
	var wrong error
	bar := report.NewCount(o.Progress, len(fleets())*len(policies)*o.Runs, "runs")
	defer bar.Clear()
	for _, f := range fleets() {
		best, refusing := f.solve(false), f.solve(true)
		bar.Clear()
		out.Say("%s: %d states", f.name, len(best.values))
		row := []any{f.name, f.arrivals(), len(best.values), refusing.expected() / unit, best.expected() / unit}
		for _, p := range policies {
			c, err := compare(ctx, f, best, p, o, bar)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.name, p.Name, err)
			}
			row = append(row, c.placed.String(), c.ratio())
			if over := c.over.Mean - c.over.Half; over > 0 && wrong == nil {
				wrong = fmt.Errorf("%s: %s has %.2f GPUs more than the best policy", f.name, p.Name, over)
			}
		}
		t.Add(row...)
	}
	bar.Clear()
	if err := out.Print(t); err != nil {
		return err
	}
	return wrong
}

// A comparison is of a policy with the optimum, in GPUs.
type comparison struct {
	placed study.Estimate
	over   study.Estimate // of the optimum on the same arrivals
	best   float64        // mean of the optimum on these arrivals
}

func (c *comparison) ratio() string {
	return fmt.Sprintf("%.1f ±%.1f", 100*(1+c.over.Mean/c.best), 100*c.over.Half/c.best)
}

func compare(ctx context.Context, f *fleet, best *solution, p bench.NamedPolicy, o Options, bar *report.Progress) (*comparison, error) {
	placed, optimal := make([]float64, o.Runs), make([]float64, o.Runs)
	failures := make([]error, o.Runs)
	study.AtOnce(o.Runs, func(i int) {
		if failures[i] = ctx.Err(); failures[i] != nil {
			return
		}
		kinds := f.draw(rand.New(rand.NewPCG(o.Seed+uint64(i), 7)))
		optimal[i] = best.play(kinds) / unit
		milli, err := f.play(p, kinds, o.Seed+uint64(i))
		placed[i], failures[i] = milli/unit, err
		bar.Count()
	})
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return &comparison{study.EstimateOf(placed), study.EstimateOf(study.Differences(placed, optimal)), stat.Mean(optimal, nil)}, nil
}
