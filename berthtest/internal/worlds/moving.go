package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// This file draws worlds in which gangs are moved, so that others find room in one piece.

// Moving draws a world as all others, but of jobs that leave pieces behind, and with a policy
// that has moves made.
func (g *Generator) Moving() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
	config.Policy.Defragmentation = berth.Defragmentation{Mode: berth.DefragmentationOn, MaxMoves: one(g, 0, 1, 2)}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Defragmentation.Mode = one(g, berth.DefragmentationOn, berth.DefragmentationOn, berth.DefragmentationPropose, berth.DefragmentationOff)
			list[i].Event = e
		case berth.JobSubmitted:
			if g.Chance(70) {
				e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(2), Claim: berth.Claim{GPUs: one(g, 1, 1, 2, 3, 4)}}}
				e.Job.Checkpoint.RestartCost = 0
				list[i].Event = e
			}
		}
	}
	return config, options, list
}
