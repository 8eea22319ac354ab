package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever happens to jobs that come back only so often, they are dropped then and not before, and
// no other promise is broken.
func TestMaxRequeues(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Capped, "dropped as it came back too often")
}
