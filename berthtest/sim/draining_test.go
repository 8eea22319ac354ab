package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever is drained, and whatever happens meanwhile, no promise is broken, and what is left
// comes to rest.
func TestDraining(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Drained,
		"leaves for another place", "has to leave, wherever it may go", "need not leave any more", "release because drained",
		"a drain changed", "a drain ended", "a node drained that is empty",
		"a place kept for one that is asked", "a place kept for one that is releasing", "a place that is kept was judged",
		"a place kept for a gang was given up",
		"resumed after drained", "resumed after hardware-lost", "resumed after member-failed",
		"restored with a request to leave", "restored with a place that is kept",
	)
}
