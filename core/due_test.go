package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// A completion on a full fleet makes the core look at what is due, and not at the jobs of all
// shapes that wait in all queues.
func TestAPassLooksAtWhatIsDue(t *testing.T) {
	const shapes, nodes = 20, 4
	for _, queues := range []int{100, 1000} {
		c, err := core.New(berth.Config{})
		require.NoError(t, err)
		apply := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
		rest := func() {
			for at, due := c.Now(), true; due && at <= c.Now(); at, due = c.NextWake() {
				orders, err := c.Schedule(c.Now())
				require.NoError(t, err)
				for _, o := range orders {
					apply(berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone})
				}
			}
		}
		_, err = c.Schedule(berth.Time(4 * berth.Hour))
		require.NoError(t, err)
		job := func(id string, q, members, gpus int) berth.Job {
			return berth.Job{
				ID: berth.JobID(id), Queue: berth.QueueID(fmt.Sprintf("queue-%d", q)),
				Groups: []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}},
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for i := range queues {
			apply(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprintf("queue-%d", i))}})
		}
		for i := range nodes * queues {
			node := fmt.Sprintf("node-%d", i)
			apply(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(node), GPUs: append(fourGPUs(), fourGPUs()...)}})
			apply(berth.JobObserved{Job: job(node, i%queues, 1, 8), Running: []berth.ObservedReplica{{
				Incarnation: 1, Started: berth.Time(random.Int64N(int64(berth.Hour))),
				Members: []berth.MemberPlacement{{Node: berth.NodeID(node), GPUs: 1<<8 - 1}},
			}}})
		}
		for i := range queues * shapes {
			shape := i / queues
			apply(berth.JobSubmitted{Job: job(fmt.Sprintf("waits-%05d", i), i%queues, 1+shape/4, 1<<(shape%4))})
		}
		rest()
		for i := range 3 {
			_, err := c.Schedule(c.Now().Add(10 * berth.Minute))
			require.NoError(t, err)
			rest()
			before := core.Buckets(c)
			apply(berth.JobFinished{Job: berth.JobID(fmt.Sprintf("node-%d", i)), Incarnation: 1})
			rest()

			require.Less(t, core.Buckets(c)-before, 40*shapes, "of %d that wait", queues*shapes)
		}
		require.NoError(t, c.Check())
	}
}
