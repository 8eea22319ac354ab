package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Capped is another world, in which many jobs come back to the queue only so often.
func (g *Generator) Capped() (berth.Config, sim.Options, []sim.Arrival) {
	draw := one(g, (*Generator).World, (*Generator).Contended, (*Generator).Drained, (*Generator).Moving, (*Generator).Failing, (*Generator).Lowered)
	config, options, list := draw(g)
	eachJob(list, func(j *berth.Job) {
		if j.Service != nil || g.Chance(30) {
			return
		}
		for _, cause := range []berth.CauseCode{
			berth.CauseMemberFailed, berth.CauseHardwareLost, berth.CausePreempted, berth.CauseReclaimed, berth.CauseDrained, berth.CauseBindFailed,
			berth.CauseBindExpired, berth.CauseMoved, berth.CauseOverLimit, berth.CauseGivenBack, berth.CauseRepartitionFailed,
		} {
			if g.Chance(60) {
				j.MaxRequeues = append(j.MaxRequeues, berth.RequeueCap{Cause: cause, Requeues: g.IntN(3)})
			}
		}
	})
	return config, options, list
}
