package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Limited is another world, in which most jobs may not run for ever.
func (g *Generator) Limited() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Failing)
	config, options, list := draw(g)
	config.Policy.RuntimeSamples = one(g, 0, 2, -1)
	eachJob(list, func(j *berth.Job) {
		if j.Service == nil && g.Chance(80) {
			j.MaxRuntime = max(j.MinRuntime, j.Checkpoint.Cost+1, one(g, 20*berth.Second, berth.Minute, 3*berth.Minute, 10*berth.Minute, berth.Hour))
		}
	})
	return config, options, list
}

// eachJob changes each job that is submitted, or observed, in a list.
func eachJob(list []sim.Arrival, change func(*berth.Job)) {
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.JobSubmitted:
			change(&e.Job)
			list[i].Event = e
		case berth.JobObserved:
			change(&e.Job)
			list[i].Event = e
		}
	}
}
