// Package day is the experiment on the reference day; Help tells of it.
package day

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Help says what the experiment does, and what it does not.
const Help = `day plays the reference day of examples/fleet (500 nodes of 8 GPUs, inference, notebooks, batch jobs
and gangs of 64 to 512 GPUs, with failures) under the core, with one policy after the other, and
tells what each change of policy gives. Then it plays the part of the day that simpler schedulers
can run under berth, FIFO and EASY backfill.

Every seed is another day. Waits are of the jobs of all seeds together, until the first place or the
end of the day; other figures are means. "Most possible" is what no scheduler can exceed, whatever it knows of
the future: the demand of the day as a fluid.

It does not measure what users would have submitted had they waited for less, nor what a gang loses
by being spread. A day begins with an empty fleet and ends with jobs that run and wait.

`

// Options say what is played.
type Options struct {
	study.Output
	Nodes, Load, Seeds int
	Seed               uint64
	// Length of the day, which no flag sets. Zero: 24 hours.
	Length berth.Duration
}

// Defaults are the options that berthbench has by default.
func Defaults() Options { return Options{Nodes: 500, Load: 100, Seeds: 3, Seed: 1} }

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Int(&o.Nodes, "nodes", 1, 16_384, "nodes of 8 H100")
	f.Int(&o.Load, "load", 1, 1000, "demand of the reference day, in percent")
	f.Int(&o.Seeds, "seeds", 1, 100, "days drawn")
	f.Seed(&o.Seed, "seed of the first day")
}

// until is the end of the day.
func (o *Options) until() berth.Time { return berth.Time(0).Add(o.day(0).Length()) }

// day is that of a seed, from 0.
func (o *Options) day(seed int) workload.Reference {
	return workload.Reference{Seed: o.Seed + uint64(seed), Nodes: o.Nodes, LoadPercent: o.Load, Span: o.Length}
}

// Run makes the experiment, which Help describes, and writes its results to w.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	whole, err := o.play(ctx, policies(), func(a []sim.Arrival) []sim.Arrival { return a })
	if err != nil {
		return err
	}
	plain, err := o.play(ctx, schedulers(), Plain)
	if err != nil {
		return err
	}
	out := o.To(w)
	return errors.Join(
		out.Print(whole.byLine("What each change of policy gives: the whole day under the core", "policy")),
		out.Print(plain.byLine("The plain part of the day under three schedulers\n"+LeftOut, "scheduler")),
	)
}

// A comparison is the runs of some lines, by line and then by seed, and the most that any
// scheduler could have held, in the mean of the seeds.
type comparison struct {
	lines []study.Line
	runs  [][]*report.Run
	most  float64
}

// play plays a part of every day on some lines.
func (o *Options) play(ctx context.Context, lines []study.Line, part func([]sim.Arrival) []sim.Arrival) (*comparison, error) {
	c := &comparison{lines: lines}
	days := make([][]sim.Arrival, o.Seeds)
	for seed := range days {
		ref := o.day(seed)
		days[seed] = part(ref.Arrivals())
		c.most += Most(days[seed], o.until()) / float64(o.Seeds)
	}
	bar := report.NewProgress(o.Progress, berth.Duration(len(lines)*o.Seeds)*o.until().Sub(0))
	defer bar.Clear()
	var err error
	c.runs, err = study.PlayAll(ctx, len(lines), o.Seeds, func(l, seed int) (*report.Run, error) {
		return playOn(&lines[l], o.day(seed).Config(), days[seed], o.until(), bar)
	})
	return c, err
}

// Versus plays the part of a day that three schedulers can run under berth, EASY backfill and
// FIFO, and writes a table with a column for each.
func Versus(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	c, err := o.play(ctx, schedulers(), Plain)
	if err != nil {
		return err
	}
	return o.To(w).Print(c.byFigure("The same day under three schedulers, as far as all of them can run it\n" + LeftOut))
}

// playOn plays a day on a line.
func playOn(l *study.Line, c berth.Config, arrivals []sim.Arrival, until berth.Time, bar *report.Progress) (*report.Run, error) {
	s, err := l.Make(c)
	if err != nil {
		return nil, err
	}
	moved := bar.Follow()
	r, err := play(s, arrivals, until, moved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	moved(until)
	return r, nil
}
