package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/nvmlsrc"
)

// cli runs a command line as a user would, for the bench's orchestrator.
func (b *bench) cli(args ...string) (status int, stdout, stderr string) {
	b.t.Helper()
	if len(args) > 1 && !slices.Contains(args, "-state") {
		args = slices.Insert(slices.Clone(args), 1, "-state", b.folder)
	}
	var out, errs bytes.Buffer
	status = livenode(b.t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// says is cli for what goes well.
func (b *bench) says(args ...string) string {
	b.t.Helper()
	status, out, errs := b.cli(args...)
	require.Zero(b.t, status, errs)
	require.Empty(b.t, errs)
	return out
}

// refuses is cli for what does not.
func (b *bench) refuses(status int, text string, args ...string) {
	b.t.Helper()
	got, out, errs := b.cli(args...)
	require.Equal(b.t, status, got, "%s%s", out, errs)
	require.Contains(b.t, errs, text)
}

func TestCommands(t *testing.T) {
	b := start(t)
	require.Empty(t, b.says("queue", "team", "-limit", "4", "-guarantee", "2.5", "-weight", "3"))
	require.Equal(t, "first\n", b.says("run", "-name", "first", "-queue", "team", "-gpus", "4", "-class", "interactive", "-priority", "7", "--", "sh", "-c", "echo hello; sleep 1000"))
	require.Equal(t, "sleep\n", b.says("run", "-queue", "team", "sleep", "1000"))
	b.output("first", "^hello$")
	b.becomes("first", "running")
	require.Equal(t, "hello\n", b.says("logs", "first"))
	require.Regexp(t, `first +team +interactive +4 GPUs +running +\S+ +1 +\d+ +GPUs 0-3`, b.says("ps", "-state", b.folder))
	require.Regexp(t, `sleep +team +batch +1 GPU +pending .* quota: queue team uses 4 GPUs of its limit of 4 GPUs`, b.says("ps", "-state", b.folder))
	require.Contains(t, b.says("why", "sleep"), "a limit of 5 GPUs for queue team")
	drawn := b.says("top", "-state", b.folder)
	for _, part := range []string{"hgx-h100 (fake)", "AAAA first", "free", "4 of 8 GPUs, guaranteed 2.5, at most 4, 1 waiting", "start first on GPUs 0-3"} {
		require.Contains(t, drawn, part)
	}
	require.Empty(t, b.says("queue", "team", "-limit", "4.01"))
	require.Contains(t, b.says("why", "sleep"), "4.01 GPUs", "which in binary is a little less")
	b.refuses(1, "jobs", "queue", "team", "-remove")
	require.Empty(t, b.says("cancel", "first", "sleep"))
	b.becomes("first", stateFailed)
	require.Equal(t, "hello\n", b.says("logs", "first", "-f"), "it is over")
	// The second may have been started when the first was gone, and its end be told later.
	b.until("queue team can be removed", func() bool {
		status, out, _ := b.cli("queue", "-remove", "team")
		return status == 0 && out == ""
	})
	require.Empty(t, b.says("fault", "-gpu", "2"))
	b.until("the GPU has failed", func() bool { return strings.Contains(b.says("top", "-state", b.folder), "out of service") })
	require.Empty(t, b.says("repaired", "2"))
	require.Equal(t, "true\ndone\n", strings.ReplaceAll(b.says("run", "-f", "-name", "true", "--", "echo", "done"), "\r", ""))
}

func TestBadCommandLines(t *testing.T) {
	b := start(t)
	b.refuses(2, "livenode COMMAND -h")
	b.refuses(2, `no command "frobnicate"`, "frobnicate")
	b.refuses(2, "no command to run", "run", "-gpus", "1")
	b.refuses(2, "there is no flag -gpu", "run", "-gpu", "1", "--", "true")
	b.refuses(2, `-class: "urgent": `, "run", "-class", "urgent", "--", "true")
	b.refuses(2, `-priority: "high": a whole number`, "run", "-priority", "high", "--", "true")
	b.refuses(2, "belongs to -lend and to -borrow", "run", "-memory", "20GiB", "--", "true")
	b.refuses(2, "which need it", "run", "-lend", "5s", "--", "true")
	b.refuses(2, "which need it", "run", "-borrow", "--", "true")
	b.refuses(2, `-memory: "20": `, "run", "-borrow", "-memory", "20", "--", "true")
	b.refuses(2, `-lend: "soon": `, "run", "-lend", "soon", "--", "true")
	b.refuses(2, "is no number of GPUs", "queue", "q", "-limit", "many")
	b.refuses(2, "is no number of GPUs", "queue", "q", "-limit", "NaN")
	b.refuses(1, "SIGKILL cannot ask", "run", "-checkpoint-signal", "kill", "--", "true")
	b.refuses(2, "cannot be read every 0s", "serve", "-fake", "pcie", "-every", "0")
	b.refuses(2, "the least is 100ms", "serve", "-fake", "pcie", "-every", "1ms")
	b.refuses(2, "too few arguments", "why")
	b.refuses(2, `"b" is one argument too many`, "why", "a", "b")
	b.refuses(1, "no-such-program", "run", "--", "no-such-program")
	b.refuses(1, "is not UTF-8", "run", "--", "echo", "latin-1: \xfc")
	b.refuses(1, "and stays", "queue", "-remove", "others")
	b.refuses(1, "no such job", "why", "nothing")
	b.refuses(1, "no such job", "cancel", "nothing")
	b.refuses(1, "there is no job nothing", "logs", "nothing")
	b.refuses(1, "is no name of a job", "logs", "../../etc")
	b.refuses(1, "guarantee", "queue", "q", "-limit", "1", "-guarantee", "2")
	b.refuses(1, "invalid syntax", "repaired", "two")
	b.refuses(1, "there are 8 GPUs", "fault", "-gpu", "99")
	b.refuses(1, "another process has it open", "serve", "-fake", "hgx-h100")
	status, out, _ := b.cli("help")
	require.Zero(t, status)
	require.Contains(t, out, "livenode run -- COMMAND...")
	require.NotContains(t, out, "supervise")
	status, out, _ = b.cli("run", "-h")
	require.Zero(t, status)
	require.Contains(t, out, "-checkpoint-signal signal")
	b.stop()
	b.refuses(1, "start it with: livenode serve", "ps", "-state", b.folder)
	b.refuses(1, "is the state of node hgx-h100, and this is node pcie", "serve", "-fake", "pcie")
	b.refuses(1, "hgx-h100", "serve", "-fake", "dgx")
	b.refuses(1, "give a shorter -state", "serve", "-fake", "pcie", "-state", filepath.Join(t.TempDir(), strings.Repeat("x", 100)))
	if source, err := nvmlsrc.Open(); err == nil {
		require.NoError(t, source.Close())
		t.Log("this machine has a driver, so what is said without one is not tested")
		return
	}
	b.refuses(1, "to see livenode without GPUs: -fake", "serve", "-state", t.TempDir())
}

// TestServeEnds: a signal ends the orchestrator in peace.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, client: newClient(t.TempDir())}
	server := serving(t, b.folder)
	b.until("it serves", func() bool { _, err := b.status(t.Context()); return err == nil })
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait())
}
