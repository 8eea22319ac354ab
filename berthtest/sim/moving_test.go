package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever is moved, no promise is broken, and all comes to rest.
func TestMovesUnderFaults(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Moving,
		"moved for another", "resumed after moved",
	)
}
