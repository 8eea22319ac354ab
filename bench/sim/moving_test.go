package sim_test

import (
	"testing"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/sim"
)

// This file draws worlds in which gangs are moved, so that others find room in one piece.

// moving draws a world as all others, but of jobs that leave pieces behind, and with a policy
// that has moves made.
func (g *generator) moving() (berth.Config, sim.Options, []sim.Arrival) {
	config, options := g.config(), g.options()
	list := g.workload()
	config.Policy.Moves = berth.Moves{Mode: berth.MovesOrdered, Most: one(g, 0, 1, 2)}
	for i := range list {
		switch e := list[i].Event.(type) {
		case berth.PolicyChanged:
			e.Policy.Moves.Mode = one(g, berth.MovesOrdered, berth.MovesOrdered, berth.MovesProposed, berth.MovesOff)
			list[i].Event = e
		case berth.JobSubmitted:
			if g.chance(70) {
				e.Job.Topology, e.Job.Groups = berth.Topology{}, []berth.Group{{Replicas: 1 + g.IntN(2), Claim: berth.Claim{GPUs: one(g, 1, 1, 2, 3, 4)}}}
				e.Job.Checkpoint.RestartCost = 0
				list[i].Event = e
			}
		}
	}
	return config, options, list
}

// Whatever is moved, no promise is broken, and all comes to rest.
func TestMovesUnderFaults(t *testing.T) {
	seen := map[string]int{}
	first, seeds := number("BERTH_SWARM_FIRST", 1), number("BERTH_SWARM_SEEDS", 60)
	for seed := first; seed < first+seeds; seed++ {
		r := runOf(newGenerator(seed).moving())
		if err := r.all(); err != nil {
			t.Fatalf("seed %d: %v\n\nthe journal's end:\n%s", seed, err, r.tail())
		}
		for _, cases := range []map[string]int{r.checker.Cases(), r.cases} {
			for name, n := range cases {
				seen[name] += n
			}
		}
	}
	t.Logf("%v", seen)
	if seeds < 60 {
		return
	}
	for _, name := range []string{
		"moved for another", "resumed after moved",
	} {
		if seen[name] == 0 {
			t.Errorf("no run went through %q", name)
		}
	}
}
