package etcd_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/journal"
)

// A leader sleeps between its pass and the sending of the orders, and its keepalives with it, until
// its lease has run out and another leads. When it wakes, its orders are refused by their term,
// and it can write nothing.
func TestPausedUntilTheLeaseHasRunOut(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	old := c.start()
	c.leader("")
	c.start()
	c.want(10)
	c.world.lock.Lock()
	c.world.sleeper = old.name
	c.world.lock.Unlock()
	<-c.slept
	old.wire.cut.Store(true)
	c.want(3)
	next := c.leader(old.name)
	c.eventually("orders of the next leader", func() bool {
		c.world.lock.Lock()
		defer c.world.lock.Unlock()
		return c.world.term == next.Status().Term
	})
	old.wire.cut.Store(false)
	close(c.awake)
	c.eventually("the old one to follow", func() bool { return old.Status().Role == etcd.Following })
	c.settle()
	require.Positive(t, c.refused, "its orders came when they were over")
}

// An append is on its way for so long that another leader is there before it arrives: etcd
// refuses it.
func TestAnAppendThatComesTooLate(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	old := c.start()
	c.leader("")
	c.start()
	c.want(5)
	c.eventually("work", func() bool { return c.count() > 0 })
	var once sync.Once
	held, on := make(chan struct{}), make(chan struct{})
	before := func() { once.Do(func() { close(held); <-on }) }
	old.wire.before.Store(&before)
	c.want(3)
	<-held
	c.expire(old.name)
	c.leader(old.name)
	close(on)
	c.eventually("the refusal", func() bool { return c.failed(journal.ErrFenced, journal.ErrUncertain) })
	c.settle()
}

// An append is done, its answer is lost, and nothing is heard of the leader any more. It does not
// know whether its orders count, and lets none out; they do, and the next leader does.
func TestTheAnswerIsLostAndTheLeaderWithIt(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	old := c.start()
	c.leader("")
	next := c.start()
	c.want(5)
	c.settle()
	c.failed()
	carried := c.count()
	last := c.auditor.number
	var once sync.Once
	cut := func() { once.Do(func() { old.wire.lose.Store(1); old.wire.cutAfter.Store(true) }) }
	old.wire.before.Store(&cut)
	c.want(1)
	c.eventually("the append", func() bool { c.auditor.catchUp(); return c.auditor.number > last })
	require.Equal(t, next.name, c.leader(old.name).name)
	c.eventually("the order", func() bool { return c.count() == carried+1 })
	require.Equal(t, next.Status().Term, c.world.term)
	c.eventually("that the old one says so", func() bool { return c.failed(journal.ErrUncertain) })
	old.wire.cut.Store(false)
	c.settle()
}

// Answers of appends are lost. The same leader finds out what became of them, and goes on.
func TestAnswersAreLost(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	r := c.start()
	c.leader("")
	term := r.Status().Term
	for range 10 {
		r.wire.lose.Store(2)
		c.want(3)
		c.eventually("lost answers", func() bool { return r.wire.lose.Load() == 0 })
		c.eventually("rest", c.atRest)
	}
	c.settle()
	require.Equal(t, term, r.Status().Term)
	require.False(t, c.failed(journal.ErrUncertain, journal.ErrFenced))
}

// The lock is deleted by hand: the leader steps down with its next append, and stands again.
func TestTheLockIsDeleted(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	r := c.start()
	c.leader("")
	term := r.Status().Term
	_, err := c.admin.Delete(t.Context(), c.prefix+"/leader/", clientv3.WithPrefix())
	require.NoError(t, err)
	c.want(3)
	c.eventually("another term", func() bool { return r.Status().Term > term })
	require.True(t, c.failed(journal.ErrFenced))
	c.settle()
}

// A follower that was cut off comes back when what it needs is not kept any more, and begins again
// with the newest snapshot.
func TestCompactionUnderAFollower(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	c.options.SnapshotRecords = 20
	c.start()
	c.leader("")
	late := c.start()
	c.want(3)
	c.eventually("a follower", func() bool { return late.Status().At.Number > 0 })
	late.wire.cut.Store(true)
	at := late.Status().At.Number
	saved := func() uint64 {
		newest, err := c.source.Newest(t.Context())
		require.NoError(t, err)
		return newest.At.Number
	}
	for first := saved(); saved() < first+100; c.auditor.catchUp() {
		c.want(1)
		time.Sleep(5 * time.Millisecond)
	}
	for _, err := range c.source.Records(t.Context(), at) {
		require.ErrorIs(t, err, journal.ErrCompacted)
		break
	}
	late.wire.cut.Store(false)
	c.settle()
	require.Greater(t, late.Status().At.Number, at+90)
}

// Etcd is stopped and started again: the core stands still meanwhile, and nothing is lost.
func TestEtcdIsRestarted(t *testing.T) {
	t.Parallel() // it waits for etcd most of the time
	list, err := server.Cluster(t.TempDir(), 1)
	require.NoError(t, err)
	e := startServer(t, list[0])
	c := newCluster(t, list[0].Client)
	c.start()
	c.start()
	for range 2 {
		c.want(5)
		c.eventually("work", func() bool { return c.atRest() })
		e.Close()
		c.want(5)
		carried := c.count()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, carried, c.count(), "an order was let out that is in no log")
		e = startServer(t, list[0])
	}
	c.settle()
}

// Two of three servers are lost, and come back. Without a quorum the core stands still, and says
// so: the leader's append is uncertain, and it leads no more. Nothing is lost.
func TestTheQuorumIsLost(t *testing.T) {
	t.Parallel()
	list, err := server.Cluster(t.TempDir(), 3)
	require.NoError(t, err)
	servers := make([]*embed.Etcd, 3)
	var group sync.WaitGroup
	for i, s := range list {
		group.Go(func() { servers[i], err = s.Start() })
	}
	group.Wait()
	var at []string
	for i, s := range list {
		require.NotNil(t, servers[i])
		require.NoError(t, server.Ready(servers[i], long))
		at = append(at, s.Client)
	}
	c := newCluster(t, at...)
	t.Cleanup(func() {
		c.stopAll()
		for _, e := range servers {
			stopServer(e)
		}
	})
	c.start()
	c.start()
	c.want(5)
	c.eventually("rest", c.atRest)

	servers[0].Close() // one of three is no harm
	c.want(5)
	c.eventually("rest, with two servers", c.atRest)
	c.failed()

	servers[1].Close()
	carried := c.count()
	c.want(5)
	c.eventually("that somebody says so", func() bool { return c.failed(journal.ErrUncertain) })
	require.Equal(t, carried, c.count(), "an order was let out that is in no log")
	require.False(t, c.atRest())

	for i := range 2 {
		servers[i], err = list[i].Start()
		require.NoError(t, err)
	}
	c.settle()
}

// The quota of etcd is used up: the leader says so, lets nothing out and goes on when there is
// room. Where its lease is lost meanwhile nobody leads before there is.
func TestAFullBackend(t *testing.T) {
	list, err := server.Cluster(t.TempDir(), 1)
	require.NoError(t, err)
	list[0].Quota = 16 << 20
	startServer(t, list[0])
	c := newCluster(t, list[0].Client)
	first := c.start()
	c.leader("")
	second := c.start()
	c.want(5)
	c.eventually("rest", c.atRest)
	term := first.Status().Term

	junk := strings.Repeat("x", 1<<20)
	for _, leaderLost := range []bool{false, true} {
		for err = nil; err == nil; {
			_, err = c.admin.Put(t.Context(), "/junk", junk)
		}
		require.ErrorContains(t, err, "database space exceeded")
		carried := c.count()
		c.failed()
		c.want(5)
		c.eventually("that the leader says so", func() bool { return c.failed(journal.ErrFull) })
		if leaderLost {
			c.expire(first.name)
			c.eventually("that nobody leads", func() bool {
				return first.Status().Role == etcd.Following && second.Status().Role == etcd.Following
			})
		}
		require.Equal(t, carried, c.count(), "an order was let out that is in no log")
		_, err = c.admin.Delete(t.Context(), "/junk")
		require.NoError(t, err)
		makeRoom(t, c.admin, list[0].Client)
		c.settle()
		if !leaderLost {
			require.Equal(t, term, first.Status().Term, "it led all the time")
		}
	}
}

// A follower that comes to another state than the leader, or reads a log that is not as it was
// written, stops and says where.
func TestAMismatchStopsTheMember(t *testing.T) {
	for name, test := range map[string]struct {
		key, value string
		kind       error
	}{
		"state":    {"/state", `{"at":AT,"state":"00000000000000aa","term":1}`, journal.ErrStateDiffers},
		"no state": {"/state", `{`, journal.ErrDamaged},
		"head":     {"/head", `{"number":1,"sum":"00000000000000aa"}`, journal.ErrDamaged},
		"record":   {"/log/00000000000000ff/00000000", "\x01\x02{}", journal.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, sharedServer(t))
			c.start()
			c.leader("")
			c.want(3)
			c.eventually("rest", c.atRest)
			c.stopAll()
			head, err := c.admin.Get(t.Context(), c.prefix+"/head")
			require.NoError(t, err)
			at := string(head.Kvs[0].Value)
			value := strings.Replace(test.value, "AT", at, 1)
			if name == "record" {
				_, err = c.admin.Put(t.Context(), c.prefix+"/head", `{"number":255,"sum":"00000000000000aa"}`)
				require.NoError(t, err)
			}
			_, err = c.admin.Put(t.Context(), c.prefix+test.key, value)
			require.NoError(t, err)
			r := c.start()
			select {
			case err = <-r.ended:
			case <-time.After(long):
				require.Fail(t, "it does not stop")
			}
			delete(c.live, r.name)
			require.ErrorIs(t, err, test.kind)
			var said *journal.Error
			require.True(t, errors.As(err, &said))
			t.Log(said)
		})
	}
}

// What a member has started ends with it.
func TestNothingIsLeftRunning(t *testing.T) {
	c := newCluster(t, sharedServer(t))
	c.start()
	c.start()
	c.want(3)
	c.settle()
	c.stopAll()
	c.eventually("the end of all goroutines", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "etcd.(*Member)")
	})
}
