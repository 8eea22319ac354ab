// Package goodput is the experiment on effective training time; Help tells of it.
package goodput

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/quota"
)

// Help says what the experiment does, and what it does not.
const Help = `goodput trains one synchronous gang on 2,048 nodes of 8 H100 for 54 days, at the rate and
for the causes at which the training of Llama 3 was interrupted, and tells where the time
goes. Beside the gang, single-node jobs fill what is left of the fleet, and more of them
wait than fit.

A node that fails stops the whole gang: it goes back to its last checkpoint and starts
again when it has a sound node in the place of the lost one. The lines differ in what the
scheduling core may do about that:

  wait        no job is preempted for the gang: it waits until a node is free
  preempt     a background job is preempted
  hot spares  besides, idle nodes are kept for jobs that lost hardware
  drain       preempt, and nodes that announce a failure are drained first
  both        hot spares and drain
  + burn-in   besides, repaired nodes take only low-cost work for a while, and nodes
              that fail again and again none at all

Effective training time is the time spent on steps that counted in the end, over all
time. Lost time is listed by cause, and adds up to all time to the millisecond:
  detection  from the failure until the core learns of it
  rework     steps that were done again, since the last checkpoint that was safe
  waiting    for a place, while no order is out
  restart    from the order to stop until the first step, warm-up included
  writing    steps held up by checkpoints

The same failures come over all lines, at the rate that was published. What a repair did
not cure fails again, which comes on top and depends on the line: it hits the jobs that are on
the node by then.

It fails if less than 97 % of the time is effective with hot spares, or if the books do not
add up. It does not measure the network, stragglers, the cost of storage, nor wall-clock time.

`

// Options say how runs are drawn and played.
type Options struct {
	study.Output
	// Nodes of the gang, of 8 H100, 32 to 16384.
	Nodes int
	// Beside is further nodes of the fleet, 4 to 4096.
	Beside int
	// SparesMilli is the nodes kept free, in thousandths of the fleet: at least one, and it leaves
	// two nodes of those beside.
	SparesMilli int
	// Days of training, 1 to 366.
	Days int
	// Interruptions is how many of them the gang would meet in 54 days, up to 100000.
	Interruptions float64
	// Seeds is how many runs are drawn, for the means and their confidence intervals, 2 to 1000;
	// Seed is that of the first, which is the one drawn.
	Seeds int
	Seed  uint64
	// HTML is the file in which the first run is drawn. Empty: it is not.
	HTML string
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{Nodes: 2048, Beside: 64, SparesMilli: 10, Days: countedDays, Interruptions: countedInterruptions, Seeds: 3, Seed: 1}
}

// Run makes the experiment, which Help describes, and writes its results to w. The error says so
// if it does not show what it is for.
func Run(ctx context.Context, o Options, w io.Writer) error {
	g, err := newExperiment(o)
	if err != nil {
		return err
	}
	return study.Conduct(ctx, g, o.To(w))
}

// An experiment is made of options that make sense.
type experiment struct {
	Options
	lines []line
}

// A line is a line of the comparison: what the core may do.
type line struct {
	name   string
	policy berth.Policy
	// drain: nodes that tell of their end are drained.
	drain bool
	// spared: the time must be effective.
	spared bool
	// above are the lines to which it adds something.
	above []int
}

const (
	trainingQueue   = "training"
	backgroundQueue = "background"
	gangJob         = "model"
	poolName        = "h100"
	// countedInterruptions were counted over countedDays.
	countedInterruptions, countedDays = 419, 54
	// least is how much of the time has to be effective with spares, in percent.
	least     = 97
	levelPod  = "pod"
	levelLeaf = "leaf"
	// A leaf has the nodes of a scalable unit, and a pod 3,072 GPUs as that of Llama 3.
	leafNodes = 32
	podNodes  = 384
	// pipeline is the nodes of a pipeline of the model: those that talk the most.
	pipeline = 16
)

// The lines, in their order.
const (
	lineWait = iota
	linePreempt
	lineSpares
	lineDrain
	lineBoth
	lineTrial
)

func newExperiment(o Options) (*experiment, error) {
	if err := study.First(
		study.Within("nodes", o.Nodes, 2*pipeline, 16_384), study.Within("beside", o.Beside, 4, 4096), study.Within("days", o.Days, 1, 366),
		study.Within("seeds", o.Seeds, 2, 1000), study.Within("interruptions", o.Interruptions, 0, 1e5),
	); err != nil {
		return nil, err
	}
	if err := study.Within("spares", o.SparesMilli, 1, 1000*(o.Beside-2)/(o.Nodes+o.Beside)); err != nil { // two nodes beside are no spares
		return nil, err
	}
	preempting := berth.Policy{}
	spares := berth.Policy{HotSpares: []berth.HotSpares{{Pool: poolName, NodesMilli: o.SparesMilli}}}
	trial := spares
	trial.Health = berth.Health{Losses: 2, Within: 2 * berth.Day, Quarantine: 12 * berth.Hour, BurnIn: 8 * berth.Hour}
	return &experiment{o, []line{
		lineWait:    {name: "wait", policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptionOff}}},
		linePreempt: {name: "preempt", policy: preempting, above: []int{lineWait}},
		lineSpares:  {name: "hot spares", policy: spares, above: []int{linePreempt}, spared: true},
		lineDrain:   {name: "drain", policy: preempting, drain: true, above: []int{linePreempt}},
		lineBoth:    {name: "both", policy: spares, drain: true, above: []int{linePreempt, lineSpares, lineDrain}, spared: true},
		lineTrial:   {name: "+ burn-in", policy: trial, drain: true, above: []int{linePreempt, lineBoth}, spared: true},
	}}, nil
}

// Play makes every run of every line. The result is by line, then by seed.
func (g *experiment) Play(ctx context.Context) ([][]*run, error) {
	return study.PlayRuns(ctx, g.Output, len(g.lines), g.Seeds, func(l, seed int) (*run, error) {
		r, err := g.newRun(&g.lines[l], g.Seed+uint64(seed), nil)
		if err == nil {
			err = r.play(g.faults(r.seed))
		}
		return r, err
	})
}

// config is that of the core on a line.
func (g *experiment) config(line *line) berth.Config {
	return berth.Config{Levels: []string{levelPod, levelLeaf}, Policy: line.policy}
}

// queues: the gang has what it needs guaranteed. The background is guaranteed nothing,
// and limited to what the gang leaves, so that it does not flow into the place of a gang
// that is being restarted.
func (g *experiment) queues() []quota.Queue {
	gang := quota.Amounts{quota.GPUMilli: int64(g.Nodes) * machine.NodeGPUs * 1000}
	rest := quota.Amounts{quota.GPUMilli: int64(g.Beside) * machine.NodeGPUs * 1000}
	return []quota.Queue{
		{Name: trainingQueue, Guarantee: gang, Limit: gang},
		{Name: backgroundQueue, Limit: rest},
	}
}

// node is the i-th of the fleet.
func (g *experiment) node(i int) berth.Node {
	n := machine.H100.Node(fmt.Sprintf("node-%05d", i), fmt.Sprintf("pod-%02d", i/podNodes), fmt.Sprintf("leaf-%03d", i/leafNodes))
	n.Pool = poolName
	return n
}

// Verdict fails if the experiment does not show what it is for.
func (g *experiment) Verdict(out *study.Printer, runs [][]*run) error {
	var wrong []error
	for l := range g.lines {
		line := &g.lines[l]
		effective := study.EstimateOf(study.Each(runs[l], (*run).effective))
		if line.spared && effective.Mean < least {
			wrong = append(wrong, fmt.Errorf("%s: %v %% of the time is effective, and should be %d", line.name, effective, least))
		}
	}
	return errors.Join(wrong...)
}
