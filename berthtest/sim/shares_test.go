package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// What queues may have by shares follows the nodes that take work, and no promise is broken by
// that: nothing is stopped for a limit that falls, and guarantees that fall and rise are kept as
// they are.
func TestShares(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(12), (*worlds.Generator).Shared,
		"a guarantee follows a fleet that grew", "a guarantee follows a fleet that shrank", "a guarantee fell below usage",
		"a limit fell below usage with the fleet", "reclaimed", "in quarantine", "quarantine over",
	)
}
