package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// What does not belong on the nodes of a reservation leaves before it begins, if that says so, and
// goes on where it is if it need not any more.
func TestCleared(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Cleared, "an advance reservation clears its nodes", "left a node that is cleared",
		"leaves for another place", "has to leave, wherever it may go", "advance reservation changed")
}
