package etcd_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/berth-sched/berth/etcd/internal/server"
	"github.com/berth-sched/berth/journal"
)

// BenchmarkAppend is what the log takes, in batches of so many records of 300 bytes, with one
// server that syncs each write:
//
//	go test -run '^$' -bench Append .
func BenchmarkAppend(b *testing.B) {
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
	record := bytes.Repeat([]byte{'r'}, 300)
	for _, size := range []int{1, 64, 512} {
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
			b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
