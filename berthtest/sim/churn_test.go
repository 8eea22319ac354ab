package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// churn has a generation of nodes, queues and jobs, of names and shapes of its own,
// come, run and go.
func churn(t *testing.T, sched *core.Core, now berth.Time) {
	t.Helper()
	must := func(e berth.Event) { require.NoError(t, sched.Apply(now, e)) }
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%d-%d", kind, now, i) }
	product := berth.GPU{Product: name("gpu", 0), MemoryMiB: 1000}
	for i := range 4 {
		must(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(name("n", i)), GPUs: []berth.GPU{product, product}}})
		must(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name("q", i))}})
	}
	seen := func(id string, gpu int) berth.JobObserved {
		share := berth.Claim{Share: &berth.Share{GPUMilli: 900}}
		at := berth.MemberPlacement{Node: berth.NodeID(name("n", 0)), GPUs: berth.GPUSetOf(gpu), ShareMilli: 900}
		return berth.JobObserved{
			Job: berth.Job{
				ID: berth.JobID(id), Queue: berth.QueueID(name("q", 0)), Tenant: berth.TenantID(id),
				Groups: []berth.Group{{Members: 1, Claim: share}},
			},
			Running: []berth.ObservedReplica{{Incarnation: 1, Started: now, Members: []berth.MemberPlacement{at}}},
		}
	}
	must(seen(name("seen", 0), 0))
	require.ErrorIs(t, sched.Apply(now, seen(name("seen", 1), 0)), berth.ErrConflict)
	for i := range 12 {
		claim := berth.Claim{GPUs: 1 + i%2}
		if i%3 == 0 {
			claim = berth.Claim{Share: &berth.Share{GPUMilli: 100 + i}}
		}
		must(berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(name("j", i)), Queue: berth.QueueID(name("q", i%4)), Tenant: berth.TenantID(name("t", i)),
			Groups: []berth.Group{{Members: 2, MinMembers: 1, Claim: claim}},
		}})
	}
	for range 3 {
		actions, err := sched.Schedule(now)
		require.NoError(t, err)
		for _, a := range actions {
			must(berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
		}
	}
	for i := range 12 {
		must(berth.JobCancelled{Job: berth.JobID(name("j", i))})
	}
	must(berth.JobCancelled{Job: berth.JobID(name("seen", 0))})
	actions, err := sched.Schedule(now)
	require.NoError(t, err)
	require.NotEmpty(t, actions)
	for _, a := range actions {
		must(berth.OrderReported{Order: a.Header().ID, Outcome: berth.OutcomeDone})
	}
	for i := range 4 {
		must(berth.NodeLost{Node: berth.NodeID(name("n", i))})
		must(berth.QueueRemoved{Queue: berth.QueueID(name("q", i))})
	}
	require.NoError(t, sched.Check())
}
