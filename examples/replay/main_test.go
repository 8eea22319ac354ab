package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/quota"
)

// record writes a journal with one order, which is changed before it is written.
func record(t *testing.T, change func(*berth.Bind)) string {
	t.Helper()
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := journal.NewWriter(&out, sched.Config())
	require.NoError(t, err)
	claim := berth.Claim{CPUMilli: 1000}
	for _, e := range []berth.Event{
		berth.NodeJoined{Node: berth.Node{ID: "n1", CPUMilli: 8000}},
		berth.QueueSet{Queue: quota.Queue{Name: "q"}},
		berth.JobSubmitted{Job: berth.Job{ID: "j", Queue: "q", Groups: []berth.Group{{Members: 1, Claim: claim}}}},
	} {
		w.Applied(1, e, sched.Apply(1, e))
	}
	actions, err := sched.Schedule(2)
	require.NoError(t, err)
	require.Len(t, actions, 1)
	bind := actions[0].(berth.Bind)
	change(&bind)
	w.Scheduled(2, []berth.Order{bind})
	require.NoError(t, w.Flush())
	return out.String()
}

func replay(t *testing.T, text string) (string, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "journal.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	var stdout bytes.Buffer
	err := run([]string{"-journal", name}, &stdout)
	return stdout.String(), err
}

func TestIdentical(t *testing.T) {
	output, err := replay(t, record(t, func(*berth.Bind) {}))
	require.NoError(t, err)
	require.Equal(t, "3 events, 1 passes, 1 orders compared: identical\n", output)
}

func TestDifferent(t *testing.T) {
	output, err := replay(t, record(t, func(b *berth.Bind) { b.Deadline++ }))
	require.ErrorIs(t, err, journal.ErrOrdersDiffer)
	require.Empty(t, output)
	require.ErrorContains(t, err, "line 6")
	require.ErrorContains(t, err, `"deadline":120003`)
	require.ErrorContains(t, err, `"deadline":120002`)
}

func TestDamaged(t *testing.T) {
	text := record(t, func(*berth.Bind) {})
	_, err := replay(t, strings.Replace(text, `"deadline":120002`, `"deadline":120003`, 1))
	require.ErrorIs(t, err, journal.ErrDamaged)
	require.ErrorContains(t, err, "line 6")
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"-journal", filepath.Join(t.TempDir(), "absent")}, {"-unknown"}} {
		require.Error(t, run(args, io.Discard), args)
	}
}
