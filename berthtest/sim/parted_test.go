package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// The groups of a part stand together and parts that are to be apart do, whatever befalls the gang,
// and no other promise is broken.
func TestParts(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Parted, "parts together", "copies together", "parts apart")
}
