package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Drained draws a world in which nodes are drained all the time, some of them several at once,
// and gangs find other places more often than not.
func (g *Generator) Drained() (berth.Config, sim.Options, []sim.Arrival) {
	if g.Chance(40) { // fuller, and of one kind of node
		config, options, list := g.Contended()
		options.Faults.Drain, options.Faults.NodeLost, options.Faults.Outage = 0.1*g.Float64(), 0.03*g.Float64(), 3*berth.Minute
		return config, options, list
	}
	config, options, list := g.World()
	for i := range list {
		e, job := list[i].Event.(berth.JobSubmitted)
		if !job {
			continue
		}
		if g.Chance(60) { // small gangs, which find a place more often than others
			e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(3), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
		}
		e.Job.Checkpoint.Supported = g.Chance(70)
		e.Job.Checkpoint.Cost = berth.Duration(g.Int64N(int64(berth.Minute)))
		list[i].Event = e
	}
	f := &options.Faults
	f.Drain, f.NodeLost, f.GPUFail, f.MemberDie = g.Float64()*0.15, g.Float64()*0.03, g.Float64()*0.03, g.Float64()*0.05
	f.Outage = one(g, berth.Minute, 5*berth.Minute, 15*berth.Minute)
	return config, options, list
}
