package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// No job passes its gate beyond a cap, each goes on as soon as it may, and no other promise is
// broken.
func TestCaps(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(8), (*worlds.Generator).Crowded,
		"kept back by a cap on the jobs of a queue", "kept back by a cap on the jobs of a user", "kept back by a cap on the GPUs of a user",
		"kept back by the width of an array", "explained cap",
	)
}
