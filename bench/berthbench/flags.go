package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/berth-sched/berth/bench/experiments/cases"
	"github.com/berth-sched/berth/bench/experiments/day"
	"github.com/berth-sched/berth/bench/experiments/expected"
	"github.com/berth-sched/berth/bench/experiments/fairness"
	"github.com/berth-sched/berth/bench/experiments/nvl72"
	"github.com/berth-sched/berth/bench/experiments/openb"
	"github.com/berth-sched/berth/bench/experiments/optimum"
	"github.com/berth-sched/berth/bench/experiments/philly"
	"github.com/berth-sched/berth/bench/experiments/preempt"
	"github.com/berth-sched/berth/bench/experiments/scale"
	"github.com/berth-sched/berth/bench/experiments/steady"
	"github.com/berth-sched/berth/bench/experiments/topo"
	"github.com/berth-sched/berth/bench/experiments/traces"
	"github.com/berth-sched/berth/bench/experiments/week"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/study"
)

// An experiment is a package of bench/experiments and a line in the table below.
type experiment struct {
	name, summary string
	// flags declares flags on options, and returns what makes the experiment with these.
	flags func(*flag.FlagSet) conduct
	// help is printed before the flags.
	help string
}

// A conduct makes an experiment with the options that were read.
type conduct func(context.Context, study.Output, io.Writer) error

// with makes an experiment with options that hold all that was read, but for the output.
func with[O any](o *O, output *study.Output, run func(context.Context, O, io.Writer) error) conduct {
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		*output = out
		return run(ctx, *o, w)
	}
}

// experiments in the order in which they are listed.
var experiments = []experiment{
	{"week", "your own week: what FIFO, EASY backfill and berth would have made of the jobs that your cluster ran", weekFlags, week.Help},
	{"cases", "replay scenarios of other schedulers and compare the outcomes", casesFlags, ""},
	{"topo", "where gangs of 1 to 1,024 GPUs go on four fleets, and how fast", topoFlags, ""},
	{"nvl72", "occupancy of 5,000 NVL72 trays with and without topology constraints", nvl72Flags, ""},
	{"fairness", "share against entitlement of three teams over a week, with and without past use", fairnessFlags, fairness.Help},
	{"openb", "how many GPUs each placement policy leaves unused on the openb trace", openbFlags, openb.Help},
	{"optimum", "how far the core is from the best that any policy can do that knows the mix, on tiny fleets", optimumFlags, optimum.Help},
	{"steady", "how long tasks of the openb trace wait that come and leave, by policy of placement in the core", steadyFlags, steady.Help},
	{"philly", "how long jobs wait over three months of Philly's trace, by policy, on a shared fleet and on private shares", phillyFlags, philly.Help},
	{"preempt", "the victims of bursts of inference on a full fleet, and what preemption costs, by policy", preemptFlags, preempt.Help},
	{"day", "what each change of policy gives on the reference day, and what FIFO and EASY backfill do", dayFlags, day.Help},
	{"expected", "by how much expected starts err over a week of the reference day, by how far ahead was asked", expectedFlags, expected.Help},
	{"scale", "what decisions, answers and snapshots cost on fleets of up to a million GPUs", scaleFlags, scale.Help},
	{"traces", "what traces hold, and whether they can be read to their end", tracesFlags, traces.Help},
}

func casesFlags(f *flag.FlagSet) conduct {
	o := cases.Options{}
	f.StringVar(&o.File, "file", "", "the file with the scenarios, such as bench/cases/testdata/kai.json; its format is recognised")
	f.BoolVar(&o.Verbose, "v", false, "print the names of scenarios, and the difference of each one that differs")
	f.BoolVar(&o.Markdown, "markdown", false, "print the scenarios that differ alone, as a table in Markdown")
	return with(&o, &o.Output, cases.Run)
}

func topoFlags(f *flag.FlagSet) conduct {
	o := topo.Defaults()
	f.StringVar(&o.Fleet, "fleet", "", "only this fleet: h100, nvl72, lingjun or mixed")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the jobs that fill the fleet beforehand")
	f.DurationVar(&o.Time, "time", o.Time, "how long to measure each gang")
	f.StringVar(&o.Lingjun, "lingjun", "", "topo.csv of the Lingjun trace of https://github.com/alibaba/clusterdata; without, that fleet is left out")
	return with(&o, &o.Output, topo.Run)
}

func nvl72Flags(f *flag.FlagSet) conduct {
	o := nvl72.Defaults()
	f.IntVar(&o.Trays, "trays", o.Trays, "trays of the fleet")
	f.Float64Var(&o.Days, "days", o.Days, "days to measure")
	f.Float64Var(&o.Warmup, "warmup", o.Warmup, "days to play before those that are measured")
	f.IntVar(&o.Backlog, "backlog", o.Backlog, "jobs that wait at every instant")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the jobs")
	f.TextVar(&o.Locality, "locality", o.Locality, "strict, balanced or loose")
	f.IntVar(&o.Reserved, "reserved", o.Reserved, "gangs with a reservation at a time; 0: the core's default, -1: none")
	f.IntVar(&o.Backfill, "backfill", o.Backfill, "backfill budget of a pass; 0: the default")
	f.BoolVar(&o.Rough, "rough", o.Rough, "jobs state only a time limit, which is above their run time")
	f.BoolVar(&o.Check, "check", o.Check, "check the core's invariants every simulated hour (slow)")
	return with(&o, &o.Output, nvl72.Run)
}

func fairnessFlags(f *flag.FlagSet) conduct {
	o := fairness.Defaults()
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes of 8 H100")
	f.IntVar(&o.Days, "days", o.Days, "days from Monday on")
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "weeks drawn, for the means and their confidence intervals")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the first week, which is the one shown over time")
	f.DurationVar(&o.HalfLife, "half-life", o.HalfLife, "half-life of past use in the second policy")
	f.IntVar(&o.Largest, "largest", o.Largest, "GPUs of the largest job; 1: nothing is indivisible")
	f.IntVar(&o.Reserved, "reserved", o.Reserved, "gangs with a reservation at a time; 0: the core's default, -1: none")
	f.StringVar(&o.HTML, "html", "", "draw the first week on a page, in this file")
	return with(&o, &o.Output, fairness.Run)
}

func openbFlags(f *flag.FlagSet) conduct {
	o := openb.Defaults()
	f.StringVar(&o.Dir, "dir", "", "the directory of the trace: cluster-trace-gpu-v2023/csv of https://github.com/alibaba/clusterdata")
	f.StringVar(&o.Nodes, "nodes", o.Nodes, "the list of nodes, in that directory or a path")
	pods := f.String("pods", strings.Join(o.Pods, ","), "the lists of tasks, with commas between: names, paths, or all of the directory")
	policies := f.String("policies", strings.Join(o.Policies, ","), "policies, with commas between")
	seeds := f.String("seeds", fmt.Sprintf("%d-%d", o.Seeds[0], o.Seeds[len(o.Seeds)-1]), "seeds, as 42-51 or 42,44")
	mix := f.String("mix", "oracle", "what policies know of the mix of tasks: oracle, that of the whole trace; online, what has arrived")
	f.IntVar(&o.Load, "load", o.Load, "play until so many percent of the GPUs have been asked for, at least 100")
	f.BoolVar(&o.Bound, "bound", false, "also tell how many GPUs any policy leaves over, at the least; some seconds a seed")
	f.StringVar(&o.HTML, "html", "", "write a page with plots to this file")
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		o.Output, o.Pods, o.Policies = out, strings.Split(*pods, ","), strings.Split(*policies, ",")
		switch *mix {
		case "oracle":
		case "online":
			o.Play.Learn = true
		default:
			return flagline.Misused("-mix %q is neither oracle nor online", *mix)
		}
		var err error
		if o.Seeds, err = parseSeeds(*seeds); err != nil {
			return flagline.Misused("-seeds %q: %v", *seeds, err)
		}
		return openb.Run(ctx, o, w)
	}
}

// parseSeeds reads numbers and ranges with commas between.
func parseSeeds(text string) ([]int64, error) {
	const most = 10_000
	var list []int64
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseInt(first, 10, 32)
		to := from
		if isRange && err == nil {
			to, err = strconv.ParseInt(last, 10, 32)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a number nor a range of them", part)
		case to < from || to-from >= most || len(list) >= most:
			return nil, fmt.Errorf("%q is no range of 1 to %d seeds", part, most)
		}
		for seed := from; seed <= to; seed++ {
			list = append(list, seed)
		}
	}
	return list, nil
}

func optimumFlags(f *flag.FlagSet) conduct {
	o := optimum.Defaults()
	policies := f.String("policies", strings.Join(o.Policies, ","), "policies to play beside the core, with commas between")
	f.IntVar(&o.Runs, "runs", o.Runs, "runs of each fleet")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the first run")
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		o.Output, o.Policies = out, strings.Split(*policies, ",")
		return optimum.Run(ctx, o, w)
	}
}

func steadyFlags(f *flag.FlagSet) conduct {
	o := steady.Defaults()
	f.StringVar(&o.Dir, "dir", "", "the directory of the trace: cluster-trace-gpu-v2023/csv of https://github.com/alibaba/clusterdata")
	f.StringVar(&o.Pods, "pods", o.Pods, "the list of tasks, a name or a path; those without times cannot be played")
	policies := f.String("policies", strings.Join(o.Policies, ","), "policies to compare the core with, with commas between")
	loads := f.String("loads", "70,90,100,110", "loads in percent of the GPUs, with commas between")
	seeds := f.String("seeds", fmt.Sprintf("%d-%d", o.Seeds[0], o.Seeds[len(o.Seeds)-1]), "seeds, as 42-51 or 42,44")
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes, evenly out of the list; 0: all")
	f.IntVar(&o.Gangs, "gangs", o.Gangs, "percent of the tasks of 8 GPUs that are gangs of 2 to 4 such members")
	f.IntVar(&o.Longest, "longest", o.Longest, "hours after which a task ends at the latest; 0: as in the trace")
	f.IntVar(&o.Warmup, "warmup", o.Warmup, "hours to play before those that are measured")
	f.IntVar(&o.Hours, "hours", o.Hours, "hours to measure")
	f.Float64Var(&o.Tolerance, "tolerance", o.Tolerance, "minutes of wait by which another policy may be better")
	f.Float64Var(&o.TolerancePercent, "tolerance-percent", o.TolerancePercent, "by how much it may be better in percentages")
	f.StringVar(&o.HTML, "html", "", "write a page with plots to this file")
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		o.Output, o.Policies, o.Loads = out, strings.Split(*policies, ","), nil
		for text := range strings.SplitSeq(*loads, ",") {
			load, err := strconv.Atoi(text)
			if err != nil {
				return flagline.Misused("-loads: %q is no percentage", text)
			}
			o.Loads = append(o.Loads, load)
		}
		var err error
		if o.Seeds, err = parseSeeds(*seeds); err != nil {
			return flagline.Misused("-seeds %q: %v", *seeds, err)
		}
		return steady.Run(ctx, o, w)
	}
}

func phillyFlags(f *flag.FlagSet) conduct {
	o := philly.Defaults()
	f.StringVar(&o.File, "file", "", "the trace: philly_jobs_sia.csv.gz of the artifact of Sia, https://github.com/siasosp23/artifacts")
	f.IntVar(&o.GPUs, "gpus", o.GPUs, "GPUs of the fleet")
	f.Int64Var(&o.Compress, "compress", o.Compress, "let jobs arrive so many times as fast")
	f.IntVar(&o.From, "from", 0, "leave out jobs of the first days; the trace is busy from day 20 on")
	f.IntVar(&o.Days, "days", 0, "take jobs of so many days; 0: all")
	f.DurationVar(&o.Tolerance, "tolerance", o.Tolerance, "by which the mean delay of a virtual cluster may exceed that in private; its 99th percentile by three times as much")
	policies := f.String("policies", "all", "those to play, separated by commas")
	f.BoolVar(&o.Check, "check", false, "check every event and order with berthtest/check, which is slow")
	f.StringVar(&o.HTML, "html", "", "draw plots on a page, in this file")
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		if o.Output = out; *policies != "all" {
			o.Policies = strings.Split(*policies, ",")
		}
		return philly.Run(ctx, o, w)
	}
}

func preemptFlags(f *flag.FlagSet) conduct {
	o := preempt.Defaults()
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes of 8 H100")
	f.IntVar(&o.Days, "days", o.Days, "days")
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "weeks drawn, for the means and their confidence intervals")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the first week, which is the one shown over time")
	f.IntVar(&o.Elastic, "elastic", o.Elastic, "percent of the gangs of four nodes and more that can do with half of them")
	f.DurationVar(&o.Interval, "interval", o.Interval, "between the checkpoints that gangs write unasked")
	f.DurationVar(&o.Regroup, "regroup", o.Regroup, "for which an elastic gang stands still when it grows or shrinks")
	f.DurationVar(&o.Target, "target", o.Target, "in which 99 of 100 replicas are to run")
	f.StringVar(&o.HTML, "html", "", "draw the first week on a page, in this file")
	return with(&o, &o.Output, preempt.Run)
}

func dayFlags(f *flag.FlagSet) conduct {
	o := day.Defaults()
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes of 8 H100")
	f.IntVar(&o.Load, "load", o.Load, "demand of the reference day, in percent")
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "days drawn")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the first day")
	return with(&o, &o.Output, day.Run)
}

func weekFlags(f *flag.FlagSet) conduct {
	o := week.Defaults()
	f.StringVar(&o.Jobs, "jobs", "", "the jobs: a file of sacct, in the Standard Workload Format, or of kubectl")
	f.StringVar(&o.Nodes, "nodes", "", `the nodes: what "scontrol show node" printed`)
	f.StringVar(&o.Topology, "topology", "", "topology.conf or topology.yaml of Slurm")
	f.StringVar(&o.Shares, "shares", "", `the shares of accounts: what "sshare --all --parsable" printed`)
	f.IntVar(&o.GPUs, "gpus", 0, "GPUs of the fleet without -nodes; 0: as many as the file itself held")
	f.IntVar(&o.NodeGPUs, "node-gpus", o.NodeGPUs, "GPUs of a node without -nodes")
	f.IntVar(&o.ProcessorsPerGPU, "processors-per-gpu", o.ProcessorsPerGPU, "processors of a log in the Standard Workload Format that count as a GPU")
	f.DurationVar(&o.Checkpoint, "checkpoint", 0, "how long every job takes to write a checkpoint when it is asked; 0: none can")
	f.StringVar(&o.HTML, "html", "", "draw plots on a page, in this file")
	return with(&o, &o.Output, week.Run)
}

func expectedFlags(f *flag.FlagSet) conduct {
	o := expected.Defaults()
	f.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes of 8 H100")
	f.IntVar(&o.Days, "days", o.Days, "days")
	f.IntVar(&o.Load, "load", o.Load, "demand of the reference day, in percent")
	f.TextVar(&o.Every, "every", o.Every, "how often is asked")
	f.IntVar(&o.Most, "most", o.Most, "jobs that are asked about at a time, at the most")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the workload")
	return with(&o, &o.Output, expected.Run)
}

func scaleFlags(f *flag.FlagSet) conduct {
	o := scale.Defaults()
	f.BoolVar(&o.Short, "short", false, "small fleets alone, in some seconds")
	only := f.String("only", "", "only states with this in the name, or with one of several, separated by commas")
	f.DurationVar(&o.Time, "time", o.Time, "how long to measure each figure")
	f.StringVar(&o.Save, "save", "", "write the figures to this file, for -against")
	f.StringVar(&o.Against, "against", "", "compare with the figures of this file")
	f.BoolVar(&o.Markdown, "markdown", false, "print the table alone, in Markdown")
	return func(ctx context.Context, out study.Output, w io.Writer) error {
		if o.Output, o.Verify = out, true; *only != "" {
			o.Only = strings.Split(*only, ",")
		}
		return scale.Run(ctx, o, w)
	}
}

func tracesFlags(f *flag.FlagSet) conduct {
	o := traces.Options{}
	f.StringVar(&o.Dir, "dir", "", "the folder with the published traces, each in a folder of its own")
	return with(&o, &o.Output, traces.Run)
}
