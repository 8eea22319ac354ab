package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// capped is another world, in which many jobs come back to the queue only so often.
func (g *generator) capped() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*generator).world, (*generator).contended, (*generator).drained, (*generator).moving, (*generator).failing, (*generator).lowered)
	config, options, list := draw(g)
	eachJob(list, func(j *berth.Job) {
		if j.Service != nil || g.chance(30) {
			return
		}
		for _, cause := range []berth.CauseCode{
			berth.CauseMemberFailed, berth.CauseHardwareLost, berth.CausePreempted, berth.CauseReclaimed, berth.CauseDrained, berth.CauseBindFailed,
			berth.CauseBindExpired, berth.CauseMoved, berth.CauseOverLimit, berth.CauseGivenBack, berth.CauseRepartitionFailed,
		} {
			if g.chance(60) {
				j.MaxRequeues = append(j.MaxRequeues, berth.RequeueCap{Cause: cause, Requeues: g.IntN(3)})
			}
		}
	})
	return config, options, list
}

// Whatever happens to jobs that come back only so often, they are dropped then and not before, and
// no other promise is broken.
func TestMaxRequeues(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*generator).capped, "dropped as it came back too often")
}
