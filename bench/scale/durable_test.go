package scale

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/journal/boltstore"
)

// dayOf is what the reference fleet is told in a day, or in a part of it.
func dayOf(b *testing.B, span berth.Duration) (berth.Config, []byte) {
	b.Helper()
	day := workload.Reference{Seed: 1, Span: span}
	sched, err := core.New(day.Config())
	require.NoError(b, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	require.NoError(b, err)
	require.NoError(b, sim.New(sched, day.Workload(), sim.Options{
		StartDelay: 10 * berth.Second, StopDelay: 5 * berth.Second, Seed: 1,
		Applied: w.Applied, Scheduled: w.Scheduled,
	}).Run(berth.Time(0).Add(span)))
	require.NoError(b, w.Flush())
	return day.Config(), out.Bytes()
}

// BenchmarkDurableDay keeps a day of the reference fleet in a file: what it takes on the disk, and
// how long a process takes to go on from it. A snapshot is saved after every 20,000 records.
func BenchmarkDurableDay(b *testing.B) {
	span := berth.Duration(berth.Day)
	if testing.Short() {
		span = berth.Hour
	}
	config, day := dayOf(b, span)
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "log")
		s, err := boltstore.Open(path)
		require.NoError(b, err)
		began := time.Now()
		passes := keep(b, s, config, day)
		b.ReportMetric(float64(passes)/time.Since(began).Seconds(), "passes/s")
		require.NoError(b, s.Close())
		info, err := os.Stat(path)
		require.NoError(b, err)
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-log")
		began = time.Now()
		s, err = boltstore.Open(path)
		require.NoError(b, err)
		_, err = journal.Open(b.Context(), s, journal.Options{Config: config})
		require.NoError(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "s/recovery")
		require.NoError(b, s.Close())
	}
	b.ReportMetric(float64(len(day))/(1<<20), "MiB-journal")
	b.ReportMetric(0, "ns/op")
}

// keep tells a core that is kept in a store what a journal says, and returns the passes.
func keep(b *testing.B, s journal.Store, config berth.Config, text []byte) (passes int) {
	b.Helper()
	var clock journal.ManualClock
	d, err := journal.Open(b.Context(), s, journal.Options{
		Config: config,
		Clock:  &clock,
	})
	require.NoError(b, err)
	in, err := journal.NewReader(bytes.NewReader(text))
	require.NoError(b, err)
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return passes
		}
		require.NoError(b, err)
		clock.MoveTo(e.Now)
		switch {
		case e.Event != nil:
			if err := d.Apply(e.Event); err != nil { // a pass that was not due was left out
				require.ErrorIs(b, err, berth.ErrStale)
			}
		case e.Pass:
			passes++
			_, err = d.Schedule(b.Context())
			require.NoError(b, err)
		}
	}
}
