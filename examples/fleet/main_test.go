package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/bench/workload"
	"github.com/berth-sched/berth/journal"
)

// small is a run that takes no time.
var small = []string{"-nodes", "40", "-hours", "4"}

func TestTableAndPageAndJournal(t *testing.T) {
	dir := t.TempDir()
	page, log := filepath.Join(dir, "fleet.html"), filepath.Join(dir, "fleet.jsonl")
	var stdout, stderr bytes.Buffer
	require.NoError(t, run(append([]string{"-html", page, "-journal", log}, small...), &stdout, &stderr))
	for _, part := range []string{"inference", "gang, 64 GPUs", "wait p50", "GPU allocation", "fragmentation", "a second"} {
		require.Contains(t, stdout.String(), part)
	}
	require.NotContains(t, stderr.String(), "\r", "no progress bar where there is no terminal")

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, []byte("<!doctype html>")))
	require.True(t, bytes.HasSuffix(text, []byte("</html>\n")))

	file, err := os.Open(log)
	require.NoError(t, err)
	defer file.Close()
	counts, err := journal.Replay(file)
	require.NoError(t, err)
	require.Greater(t, counts.Orders, 50)
}

// TestSameSeedSameRun compares all but the figures that were timed.
func TestSameSeedSameRun(t *testing.T) {
	output := func(args ...string) string {
		var stdout bytes.Buffer
		require.NoError(t, run(append(args, small...), &stdout, io.Discard))
		text, _, found := strings.Cut(stdout.String(), "decisions")
		require.True(t, found)
		return text
	}
	require.Equal(t, output("-seed", "5"), output("-seed", "5"))
	require.NotEqual(t, output("-seed", "5"), output("-seed", "6"))
}

func TestTrace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(workload.OpenBNodes, "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,T4\n")
	const head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	write(workload.OpenBTasks, head+"p,1000,64,2,1000,T4,LS,Running,5,3605,5\nq,1000,64,1,500,,BE,Running,5,3605,5\n")
	args := []string{"-trace", "openb", "-dir", dir}
	var stdout bytes.Buffer
	require.NoError(t, run(args, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "1 nodes with 2 GPUs")
	require.Contains(t, stdout.String(), "batch, share")

	write(workload.OpenBTasks, head+"p,1000,64,2,1000,T4,LS,Running,5,3605,5\nq,one,64,1,500,,BE,Running,5,3605,5\n")
	err := run(args, io.Discard, io.Discard)
	var e *workload.TraceError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "cpu_milli", e.Field)
}

func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-hours", "-1"},
		{"-hours", "NaN"},
		{"-nodes", "0"},
		{"-load", "0"},
		{"-trace", "philly"},
		{"-trace", "openb", "-dir", t.TempDir()},
		{"-unknown"},
		{"stray"},
		{"-nodes", "1", "-hours", "0.1", "-journal", filepath.Join(t.TempDir(), "no", "such", "folder")},
		{"-nodes", "1", "-hours", "0.1", "-html", filepath.Join(t.TempDir(), "no", "such", "folder")},
	} {
		require.Error(t, run(args, io.Discard, io.Discard), args)
	}
	require.ErrorIs(t, run([]string{"-help"}, io.Discard, io.Discard), flag.ErrHelp)
}
