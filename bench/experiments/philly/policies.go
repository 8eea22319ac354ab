package philly

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
)

// A policy is a line of the comparison.
type policy struct {
	name string
	make func([]life.Share) (berth.Scheduler, error)
	// checker that asserts what the policy promises.
	checker func(berth.Config) *check.Checker
}

// own is the core's, and reference the one that others are compared with.
const own, reference = "berth", "FIFO"

func policies() []policy {
	base := func(name string, make func([]life.Share) baseline.Policy, fit baseline.Fit) policy {
		return policy{name, func(shares []life.Share) (berth.Scheduler, error) {
			return baseline.New(make(shares), fit), nil
		}, check.NewForAnyPolicy}
	}
	return []policy{
		base(reference, func([]life.Share) baseline.Policy { return baseline.FIFO{} }, baseline.BestFit),
		base("EASY", func([]life.Share) baseline.Policy { return baseline.EASY{} }, baseline.BestFit),
		base("LAS", func([]life.Share) baseline.Policy { return baseline.NewLAS() }, baseline.BestFit),
		base("cells", cellsOfShares, baseline.Buddy),
		{own, func([]life.Share) (berth.Scheduler, error) { return core.New(config()) }, check.New},
	}
}

func policyNamed(name string) (policy, error) {
	var known []string
	for _, p := range policies() {
		if strings.EqualFold(p.name, name) {
			return p, nil
		}
		known = append(known, p.name)
	}
	return policy{}, fmt.Errorf("there is no %q; there are %s", name, strings.Join(known, ", "))
}

func cellsOfShares(shares []life.Share) baseline.Policy {
	cells := map[berth.QueueID]map[int]int{}
	for _, s := range shares {
		cells[s.Queue] = s.Nodes
	}
	return baseline.NewCells(cells)
}

// config is the core as it is by default, but that it does not preempt within a queue, which
// has jobs of one class and priority alone, and moves what runs where that makes room in one piece.
func config() berth.Config {
	return berth.Config{Levels: []string{rack}, Policy: berth.Policy{
		Preemption: berth.Preemption{Mode: berth.PreemptionReclaim}, Defragmentation: berth.Defragmentation{Mode: berth.DefragmentationOn},
	}}
}
