package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// limited is another world, in which most jobs may not run for ever.
func (g *generator) limited() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving, (*generator).failing)
	config, options, list := draw(g)
	config.Policy.RuntimeSamples = one(g, 0, 2, -1)
	eachJob(list, func(j *berth.Job) {
		if j.Service == nil && g.chance(80) {
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

// Whatever happens to jobs that may not run for ever, they end in time, and asked for a last
// checkpoint if they write any, and no other promise is broken.
func TestLimits(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*generator).limited,
		"ran for as long as it may, and running", "ran for as long as it may, and asked", "asked for its last checkpoint", "release because max-runtime",
	)
}
