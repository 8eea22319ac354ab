package worlds

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
)

// SwitchedOff is world, in which policies are written out, and more fields than elsewhere are off.
func (g *Generator) SwitchedOff() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.World()
	config.Policy = g.someOff(config.Policy)
	g.list = list
	g.at(g.instant(), berth.PolicyChanged{Policy: g.policy()})
	for i := range g.list {
		if e, is := g.list[i].Event.(berth.PolicyChanged); is {
			g.list[i].Event = berth.PolicyChanged{Policy: g.someOff(e.Policy)}
		}
	}
	g.sort()
	return config, options, g.list
}

func (g *Generator) someOff(p berth.Policy) berth.Policy {
	p = p.WithDefaults()
	counts, spans := MayBeOff(&p)
	for _, count := range counts {
		if g.Chance(30) {
			*count = berth.Off
		}
	}
	for _, span := range spans {
		if g.Chance(30) {
			*span = berth.Off
		}
	}
	if p.Health.Losses <= 0 { // what does not matter is kept as it is told, but where zero is off
		p.Health.Quarantine = 0
	}
	if p.Health.Losses <= 0 && p.Health.BurnIn <= 0 {
		p.Health.Within = 0
	}
	return p
}

// MayBeOff are the fields of a policy that can be switched off, but for the rates.
func MayBeOff(p *berth.Policy) (counts []*int, spans []*berth.Duration) {
	w := &p.Preemption.Gain
	return []*int{&p.Stretch, &p.ReservedGangs, &p.RuntimeSamples, &p.Preemption.MaxRatio, &w.WaitMilli, &p.Health.Losses},
		[]*berth.Duration{
			&p.UsageHalfLife, &p.Preemption.MinRuntime, &p.Preemption.GuaranteeWithin, &p.Preemption.MaxMinRuntime, &p.Preemption.Cooldown,
			&w.Interactive, &w.LatencyCritical, &w.Turn, &w.Queueing, &p.Health.BurnIn,
		}
}
