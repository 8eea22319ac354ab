package boltstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
	"github.com/berth-sched/berth/quota"
)

// BenchmarkEvents: events a second that are durable, with so many between two passes.
func BenchmarkEvents(b *testing.B) {
	for _, batch := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			d, _ := opened(b, filepath.Join(b.TempDir(), "log"))
			told := 0
			for b.Loop() {
				for range batch {
					require.NoError(b, d.Apply(submitted(told)))
					told++
				}
				_, err := d.Schedule(b.Context())
				require.NoError(b, err)
			}
			b.ReportMetric(float64(told)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLoop: events a second that are durable and acknowledged, where sixteen goroutines tell
// so many at a time and wait.
func BenchmarkLoop(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("submitters=16/batch=%d", batch), func(b *testing.B) {
			d, _ := opened(b, filepath.Join(b.TempDir(), "log"))
			counted := &passes{Durable: d}
			loop := journal.NewLoop(counted, func([]berth.Order) error { return nil })
			ctx, stop := context.WithCancel(b.Context())
			var run, tell sync.WaitGroup
			run.Go(func() { require.ErrorIs(b, loop.Run(ctx), context.Canceled) })
			var told atomic.Int64
			for b.Loop() {
				for range 16 {
					tell.Go(func() {
						events := make([]berth.Event, batch)
						for range 8 {
							for i := range events {
								events[i] = submitted(int(told.Add(1)))
							}
							_, err := loop.Tell(b.Context(), events...)
							require.NoError(b, err)
						}
					})
				}
				tell.Wait()
			}
			stop()
			run.Wait()
			b.ReportMetric(float64(told.Load())/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(told.Load())/float64(counted.n), "events/write")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// passes counts those of a Durable.
type passes struct {
	*journal.Durable
	n int
}

func (p *passes) Schedule(ctx context.Context) ([]berth.Order, error) {
	p.n++
	return p.Durable.Schedule(ctx)
}

func opened(b *testing.B, path string) (*journal.Durable, *boltstore.Store) {
	b.Helper()
	s, err := boltstore.Open(path)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	d, err := journal.Open(b.Context(), s, journal.Options{SnapshotRecords: 1 << 30})
	require.NoError(b, err)
	require.NoError(b, d.Apply(berth.QueueSet{Queue: quota.Queue{Name: "q"}}))
	return d, s
}

// BenchmarkRecover: seconds until a core goes on that has 100,000 jobs, from a snapshot and from
// the records.
func BenchmarkRecover(b *testing.B) {
	for _, from := range []string{"records", "snapshot"} {
		b.Run(from, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "log")
			d, s := opened(b, path)
			jobs := 100_000
			if testing.Short() {
				jobs = 1000
			}
			for job := range jobs {
				require.NoError(b, d.Apply(submitted(job)))
				if job%100 == 99 {
					_, err := d.Schedule(b.Context())
					require.NoError(b, err)
				}
				if job == jobs-101 && from == "snapshot" {
					require.NoError(b, d.Snapshot(b.Context()))
				}
			}
			require.NoError(b, s.Close())
			info, err := os.Stat(path)
			require.NoError(b, err)
			for b.Loop() {
				s, err := boltstore.Open(path)
				require.NoError(b, err)
				d, err := journal.Open(b.Context(), s, journal.Options{})
				require.NoError(b, err)
				require.Len(b, d.Core().JobIDs(), jobs)
				b.StopTimer()
				require.NoError(b, s.Close())
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/recovery")
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
