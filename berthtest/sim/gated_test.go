package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Jobs start after their begin times, after those that they follow, and no more at once than the
// width of their array; none is dropped but for what it follows; and no other promise is broken.
func TestGated(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Gated,
		"a begin time came", "followed a job that completed", "followed a job that did not complete",
		"dropped for a job that it follows", "kept back by the width of an array",
	)
}
