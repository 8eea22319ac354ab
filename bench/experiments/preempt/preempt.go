// Package preempt is the experiment on victims, and what they cost; Help tells of it.
package preempt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
)

// Help says what the experiment does, and what it does not.
const Help = `preempt plays a week of a full fleet of 8-GPU nodes under several policies of preemption
for inference, and reports what each one costs.

The fleet trains gangs of 8 to 512 GPUs that run for hours and days and write checkpoints.
Replicas of 1 to 8 GPUs come and go with the sun and, three
times a day, in crowds of 3 to 10 % of the fleet within three minutes. Half of them are
in a queue that lends what it does not use, the others in that of the gangs. A day before
the week fills the fleet and is not counted. Workload and costs are in week.go of
bench/experiments/preempt, each figure with its source.

  kill by priority   the gang of the lowest priority is killed, of equals the youngest
  kill the newest    the gang that started last is killed
  checkpoint, then   by priority; the gang writes a checkpoint first
  berth              the core as it is by default
  berth, at once     the core, with gangs that write no checkpoint when they are asked
  off                replicas wait until a gang ends

Under all of them the core places. Under the first three it preempts no job; the victim
is chosen outside, as soon as a replica finds no place, and one gang is stopped for
each replica that does not fit beside those with victims that are still stopping: that
gang has whole nodes, so one is enough. All policies take the same time to stop and to
start. Gangs are of one priority for the core, which then lets none of them preempt
another; only the policies "by priority" see priorities.

What is lost is counted from the orders and the true progress of the gangs: work that is
done again, and the GPU time in which gangs write the checkpoints that they were asked
for, stop, start and warm up anew, and regroup as members come and go. Inference waits
from arrival until it runs; a replica that never ran waited for as long as it was wanted.

A policy that waits for checkpoints admits later than one that kills. So policies are compared
at equal delay of inference. The policies that choose victims outside are played with
patience, too: a replica waits for that long before a gang is stopped for it. That makes a line of
p99 against GPU-hours lost for each of them, and berth is compared with what the line has at
the p99 of berth. -html draws the lines. The same weeks are played once more without elastic gangs.
The experiment fails if "berth" does not lose ten times fewer GPU-hours than "kill by
priority" at equal p99, or five times where no gang is elastic; if 99 of 100 replicas do not run
within -target; or if a replica is evicted. How much less it loses depends on -interval, as it
never does work again, and on -regroup, as the core has elastic gangs give nodes back before
whole gangs have to go.

It does not measure failures, topology, how long victims wait, nor time on the
wall.

`

// Options say how weeks are drawn and played.
type Options struct {
	study.Output
	Nodes, Days, Seeds        int
	Seed                      uint64
	Elastic                   int
	Interval, Regroup, Target time.Duration
	HTML                      string
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{
		Nodes: 512, Days: 7, Seeds: 5, Seed: 1, Elastic: 25,
		Interval: time.Hour, Regroup: 5 * time.Second, Target: 3 * time.Minute,
	}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.Int(&o.Nodes, "nodes", 16, 4096, "nodes of 8 H100")
	f.Int(&o.Days, "days", 1, 28, "days")
	f.Int(&o.Seeds, "seeds", 2, 100, "weeks drawn, for the means and their confidence intervals")
	f.Seed(&o.Seed, "seed of the first week")
	f.Int(&o.Elastic, "elastic", 0, 100, "percent of the gangs of four nodes and more that can do with half of them")
	f.Time(&o.Interval, "interval", time.Minute, 24*time.Hour, "between the checkpoints that gangs write unasked")
	f.Time(&o.Regroup, "regroup", 0, time.Hour, "for which an elastic gang stands still when it grows or shrinks")
	f.Time(&o.Target, "target", time.Second, 24*time.Hour, "in which 99 of 100 replicas are to run")
	f.HTML(&o.HTML)
}

// Run makes the experiment, which Help describes, and writes its results to w. The error says so
// if it does not show what it is for.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
	return study.Conduct(ctx, newExperiment(o), o.To(w))
}

// An experiment is made of options that make sense.
type experiment struct {
	Options
	policies  []policy
	frontiers []frontier
}

// The policies that are compared by name, in the order in which all are listed.
const (
	kill = iota
	newest
	ask
	shipped
	atOnce
	never
	compared // by name; the others are points of the frontier
)

func newExperiment(o Options) *experiment {
	nobody := berth.Config{Policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}}
	b := &experiment{Options: o, policies: []policy{
		kill:    {name: "kill by priority", config: nobody, before: byPriority},
		newest:  {name: "kill the newest", config: nobody, before: newestFirst},
		ask:     {name: "checkpoint, then", config: nobody, before: byPriority, asks: true},
		shipped: {name: "berth"},
		atOnce:  {name: "berth, at once", deaf: true},
		never:   {name: "off", config: nobody},
	}}
	b.addFrontiers()
	return b
}

// names are those of the policies that are compared by name.
func (b *experiment) names() (names []string) {
	for i := range b.policies[:compared] {
		names = append(names, b.policies[i].name)
	}
	return names
}

func (b *experiment) gpus() int64 { return int64(b.Nodes) * machine.NodeGPUs }

// Play runs every week under every policy. The result is by policy, then by seed.
func (b *experiment) Play(ctx context.Context) ([][]*run, error) {
	return study.PlayRuns(ctx, b.Output, len(b.policies), b.Seeds, func(p, seed int) (*run, error) {
		r, err := b.newRun(&b.policies[p], b.arrivals(b.Seed+uint64(seed), b.policies[p].rigid), nil)
		if err == nil {
			err = r.play()
			r.forget()
		}
		return r, err
	})
}

// By which factor berth is to lose less than killing by priority: with elastic gangs and without.
const lessLost, lessLostRigid = 10, 5

// Verdict asks how much less berth loses than killing by priority at its own delay, how late it
// is, and whether it evicts inference.
func (b *experiment) Verdict(out *study.Printer, runs [][]*run) (wrong []string) {
	for k, f := range b.frontiers {
		least := lessLost
		if k == len(b.frontiers)-1 {
			least = lessLostRigid
		}
		for i, line := range f.lines[:len(f.lines)-1] {
			less, name := f.timesLess(line, runs), b.policies[line[0]].name
			middle := study.Quantile(less, 0.5)
			out.Note("%s, at a p99 of %.0f s: %s loses %.1f times fewer GPU-hours than %s (%.1f to %.1f by week).",
				f.weeks, median(runs[f.own], (*run).p99), b.policies[shipped].name, middle, name, slices.Min(less), slices.Max(less))
			if i == 0 && middle < float64(least) {
				wrong = append(wrong, fmt.Sprintf("%s, %s loses only %.1f times fewer GPU-hours than %s", f.weeks, b.policies[shipped].name, middle, name))
			}
		}
	}
	for _, p := range []int{kill, shipped} {
		if late := median(runs[p], (*run).p99); late > b.Target.Seconds() {
			wrong = append(wrong, fmt.Sprintf("%s: 99 of 100 replicas run after %.0f s, later than -target", b.policies[p].name, late))
		}
	}
	for p, policy := range b.policies {
		if dropped := study.Quantile(study.Each(runs[p], func(r *run) float64 { return float64(r.book.dropped) }), 1); dropped > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %.0f replicas were preempted in a week", policy.name, dropped))
		}
	}
	return wrong
}

func median(runs []*run, figure func(*run) float64) float64 {
	return study.Quantile(study.Each(runs, figure), 0.5)
}
