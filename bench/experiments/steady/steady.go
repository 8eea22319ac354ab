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
	Dir, Pods                            string
	Policies                             []string
	Loads                                []int
	Seeds                                []int64
	Nodes, Gangs, Longest, Warmup, Hours int
	Tolerance, TolerancePercent          float64
}

// Defaults are options that play a tenth of the fleet in a minute or two.
func Defaults() Options {
	return Options{
		Pods: "default", Policies: []string{"fgd", "berth", "best-fit", "first-fit"},
		Loads: []int{70, 90, 100, 110}, Seeds: []int64{42, 43, 44, 45, 46}, Nodes: 120, Gangs: 50, Longest: 24,
		Warmup: 6, Hours: 24, Tolerance: 1, TolerancePercent: 0.1,
	}
}

// Flags says what each option is.
func (o *Options) Flags(f *study.Flags) {
	const mostHours, noBound = 10_000, 1e9
	f.File(&o.Dir, "dir", "the folder with "+workload.OpenBNodes+" and openb_pod_list_default.csv", workload.OpenBSource)
	f.Text(&o.Pods, "pods", "the list of tasks, a name or a path; those without times cannot be played")
	f.Words(&o.Policies, "policies", "policies of package bench to compare the core with")
	f.Numbers(&o.Loads, "loads", 1, 200, "loads in percent of the GPUs")
	f.Seeds(&o.Seeds)
	f.Int(&o.Nodes, "nodes", 0, 65_536, "nodes, evenly out of the list by name; 0: all")
	f.Int(&o.Gangs, "gangs", 0, 100, "percent of the tasks of 8 GPUs that are gangs of 2 to 4 such members")
	f.Int(&o.Longest, "longest", 0, mostHours, "hours after which a task ends at the latest; 0: as in the trace")
	f.Int(&o.Warmup, "warmup", 0, mostHours, "hours to play before those that are measured")
	f.Int(&o.Hours, "hours", 1, mostHours, "hours to measure")
	f.Float(&o.Tolerance, "tolerance", 0, noBound, "minutes of wait by which another policy may be better")
	f.Float(&o.TolerancePercent, "tolerance-percent", 0, noBound, "by how much it may be better in percentages")
}

// Run makes the experiment, which Help describes, and writes its results to w. Where another policy
// is better than the core, the error is a [study.ErrFinding].
func Run(ctx context.Context, o Options, w io.Writer) error {
	if err := study.Check(&o); err != nil {
		return err
	}
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

// own is the policy that others are compared with.
const own = "core"

func (b *experiment) configure() error {
	b.policies = []bench.NamedPolicy{{Name: own, About: "the scheduling core"}}
	known := bench.Policies()
	for _, name := range b.Policies {
		at := slices.IndexFunc(known, func(p bench.NamedPolicy) bool { return p.Name == name })
		if at < 0 {
			return flagline.Misused("there is no policy %q to play beside the core", name)
		}
		b.policies = append(b.policies, known[at])
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
		b.nodes, b.specs = append(b.nodes, n), append(b.specs, bench.SpecOf(&n))
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
	return study.PlayRuns(ctx, b.Output, len(b.Loads)*len(b.policies), len(b.Seeds), func(line, seed int) (*run, error) {
		policy, load := b.line(line)
		r, err := b.play(ctx, policy, load, b.Seeds[seed])
		if err != nil {
			return nil, fmt.Errorf("%s at %d %%, seed %d: %w", policy.Name, load, b.Seeds[seed], err)
		}
		return r, nil
	})
}
