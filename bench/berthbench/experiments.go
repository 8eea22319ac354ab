package main

import (
	"context"
	"io"

	"github.com/berth-sched/berth/bench/experiments/cases"
	"github.com/berth-sched/berth/bench/experiments/day"
	"github.com/berth-sched/berth/bench/experiments/grid"
	"github.com/berth-sched/berth/bench/experiments/openb"
	"github.com/berth-sched/berth/bench/experiments/optimum"
	"github.com/berth-sched/berth/bench/experiments/philly"
	"github.com/berth-sched/berth/bench/experiments/preempt"
	"github.com/berth-sched/berth/bench/experiments/scale"
	"github.com/berth-sched/berth/bench/experiments/soak"
	"github.com/berth-sched/berth/bench/experiments/steady"
	"github.com/berth-sched/berth/bench/experiments/utilisation"
	"github.com/berth-sched/berth/bench/experiments/week"
	"github.com/berth-sched/berth/bench/study"
)

// An experiment is a package of bench/experiments and a line in the table below.
type experiment struct {
	name, summary string
	// make returns its options, and what makes the experiment with them.
	make func() (options, conduct)
	// help is printed before the flags.
	help string
}

// options are those of any experiment.
type options interface {
	study.Options
	SetOutput(study.Output)
}

// A conduct makes an experiment with the options that were read.
type conduct func(context.Context, io.Writer) error

// experiments in the order in which they are listed.
var experiments = []experiment{
	{"week", "your own week: what FIFO, EASY backfill and berth would have made of the jobs that your cluster ran", of(week.Defaults, week.Run), week.Help},
	{"cases", "replay scenarios of other schedulers and compare the outcomes", of(cases.Defaults, cases.Run), ""},
	{"openb", "how many GPUs each placement policy leaves unused on the openb trace", of(openb.Defaults, openb.Run), openb.Help},
	{"optimum", "how far the core is from the best that any policy can do that knows the mix, on tiny fleets", of(optimum.Defaults, optimum.Run), optimum.Help},
	{"steady", "how long tasks of the openb trace wait that come and leave, by policy of placement in the core", of(steady.Defaults, steady.Run), steady.Help},
	{"philly", "how long jobs wait over three months of Philly's trace, by policy, on a shared fleet and on private shares", of(philly.Defaults, philly.Run), philly.Help},
	{"preempt", "the victims of bursts of inference on a full fleet, and what preemption costs, by policy", of(preempt.Defaults, preempt.Run), preempt.Help},
	{"utilisation", "how much of a service's GPU time is used: sharing space, and lending idle time to batch jobs", of(utilisation.Defaults, utilisation.Run), utilisation.Help},
	{"day", "what each change of policy gives on the reference day, and what FIFO and EASY backfill do", of(day.Defaults, day.Run), day.Help},
	{"grid", "where berth wins and loses against EASY backfill: a hundred cells of fleet, load and what is known", of(grid.Defaults, grid.Run), grid.Help},
	{"expected", "how often jobs start by the instants that were told as expected, over the cells of the grid", of(grid.ExpectedDefaults, grid.RunExpected), grid.ExpectedHelp},
	{"scale", "what decisions, answers and snapshots cost on fleets of up to a million GPUs", of(scale.Defaults, scale.Run), scale.Help},
	{"soak", "drawn worlds under faults, restores and questions, with the checker at every step, for as long as you like", of(soak.Defaults, soak.Run), soak.Help},
}

// of makes an experiment of its default options.
func of[O any, P interface {
	*O
	options
}](defaults func() O, run func(context.Context, O, io.Writer) error) func() (options, conduct) {
	return func() (options, conduct) {
		o := defaults()
		return P(&o), func(ctx context.Context, w io.Writer) error { return run(ctx, o, w) }
	}
}
