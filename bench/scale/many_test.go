package scale

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
)

// serveAll has passes run until nothing is due at this instant. It returns how many preemptions
// there were, and the most in one pass.
func serveAll(tb testing.TB, sched *core.Core) (all, most int64) {
	tb.Helper()
	for at, due := sched.Now(), true; due && at <= sched.Now(); at, due = sched.NextWake() {
		before := sched.Report().Totals.Preemptions
		pass(tb, sched)
		now := sched.Report().Totals.Preemptions - before
		all, most = all+now, max(most, now)
	}
	return all, most
}

// However many gangs need victims at once, all get them, and one pass looks for those of as few;
// and what becomes free has only those beneficiaries searched for that fit in it.
func TestManyPreemptorsCostAPassNoMore(t *testing.T) {
	var most, searches [2]int64
	for i, gangs := range []int{24, 96} {
		sched := newSingles(t, 800, true)
		for k := range gangs {
			job := jobOf(fmt.Sprintf("burst-%03d", k), "serve", 1, gpusPerNode)
			job.Class = berth.ClassLatencyCritical
			job.Groups[0].Claim.CPUMilli -= int64(k)
			tell(t, sched, berth.JobSubmitted{Job: job})
		}
		var all int64
		all, most[i] = serveAll(t, sched)
		require.Equal(t, int64(gangs), all)
		before := sched.Report().Totals.PlacementAttempts
		tell(t, sched, berth.JobFinished{Job: "train-000000", Incarnation: 1})
		serveAll(t, sched)
		searches[i] = sched.Report().Totals.PlacementAttempts - before
	}
	require.Equal(t, searches[0], searches[1], "searches after the end of a job of one GPU")
	require.Less(t, max(most[0], most[1]), int64(16), "preemptions in one pass")
}

// However many jobs could start at once, one pass starts no more than so many, and a larger fleet
// is filled all the same.
func TestAColdStartCostsAPassNoMore(t *testing.T) {
	for _, gpus := range []int{2 * small, 4 * small} {
		sched := newCold(t, gpus, 1, gpus)
		for at, due := sched.Now(), true; due && at <= sched.Now(); at, due = sched.NextWake() {
			placed := 0
			for _, o := range pass(t, sched) {
				placed += len(o.(berth.Bind).Members)
			}
			require.Less(t, placed, 1500, "members placed in one pass")
		}
		require.Zero(t, sched.Report().GPUs.FreeMilli, "free GPUs")
	}
}
