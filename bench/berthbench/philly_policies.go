package main

import (
	"fmt"
	"strings"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
)

// A phillyPolicy is a line of the comparison.
type phillyPolicy struct {
	name string
	make func([]life.Share) (berth.Scheduler, error)
	// checker that asserts what the policy promises.
	checker func(berth.Config) *check.Checker
}

// phillyOwn is the core's, and phillyFirst the one that others are compared with.
const phillyOwn, phillyFirst = "berth", "FIFO"

func phillyPolicies() []phillyPolicy {
	base := func(name string, make func([]life.Share) baseline.Policy, fit baseline.Fit) phillyPolicy {
		return phillyPolicy{name, func(shares []life.Share) (berth.Scheduler, error) {
			return baseline.New(make(shares), fit), nil
		}, check.NewForAnyPolicy}
	}
	return []phillyPolicy{
		base(phillyFirst, func([]life.Share) baseline.Policy { return baseline.FIFO{} }, baseline.BestFit),
		base("EASY", func([]life.Share) baseline.Policy { return baseline.EASY{} }, baseline.BestFit),
		base("LAS", func([]life.Share) baseline.Policy { return baseline.NewLAS() }, baseline.BestFit),
		base("cells", phillyCells, baseline.Buddy),
		{phillyOwn, func([]life.Share) (berth.Scheduler, error) { return berth.New(phillyConfig()) }, check.New},
	}
}

func phillyPolicyNamed(name string) (phillyPolicy, error) {
	var known []string
	for _, p := range phillyPolicies() {
		if strings.EqualFold(p.name, name) {
			return p, nil
		}
		known = append(known, p.name)
	}
	return phillyPolicy{}, fmt.Errorf("there is no %q; there are %s", name, strings.Join(known, ", "))
}

func phillyCells(shares []life.Share) baseline.Policy {
	cells := map[berth.QueueID]map[int]int{}
	for _, s := range shares {
		cells[s.Queue] = s.Nodes
	}
	return baseline.NewCells(cells)
}

// phillyConfig is the core as it is by default, but that it does not preempt within a queue, which
// has jobs of one class and priority alone, and moves what runs where that makes room in one piece.
func phillyConfig() berth.Config {
	return berth.Config{Levels: []string{phillyRack}, Policy: berth.Policy{
		Preemption: berth.Preemption{Mode: berth.PreemptReclaim}, Moves: berth.Moves{Mode: berth.MovesOrdered},
	}}
}
