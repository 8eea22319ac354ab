package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// Contended draws a world in which there is more demand than room all the time: jobs end,
// are cancelled and scaled, and everything fails that can while somebody is evicted.
func (g *Generator) Contended() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, _ := g.Steady()
	config.Policy.Preemption.Mode = berth.PreemptionOn
	config.Policy.Preemption.CheckpointTimeout = one(g, 25*berth.Second, 25*berth.Second, berth.Minute)
	if g.Chance(70) { // many may be evicted
		config.Policy.Preemption.Cooldown, config.Policy.Preemption.Gain = -1, berth.GainPolicy{IgnoreCost: true}
		config.Policy.Preemption.RateLimit, config.Policy.Preemption.QueueRateLimit = berth.RateLimit{}, berth.RateLimit{}
	}
	options.PassInterval = one(g, 0, 10*berth.Second, 20*berth.Second)
	for i := range g.list {
		submitted, job := g.list[i].Event.(berth.JobSubmitted)
		if !job {
			continue
		}
		if group := &submitted.Job.Groups[0]; g.Chance(40) { // some have more than they need
			group.Members, group.MinMembers = group.Members+2, 1+g.IntN(group.Members)
		}
		submitted.Job.Checkpoint.Cost = berth.Duration(g.Int64N(int64(berth.Minute)))
		g.list[i].Event = submitted
		later := func() berth.Time { return g.list[i].At.Add(berth.Duration(g.Int64N(int64(8 * berth.Minute)))) }
		if g.Chance(60) {
			g.list[i].Runtime = berth.Duration(1 + g.Int64N(int64(15*berth.Minute)))
		}
		g.tellsCheckpoints(submitted.Job.ID, later)
		if submitted.Job.Service != nil {
			for range 4 {
				g.at(later(), berth.JobScaled{Job: submitted.Job.ID, Replicas: g.IntN(5)})
			}
		} else if g.Chance(60) {
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
