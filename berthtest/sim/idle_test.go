package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// idling is one of the worlds of other tests, in which most jobs tell how busy they are, some of
// them are idle for long, and a policy says what becomes of those.
func (g *generator) idling() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).moving, (*generator).drained, (*generator).failing, (*generator).swapping, (*generator).limited, (*generator).lending)
	config, options, list := draw(g)
	config.Policy.Idle = g.idlePolicy()
	g.list = nil
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Idle = config.Policy.Idle
			if g.chance(50) {
				e.Policy.Idle = g.idlePolicy()
			}
			list[i].Event = e
		case berth.JobSubmitted:
			for range 2 {
				g.tellsActivity(e.Job.ID, 1, list[i].At)
			}
		case berth.JobObserved:
			g.tellsActivity(e.Job.ID, 7, list[i].At)
		}
	}
	g.list = append(list, g.list...)
	g.sort()
	return config, options, g.list
}

// idlePolicy draws when a job leaves idle what it holds, and what becomes of it.
func (g *generator) idlePolicy() berth.IdlePolicy {
	return berth.IdlePolicy{
		QuietMilli: one(g, 0, 100, 300, 1, berth.Off), QuietFor: one(g, 1, 20*berth.Second, berth.Minute, 3*berth.Minute, 0),
		Grace: one(g, berth.Off, 1, 20*berth.Second, 2*berth.Minute), Action: one(g, berth.IdleStop, berth.IdleStop, berth.IdleShrink, berth.IdleShrink, berth.IdleWarn),
	}
}

// Whatever happens to jobs that leave idle what they hold, they are warned once and, where the
// policy says so, end in time; none else is; and no other promise is broken.
func TestIdle(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*generator).idling,
		"warned while running", "warned while asked", "told to end as it is idle", "was idle for too long, and running", "was idle for too long, and asked",
		"idle with something else going on", "release because idle", "gives up its surplus as it is idle",
	)
}
