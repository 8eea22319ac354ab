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
	Dir, Nodes     string
	Pods, Policies []string
	// Own are played beside these: policies of the caller's, such as bench.CoreScoredBy makes.
	Own   []bench.NamedPolicy
	Seeds []int64
	Load  int
	// Play is what differs from the published experiment.
	Play  openb.Options
	Bound bool
}

// Defaults are the options of the published experiment, but for the folder of its trace.
func Defaults() Options {
	o := Options{Nodes: workload.OpenBNodes, Pods: []string{"default"}, Policies: []string{"all"}, Load: openb.Inflation}
	for seed := int64(openb.PublishedFirst); seed <= openb.PublishedLast; seed++ {
		o.Seeds = append(o.Seeds, seed)
	}
	return o
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	f.File(&o.Dir, "dir", "the folder with "+workload.OpenBNodes+" and openb_pod_list_default.csv", workload.OpenBSource)
	f.Text(&o.Nodes, "nodes", "the list of nodes, in that folder or a path")
	f.Words(&o.Pods, "pods", "the lists of tasks: names, paths, or all of the folder")
	f.Words(&o.Policies, "policies", "policies of package bench; all: the core and all of them")
	f.Seeds(&o.Seeds)
	f.Int(&o.Load, "load", 100, 1000, "play until so many percent of the GPUs have been asked for")
	f.Func("mix", "what policies know of the mix of tasks: oracle, that of the whole trace; online, what has arrived (default oracle)", func(text string) error {
		if o.Play.Learn = text == "online"; !o.Play.Learn && text != "oracle" {
			return errors.New("neither oracle nor online")
		}
		return nil
	})
	f.Yes(&o.Bound, "bound", "also tell how many GPUs any policy leaves over, at the least; some seconds a seed")
	f.Refuse(func() error {
		if len(o.Pods) == 0 || len(o.Policies)+len(o.Own) == 0 {
			return flagline.Misused("-policies and -pods each need a name")
		}
		return nil
	})
}

// Run makes the experiment, which Help describes, on lists of tasks, one after the other, and
// writes its results to w. The error says so if a published figure is not met.
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
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
	for i, p := range b.policies {
		if slices.ContainsFunc(b.policies[:i], func(o bench.NamedPolicy) bool { return o.Name == p.Name }) {
			return flagline.Misused("-policies: policy %q is named twice", p.Name)
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
		opened, err := openb.Open(nodes, path)
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
				failures = append(failures, missed(t.name, policy.Name, figure, meanOf(t.unallocated(p))))
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

// unallocated is what the runs of a policy leave over at a load of 100 %.
func (t *trace) unallocated(policy int) []float64 {
	return study.Each(t.runs[policy], func(r *openb.Run) float64 { return r.Unallocated(100) })
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
