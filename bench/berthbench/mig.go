package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-sched/berth/bench/migsim"
	"github.com/berth-sched/berth/mig"
)

// migBench is the experiment on where to place MIG instances. For each mix and load
// the same requests are played against each policy, once for each seed.
type migBench struct {
	lattice *mig.Lattice
	gpus    int
	seeds   int
	cases   int
	mixes   []migsim.Mix
	loads   []int // percent
}

// The columns. The first two are berth's policy, learning the mix and told it; the last
// is no policy but a fleet that does not fragment; what is between is the competition.
const (
	migBerth = iota
	migKnown
	migFirstFit
	migRoundRobin
	migBestFit
	migWorstFit
	migDriverOrder
	migMFI
	migUnfragmented
)

var migPolicies = []string{
	"berth", "known mix", "first fit", "round robin", "best fit", "worst fit", "driver order", "MFI", "unfragmented",
}

// migPolicy makes the policy of a column for one run; nil for the last.
func migPolicy(column int, l *mig.Lattice, mix migsim.Mix) migsim.Policy {
	switch column {
	case migBerth:
		return migsim.Berth(l, nil)
	case migKnown:
		return migsim.Berth(l, mix.Weights(l.Profiles()))
	case migFirstFit:
		return migsim.FirstFit(l)
	case migRoundRobin:
		return migsim.RoundRobin(l)
	case migBestFit:
		return migsim.BestFit(l)
	case migWorstFit:
		return migsim.WorstFit(l)
	case migDriverOrder:
		return migsim.DriverOrder(l)
	case migMFI:
		return migsim.MFI(l)
	}
	return nil
}

// Of small cases the optimum is known.
const (
	smallGPUs     = 2
	smallRequests = 10
	smallLoad     = 150 // percent: enough that something must be refused
)

func runMIG(s *session, args []string) error {
	product := s.String("product", "A100-80GB", "the product of all GPUs")
	b := &migBench{}
	s.IntVar(&b.gpus, "gpus", 100, "GPUs")
	s.IntVar(&b.seeds, "seeds", 30, "runs of each mix and load")
	s.IntVar(&b.cases, "cases", 100, "small cases of each mix to compare with the optimum")
	mixes := s.String("mixes", "uniform,skew-small,skew-big,bimodal", "mixes of profiles")
	loads := s.String("loads", "25,50,70,85,100,115", "loads in percent of the memory slices")
	if err := s.parse(args); err != nil {
		return err
	}
	if err := b.configure(s, *product, *mixes, *loads); err != nil {
		return err
	}
	cells := b.play()
	if err := b.report(s, *product, cells); err != nil {
		return err
	}
	if b.cases > 0 {
		if err := b.reportSmall(s); err != nil {
			return err
		}
	}
	return b.verdict(s, cells)
}

func (b *migBench) configure(s *session, product, mixes, loads string) error {
	p, ok := mig.Lookup(product)
	if !ok {
		return s.misused("-product: there is no product %q", product)
	}
	if b.gpus < 1 || b.seeds < 2 || b.cases < 0 {
		return s.misused("there must be at least one GPU, two seeds and no fewer than no cases")
	}
	for name := range strings.SplitSeq(mixes, ",") {
		mix, ok := migsim.MixNamed(name)
		if !ok {
			return s.misused("-mixes: there is no mix %q", name)
		}
		b.mixes = append(b.mixes, mix)
	}
	for text := range strings.SplitSeq(loads, ",") {
		load, err := strconv.Atoi(text)
		if err != nil || load < 1 || load > 1000 {
			return s.misused("-loads: %q is no percentage from 1 to 1000", text)
		}
		b.loads = append(b.loads, load)
	}
	var err error
	b.lattice, err = migsim.Plain(p)
	return err
}

// A migCell is one mix at one load: what came of it by policy and seed, in percent
// and in score per GPU.
type migCell struct {
	mix           migsim.Mix
	load          int
	acceptance    [][]float64
	memory        [][]float64
	fragmentation [][]float64
}

func (c *migCell) name() string { return fmt.Sprintf("%s at %d %%", c.mix.Name, c.load) }

// play runs everything. Cells share nothing, so they may run at once; where the
// results go does not depend on which is done first.
func (b *migBench) play() []*migCell {
	var cells []*migCell
	for _, mix := range b.mixes {
		for _, load := range b.loads {
			cells = append(cells, &migCell{mix: mix, load: load})
		}
	}
	atOnce(len(cells), func(i int) { b.playCell(cells[i]) })
	return cells
}

// atOnce calls do for each number below n, on all processors.
func atOnce(n int, do func(int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

func (b *migBench) playCell(c *migCell) {
	setup := migsim.Setup{Lattice: b.lattice, GPUs: b.gpus, Mix: c.mix, LoadPercent: c.load}
	c.acceptance = make([][]float64, len(migPolicies))
	c.memory = make([][]float64, len(migPolicies))
	c.fragmentation = make([][]float64, len(migPolicies))
	for seed := range b.seeds {
		demand := setup.Draw(uint64(seed))
		for column := range migPolicies {
			result := migsim.Result{}
			if policy := migPolicy(column, b.lattice, c.mix); policy != nil {
				result = setup.Run(policy, demand)
			} else {
				result = setup.Unfragmented(demand)
			}
			c.acceptance[column] = append(c.acceptance[column], result.Acceptance())
			c.memory[column] = append(c.memory[column], result.MemoryAcceptance())
			c.fragmentation[column] = append(c.fragmentation[column], result.Fragmentation(b.gpus))
		}
	}
}
