package sim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// withZeros says of a policy that is written out the same with 0 for off.
func withZeros(p berth.Policy) berth.Policy {
	p.ZeroIsOff = true
	counts, spans := worlds.MayBeOff(&p)
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
		config, options, list := worlds.NewGenerator(seed).SwitchedOff()
		zeros, told := config, slices.Clone(list)
		zeros.Policy = withZeros(config.Policy)
		policies := map[berth.Time][]berth.PolicyChanged{}
		for i := range told {
			if e, is := told[i].Event.(berth.PolicyChanged); is {
				policies[told[i].At] = append(policies[told[i].At], e)
				told[i].Event = berth.PolicyChanged{Policy: withZeros(e.Policy)}
			}
		}
		r := worlds.RunOf(zeros, options, told)
		must(t, r, seed)

		sched := fresh(t, config)
		for i := range r.Log {
			s := r.Log[i]
			if _, is := s.Event.(berth.PolicyChanged); is {
				s.Event, policies[s.Now] = policies[s.Now][0], policies[s.Now][1:]
				if s.Refused == nil {
					changed++
				}
			}
			require.Equal(t, encode(t, s.Actions), tell(t, sched, &s), "seed %d, step %d", seed, i)
		}
		sameState(t, snapshot(t, r.Sim.Core()), snapshot(t, sched), "seed %d", seed)
	}
	require.Positive(t, changed, "policies")
}
