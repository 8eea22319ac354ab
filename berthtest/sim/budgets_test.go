package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// No gang starts on a budget that is used up, what runs on one is stopped if it says so, a pass is
// due when one is used up, begins or ends, and no other promise is broken.
func TestBudgets(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*worlds.Generator).Budgeted,
		"told to go because of a budget", "in budget again before it was stopped", "release because budget", "explained budget",
	)
}
