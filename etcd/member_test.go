package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/journal"
)

// A cluster is a few members at one etcd, and the world outside.
type cluster struct {
	*testing.T
	*world
	at      []string
	prefix  string
	admin   *clientv3.Client
	source  *etcd.Source
	auditor *auditor
	options journal.Options
	lock    sync.Mutex
	live    map[string]*replica
	dying   []*replica
	started int
}

// A replica is a process, as far as a test can have one: a member with a connection of its own.
type replica struct {
	*etcd.Member
	name   string
	client *clientv3.Client
	wire   *wire
	stop   context.CancelFunc
	ended  chan error
}

func newCluster(t *testing.T, at ...string) *cluster {
	c := &cluster{T: t, world: newWorld(t), at: at, prefix: newPrefix(), live: map[string]*replica{}}
	c.options = journal.Options{Config: config}
	c.admin, _ = newClient(t, at...)
	var err error
	c.source, err = etcd.NewSource(c.admin, c.prefix)
	require.NoError(t, err)
	c.auditor = newAuditor(t, c.source)
	return c
}

// start starts a member.
func (c *cluster) start() *replica {
	c.Helper()
	c.started++
	r := &replica{name: fmt.Sprintf("member%d", c.started), ended: make(chan error, 1)}
	r.client, r.wire = newClient(c.T, c.at...)
	c.Cleanup(c.stopAll) // before the client is closed
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	var err error
	r.Member, err = etcd.New(etcd.Options{
		Client: r.client, Prefix: c.prefix, Name: r.name, TTL: 2 * time.Second, Journal: c.options,
		Serve: c.serve(r.name, func() { r.wire.cut.Store(true); r.stop(); go r.client.Close() }),
		Log:   slog.New(slog.NewTextHandler(c.T.Output(), nil)),
	})
	require.NoError(c, err)
	go func() { r.ended <- r.Run(ctx) }()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.live[r.name] = r
	return r
}

// stopAll stops the members, and waits for them.
func (c *cluster) stopAll() {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, r := range c.live {
		r.wire.cut.Store(false)
		r.stop()
		c.dying = append(c.dying, r)
	}
	for _, r := range c.dying {
		select {
		case err := <-r.ended:
			if !errors.Is(err, context.Canceled) && !errors.Is(err, errKilled) {
				c.Errorf("%s: %v", r.name, err)
			}
		case <-time.After(long):
			c.Errorf("%s does not end", r.name)
		}
	}
	clear(c.live)
	c.dying = nil
}

// eventually waits for what has to come.
func (c *cluster) eventually(what string, is func() bool) {
	c.Helper()
	for end := time.Now().Add(long); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(c, "it did not come: "+what)
		}
	}
}

// leader waits until a member other than that of a name leads, and is at work.
func (c *cluster) leader(but string) *replica {
	c.Helper()
	var led *replica
	c.eventually("a leader other than "+but, func() bool {
		c.lock.Lock()
		defer c.lock.Unlock()
		for _, r := range c.live {
			if r.name != but && r.Status().Role == etcd.Leading {
				led = r
				return true
			}
		}
		return false
	})
	return led
}

// kill has the leader die at a stage, and its lease run out: at once, unless the time is to be
// waited for.
func (c *cluster) kill(at stage, wait bool) (name string) {
	c.Helper()
	c.world.lock.Lock()
	c.world.at = at
	c.world.wanted += 3
	c.world.lock.Unlock()
	select {
	case name = <-c.killed:
	case <-time.After(long):
		require.Fail(c, "no leader came to the stage "+at.String())
	}
	if !wait {
		c.expire(name)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.dying = append(c.dying, c.live[name])
	delete(c.live, name)
	return name
}

// expire has the lease of a member run out.
func (c *cluster) expire(name string) {
	c.Helper()
	resp, err := c.admin.Get(c.Context(), c.prefix+"/leader/", clientv3.WithPrefix())
	require.NoError(c, err)
	for _, kv := range resp.Kvs {
		if string(kv.Value) == name {
			if _, err := c.admin.Revoke(c.Context(), clientv3.LeaseID(kv.Lease)); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
				require.NoError(c, err)
			}
		}
	}
}

// settle has all jobs end, and looks at the whole.
func (c *cluster) settle() {
	c.Helper()
	c.eventually("rest", func() bool {
		c.auditor.catchUp() // before its records are dropped
		return c.atRest()
	})
	c.auditor.against(c.world)
	head, err := c.source.Head(c.Context())
	require.NoError(c, err)
	for _, r := range c.live {
		c.eventually(r.name+" at the head", func() bool { return r.Status().Role == etcd.Leading || r.Status().At.Number >= head.Number })
	}
}

// A leader is killed at every stage of its cycle. Its lease runs out, and the next one goes on.
func TestKilledAtEveryStage(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	c.start()
	c.start()
	c.want(20)
	for at := beforeAppend; at < stages; at++ {
		name := c.kill(at, at == afterAppend)
		c.start()
		next := c.leader(name)
		require.NotEqual(t, name, next.name)
		c.auditor.catchUp()
	}
	c.settle()
}

// A leader is told nothing of what it writes itself: the client would keep all of it.
func TestALeaderWatchesNothing(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	r := c.start()
	c.leader("")
	follower := c.start()
	c.want(3)
	c.eventually("that the follower is told", func() bool { return follower.wire.watched.Load() > 0 })
	c.settle()
	before := r.wire.watched.Load()
	c.want(10)
	c.settle()
	require.Equal(t, before, r.wire.watched.Load())
	c.expire(r.name)
	c.leader(r.name)
	c.want(3)
	c.eventually("that it is told as a follower", func() bool { return r.wire.watched.Load() > before })
	c.settle()
}

// takeOvers is how many a soak has: a few, or as many as the environment says.
func takeOvers(t *testing.T) int {
	text := os.Getenv("BERTH_TAKEOVERS")
	if text == "" {
		return 8
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// Take-overs one after the other, at a stage each, with snapshots on the way:
//
//	BERTH_TAKEOVERS=1000 go test -run TestSoak -timeout 1h .
func TestSoak(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	c.options.SnapshotRecords = 200
	c.start()
	c.start()
	c.want(20)
	n := takeOvers(t)
	var took []time.Duration
	for i := range n {
		name := c.kill(beforeAppend+stage(i%int(stages-1)), false)
		began := time.Now()
		c.leader(name)
		took = append(took, time.Since(began))
		c.start()
		c.auditor.catchUp()
	}
	c.settle()
	t.Logf("%d take-overs, %d passes, %d orders; the lease gone, the slowest took %v", n, c.auditor.passes, len(c.auditor.orders), maxOf(took))
}

func maxOf(list []time.Duration) time.Duration {
	var most time.Duration
	for _, d := range list {
		most = max(most, d)
	}
	return most
}

// A server that waits long for others keeps a lease for longer than it is asked to, and the log
// says for how long.
func TestTheLeaseIsAsLongAsItIsGranted(t *testing.T) {
	list, err := server.Cluster(t.TempDir(), 1)
	require.NoError(t, err)
	list[0].Election = 2 * time.Second
	require.NoError(t, server.Ready(startServer(t, list[0]), long))
	client, _ := newClient(t, list[0].Client)
	said := make(lines, 100)
	m, err := etcd.New(etcd.Options{
		Client: client, Prefix: newPrefix(), Name: "m", TTL: 2 * time.Second, Journal: journal.Options{Config: config},
		Serve: func(ctx context.Context, _ *etcd.Leader) error { <-ctx.Done(); return nil },
		Log:   slog.New(slog.NewTextHandler(said, nil)),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	for line := range said {
		if strings.Contains(line, "granted=") {
			require.Contains(t, line, "TTL=2s granted=3s")
			break
		}
	}
	stop()
	<-ended
}

// lines are those of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}
