package etcd_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/journal"
)

// A landlord is a process that has a member for each of four pools, which have no nodes.
type landlord struct {
	*etcd.Pools
	name string
	stop context.CancelFunc
	wire *wire
	give []chan struct{} // has the pool of a number given back
}

func startLandlord(t *testing.T, prefix, name string) *landlord {
	t.Helper()
	l := &landlord{name: name}
	var client *clientv3.Client
	client, l.wire = newClient(t, sharedServer(t))
	var options []etcd.Options
	for n := range 4 {
		give := make(chan struct{})
		l.give = append(l.give, give)
		options = append(options, etcd.Options{
			Client: client, Prefix: fmt.Sprintf("%s/pool%d", prefix, n), Name: name, TTL: 2 * time.Second,
			Journal: journal.Options{Config: config}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Serve: func(ctx context.Context, l *etcd.Leader) error {
				if _, err := l.Schedule(ctx); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-give:
					return nil
				}
			},
		})
	}
	var err error
	l.Pools, err = etcd.NewPools(options...)
	require.NoError(t, err)
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		l.wire.cut.Store(false)
		l.stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return l
}

// leads waits until a process leads these pools, and no others.
func (l *landlord) leads(t *testing.T, want ...int) {
	t.Helper()
	var is []int
	for end := time.Now().Add(long); ; time.Sleep(5 * time.Millisecond) {
		is = nil
		for n, m := range l.Members() {
			if m.Status().Role == etcd.Leading {
				is = append(is, n)
			}
		}
		if fmt.Sprint(is) == fmt.Sprint(want) && l.Led() == len(want) {
			return
		}
		require.False(t, time.Now().After(end), "%s leads %v and not %v", l.name, is, want)
	}
}

// The process that leads fewer pools has a pool that is free first, and the pools of one that dies
// move to another.
func TestPoolsMove(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	first := startLandlord(t, prefix, "first")
	first.leads(t, 0, 1, 2, 3)
	second := startLandlord(t, prefix, "second")
	time.Sleep(500 * time.Millisecond) // it waits at each pool by then
	require.Zero(t, second.Led(), "what leads is left where it is")

	first.give[3] <- struct{}{}
	second.leads(t, 3)
	// It gives the pool back, and has to stand again; the other one stands there, and lets it go
	// first.
	term := second.Members()[3].Status().Term
	second.give[3] <- struct{}{}
	for end := time.Now().Add(long); second.Members()[3].Status().Term <= term; time.Sleep(time.Millisecond) {
		require.False(t, first.Led() > 3 || time.Now().After(end), "the one that leads most has it")
	}
	first.give[2] <- struct{}{}
	second.leads(t, 2, 3)
	first.leads(t, 0, 1)

	began := time.Now()
	second.wire.cut.Store(true) // nothing is heard of it any more
	first.leads(t, 0, 1, 2, 3)
	t.Logf("two pools moved after %v", time.Since(began))
	third := startLandlord(t, prefix, "third")
	first.stop()
	third.leads(t, 0, 1, 2, 3)
}

func TestPoolsAreDistinct(t *testing.T) {
	client, _ := newClient(t, "127.0.0.1:1")
	o := etcd.Options{Client: client, Prefix: "/a", Name: "n", Serve: func(context.Context, *etcd.Leader) error { return nil }}
	again := o
	again.Prefix = "/a/"
	_, err := etcd.NewPools(o, again)
	require.ErrorContains(t, err, `two pools have the prefix "/a/"`)
	_, err = etcd.NewPools(o, etcd.Options{})
	require.Error(t, err)
}
