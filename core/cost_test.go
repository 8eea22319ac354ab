package core_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// The largest number that each count of an event may have makes the core allocate no more than a
// small one, by far.
func TestALargeNumberInAnEventIsNotAnAllocation(t *testing.T) {
	// A bit for each replica is more; the race detector allocates twice what a list grows by.
	const replicas, members, most = 4_000_000, 65_536, 480_000
	one := []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}
	service := func(id berth.JobID, n int) berth.Job {
		return berth.Job{ID: id, Queue: "a", Service: &berth.Service{Replicas: n}, Groups: one}
	}
	gang := func(id berth.JobID, g berth.Group) berth.JobSubmitted {
		g.Claim = berth.Claim{GPUs: 1}
		return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "a", Groups: []berth.Group{g}}}
	}
	d := shared(t, berth.Config{Limits: berth.Limits{Replicas: 1 << 22}}, func(_, _ *quota.Queue) {})
	for _, e := range []berth.Event{
		berth.JobSubmitted{Job: service("many", replicas)},
		berth.JobScaled{Job: "many", Replicas: 1},
		berth.JobScaled{Job: "many", Replicas: replicas},
		berth.JobCancelled{Job: "many"},
		berth.JobObserved{Job: service("seen", replicas)},
		berth.JobScaled{Job: "seen", Replicas: 0},
		berth.JobObserved{Job: service("far", replicas), Running: []berth.ObservedReplica{{
			Replica: replicas - 1, Incarnation: 1, Members: []berth.MemberPlacement{{Node: "n", GPUs: berth.GPUSetOf(0)}},
		}}},
		berth.JobScaled{Job: "far", Replicas: 1},
		gang("wide", berth.Group{Members: members}),
		gang("elastic", berth.Group{Members: 1025, MinMembers: 1}),
		gang("large and elastic", berth.Group{Members: members, MinMembers: members / 2}),
		gang("segments", berth.Group{Members: members, Topology: berth.Topology{Segments: []berth.Segment{{Level: "node", Size: members}}}}),
		gang("skew", berth.Group{Members: members, Topology: berth.Topology{Spread: "node", MaxSkew: limits.MaxOrdinal}}),
		berth.PolicyChanged{Policy: berth.Policy{PassBudget: limits.MaxOrdinal, BackfillBudget: limits.MaxOrdinal, ReservedGangs: limits.MaxReservedGangs, ReleaseAttempts: limits.MaxOrdinal}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, d.Apply(0, e))
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most), "bytes for %+v", e)
		require.LessOrEqual(t, core.Records(d.Core), 6, "%+v", e)
	}
	require.NoError(t, d.Check())
}

// What a pass and an explanation allocate is bounded by the fleet, however many members waiting
// gangs ask for. Gangs that run with less than they ask for cost a little for each that they lack,
// and Limits.SurplusMembers bounds these.
func TestGangsThatAskForMuchCostWhatTheyGet(t *testing.T) {
	const members = 65_536
	group := berth.Group{Members: members, Claim: berth.Claim{GPUs: 1}}
	elastic := group
	elastic.Members, elastic.MinMembers = 1025, 1
	for _, c := range []struct {
		job    berth.Job
		orders int
		most   uint64
	}{
		{berth.Job{Groups: []berth.Group{group}}, 0, 100_000},
		{berth.Job{Service: &berth.Service{Replicas: 2_000_000}, Groups: []berth.Group{group}}, 0, 100_000},
		{berth.Job{Service: &berth.Service{Replicas: 8}, Groups: []berth.Group{elastic}, Topology: berth.Topology{Required: "node"}}, 8, 8 * 143_000},
	} {
		d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
		c.job.ID, c.job.Queue = "j", "a"
		d.tell(berth.JobSubmitted{Job: c.job})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		orders, err := d.Schedule(0)
		require.NoError(t, err)
		_, err = d.Explain("j")
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Len(t, orders, c.orders)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, c.most, "%+v", c.job)
	}
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	elastic.Members++
	var refusal *berth.Error
	require.ErrorAs(t, d.Apply(0, berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "a", Groups: []berth.Group{elastic}}}), &refusal)
	require.ErrorIs(t, refusal, berth.ErrLimit)
	require.Contains(t, refusal.Reason, "Limits.SurplusMembers")
}
