package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// firm is another world, in which many jobs are never preempted.
func (g *generator) firm() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving)
	config, options, list := draw(g)
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
		"placed for good", "reclaimed", "preempted", "there is room, and what holds back is the guarantee, as it is never preempted",
	)
}
