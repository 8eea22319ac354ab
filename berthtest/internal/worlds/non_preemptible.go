package worlds

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/limits"
)

// Firm is another world, in which many jobs are never preempted, or not for a time that their
// queue has.
func (g *Generator) Firm() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving)
	config, options, list := draw(g)
	preemption := &config.Policy.Preemption
	preemption.MaxMinRuntime = one(g, 0, berth.Off, berth.Second, berth.Minute)
	for _, arrival := range list {
		if set, ok := arrival.Event.(berth.QueueSet); ok && limits.BadName(string(set.Queue.Name)) == "" && g.Chance(25) && !slices.ContainsFunc(preemption.Queues, func(q berth.QueuePreemption) bool { return q.Queue == set.Queue.Name }) {
			preemption.Queues = append(preemption.Queues, berth.QueuePreemption{Queue: set.Queue.Name, MinRuntime: one(g, 0, 20*berth.Second, 3*berth.Minute)})
		}
	}
	eachJob(list, func(j *berth.Job) {
		if g.Chance(60) {
			j.NonPreemptible = true
			for i := range j.Groups {
				j.Groups[i].MinMembers = 0
			}
		}
	})
	return config, options, list
}
