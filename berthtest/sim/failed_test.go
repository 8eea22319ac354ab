package sim_test

import (
	"fmt"
	"testing"

	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/internal/drawn"
)

// TestWorldsThatFailed runs worlds in which fresh seeds of the swarm found defects of the core. A
// limit held back the bucket of a beneficiary, which was not tried again where a reservation had
// ended meanwhile. Two queues took places from each other without an end: each by a gang that asked
// for more than its fair share; or one by a gang that evicted jobs of its own queue besides. No GPU
// was divided on a hot spare for a job that may use it, where no other node was open. And a limit
// that counts what leaves as gone was not looked at again when a gang began to leave.
// A plain run has one world of each kind.
func TestWorldsThatFailed(t *testing.T) {
	t.Parallel()
	for _, failed := range []struct {
		of    string
		draw  worlds.Drawing
		seed  uint64
		plain bool
	}{
		{"worlds", (*worlds.Generator).World, 58128, true},
		{"drained", (*worlds.Generator).Drained, 61442, true},
		{"failing", (*worlds.Generator).Failing, 63592, true},
		{"failing", (*worlds.Generator).Failing, 70819, false},
		{"failing", (*worlds.Generator).Failing, 73432, false},
		{"yielding", (*worlds.Generator).Contended, 73622, true},
		{"yielding", (*worlds.Generator).Contended, 73691, false},
		{"drained", (*worlds.Generator).Drained, 73963, false},
		{"yielding", (*worlds.Generator).Contended, 75489, false},
		{"moving", (*worlds.Generator).Moving, 82931, true},
		{"moving", (*worlds.Generator).Moving, 84770, false},
		{"failing", (*worlds.Generator).Failing, 83256, false},
		{"worlds", (*worlds.Generator).World, 61952, false},
		{"swapping", (*worlds.Generator).Swapping, 820062, true},
	} {
		if drawn.Plain() && !failed.plain {
			continue
		}
		t.Run(fmt.Sprintf("%s %d", failed.of, failed.seed), func(t *testing.T) {
			must(t, worlds.RunOf(failed.draw(worlds.NewGenerator(failed.seed))), failed.seed)
		})
	}
}
