package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever else happens, what runs beyond a limit goes where the policy says so, no more of it than
// that, and no other promise is broken.
func TestOverLimit(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*worlds.Generator).Lowered,
		"stopped because of a limit", "shrinks within a limit", "within its limit before it was stopped", "release because over-limit",
		"over a limit, and nothing that may be stopped is left to be told",
	)
}

// What is idle, lends, is over a limit, is never preempted, or came back too often may all be so at
// once: each is dealt with as if it were the only one.
func TestOverLimitAndIdle(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(10), (*worlds.Generator).Together,
		"stopped because of a limit", "within its limit before it was stopped", "told to end as it is idle", "warned while asked",
	)
}
