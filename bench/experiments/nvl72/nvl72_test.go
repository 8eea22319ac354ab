package nvl72

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study/studytest"
)

// Sums of the mix, and that it can fill the fleet: a segment of 16 leaves two trays of
// its block, an eighth of what it takes itself.
func TestNVL72Mix(t *testing.T) {
	jobs, small, large := 0, 0, 0
	for _, m := range mix {
		jobs += m.of1000
		use := m.gpus * m.of1000 * m.minutes
		switch g := group(m.gpus, true); {
		case m.gpus >= machine.SegmentTrays*machine.TrayGPUs:
			large += use
			require.Equal(t, berth.Segment{Size: machine.SegmentTrays, Level: machine.LevelBlock}, g.Topology.Segments[0], m.gpus)
			require.Zero(t, g.Members%machine.SegmentTrays, m.gpus)
		case m.gpus > machine.TrayGPUs:
			require.Equal(t, g.Members, g.Topology.Segments[0].Size, m.gpus)
		}
		if m.gpus <= (machine.BlockTrays-machine.SegmentTrays)*machine.TrayGPUs {
			small += use
		}
	}
	require.Equal(t, 1000, jobs)
	require.Greater(t, small*8, large)
}

// A small fleet for a few hours: no segment is split with constraints, and the same seed
// gives the same figures.
func TestNVL72(t *testing.T) {
	o := Options{Trays: 396, Backlog: 40, Days: 0.25, Warmup: 0.1, Seed: 3}
	simulate := func(constrained bool) *run {
		r, err := newRun(&o, constrained)
		require.NoError(t, err)
		require.NoError(t, r.simulate(context.Background()))
		require.NoError(t, r.core.Check())
		return r
	}
	with, again, without := simulate(true), simulate(true), simulate(false)
	require.Zero(t, with.split)
	require.Positive(t, without.split, "without constraints some are, or the count cannot be trusted")
	for _, r := range []*run{with, without} {
		require.Greater(t, r.occupancy(), 0.8)
		require.LessOrEqual(t, r.occupancy(), 1.0)
		require.Positive(t, r.started)
		require.Positive(t, r.idle.samples)
	}
	require.Equal(t, with.heldFor, again.heldFor)
	require.Equal(t, with.totals, again.totals)
	require.NotEqual(t, with.heldFor, without.heldFor)
}

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Defaults(),
		func(o *Options) { o.Trays = 3 },
		func(o *Options) { o.Days = 0 },
		func(o *Options) { o.Warmup = -1 },
		func(o *Options) { o.Backlog = 0 },
		func(o *Options) { o.Reserved = -2 },
	)
}
