package etcd_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// A release of an orchestrator, by the node that it prefers: the first, or the last.
type release struct{ last bool }

func (release) Name() string { return "nodes by name" }

func (r release) Score(_ *berth.Group, places []berth.Place) {
	for i := range places {
		places[i].Score = int64(places[i].Node.ID[1]-'0') * map[bool]int64{true: 1, false: -1}[r.last]
	}
}

// A running is a member of a release; what it is to do as the leader it is told.
type running struct {
	*etcd.Member
	do    chan func(context.Context, *etcd.Leader) bool // true: give the lead back
	stop  context.CancelFunc
	ended chan error
}

func (r release) start(t *testing.T, prefix, name string) *running {
	t.Helper()
	client, _ := newClient(t, sharedServer(t))
	m := &running{do: make(chan func(context.Context, *etcd.Leader) bool), ended: make(chan error, 1)}
	scored := config
	scored.Scorer = r
	var err error
	m.Member, err = etcd.New(etcd.Options{
		Client: client, Prefix: prefix, Name: name, TTL: 2 * time.Second, Journal: journal.Options{Config: scored},
		Serve: func(ctx context.Context, l *etcd.Leader) error {
			for {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case do := <-m.do:
					if do(ctx, l) {
						return nil
					}
				}
			}
		},
	})
	require.NoError(t, err)
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	t.Cleanup(m.stop)
	go func() { m.ended <- m.Run(ctx) }()
	return m
}

// schedule has the leader tell events and pass, and returns where the orders are for.
func (m *running) schedule(t *testing.T, events ...berth.Event) (nodes []berth.NodeID) {
	t.Helper()
	m.asLeader(t, func(ctx context.Context, l *etcd.Leader) bool {
		for _, e := range events {
			require.NoError(t, l.Apply(e))
		}
		orders, err := l.Schedule(ctx)
		require.NoError(t, err)
		for _, o := range orders {
			nodes = append(nodes, o.(berth.Bind).Members[0].Node)
		}
		return false
	})
	return nodes
}

func (m *running) asLeader(t *testing.T, do func(context.Context, *etcd.Leader) bool) {
	t.Helper()
	done := make(chan struct{})
	select {
	case m.do <- func(ctx context.Context, l *etcd.Leader) bool { defer close(done); return do(ctx, l) }:
		<-done
	case err := <-m.ended:
		require.Fail(t, "it has ended", err)
	case <-time.After(long):
		require.Fail(t, "it does not lead")
	}
}

// follows waits until a member stands where another one leads.
func (m *running) follows(t *testing.T, leader *running) {
	t.Helper()
	var at journal.Position
	leader.asLeader(t, func(_ context.Context, l *etcd.Leader) bool { at = l.Position(); return false })
	for end := time.Now().Add(long); m.Status().At != at; time.Sleep(time.Millisecond) {
		require.False(t, time.Now().After(end), "it does not follow")
	}
}

func work(n int) berth.Event {
	return berth.JobSubmitted{Job: berth.Job{
		ID: berth.JobID(fmt.Sprintf("j%d", n)), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(8)}},
	}}
}

func nodes(n int) (list []berth.Event) {
	for i := range n {
		list = append(list, berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%d", i)), Domains: []string{"leaf"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100"}}, 8),
		}})
	}
	return append(list, berth.QueueSet{Queue: quota.Queue{Name: "q"}})
}

// The replicas are replaced one at a time by those of a release that comes to the same orders: the
// followers first, and the leader last, which gives the lead back.
func TestUpgradeOneAtATime(t *testing.T) {
	prefix := newPrefix()
	old := release{}.start(t, prefix, "old leader")
	require.Equal(t, []berth.NodeID{"n0"}, old.schedule(t, append(nodes(4), work(0))...))
	follower := release{}.start(t, prefix, "old follower")
	follower.follows(t, old)

	old.asLeader(t, func(ctx context.Context, l *etcd.Leader) bool { require.NoError(t, l.Snapshot(ctx)); return false })
	follower.stop()
	require.ErrorIs(t, <-follower.ended, context.Canceled)
	fresh := release{}.start(t, prefix, "new follower")
	fresh.follows(t, old)
	require.Equal(t, []berth.NodeID{"n1"}, old.schedule(t, work(1)))
	fresh.follows(t, old)
	old.asLeader(t, func(context.Context, *etcd.Leader) bool { old.stop(); return true })
	require.ErrorIs(t, <-old.ended, context.Canceled)
	require.Equal(t, []berth.NodeID{"n0", "n1", "n2"}, fresh.schedule(t, work(2)), "what is outstanding, and what is new")
}

// A follower of a release that comes to other orders stops at the first pass that differs, and says
// so. Then the former release saves a snapshot as the last thing that it does, and the new one
// begins with it.
func TestUpgradeToOtherOrders(t *testing.T) {
	prefix := newPrefix()
	old := release{}.start(t, prefix, "old")
	require.Empty(t, old.schedule(t, nodes(4)...))
	fresh := release{last: true}.start(t, prefix, "new")
	fresh.follows(t, old)
	at := fresh.Status().At.Number
	require.Equal(t, []berth.NodeID{"n0"}, old.schedule(t, work(0)))
	err := <-fresh.ended
	require.ErrorIs(t, err, journal.ErrOrdersDiffer)
	var said *journal.Error
	require.ErrorAs(t, err, &said)
	require.Equal(t, at+2, said.Record, "the job, and the pass")
	require.Equal(t, []berth.NodeID{"n1"}, old.schedule(t, work(1)), "it harms nobody")

	old.asLeader(t, func(ctx context.Context, l *etcd.Leader) bool {
		require.NoError(t, l.Snapshot(ctx))
		old.stop()
		return true
	})
	require.ErrorIs(t, <-old.ended, context.Canceled)
	fresh = release{last: true}.start(t, prefix, "new")
	require.Equal(t, []berth.NodeID{"n0", "n1", "n3"}, fresh.schedule(t, work(2)))
}
