package etcd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/berth-sched/berth/etcd"
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

// A batch of many pieces comes to count while the log is read: it is read from its beginning, or not
// at all.
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

func TestPrefixes(t *testing.T) {
	for _, prefix := range []string{"", "/", "//"} {
		_, err := etcd.NewSource(nil, prefix)
		require.Error(t, err, fmt.Sprintf("%q", prefix))
	}
}
