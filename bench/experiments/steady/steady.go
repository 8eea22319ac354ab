// Package steady is the experiment on a fleet that tasks arrive at and leave: how long they wait
// under each policy of placement, in the scheduling core itself. Help tells of it.
package steady

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench"
	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/openb"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Help says what the experiment does.
const Help = `usage: berthbench steady [flags]

The openb trace (Weng et al., USENIX ATC 2023) with departures. Tasks of a list arrive by chance, take what they
ask for as long as they did in the trace, and leave. Each policy is the scheduling core: "core" as it comes, any
other name the core with that policy as its scorer, which learns the mix from what is submitted.

  arrivals  Poisson; each is a task of the list, drawn with replacement. The rate is such that the GPU time asked
            for, in thousandths of GPUs, is the load times that of the fleet.
  gangs     so many percent of the tasks of 8 GPUs are gangs of 2 to 4 such members instead. They start at once or
            not at all. The rate counts them.
  run times those of the trace, but that a task ends after -longest hours at the latest. Without that, tasks that
            took a month and more would hold more than half of the fleet, and all would wait for them.
  the start the fleet begins with what runs in the steady state of a fleet without bounds: a number of tasks that
            is Poisson, each drawn by its run time, somewhere in it. They arrive one after the other. What begins
            after the warm-up, and before the end, is measured; the run goes on until all of that has started.
  queue     one, without limits; all tasks are of one class, and say how long they run. Nobody is evicted.
            A pass is run every ten seconds.

From a load of 1 on the queue grows for as long as the run is: waits say which policy is better, and not more.
"turned away" are tasks that could not start as they came though as many GPUs were free in all, of the products
that they accept, in thousandths. Differences are to the core, of the same seeds. With -verify the exit status
is 1 if another policy is better than the core in any figure of a load: by more than the 95 % interval of
the difference, and by more than the tolerance.

`

// Options say what is played, and how.
type Options struct {
	study.Output
	// Dir is the directory of the trace, Pods a list of tasks with times: a name of the published
	// trace (default, cpu050, ...) or a path.
	Dir, Pods string
	// Policies to play beside the core, each once, by the names of bench.Policies.
	Policies []string
	// Loads in percent of the fleet's GPUs, 1 to 200, and Seeds, each once.
	Loads []int
	Seeds []int64
	// Nodes of the fleet, evenly out of the list by name; 0: all.
	Nodes int
	// Gangs is how many percent of the tasks of 8 GPUs are gangs, 0 to 100.
	Gangs int
	// Longest is after how many hours a task ends at the latest, 0: its own run time.
	Longest int
	// Warmup hours are played before what is measured, and Hours are: up to 10000.
	Warmup, Hours int
	// Tolerance of the verdict: in minutes of wait, and in percent of the GPUs and of tasks.
	Tolerance, TolerancePercent float64
	// HTML is the file of a page with plots. Empty: there is none.
	HTML string
}

// Defaults are options that play a tenth of the fleet in a minute or two.
func Defaults() Options {
	return Options{
		Pods: "default", Policies: []string{"fgd", "berth", "best-fit", "first-fit"},
		Loads: []int{70, 90, 100, 110}, Seeds: []int64{42, 43, 44, 45, 46}, Nodes: 120, Gangs: 50, Longest: 24,
		Warmup: 6, Hours: 24, Tolerance: 1, TolerancePercent: 0.1,
	}
}

// Run makes the experiment, which Help describes, and writes its results to w. Where another policy
// is better than the core, the error is a [study.ErrFinding].
func Run(ctx context.Context, o Options, w io.Writer) error {
	b := &experiment{Options: o}
	if err := b.configure(); err != nil {
		return err
	}
	if err := b.open(); err != nil {
		return err
	}
	return study.Conduct(ctx, b, o.To(w))
}

// An experiment is what is to be played.
type experiment struct {
	Options
	policies []bench.NamedPolicy // the core first, with no policy
	nodes    []berth.Node
	specs    []bench.NodeSpec
	tasks    *tasks
}

// mostHours bounds what is played.
const mostHours = 10_000

// own is the policy that others are compared with.
const own = "core"

func (b *experiment) configure() error {
	if b.Dir == "" {
		return study.Missing("dir", "the folder with "+workload.OpenBNodes+" and openb_pod_list_default.csv", workload.OpenBSource)
	}
	b.policies = []bench.NamedPolicy{{Name: own, About: "the scheduling core"}}
	known := bench.Policies()
	for _, name := range b.Policies {
		at := slices.IndexFunc(known, func(p bench.NamedPolicy) bool { return p.Name == name })
		if at < 0 {
			return flagline.Misused("there is no policy %q to play beside the core", name)
		}
		b.policies = append(b.policies, known[at])
	}
	for i, p := range b.policies {
		if slices.ContainsFunc(b.policies[:i], func(o bench.NamedPolicy) bool { return o.Name == p.Name }) {
			return flagline.Misused("policy %q is named twice", p.Name)
		}
	}
	for i, load := range b.Loads {
		if load < 1 || load > 200 || slices.Contains(b.Loads[:i], load) {
			return flagline.Misused("-loads: %d is not in 1 to 200, or comes twice", load)
		}
	}
	for i, seed := range b.Seeds {
		if slices.Contains(b.Seeds[:i], seed) { // it would count as another sample
			return flagline.Misused("seed %d is named twice", seed)
		}
	}
	switch {
	case len(b.Loads) == 0 || len(b.Seeds) == 0:
		return flagline.Misused("a load and a seed are needed")
	case b.Gangs < 0 || b.Gangs > 100:
		return flagline.Misused("-gangs %d is not in 0 to 100", b.Gangs)
	case b.Nodes < 0:
		return flagline.Misused("-nodes %d is negative", b.Nodes)
	case b.Longest < 0 || b.Longest > mostHours:
		return flagline.Misused("-longest %d is not in 0 to %d hours", b.Longest, mostHours)
	case b.Warmup < 0 || b.Warmup > mostHours || b.Hours < 1 || b.Hours > mostHours:
		return flagline.Misused("-warmup %d is not in 0 to %d hours, or -hours %d not in 1 to as many", b.Warmup, mostHours, b.Hours)
	}
	return nil
}

// open reads the trace.
func (b *experiment) open() error {
	nodes, jobs, err := read(filepath.Join(b.Dir, workload.OpenBNodes), openb.PodFile(b.Dir, b.Pods))
	if err != nil {
		return err
	}
	slices.SortFunc(nodes, func(a, b berth.Node) int { return cmp.Compare(a.ID, b.ID) })
	if b.Nodes == 0 || b.Nodes > len(nodes) {
		b.Nodes = len(nodes)
	}
	for i := range b.Nodes {
		n := nodes[i*len(nodes)/b.Nodes]
		spec := bench.NodeSpec{Name: string(n.ID), CPUMilli: n.CPUMilli, MemoryMiB: n.MemoryMiB, GPUs: len(n.GPUs)}
		if spec.GPUs > 0 {
			spec.Model = n.GPUs[0].Product
		}
		b.nodes, b.specs = append(b.nodes, n), append(b.specs, spec)
	}
	b.tasks, err = newTasks(jobs, b.Gangs, berth.Duration(b.Longest)*berth.Hour, b.roomFor)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(openb.PodFile(b.Dir, b.Pods)), err)
	}
	if b.gpus() == 0 {
		return flagline.Misused("-nodes: %d of the list have no GPU", b.Nodes)
	}
	return nil
}

// roomFor is how many members of a group the empty fleet has nodes for, one a node.
func (b *experiment) roomFor(g *berth.Group) (nodes int) {
	for i := range b.specs {
		n, c := &b.specs[i], &g.Claim
		gpus := c.GPUs
		if c.Share != nil {
			gpus = 1
		}
		suits := gpus == 0 || len(g.Selector.Products) == 0 || slices.Contains(g.Selector.Products, n.Model)
		if suits && gpus <= n.GPUs && c.CPUMilli <= n.CPUMilli && c.MemoryMiB <= n.MemoryMiB {
			nodes++
		}
	}
	return nodes
}

// read has the nodes and the tasks of two files.
func read(nodes, tasks string) (_ []berth.Node, jobs []sim.Arrival, err error) {
	trace, err := workload.OpenBFiles(nodes, tasks)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, trace.Close()) }()
	for a, more := trace.Next(); more; a, more = trace.Next() {
		if _, is := a.Event.(berth.JobSubmitted); is {
			jobs = append(jobs, a)
		}
	}
	return trace.Nodes(), jobs, trace.Err()
}

func (b *experiment) gpus() (sum int) {
	for i := range b.nodes {
		sum += len(b.nodes[i].GPUs)
	}
	return sum
}

// A line is a policy at a load.
func (b *experiment) line(i int) (policy bench.NamedPolicy, load int) {
	return b.policies[i%len(b.policies)], b.Loads[i/len(b.policies)]
}

// Play makes all runs: by load and policy, then by seed.
func (b *experiment) Play(ctx context.Context) ([][]*run, error) {
	lines := len(b.Loads) * len(b.policies)
	bar := report.NewCount(b.Progress, lines*len(b.Seeds), "runs")
	defer bar.Clear()
	return study.PlayAll(ctx, lines, len(b.Seeds), func(line, seed int) (*run, error) {
		policy, load := b.line(line)
		r, err := b.play(ctx, policy, load, b.Seeds[seed])
		if err != nil {
			return nil, fmt.Errorf("%s at %d %%, seed %d: %w", policy.Name, load, b.Seeds[seed], err)
		}
		bar.Count()
		return r, nil
	})
}
