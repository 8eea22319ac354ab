package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// This file draws worlds in which gangs are moved, so that others find room in one piece.

// moving draws a world as all others, but of jobs that leave pieces behind, and with a policy
// that has moves made.
func (g *generator) moving() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
	config.Policy.Defragmentation = berth.Defragmentation{Mode: berth.DefragmentationOn, MaxMoves: one(g, 0, 1, 2)}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Defragmentation.Mode = one(g, berth.DefragmentationOn, berth.DefragmentationOn, berth.DefragmentationPropose, berth.DefragmentationOff)
			list[i].Event = e
		case berth.JobSubmitted:
			if g.chance(70) {
				e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Members: 1 + g.IntN(2), Claim: berth.Claim{GPUs: one(g, 1, 1, 2, 3, 4)}}}
				e.Job.Checkpoint.RestartCost = 0
				list[i].Event = e
			}
		}
	}
	return config, options, list
}

// Whatever is moved, no promise is broken, and all comes to rest.
func TestMovesUnderFaults(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).moving,
		"moved for another", "resumed after moved",
	)
}
