package sim_test

import (
	"fmt"
	"testing"

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
		draw  drawing
		seed  uint64
		plain bool
	}{
		{"worlds", (*generator).world, 58128, true},
		{"drained", (*generator).drained, 61442, true},
		{"failing", (*generator).failing, 63592, true},
		{"failing", (*generator).failing, 70819, false},
		{"failing", (*generator).failing, 73432, false},
		{"yielding", (*generator).contended, 73622, true},
		{"yielding", (*generator).contended, 73691, false},
		{"drained", (*generator).drained, 73963, false},
		{"yielding", (*generator).contended, 75489, false},
		{"moving", (*generator).moving, 82931, true},
		{"moving", (*generator).moving, 84770, false},
		{"failing", (*generator).failing, 83256, false},
		{"worlds", (*generator).world, 61952, false},
	} {
		if drawn.Plain() && !failed.plain {
			continue
		}
		t.Run(fmt.Sprintf("%s %d", failed.of, failed.seed), func(t *testing.T) {
			runOf(failed.draw(newGenerator(failed.seed))).must(t, failed.seed)
		})
	}
}
