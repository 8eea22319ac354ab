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
	const replicas, members = 2_000_000, 65_536
	one := []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}
	service := func(id berth.JobID, n int) berth.Job {
		return berth.Job{ID: id, Queue: "a", Service: &berth.Service{Replicas: n}, Groups: one}
	}
	gang := func(id berth.JobID, g berth.Group) berth.JobSubmitted {
		g.Claim = berth.Claim{GPUs: 1}
		return berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "a", Groups: []berth.Group{g}}}
	}
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
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
		gang("elastic", berth.Group{Members: members, MinMembers: 1}),
		gang("segments", berth.Group{Members: members, Topology: berth.Topology{Segments: []berth.Segment{{Level: "node", Size: members}}}}),
		gang("skew", berth.Group{Members: members, Topology: berth.Topology{Spread: "node", MaxSkew: limits.MaxOrdinal}}),
		berth.PolicyChanged{Policy: berth.Policy{PassBudget: limits.MaxOrdinal, BackfillBudget: limits.MaxOrdinal, ReservedGangs: limits.MaxReservedGangs, ReleaseAttempts: limits.MaxOrdinal}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, d.Apply(0, e))
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200_000), "bytes for %+v", e)
		require.LessOrEqual(t, core.Records(d.Core), 6, "%+v", e)
	}
	require.NoError(t, d.Check())
}
