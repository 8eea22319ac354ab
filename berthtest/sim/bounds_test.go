package sim_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// With every bound of a pass as low as it can be, decisions take more passes, and nothing else
// gives way: no promise is broken, and every world comes to rest. So is each bound one of what a
// pass does, and none of what is ever done. A plain run has the lowest alone.
func TestLowBounds(t *testing.T) {
	t.Parallel()
	lows := []int{1}
	if !drawn.Plain() {
		lows = append(lows, 2)
	}
	for _, g := range []struct {
		name string
		draw worlds.Drawing
		few  int
	}{
		{"world", (*worlds.Generator).World, 2},
		{"contended", (*worlds.Generator).Contended, 1},
		{"drained", (*worlds.Generator).Drained, 1},
		{"moving", (*worlds.Generator).Moving, 1},
		{"failing", (*worlds.Generator).Failing, 1},
	} {
		for _, low := range lows {
			for seed := range drawn.Seeds(g.few) {
				config, options, list := g.draw(worlds.NewGenerator(seed))
				config.Policy.PassBudget, config.Policy.BackfillBudget = low, low
				config.Policy.ReservedGangs = min(config.Policy.ReservedGangs, low)
				sched, err := core.New(config)
				require.NoError(t, err)
				run := worlds.RunOn(config, lowered(t, sched, low), options, func(*worlds.Run) sim.Workload { return sim.FromSlice(list) })
				name := fmt.Sprintf("%s %d, bounds of %d", g.name, seed, low)
				t.Run(name, func(t *testing.T) { must(t, run, seed) })
			}
		}
	}
}

// lowered is a copy of a core with each bound of a pass so low.
func lowered(t *testing.T, sched *core.Core, low int) *core.Core {
	t.Helper()
	b, err := sched.Snapshot()
	require.NoError(t, err)
	var snapshot map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(b, &snapshot))
	bounds := map[string]int{}
	for _, name := range boundsOfAPass {
		bounds[name] = low
	}
	snapshot["bounds"], err = json.Marshal(bounds)
	require.NoError(t, err)
	b, err = json.Marshal(snapshot)
	require.NoError(t, err)
	c, err := core.Restore(b)
	require.NoError(t, err)
	return c
}

// boundsOfAPass are those of effort.Bounds of the core.
var boundsOfAPass = []string{
	"placed", "moves", "bids", "victimSearches", "candidates", "victims", "movers", "moveTrials", "ahead", "reshapes", "singles", "offers", "nodesLooked", "ends", "depth",
}
