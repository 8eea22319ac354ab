package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// A replica of a service with a surge that has to leave its node goes when another runs in its
// place, whatever fails, is lost, scaled, cancelled or restored meanwhile.
func TestSurges(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(24), (*worlds.Generator).Surging,
		"a stand-in starts", "another stand-in is tried", "a stand-in runs, and the other is running", "a stand-in runs, and the other is pending", "a stand-in goes with the other",
		"a stand-in is not needed any more", "release because surge", "leaves for another place", "has to leave, wherever it may go",
		"a stand-in came to nothing because of bind-failed", "a stand-in came to nothing because of hardware-lost",
	)
}
