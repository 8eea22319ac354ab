package sim_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/protocol"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// Every arrow of the protocol is taken, and each by a core that was restored in the phase
// before it: but for running, of which there is nothing to restore.
func TestEveryArrowOfTheProtocol(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	// In these are restored: 49 and 106 one that shrinks, 50 and 90 one that has expired, before
	// rare ends of each.
	for seed := range drawn.SeedsAnd(6, 49, 50, 90, 106) {
		g := worlds.NewGenerator(seed)
		config, options, _ := g.Hectic()
		r := worlds.RunWith(config, options, func(r *worlds.Run) sim.Workload { return &worlds.Tormentor{Generator: g, Run: r} })
		must(t, r, seed)
		for name, n := range r.Checker.Cases() {
			seen[name] += n
		}
	}
	if !drawn.Many() {
		return
	}
	arrows := protocol.Arrows()
	slices.SortStableFunc(arrows, func(a, b protocol.Arrow) int { return cmp.Compare(seen[a.String()], seen[b.String()]) })
	for _, a := range arrows {
		t.Logf("%6d, %6d after a restore: %v", seen[a.String()], seen["restored before "+a.String()], a)
		if seen[a.String()] == 0 {
			t.Errorf("no run took the arrow %q", a)
		}
		if a.From != protocol.PhaseRunning && seen["restored before "+a.String()] == 0 {
			t.Errorf("no run was restored before it took the arrow %q", a)
		}
	}
}
