package sim_test

import (
	"slices"
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/internal/limits"
)

// firm is another world, in which many jobs are never preempted, or not for a time that their
// queue has.
func (g *generator) firm() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving)
	config, options, list := draw(g)
	preemption := &config.Policy.Preemption
	preemption.MaxMinRuntime = one(g, 0, berth.Off, berth.Second, berth.Minute)
	for _, arrival := range list {
		if set, ok := arrival.Event.(berth.QueueSet); ok && limits.BadName(string(set.Queue.Name)) == "" && g.chance(25) && !slices.ContainsFunc(preemption.Queues, func(q berth.QueuePreemption) bool { return q.Queue == set.Queue.Name }) {
			preemption.Queues = append(preemption.Queues, berth.QueuePreemption{Queue: set.Queue.Name, MinRuntime: one(g, 0, 20*berth.Second, 3*berth.Minute)})
		}
	}
	eachJob(list, func(j *berth.Job) {
		if g.chance(60) {
			j.NonPreemptible = true
			for i := range j.Groups {
				j.Groups[i].MinMembers = 0
			}
		}
	})
	return config, options, list
}

// Jobs that are never preempted are not, stay within the guarantees of their queues, and leave
// every other promise as it is.
func TestNonPreemptible(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).firm,
		"placed for good", "ran for the least time of a queue", "reclaimed", "preempted", "there is room, and what holds back is the guarantee, as it is never preempted",
	)
}
