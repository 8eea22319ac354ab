package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Jobs that are never preempted are not, stay within the guarantees of their queues, and leave
// every other promise as it is.
func TestNonPreemptible(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Firm,
		"placed for good", "ran for the least time of a queue", "reclaimed", "preempted", "there is room, and what holds back is the guarantee, as it is never preempted",
	)
}
