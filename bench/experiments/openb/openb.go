// Package openb is the experiment on openb under any policies; Help tells of it, and package
// bench/openb of what is played.
package openb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
)

// Help says what the experiment does.
const Help = `usage: berthbench openb [flags]

The experiment of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), by policy of placement: tasks
arrive at a fleet in an order drawn from a seed, and never leave, until they have asked for 130 % of its
GPUs. How many GPUs are left over? See go doc ./bench/openb for every rule, go doc ./bench for the policies.
Lists of the published trace are named as there (default, cpu050, ...), others by a path. Policy core-NAME
is the scheduling core with a policy as its scorer, which learns the mix from what is submitted. With -verify
the exit status is 1 if a published figure is not met.

`

// Options say what is played, and how.
type Options struct {
	study.Output
	// Dir is the directory of the trace; Nodes the list of nodes, in it or a path.
	Dir, Nodes string
	// Pods are the lists of tasks: names of the published trace (default, cpu050, ...), paths, or
	// "all" alone for those of the directory.
	Pods []string
	// Policies to play, each once, by bench.Find; "all" stands for the core and all of
	// bench.Policies.
	Policies []string
	// Own are played beside these: policies of the caller's, such as bench.CoreScoredBy makes.
	Own []bench.NamedPolicy
	// Seeds to draw, each once.
	Seeds []int64
	// Load is until how many percent of the GPUs have been asked for, 100 to 1000.
	Load int
	// Play is what differs from the published experiment.
	Play openb.Options
	// Bound also tells how many GPUs any policy leaves over, at the least; some seconds a seed.
	Bound bool
	// HTML is the file of a page with plots. Empty: there is none.
	HTML string
}

// Defaults are the options of the published experiment, on its trace in the working directory.
func Defaults() Options {
	o := Options{Dir: ".", Nodes: workload.OpenBNodes, Pods: []string{"default"}, Policies: []string{"all"}, Load: openb.Inflation}
	for seed := int64(openb.PublishedFirst); seed <= openb.PublishedLast; seed++ {
		o.Seeds = append(o.Seeds, seed)
	}
	return o
}

// Run makes the experiment, which Help describes, on lists of tasks, one after the other, and
// writes its results to w. The error says so if a published figure is not met.
func Run(ctx context.Context, o Options, w io.Writer) error {
	b := &experiment{Options: o, out: o.To(w)}
	if err := b.configure(); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	return b.run(ctx)
}

// lists are the names or paths of lists of tasks.
func (o *Options) lists() ([]string, error) {
	if len(o.Pods) != 1 || o.Pods[0] != "all" {
		return o.Pods, nil
	}
	files, err := filepath.Glob(openb.PodFile(o.Dir, "*"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no list of tasks in %s", o.Dir)
	}
	return files, err
}

// An experiment is what is to be played.
type experiment struct {
	Options
	out      *study.Printer
	policies []bench.NamedPolicy
	traces   []*trace
}

// A trace is one list of tasks, and what came of it.
type trace struct {
	name   string
	trace  *openb.Trace
	runs   [][]*openb.Run // by policy and seed
	bounds []float64      // by seed, if that was asked for
}

func (b *experiment) configure() error {
	if b.Dir == "" {
		return study.Missing("dir", "the folder with "+workload.OpenBNodes+" and openb_pod_list_default.csv", workload.OpenBSource)
	}
	for _, name := range b.Policies {
		if name == "all" {
			b.policies = append(append(b.policies, bench.InCore()), bench.Policies()...)
			continue
		}
		p, err := bench.Find(name)
		if err != nil {
			return flagline.Misused("-policies: there is no policy %q", name)
		}
		b.policies = append(b.policies, p)
	}
	b.policies = append(b.policies, b.Own...)
	if len(b.policies) == 0 || len(b.Seeds) == 0 || len(b.Pods) == 0 {
		return flagline.Misused("-policies, -seeds and -pods each need a name or a number")
	}
	for i, p := range b.policies {
		if slices.ContainsFunc(b.policies[:i], func(o bench.NamedPolicy) bool { return o.Name == p.Name }) {
			return flagline.Misused("-policies: policy %q is named twice", p.Name)
		}
	}
	if err := study.Within("load", b.Load, 100, 1000); err != nil {
		return err
	}
	for i, seed := range b.Seeds {
		if slices.Contains(b.Seeds[:i], seed) { // it would count as another sample
			return flagline.Misused("-seeds: seed %d is named twice", seed)
		}
	}
	return nil
}

// open reads the lists.
func (b *experiment) open() error {
	nodes := b.Nodes
	if !strings.ContainsAny(nodes, `/\`) {
		nodes = filepath.Join(b.Dir, nodes)
	}
	lists, err := b.lists()
	if err != nil {
		return err
	}
	for _, list := range lists {
		path := openb.PodFile(b.Dir, list)
		opened, err := openb.OpenFiles(nodes, path)
		if err != nil {
			return err
		}
		name, published := strings.CutPrefix(filepath.Base(path), "openb_pod_list_")
		if published {
			name = strings.TrimSuffix(name, ".csv")
		}
		b.traces = append(b.traces, &trace{name: name, trace: opened})
	}
	return nil
}

func (b *experiment) run(ctx context.Context) error {
	lines := len(b.policies)
	if b.Bound {
		lines++
	}
	bar := report.NewCount(b.out.Progress, len(b.traces)*lines*len(b.Seeds), "runs")
	for _, t := range b.traces {
		if err := b.play(ctx, t, bar); err != nil {
			bar.Clear()
			return err
		}
		bar.Clear()
		if err := b.report(t); err != nil {
			return err
		}
	}
	if err := b.writePage(); err != nil {
		return err
	}
	return study.Found(b.verdict())
}

// play makes all runs of a trace.
func (b *experiment) play(ctx context.Context, t *trace, bar *report.Progress) error {
	if b.Bound {
		t.bounds = make([]float64, len(b.Seeds))
		study.AtOnce(len(b.Seeds), func(i int) {
			t.bounds[i] = t.trace.Draw(b.Seeds[i], b.Load).Bound(100)
			bar.Count()
		})
	}
	var err error
	t.runs, err = study.PlayAll(ctx, len(b.policies), len(b.Seeds), func(policy, seed int) (*openb.Run, error) {
		p := b.policies[policy]
		run, err := t.trace.Draw(b.Seeds[seed], b.Load).Play(p.New(b.Seeds[seed]), b.Play)
		if err != nil {
			return nil, fmt.Errorf("%s, seed %d: %s: %w", t.name, b.Seeds[seed], p.Name, err)
		}
		bar.Count()
		return run, nil
	})
	return err
}

// published reports whether the runs are those of the published experiment.
func (b *experiment) published() bool {
	if b.Load != openb.Inflation || b.Play.Learn || len(b.Seeds) != openb.PublishedLast-openb.PublishedFirst+1 {
		return false
	}
	return slices.Min(b.Seeds) == openb.PublishedFirst && slices.Max(b.Seeds) == openb.PublishedLast
}

// verdict fails if figures that are published are not met to the rounding. Random draws otherwise
// than the published program did.
func (b *experiment) verdict() error {
	if !b.published() {
		return nil
	}
	var failures []error
	for _, t := range b.traces {
		for p, policy := range b.policies {
			if figure, ok := t.trace.Published(policy.Name); ok && policy.Name != "random" {
				failures = append(failures, missed(t.name, policy.Name, figure, meanOf(t.at(p, 100, openb.Point.Unallocated))))
			}
		}
	}
	return errors.Join(failures...)
}

// missed is an error if a mean does not round to the figure that is published.
func missed(trace, policy string, figure, mean float64) error {
	if math.Abs(mean-figure) <= 0.005+1e-9 {
		return nil
	}
	return fmt.Errorf("%s: %s leaves %.3f %% of the GPUs instead of %.2f %%", trace, policy, mean, figure)
}

// at is a figure of the runs of a policy at a load.
func (t *trace) at(policy, percent int, figure func(openb.Point) float64) []float64 {
	return study.Each(t.runs[policy], func(r *openb.Run) float64 { return figure(r.At(percent)) })
}

// meanOf is a mean of figures in hundredths, without what binary fractions add to it, so that it
// rounds as a decimal would.
func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return math.Round(1e9*sum/float64(cmp.Or(len(values), 1))) / 1e9
}
