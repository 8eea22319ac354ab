package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever happens to jobs that may not run for ever, they end in time, and asked for a last
// checkpoint if they write any, and no other promise is broken.
func TestLimits(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*worlds.Generator).Limited,
		"ran for as long as it may, and running", "ran for as long as it may, and asked", "asked for its last checkpoint", "release because max-runtime",
	)
}
