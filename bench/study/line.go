package study

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/core"
)

// A Line is a scheduler that is compared with others.
type Line struct {
	Name string
	Make func(berth.Config) (berth.Scheduler, error)
}

// Core is the core under a policy.
func Core(name string, policy berth.Policy) Line {
	return Line{name, func(c berth.Config) (berth.Scheduler, error) {
		c.Policy = policy
		return core.New(c)
	}}
}

// Rival is a scheduler of package baseline, on nodes that are filled one after the other.
func Rival(name string, policy baseline.Policy) Line {
	return Line{name, func(berth.Config) (berth.Scheduler, error) { return baseline.New(policy, baseline.BestFit), nil }}
}
