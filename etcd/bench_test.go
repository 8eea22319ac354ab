package etcd_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// The benchmarks have one server that syncs each write, on the machine of the core:
//
//	go test -run '^$' -bench . .

func benchClient(b *testing.B) *clientv3.Client {
	list, err := server.Cluster(b.TempDir(), 1)
	require.NoError(b, err)
	list[0].Sync = true
	e, err := list[0].Start()
	require.NoError(b, err)
	b.Cleanup(e.Close)
	require.NoError(b, server.Ready(e, long))
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{list[0].Client}, Logger: zap.NewNop()})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

var batches = []int{1, 64, 512}

// BenchmarkAppend is what the log takes by itself, in records of 300 bytes.
func BenchmarkAppend(b *testing.B) {
	c := benchClient(b)
	record := bytes.Repeat([]byte{'r'}, 300)
	for _, size := range batches {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			store, err := seize(b.Context(), c, newPrefix())
			require.NoError(b, err)
			require.NoError(b, store.Save(b.Context(), journal.Snapshot{Data: []byte("begin")}))
			var at journal.Position
			records := make([][]byte, size)
			for i := range records {
				records[i] = record
			}
			for b.Loop() {
				next := journal.Position{Number: at.Number + uint64(size), Sum: at.Sum + 1}
				require.NoError(b, store.Append(b.Context(), journal.Batch{After: at, Head: next, Records: records}))
				at = next
			}
			eventsPerSecond(b, size)
		})
	}
}

func eventsPerSecond(b *testing.B, size int) {
	b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "events/s")
}

// A day is the work of a fleet of 512 GPUs: jobs of one GPU come, are bound, reported and finish.
type day struct {
	next []berth.Event
	jobs int
}

func newDay() *day {
	d := &day{next: []berth.Event{berth.QueueSet{Queue: quota.Queue{Name: "q"}}}}
	for n := range 64 {
		d.next = append(d.next, berth.NodeJoined{Node: berth.Node{
			ID: berth.NodeID(fmt.Sprintf("n%d", n)), Domains: []string{"leaf"}, GPUs: slices.Repeat([]berth.GPU{{Product: "H100-80GB"}}, 8),
		}})
	}
	return d
}

// turn tells so many events, and has a pass.
func (d *day) turn(events int, apply func(berth.Event) error, schedule func() ([]berth.Order, error)) error {
	for range events {
		if len(d.next) == 0 {
			d.jobs++
			d.next = append(d.next, berth.JobSubmitted{Job: berth.Job{
				ID: berth.JobID(fmt.Sprintf("j%d", d.jobs)), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}},
			}})
		}
		if err := apply(d.next[0]); err != nil {
			return err
		}
		d.next = d.next[1:]
	}
	orders, err := schedule()
	for _, o := range orders {
		h := o.Header()
		d.next = append(d.next, berth.OrderReported{Order: h.ID, Outcome: berth.OutcomeDone}, berth.JobFinished{Job: h.Job, Incarnation: h.Incarnation})
	}
	return err
}

// BenchmarkCore is the core alone, with so many events a pass.
func BenchmarkCore(b *testing.B) {
	for _, size := range batches {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c, err := core.New(config)
			require.NoError(b, err)
			began := time.Now()
			now := func() berth.Time { return berth.TimeOf(began).Add(berth.DurationOf(time.Since(began))) }
			d := newDay()
			for b.Loop() {
				require.NoError(b, d.turn(size, func(e berth.Event) error { return c.Apply(now(), e) },
					func() ([]berth.Order, error) { return c.Schedule(now()) }))
			}
			eventsPerSecond(b, size)
		})
	}
}

// BenchmarkDurable is the same with the log in etcd: so many events and a pass are a transaction.
func BenchmarkDurable(b *testing.B) {
	c := benchClient(b)
	for _, size := range batches {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			leader := benchLeader(b, c, newPrefix())
			d := newDay()
			for b.Loop() {
				require.NoError(b, d.turn(size, leader.Apply, func() ([]berth.Order, error) { return leader.Schedule(b.Context()) }))
			}
			eventsPerSecond(b, size)
		})
	}
}

func benchLeader(b *testing.B, c *clientv3.Client, prefix string) *journal.Durable {
	store, err := seize(b.Context(), c, prefix)
	require.NoError(b, err)
	d, err := journal.Open(b.Context(), store, journal.Options{Config: config})
	require.NoError(b, err)
	return d
}

// BenchmarkFollow is what a follower takes that reads a log of batches of 64 from its beginning.
func BenchmarkFollow(b *testing.B) {
	c := benchClient(b)
	prefix := newPrefix()
	leader := benchLeader(b, c, prefix)
	d := newDay()
	const turns, size = 150, 64
	for range turns {
		require.NoError(b, d.turn(size, leader.Apply, func() ([]berth.Order, error) { return leader.Schedule(b.Context()) }))
	}
	source, err := etcd.NewSource(c, prefix)
	require.NoError(b, err)
	for b.Loop() {
		s, err := source.Newest(b.Context())
		require.NoError(b, err)
		r, err := journal.Restore(s, config)
		require.NoError(b, err)
		require.NoError(b, r.CatchUp(b.Context(), source))
		require.Equal(b, leader.Position(), r.Position())
	}
	eventsPerSecond(b, turns*size)
}

// benchMember starts a member; what it leads goes to the channel.
func benchMember(b *testing.B, c *clientv3.Client, prefix, name string, led chan<- *etcd.Leader) (m *etcd.Member, stop func()) {
	m, err := etcd.New(etcd.Options{
		Client: c, Prefix: prefix, Name: name, TTL: 2 * time.Second, Journal: journal.Options{Config: config},
		Serve: func(ctx context.Context, l *etcd.Leader) error {
			led <- l
			<-ctx.Done()
			return ctx.Err()
		},
	})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return m, func() { cancel(); <-ended }
}

// BenchmarkLag is how long after an append of 64 events a follower stands behind them.
func BenchmarkLag(b *testing.B) {
	c := benchClient(b)
	prefix := newPrefix()
	leader := benchLeader(b, c, prefix)
	follower, stop := benchMember(b, c, prefix, "follower", nil)
	defer stop()
	d := newDay()
	var lags time.Duration
	for b.Loop() {
		require.NoError(b, d.turn(64, leader.Apply, func() ([]berth.Order, error) { return leader.Schedule(b.Context()) }))
		durable := time.Now()
		for follower.Status().At != leader.Position() {
			time.Sleep(50 * time.Microsecond)
		}
		lags += time.Since(durable)
	}
	b.ReportMetric(float64(lags.Microseconds())/float64(b.N)/1000, "ms-behind")
}

// BenchmarkTakeOver is how long after the end of the leader's lease the next one serves.
func BenchmarkTakeOver(b *testing.B) {
	c := benchClient(b)
	prefix := newPrefix()
	led := make(chan *etcd.Leader, 2)
	for _, name := range []string{"one", "two"} {
		_, stop := benchMember(b, c, prefix, name, led)
		defer stop()
	}
	<-led
	var took time.Duration
	for b.Loop() {
		resp, err := c.Get(b.Context(), prefix+"/leader/", clientv3.WithFirstCreate()...)
		require.NoError(b, err)
		_, err = c.Revoke(b.Context(), clientv3.LeaseID(resp.Kvs[0].Lease))
		require.NoError(b, err)
		over := time.Now()
		<-led
		took += time.Since(over)
		for resp.Count = 0; resp.Count < 2; { // the other one stands again
			resp, err = c.Get(b.Context(), prefix+"/leader/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1000, "ms-without")
}

// BenchmarkState is the sum of the state, which is compared when a leader begins and with each
// snapshot, of so many jobs that wait.
func BenchmarkState(b *testing.B) {
	c := benchClient(b)
	for _, jobs := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(jobs), func(b *testing.B) {
			prefix := newPrefix()
			leader := benchLeader(b, c, prefix)
			require.NoError(b, leader.Apply(berth.QueueSet{Queue: quota.Queue{Name: "q"}}))
			for n := range jobs {
				require.NoError(b, leader.Apply(berth.JobSubmitted{Job: berth.Job{
					ID: berth.JobID(fmt.Sprintf("j%d", n)), Queue: "q", Groups: []berth.Group{{Members: 1 + n%7, Claim: berth.WholeGPUs(1 + n%8)}},
				}}))
			}
			_, err := leader.Schedule(b.Context())
			require.NoError(b, err)
			require.NoError(b, leader.Snapshot(b.Context()))
			source, err := etcd.NewSource(c, prefix)
			require.NoError(b, err)
			s, err := source.Newest(b.Context())
			require.NoError(b, err)
			r, err := journal.Restore(s, config)
			require.NoError(b, err)
			b.SetBytes(int64(len(s.Data)))
			for b.Loop() {
				_, err := r.State()
				require.NoError(b, err)
			}
		})
	}
}
