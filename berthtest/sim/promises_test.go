package sim_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// The checker asserts every promise at every step of every run. The tests here
// press on one promise each: a swarm of its own, in which what could break it
// happens all the time, and which fails if it did not.

// press runs a few worlds with changed options, or many, of which it requires that the
// situations came up.
func press(t *testing.T, few int, change func(*sim.Options), cases ...string) []*worlds.Run {
	t.Helper()
	seen := map[string]int{}
	var runs []*worlds.Run
	for seed := range drawn.Seeds(few) {
		r := worlds.NewRunWith(10_000+seed, change)
		must(t, r, seed)
		for name, n := range r.Checker.Cases() {
			seen[name] += n
		}
		runs = append(runs, r)
	}
	covers(t, seen, cases...)
	return runs
}

// No GPU or share is ever held twice: capacity changes hands as fast and as
// unreliably as can be.
func TestS1_NothingIsHeldTwice(t *testing.T) {
	press(t, 3, func(o *sim.Options) {
		o.Faults = sim.Faults{ReportLost: 0.3, ReleaseFail: 0.3, GPUFail: 0.1, NodeLost: 0.05, Until: worlds.Faults}
	}, "share placed", "presumed dead", "release failed", "nodeLost while releasing", "gpuFailed while running")
}

// No batch of orders shows a gang with some members, but fewer than its minimum:
// members fail to start, and die, all the time.
func TestS2_GangsAreWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	press(t, 3, func(o *sim.Options) {
		o.Faults = sim.Faults{BindPartial: 0.6, MemberDie: 0.2, NodeLost: 0.05, Until: worlds.Faults}
	}, "bind partial: binding to repairing", "bind of a repairing gang", "repair given up",
		"bind partial: binding to running", "memberFailed while binding", "release because member-failed")
}

// Usage equals the sum of what is held at every step, and nothing is left of it
// when everything is gone.
func TestS3_UsageIsTheSumOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	runs := press(t, 5, nil, "cancelled while running", "cancelled while binding", "limit lowered below usage", "share placed")
	for _, r := range runs {
		r.Leave()
		require.NoError(t, r.Err)
		report := r.Sim.Core().Report()
		require.Zero(t, report.GPUs.HeldMilli)
		require.Zero(t, report.Replicas)
		for _, q := range report.Queues {
			require.Zero(t, q.UsedMilli, q.Queue)
		}
	}
}

// A report about an order or a life that is over is stale, and changes nothing.
func TestS9_StaleReportsChangeNothing(t *testing.T) {
	stale := 0
	for seed := range drawn.Seeds(3) {
		var r *worlds.Run
		var before []byte
		r = worlds.NewRunWith(20_000+seed, func(o *sim.Options) {
			o.Faults = sim.Faults{ReportLate: 0.4, ReportDouble: 0.3, ReportOld: 0.5, BindFail: 0.2, MemberDie: 0.1, Until: worlds.Faults}
			applied := o.Applied
			o.Applied = func(now berth.Time, e berth.Event, err error) {
				applied(now, e, err)
				if !errors.Is(err, berth.ErrStale) {
					before = nil
					return
				}
				// The same once more, with the state before and after.
				stale++
				var snapshotErr error
				before, snapshotErr = r.Sim.Core().Snapshot()
				require.NoError(t, snapshotErr)
				require.ErrorIs(t, r.Sim.Core().Apply(now, e), berth.ErrStale)
				after, snapshotErr := r.Sim.Core().Snapshot()
				require.NoError(t, snapshotErr)
				require.Equal(t, string(before), string(after))
			}
		})
		must(t, r, seed)
	}
	covers(t, map[string]int{"stale report": stale}, "stale report")
}
