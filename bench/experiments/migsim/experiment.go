package migsim

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-sched/berth/bench/flagline"
	"github.com/berth-sched/berth/bench/report"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/mig"
)

// Options say what is played.
type Options struct {
	study.Output
	// Product of all GPUs.
	Product string
	// GPUs of the fleet, at least one.
	GPUs int
	// Seeds is the runs of each mix and load, at least two.
	Seeds int
	// Cases is the small cases of each mix to compare with the optimum.
	Cases int
	// Mixes names mixes of profiles.
	Mixes []string
	// Loads in percent of the memory slices, 1 to 1000.
	Loads []int
}

// Defaults are the options that berthbench has by default.
func Defaults() Options {
	return Options{
		Product: "A100-80GB", GPUs: 100, Seeds: 30, Cases: 100,
		Mixes: []string{"uniform", "skew-small", "skew-big", "bimodal"}, Loads: []int{25, 50, 70, 85, 100, 115},
	}
}

// Run plays, for each mix and load, the same requests against each policy, once for each seed, and
// writes its results to w. The error says so if berth accepts less than a baseline, beyond the
// noise.
func Run(ctx context.Context, o Options, w io.Writer) error {
	b, err := newExperiment(o)
	if err != nil {
		return err
	}
	out := o.To(w)
	cells, err := b.play(ctx)
	if err != nil {
		return err
	}
	if err := b.report(out, cells); err != nil {
		return err
	}
	if b.Cases > 0 {
		if err := b.reportSmall(out); err != nil {
			return err
		}
	}
	return study.Found(b.verdict(out, cells))
}

// An experiment is made of options that make sense.
type experiment struct {
	Options
	lattice *mig.Lattice
	mixes   []Mix
}

// The columns. The first two are berth's policy, learning the mix and told it; the last
// is no policy but a fleet that does not fragment; what is between is the competition.
const (
	learning = iota
	known
	firstFit
	roundRobin
	bestFit
	worstFit
	driverOrder
	mfi
	unfragmented
)

var policyNames = []string{
	"berth", "known mix", "first fit", "round robin", "best fit", "worst fit", "driver order", "MFI", "unfragmented",
}

// policyOf makes the policy of a column for one run; nil for the last.
func policyOf(column int, l *mig.Lattice, mix Mix) Policy {
	switch column {
	case learning:
		return Berth(l, nil)
	case known:
		return Berth(l, mix.Weights(l.Profiles()))
	case firstFit:
		return FirstFit(l)
	case roundRobin:
		return RoundRobin(l)
	case bestFit:
		return BestFit(l)
	case worstFit:
		return WorstFit(l)
	case driverOrder:
		return DriverOrder(l)
	case mfi:
		return MFI(l)
	}
	return nil
}

// Of small cases the optimum is known.
const (
	smallGPUs     = 2
	smallRequests = 10
	smallLoad     = 150 // percent: enough that something must be refused
)

func newExperiment(o Options) (*experiment, error) {
	p, ok := mig.Lookup(o.Product)
	if !ok {
		return nil, flagline.Misused("-product: there is no product %q", o.Product)
	}
	if err := study.First(study.AtLeast("gpus", o.GPUs, 1), study.AtLeast("seeds", o.Seeds, 2), study.AtLeast("cases", o.Cases, 0)); err != nil {
		return nil, err
	}
	if len(o.Mixes) == 0 || len(o.Loads) == 0 {
		return nil, flagline.Misused("-mixes and -loads need a mix and a load each")
	}
	b := &experiment{Options: o}
	for _, name := range o.Mixes {
		mix, ok := MixNamed(name)
		if !ok {
			return nil, flagline.Misused("-mixes: there is no mix %q", name)
		}
		b.mixes = append(b.mixes, mix)
	}
	for _, load := range o.Loads {
		if load < 1 || load > 1000 {
			return nil, flagline.Misused("-loads: %d is no percentage from 1 to 1000", load)
		}
	}
	var err error
	b.lattice, err = Plain(p)
	return b, err
}

// A cell is one mix at one load: what came of it by policy and seed, in percent
// and in score per GPU.
type cell struct {
	mix           Mix
	load          int
	acceptance    [][]float64
	memory        [][]float64
	fragmentation [][]float64
}

func (c *cell) name() string { return fmt.Sprintf("%s at %d %%", c.mix.Name, c.load) }

// play runs everything. Cells share nothing, so they may run at once; where the
// results go does not depend on which is done first.
func (b *experiment) play(ctx context.Context) ([]*cell, error) {
	var cells []*cell
	for _, mix := range b.mixes {
		for _, load := range b.Loads {
			cells = append(cells, &cell{mix: mix, load: load})
		}
	}
	bar := report.NewCount(b.Progress, len(cells), "mixes and loads")
	defer bar.Clear()
	study.AtOnce(len(cells), func(i int) {
		if ctx.Err() == nil {
			b.playCell(cells[i])
			bar.Count()
		}
	})
	return cells, ctx.Err()
}

func (b *experiment) playCell(c *cell) {
	setup := Setup{Lattice: b.lattice, GPUs: b.GPUs, Mix: c.mix, LoadPercent: c.load}
	c.acceptance = make([][]float64, len(policyNames))
	c.memory = make([][]float64, len(policyNames))
	c.fragmentation = make([][]float64, len(policyNames))
	for seed := range b.Seeds {
		demand := setup.Draw(uint64(seed))
		for column := range policyNames {
			result := Result{}
			if policy := policyOf(column, b.lattice, c.mix); policy != nil {
				result = setup.Run(policy, demand)
			} else {
				result = setup.Unfragmented(demand)
			}
			c.acceptance[column] = append(c.acceptance[column], result.Acceptance())
			c.memory[column] = append(c.memory[column], result.MemoryAcceptance())
			c.fragmentation[column] = append(c.fragmentation[column], result.Fragmentation(b.GPUs))
		}
	}
}
