package etcd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/etcd"
	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/storetest"
)

var commonDir string

func runMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		panic(err)
	}
	commonDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// writes reports whether a request is a transaction that changes anything.
func writes(method string, req any) bool {
	txn, ok := req.(*pb.TxnRequest)
	if !ok || method != "/etcdserverpb.KV/Txn" {
		return false
	}
	for _, op := range txn.Success {
		if op.GetRequestPut() != nil || op.GetRequestDeleteRange() != nil {
			return true
		}
	}
	return false
}

// seize takes the lock of a log from its holder, as an election does when a lease runs out,
// and opens it.
func seize(ctx context.Context, c *clientv3.Client, prefix string) (*etcd.Store, error) {
	lock := prefix + "/leader/test"
	if _, err := c.Delete(ctx, lock); err != nil {
		return nil, err
	}
	resp, err := c.Put(ctx, lock, "test")
	if err != nil {
		return nil, err
	}
	return etcd.Open(ctx, context.Background(), c, prefix, etcd.Lock{Key: lock, Revision: resp.Header.Revision})
}

// The store passes what every store has to, on a real etcd: the faults are a quota that is used up
// and answers that are lost. Power is etcd's own matter.
func TestStore(t *testing.T) {
	storetest.Run(t, drawn.Seeds(4), func(t *testing.T) storetest.Log {
		c, w := newClient(t, sharedServer(t))
		prefix := newPrefix()
		full := error(rpctypes.ErrGRPCNoSpace)
		return storetest.Log{
			Open: func() (journal.Store, error) { return seize(t.Context(), c, prefix) },
			Fail: func(_ journal.Store, fault storetest.Fault, draw uint64) bool {
				switch fault {
				case storetest.FaultFull:
					w.refuse.Store(&full)
				case storetest.FaultAnswer:
					w.lose.Store(1 + int64(draw%3))
				default:
					return false
				}
				return true
			},
			Mend: func(journal.Store) { w.refuse.Store(nil) },
		}
	})
}

// A batch of many pieces comes to count while the log is read: it is read whole, or not at all.
func TestABatchThatComesWhileTheLogIsRead(t *testing.T) {
	c, _ := newClient(t, sharedServer(t))
	prefix := newPrefix()
	store, err := seize(t.Context(), c, prefix)
	require.NoError(t, err)
	require.NoError(t, store.Save(t.Context(), journal.Snapshot{Data: []byte("begin")}))
	one, two := journal.Position{Number: 1, Sum: 1}, journal.Position{Number: 2, Sum: 2}
	require.NoError(t, store.Append(t.Context(), journal.Batch{Head: one, Records: [][]byte{[]byte("one")}}))
	long := bytes.Repeat([]byte{'x'}, 100) // in as many pieces, more than are read at once
	for i, b := range append([]byte{2, 100}, long...) {
		_, err := c.Put(t.Context(), fmt.Sprintf("%s/log/%016x/%08x", prefix, 2, i), string(b))
		require.NoError(t, err)
	}
	var read []string
	for record, err := range store.Records(t.Context(), 0) {
		require.NoError(t, err)
		read = append(read, string(record))
		head, err := json.Marshal(two)
		require.NoError(t, err)
		_, err = c.Put(t.Context(), prefix+"/head", string(head))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"one"}, read)
	for record, err := range store.Records(t.Context(), 1) {
		require.NoError(t, err)
		require.Equal(t, string(long), string(record))
	}
}

// A save that fails midway leaves the former snapshot and the log as they were, and what it has
// written goes: at once where there is no room, and else with the next one.
func TestASaveThatFailsMidway(t *testing.T) {
	list, err := server.Cluster(t.TempDir(), 1)
	require.NoError(t, err)
	list[0].Quota = 16 << 20
	startServer(t, list[0])
	c, w := newClient(t, list[0].Client)
	prefix := newPrefix()
	store, err := seize(t.Context(), c, prefix)
	require.NoError(t, err)
	first := journal.Snapshot{Data: []byte("begin")}
	require.NoError(t, store.Save(t.Context(), first))
	head := journal.Position{Number: 1, Sum: 1}
	require.NoError(t, store.Append(t.Context(), journal.Batch{Head: head, Records: [][]byte{[]byte("one")}}))
	left := func() int64 {
		resp, err := c.Get(t.Context(), prefix+"/snapshots/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		require.NoError(t, err)
		return resp.Count
	}
	asBefore := func() {
		newest, err := store.Newest(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, newest)
		at, err := store.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, head, at)
		for record, err := range store.Records(t.Context(), 0) {
			require.NoError(t, err)
			require.Equal(t, "one", string(record))
		}
	}

	// The process dies when four of five pieces are there.
	large := journal.Snapshot{At: head, Data: bytes.Repeat([]byte{'s'}, 5<<20)}
	writes, dead := 0, error(status.Error(codes.PermissionDenied, "the process is dead"))
	dies := func() {
		if writes++; writes == 4 {
			w.refuse.Store(&dead)
		}
	}
	w.before.Store(&dies)
	require.Error(t, store.Save(t.Context(), large))
	w.before.Store(nil)
	w.refuse.Store(nil)
	require.EqualValues(t, 1+4, left())
	store, err = seize(t.Context(), c, prefix)
	require.NoError(t, err)
	asBefore()

	// The next one has no room.
	huge := journal.Snapshot{At: head, Data: bytes.Repeat([]byte{'s'}, 20<<20)}
	slowly := func() { time.Sleep(100 * time.Millisecond) } // etcd looks ten times a second how much it has
	w.before.Store(&slowly)
	require.ErrorIs(t, store.Save(t.Context(), huge), journal.ErrFull)
	w.before.Store(nil)
	require.EqualValues(t, 1, left())
	asBefore()
	makeRoom(t, c, list[0].Client)
	require.NoError(t, store.Save(t.Context(), large))
	require.EqualValues(t, 5, left())
	newest, err := store.Newest(t.Context())
	require.NoError(t, err)
	require.True(t, newest.At == head && bytes.Equal(large.Data, newest.Data))
}

// makeRoom does what the README says of an etcd that is full.
func makeRoom(t *testing.T, c *clientv3.Client, at string) {
	t.Helper()
	resp, err := c.Get(t.Context(), "any")
	require.NoError(t, err)
	_, err = c.Compact(t.Context(), resp.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
	_, err = c.Defragment(t.Context(), at)
	require.NoError(t, err)
	_, err = c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	require.NoError(t, err)
}

func TestPrefixes(t *testing.T) {
	for _, prefix := range []string{"", "/", "//"} {
		_, err := etcd.NewSource(nil, prefix)
		require.Error(t, err, fmt.Sprintf("%q", prefix))
	}
}

// A member and a Router need the rights that the README names, and no others. They go on when etcd
// is started again. With the rights of one pool nothing of another one is read or written.
func TestRights(t *testing.T) {
	t.Parallel() // it waits for etcd most of the time
	list, err := server.Cluster(t.TempDir(), 1)
	require.NoError(t, err)
	e := startServer(t, list[0])
	c, _ := newClient(t, list[0].Client)
	ctx := t.Context()
	for user, prefixes := range map[string][]string{"root": nil, "replica": {"/berth/a/", "/berth/jobs/"}} {
		_, err := c.UserAdd(ctx, user, user)
		require.NoError(t, err)
		_, err = c.RoleAdd(ctx, user)
		require.NoError(t, err)
		for _, prefix := range prefixes {
			_, err = c.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
			require.NoError(t, err)
		}
		_, err = c.UserGrantRole(ctx, user, user)
		require.NoError(t, err)
	}
	_, err = c.AuthEnable(ctx)
	require.NoError(t, err)
	as, err := clientv3.New(clientv3.Config{Endpoints: []string{list[0].Client}, Logger: zap.NewNop(), Username: "replica", Password: "replica"})
	require.NoError(t, err)
	defer as.Close()

	router, err := etcd.NewRouter(as, "/berth/jobs", time.Second)
	require.NoError(t, err)
	served := make(chan error)
	member, err := etcd.New(etcd.Options{
		Client: as, Prefix: "/berth/a", Name: "a", TTL: 2 * time.Second, Journal: journal.Options{Config: config},
		Serve: func(ctx context.Context, l *etcd.Leader) error {
			intake := router.Lead(l, "a")
			for {
				_, err := l.Schedule(ctx)
				if err == nil {
					_, err = intake.Turn(ctx)
				}
				if err == nil {
					err = l.Snapshot(ctx)
				}
				select {
				case served <- err:
				case <-ctx.Done():
					return ctx.Err()
				}
				if err != nil {
					return err
				}
			}
		},
	})
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- member.Run(running) }()
	require.NoError(t, <-served)
	stopServer(e) // it forgets all passwords that were said
	startServer(t, list[0])
	for good := 0; good < 3; good++ { // at once, or when it leads again
		select {
		case err := <-served:
			if err != nil {
				good = -1
				t.Log(err)
			}
		case <-time.After(long):
			require.Fail(t, "it does not go on")
		}
	}
	require.NoError(t, router.Submit(ctx, berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}, "a"))
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)

	other, err := etcd.NewSource(as, "/berth/b")
	require.NoError(t, err)
	_, err = other.Head(ctx)
	require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
	_, err = etcd.Open(ctx, ctx, as, "/berth/b", etcd.Lock{Key: "/berth/a/leader/x", Revision: 1})
	require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
}
