package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// drained draws a world in which nodes are drained all the time, some of them several at once,
// and gangs find other places more often than not.
func (g *generator) drained() (berth.Config, sim.Options, []sim.Arrival) {
	if g.chance(40) { // fuller, and of one kind of node
		config, options, list := g.contended()
		options.Faults.Drain, options.Faults.NodeLost, options.Faults.Outage = 0.1*g.Float64(), 0.03*g.Float64(), 3*berth.Minute
		return config, options, list
	}
	config, options, list := g.world()
	for i := range list {
		e, job := list[i].Event.(berth.JobSubmitted)
		if !job {
			continue
		}
		if g.chance(60) { // small gangs, which find a place more often than others
			e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(3), Claim: berth.Claim{GPUs: one(g, 1, 2)}}}
		}
		e.Job.Checkpoint.Supported = g.chance(70)
		e.Job.Checkpoint.Cost = berth.Duration(g.Int64N(int64(berth.Minute)))
		list[i].Event = e
	}
	f := &options.Faults
	f.Drain, f.NodeLost, f.GPUFail, f.MemberDie = g.Float64()*0.15, g.Float64()*0.03, g.Float64()*0.03, g.Float64()*0.05
	f.Outage = one(g, berth.Minute, 5*berth.Minute, 15*berth.Minute)
	return config, options, list
}

// Whatever is drained, and whatever happens meanwhile, no promise is broken, and what is left
// comes to rest.
func TestDraining(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).drained,
		"leaves for another place", "has to leave, wherever it may go", "need not leave any more", "release because drained",
		"a drain changed", "a drain ended", "a node drained that is empty",
		"a place kept for one that is asked", "a place kept for one that is releasing", "a place that is kept was judged",
		"a place kept for a gang was given up",
		"resumed after drained", "resumed after hardware-lost", "resumed after member-failed",
		"restored with a request to leave", "restored with a place that is kept",
	)
}
