package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Reservations come back when they say so, on the nodes that they had, and are kept as those that
// do not.
func TestRecurring(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Recurring, "advance reservation came back", "advance reservation changed", "advance reservation removed")
}
