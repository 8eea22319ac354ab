package main

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// goodputHelp is what -h says before the flags.
const goodputHelp = `goodput trains one synchronous gang on 2,048 nodes of 8 H100 for 54 days, at the rate and
for the causes at which the training of Llama 3 was interrupted, and tells where the time
goes. Beside the gang, single-node jobs fill what is left of the fleet, and more of them
wait than fit.

A node that fails stops the whole gang: it goes back to its last checkpoint and starts
again when it has a sound node in the place of the lost one. The lines differ in what the
scheduling core may do about that:

  wait       nothing is stopped for the gang: it waits until a node is free
  yield      the background gives a node back
  spares     besides, some nodes are kept free for those that lost hardware
  drain      the background gives back, and nodes that tell of their end are drained first
  both       spares and drain
  + trial    besides, what failed takes cheap work alone for a while after its repair, and
             what fails again and again none at all

Effective training time is the time spent on steps that counted in the end, over all
time. What was lost is told by cause, and adds up to all time to the millisecond:
  detection  from the failure until the core is told
  rework     steps that were done again, since the last checkpoint that was safe
  waiting    for a place, while no order is out
  restart    from the order to stop until the first step, warm-up included
  writing    steps held up by checkpoints

The same failures come over all lines, at the rate that was published. What a repair did
not cure fails again, which comes on top and depends on the line: it hits whoever is on the
node by then.

It fails if less than 97 % of the time is effective with spares, or if the books do not
add up. It does not measure the network, stragglers, the cost of storage, nor time on the wall.

`

// goodput is the experiment on effective training time.
type goodput struct {
	nodes     int // of the gang
	beside    int // of the fleet, besides
	sparesMil int
	days      int
	perRun    float64 // interruptions of the gang in goodputDays
	seeds     int
	seed      uint64
	html      string
	lines     []goodputLine
}

// A goodputLine is a line of the comparison: what the core may do.
type goodputLine struct {
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
	goodputTraining   = "training"
	goodputBackground = "background"
	goodputJob        = "model"
	goodputPool       = "h100"
	// goodputDays is the time over which failures were counted.
	goodputDays = 54
	// goodputLeast is how much of the time has to be effective with spares, in percent.
	goodputLeast = 97
	levelPod     = "pod"
	levelLeaf    = "leaf"
	// A leaf has the nodes of a scalable unit, and a pod 3,072 GPUs as that of Llama 3.
	leafNodes = 32
	podNodes  = 384
	// goodputPipeline is the nodes of a pipeline of the model: those that talk the most.
	goodputPipeline = 16
)

// The lines, in their order.
const (
	goodputWait = iota
	goodputYield
	goodputSpares
	goodputDrain
	goodputBoth
	goodputTrial
)

func runGoodput(s *session, args []string) error {
	g := &goodput{}
	s.IntVar(&g.nodes, "nodes", 2048, "nodes of the gang, of 8 H100")
	s.IntVar(&g.beside, "beside", 64, "further nodes of the fleet")
	s.IntVar(&g.sparesMil, "spares", 10, "nodes kept free, in thousandths of the fleet")
	s.IntVar(&g.days, "days", goodputDays, "days of training")
	s.Float64Var(&g.perRun, "interruptions", 419, "that the gang would meet in 54 days")
	s.IntVar(&g.seeds, "seeds", 3, "runs drawn, for the means and their confidence intervals")
	s.Uint64Var(&g.seed, "seed", 1, "seed of the first run, which is the one drawn with -html")
	s.StringVar(&g.html, "html", "", "draw the first run on a page, in this file")
	return conduct(s, g, goodputHelp, args)
}

func (g *goodput) configure(s *session) error {
	if g.nodes < 2*goodputPipeline || g.nodes > 16_384 || g.beside < 4 || g.beside > 4096 || g.days < 1 || g.days > 366 || g.seeds < 2 || g.seeds > 1000 {
		return s.misused("a flag is out of range: 32 to 16384 nodes and 4 to 4096 beside them, 1 to 366 days and 2 to 1000 seeds are possible")
	}
	if g.sparesMil < 1 || g.sparesMil*(g.nodes+g.beside) > 1000*(g.beside-2) || !(g.perRun >= 0 && g.perRun <= 1e5) {
		return s.misused("a flag is out of range: spares are at least 1, and leave two nodes of those beside; interruptions are up to 100000")
	}
	yield := berth.Policy{}
	spares := berth.Policy{Spares: []berth.Spares{{Pool: goodputPool, Milli: g.sparesMil}}}
	trial := spares
	trial.Health = berth.Health{Losses: 2, Within: 2 * berth.Day, Probation: 12 * berth.Hour, Trial: 8 * berth.Hour}
	g.lines = []goodputLine{
		goodputWait:   {name: "wait", policy: berth.Policy{Preemption: berth.Preemption{Mode: berth.PreemptNever}}},
		goodputYield:  {name: "yield", policy: yield, above: []int{goodputWait}},
		goodputSpares: {name: "spares", policy: spares, above: []int{goodputYield}, spared: true},
		goodputDrain:  {name: "drain", policy: yield, drain: true, above: []int{goodputYield}},
		goodputBoth:   {name: "both", policy: spares, drain: true, above: []int{goodputYield, goodputSpares, goodputDrain}, spared: true},
		goodputTrial:  {name: "+ trial", policy: trial, drain: true, above: []int{goodputYield, goodputBoth}, spared: true},
	}
	return nil
}

// play makes every run of every line. The result is by line, then by seed.
func (g *goodput) play() ([][]*goodputRun, error) {
	return playAll(len(g.lines), g.seeds, func(l, seed int) (*goodputRun, error) {
		return g.run(&g.lines[l], g.seed+uint64(seed), goodputWatch{})
	})
}

// config is that of the core on a line.
func (g *goodput) config(line *goodputLine) berth.Config {
	return berth.Config{Levels: []string{levelPod, levelLeaf}, Policy: line.policy}
}

// queues: the gang has what it needs guaranteed. The background is guaranteed nothing,
// and limited to what the gang leaves, so that it does not flow into the place of a gang
// that is being restarted.
func (g *goodput) queues() []quota.Queue {
	gang := quota.Amounts{quota.GPU: int64(g.nodes) * fairNodeGPUs * 1000}
	rest := quota.Amounts{quota.GPU: int64(g.beside) * fairNodeGPUs * 1000}
	return []quota.Queue{
		{Name: goodputTraining, Guarantee: gang, Limit: gang},
		{Name: goodputBackground, Limit: rest},
	}
}

// node is the i-th of the fleet.
func (g *goodput) node(i int) berth.Node {
	n := boxNode(boxH100, fmt.Sprintf("node-%05d", i), fmt.Sprintf("pod-%02d", i/podNodes), fmt.Sprintf("leaf-%03d", i/leafNodes))
	n.Pool = goodputPool
	return n
}

// verdict fails if the experiment does not show what it is for.
func (g *goodput) verdict(s *session, runs [][]*goodputRun) error {
	var wrong []error
	for l := range g.lines {
		line := &g.lines[l]
		effective := estimateOf(eachGoodput(runs[l], (*goodputRun).effective))
		if line.spared && effective.mean < goodputLeast {
			wrong = append(wrong, fmt.Errorf("%s: %v %% of the time is effective, and should be %d", line.name, effective, goodputLeast))
		}
	}
	return errors.Join(wrong...)
}
