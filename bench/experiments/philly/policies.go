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
	// untold: no job tells how long it will run.
	untold bool
}

// own is the core's, learned the core's where no run time is told, and reference the one that
// others are compared with.
const own, learned, reference = "berth", "untold", "FIFO"

func policies() []policy {
	base := func(name string, make func([]life.Share) baseline.Policy, fit baseline.Fit) policy {
		return policy{name, func(shares []life.Share) (berth.Scheduler, error) {
			return baseline.New(make(shares), fit), nil
		}, check.NewForAnyPolicy, false}
	}
	asItComes := func([]life.Share) (berth.Scheduler, error) { return core.New(config()) }
	return []policy{
		base(reference, func([]life.Share) baseline.Policy { return baseline.FIFO{} }, baseline.BestFit),
		base("EASY", func([]life.Share) baseline.Policy { return baseline.EASY{} }, baseline.BestFit),
		base("LAS", func([]life.Share) baseline.Policy { return baseline.NewLAS() }, baseline.BestFit),
		base("cells", cellsOfShares, baseline.Buddy),
		{own, asItComes, check.New, false},
		{learned, asItComes, check.New, true},
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

// config is the core as it comes.
func config() berth.Config { return berth.Config{Levels: []string{rack}} }
