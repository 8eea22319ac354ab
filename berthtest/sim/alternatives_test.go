package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// A job with alternatives starts as the first that fits, is that until it comes back, and has one
// place kept for it at the most, and no other promise is broken.
func TestAlternatives(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Optional,
		"started as its own gang, and has alternatives", "started as an alternative", "started as an alternative, and those before it do not fit",
		"a place is kept for another alternative than before", "resumed as another alternative",
	)
}
