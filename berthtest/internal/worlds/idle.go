package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Idling is one of the worlds of other tests, in which most jobs tell how busy they are, some of
// them are idle for long, and a policy says what becomes of those.
func (g *Generator) Idling() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Moving, (*Generator).Drained, (*Generator).Failing, (*Generator).Swapping, (*Generator).Limited, (*Generator).Lending)
	config, options, list := draw(g)
	config.Policy.Idle = g.idlePolicy()
	g.list = nil
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Idle = config.Policy.Idle
			if g.Chance(50) {
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
func (g *Generator) idlePolicy() berth.IdlePolicy {
	return berth.IdlePolicy{
		QuietMilli: one(g, 0, 100, 300, 1, berth.Off), QuietFor: one(g, 1, 20*berth.Second, berth.Minute, 3*berth.Minute, 0),
		Grace: one(g, berth.Off, 1, 20*berth.Second, 2*berth.Minute), Action: one(g, berth.IdleStop, berth.IdleStop, berth.IdleShrink, berth.IdleShrink, berth.IdleWarn),
	}
}
