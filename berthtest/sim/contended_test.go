package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// contended draws a world in which there is more demand than room all the time: jobs end,
// are cancelled and scaled, and everything fails that can while somebody is evicted.
func (g *generator) contended() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, _ := g.steady()
	config.Policy.Preemption.Mode = berth.PreemptionOn
	config.Policy.Preemption.CheckpointTimeout = one(g, 25*berth.Second, 25*berth.Second, berth.Minute)
	if g.chance(70) { // many may be evicted
		config.Policy.Preemption.Cooldown, config.Policy.Preemption.Gain = -1, berth.GainPolicy{IgnoreCost: true}
		config.Policy.Preemption.RateLimit, config.Policy.Preemption.QueueRateLimit = berth.RateLimit{}, berth.RateLimit{}
	}
	options.PassInterval = one(g, 0, 10*berth.Second, 20*berth.Second)
	for i := range g.list {
		submitted, job := g.list[i].Event.(berth.JobSubmitted)
		if !job {
			continue
		}
		if group := &submitted.Job.Groups[0]; g.chance(40) { // some have more than they need
			group.Members, group.MinMembers = group.Members+2, 1+g.IntN(group.Members)
		}
		submitted.Job.Checkpoint.Cost = berth.Duration(g.Int64N(int64(berth.Minute)))
		g.list[i].Event = submitted
		later := func() berth.Time { return g.list[i].At.Add(berth.Duration(g.Int64N(int64(8 * berth.Minute)))) }
		if g.chance(60) {
			g.list[i].Runtime = berth.Duration(1 + g.Int64N(int64(15*berth.Minute)))
		}
		g.tellsCheckpoints(submitted.Job.ID, later)
		if submitted.Job.Service != nil {
			for range 4 {
				g.at(later(), berth.JobScaled{Job: submitted.Job.ID, Replicas: g.IntN(5)})
			}
		} else if g.chance(60) {
			g.at(later(), berth.JobCancelled{Job: submitted.Job.ID})
		}
	}
	g.sort()
	options.Faults = sim.Faults{
		BindFail: 0.05, ReleaseFail: 0.1, ReleasePartial: 0.1, CheckpointFail: 0.2, WithdrawLate: 0.5,
		ReportLost: 0.1, ReportLate: 0.1, ReportDouble: 0.1, ReportOld: 0.1,
		MemberDie: 0.05, NodeLost: 0.02, GPUFail: 0.04, Cordon: 0.02, Drain: 0.02, Outage: berth.Minute, Restore: 0.2,
		Until: berth.Time(40 * berth.Minute),
	}
	return config, options, g.list
}

// Whatever happens to victims and to their beneficiaries, no promise is
// broken, and what is left comes to rest.
func TestYieldingUnderFaults(t *testing.T) {
	t.Parallel()
	// In 82 a victim finishes while it is asked.
	swarm(t, drawn.SeedsAnd(14, 82), (*generator).contended,
		"request done", "request failed", "request expired", "request expired in vain", "request withdrawn",
		"stale report of a request that was withdrawn",
		"finished while asked", "cancelled while asked", "scaled down while asked",
		"memberFailed while asked", "nodeLost while asked", "gpuFailed while asked",
		"room made for one that was cancelled", "room made for one that was scaled-down",
		"restored with a request for a checkpoint", "restored with a request that nobody needs",
		"restored with a victim being stopped", "restored with a victim being stopped in vain",
		"checkpoint told", "checkpoint told while asked", "was evicted again", "evicted at a rate",
		"worth what is lost", "worth what is lost by its wait alone",
		"shrinks", "shrinks for several", "no part of a gang was enough", "restored with a gang that shrinks",
		"preempted", "reclaimed", "taken back as a whole", "started where room was made", "grown where room was made",
		"a replica of a service is evicted",
	)
}
