package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever happens to jobs that leave idle what they hold, they are warned once and, where the
// policy says so, end in time; none else is; and no other promise is broken.
func TestIdle(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*worlds.Generator).Idling,
		"warned while running", "warned while asked", "told to end as it is idle", "was idle for too long, and running", "was idle for too long, and asked",
		"idle with something else going on", "release because idle", "gives up its surplus as it is idle",
	)
}
