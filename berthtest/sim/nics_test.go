package sim_test

import (
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// Gangs that need several nodes go to the fastest NICs that hold all of them, and no other promise
// is broken.
func TestMixedNICs(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Nics,
		"a domain lost bandwidth", "a domain that had lost bandwidth is gone",
		"a gang needs several nodes", "a gang has fast NICs", "a gang has slow NICs because fast ones do not hold it",
	)
}
