package sim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// switchedOff is world, in which policies are written out, and more fields than elsewhere are off.
func (g *generator) switchedOff() (berth.Config, sim.Options, []sim.Arrival) {
	config, options, list := g.world()
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

func (g *generator) someOff(p berth.Policy) berth.Policy {
	p = p.WithDefaults()
	counts, spans := mayBeOff(&p)
	for _, count := range counts {
		if g.chance(30) {
			*count = berth.Off
		}
	}
	for _, span := range spans {
		if g.chance(30) {
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

// mayBeOff are the fields of a policy that can be switched off, but for the rates.
func mayBeOff(p *berth.Policy) (counts []*int, spans []*berth.Duration) {
	w := &p.Preemption.Gain
	return []*int{&p.Stretch, &p.ReservedGangs, &p.RuntimeSamples, &p.Preemption.MaxRatio, &w.WaitMilli, &p.Health.Losses},
		[]*berth.Duration{
			&p.UsageHalfLife, &p.Preemption.MinRuntime, &p.Preemption.GuaranteeWithin, &p.Preemption.MaxMinRuntime, &p.Preemption.Cooldown,
			&w.Interactive, &w.LatencyCritical, &w.Turn, &w.Queueing, &p.Health.BurnIn,
		}
}

// withZeros says of a policy that is written out the same with 0 for off.
func withZeros(p berth.Policy) berth.Policy {
	p.ZeroIsOff = true
	counts, spans := mayBeOff(&p)
	for _, count := range counts {
		*count = max(0, *count)
	}
	for _, span := range spans {
		*span = max(0, *span)
	}
	return p
}

// A core with a policy in which zero is off keeps its promises, and decides as one with the same
// policy in which off is written as -1, when it is made and when its policy changes.
func TestZeroIsOffDecidesAsOff(t *testing.T) {
	t.Parallel()
	changed := 0
	for seed := range drawn.Seeds(6) {
		config, options, list := newGenerator(seed).switchedOff()
		zeros, told := config, slices.Clone(list)
		zeros.Policy = withZeros(config.Policy)
		policies := map[berth.Time][]berth.PolicyChanged{}
		for i := range told {
			if e, is := told[i].Event.(berth.PolicyChanged); is {
				policies[told[i].At] = append(policies[told[i].At], e)
				told[i].Event = berth.PolicyChanged{Policy: withZeros(e.Policy)}
			}
		}
		r := runOf(zeros, options, told)
		r.must(t, seed)

		sched := fresh(t, config)
		for i := range r.log {
			s := r.log[i]
			if _, is := s.event.(berth.PolicyChanged); is {
				s.event, policies[s.now] = policies[s.now][0], policies[s.now][1:]
				if s.refused == nil {
					changed++
				}
			}
			require.Equal(t, encode(t, s.actions), tell(t, sched, &s), "seed %d, step %d", seed, i)
		}
		sameState(t, snapshot(t, r.sim.Core()), snapshot(t, sched), "seed %d", seed)
	}
	require.Positive(t, changed, "policies")
}
