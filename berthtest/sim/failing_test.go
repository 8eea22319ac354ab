package sim_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
)

// Whatever fails, no promise is broken, and what is left comes to rest.
func TestFailingHardware(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(6), (*worlds.Generator).Failing,
		"an Xid condemns", "an Xid without effect", "a suspect Xid in burn-in",
		"in quarantine", "a longer quarantine", "quarantine over", "vouched for",
		"in burn-in", "burn-in over", "placed in burn-in", "failed in burn-in", "lost in burn-in", "kept out by a burn-in",
		"a spare chosen", "a spare chosen before another", "short of spares", "resumed on a spare", "kept out by spares",
		"restored with quarantine", "restored with a burn-in", "restored with spares",
	)
}

// Gangs give up what they hold of segments that can never be whole again, and nothing else.
func TestBrokenSegments(t *testing.T) {
	t.Parallel()
	swarm(t, drawn.Seeds(4), (*worlds.Generator).Segmented, "gives up a segment")
}

// Worlds end in which a job stays for good on a GPU that its owner found in another mode: a search
// that looks at the GPU does not look for ever.
func TestLookingEnds(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{2, 3, 17, 18, 21, 29, 31, 36, 39} { // the first in which an owner looks too late
		config, options, list := worlds.NewGenerator(seed).Failing()
		sched, err := core.New(config)
		require.NoError(t, err)
		told, conflicts := 0, 0
		options.Applied = func(_ berth.Time, e berth.Event, refused error) {
			told++
			require.Less(t, told, 10_000, "world %d has no end", seed)
			if _, look := e.(berth.GPUPartitioned); look && errors.Is(refused, berth.ErrConflict) {
				conflicts++
			}
		}
		s := sim.New(sched, sim.FromSlice(list), options)
		for at, more := s.Next(); more; at, more = s.Next() {
			require.NoError(t, s.Run(at))
		}
		require.Positive(t, conflicts, "nobody looks too late in world %d", seed)
	}
}
