package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/examples/livenode/internal/process"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/nvmlsrc"
)

// TestDamagedLog: livenode does not begin with a log that is not as it was written, and leaves
// alone what runs.
func TestDamagedLog(t *testing.T) {
	b := start(t)
	b.submits(counts("runs", 4), counts("waits", 8))
	pid := b.becomes("runs", "running").PID
	b.stop()
	whole, err := os.ReadFile(logFile(b.folder))
	require.NoError(t, err)
	text := bytes.ReplaceAll(whole, []byte(`"id":"runs"`), []byte(`"id":"ruin"`))
	require.NotEqual(t, whole, text)
	require.NoError(t, os.WriteFile(logFile(b.folder), text, 0o600))
	m, err := openMachine(machineConfig{box: "hgx-h100", folder: b.folder, every: nvmlsrc.MinInterval})
	require.NoError(t, err)
	_, err = newOrchestrator(b.folder, m, policyFor(false), nil, io.Discard)
	require.ErrorIs(t, err, journal.ErrDamaged)
	require.NoError(t, m.close())
	require.True(t, runs(pid))
	require.NoError(t, os.WriteFile(logFile(b.folder), whole, 0o600))
	b.begin()
	require.Equal(t, pid, b.becomes("runs", "running").PID)
	b.becomes("waits", "pending")
}

// TestNothingHappensThatIsNotKept: when the log cannot be written nothing is accepted, nothing is
// started, and livenode ends rather than to go on without a memory. What runs goes on.
func TestNothingHappensThatIsNotKept(t *testing.T) {
	b := start(t)
	b.submits(counts("before", 4))
	pid := b.becomes("before", "running").PID
	b.fails = true
	require.Error(t, b.o.ask(t.Context(), func() error { // nothing else is written in between
		_, err := b.o.submit(counts("after", 4))
		return errors.Join(fill(logFile(b.folder)), err)
	}))
	b.stop()
	require.ErrorIs(t, b.failure, journal.ErrUncertain)
	require.NoDirExists(t, filepath.Join(b.folder, "jobs", "after", "1"))
	require.True(t, runs(pid))

	b.fails = false
	b.begin()
	require.Equal(t, pid, b.becomes("before", "running").PID)
	require.Contains(t, b.becomes("after", stateFailed).Why, "before the job was accepted")
}

// TestGivenUpAndKilled: livenode was killed when the log had that a job is given up, and before its
// end was noted. It is not taken for one that was never accepted.
func TestGivenUpAndKilled(t *testing.T) {
	b := start(t)
	b.submits(counts("first", 8))
	b.becomes("first", "running")
	late := counts("late", 8)
	require.NoError(t, b.o.ask(t.Context(), func() error {
		job := late.job()
		job.GangTimeout = 50 * berth.Millisecond
		_, err := b.o.records.add(late)
		return errors.Join(err, b.o.tell(berth.JobSubmitted{Job: job}))
	}))
	const why = "given up: gang-timeout"
	require.Equal(t, why, b.becomes("late", stateFailed).Why)
	var log []byte
	require.NoError(t, b.o.ask(t.Context(), func() (err error) {
		log, err = os.ReadFile(logFile(b.folder))
		return err
	}))
	b.stop()
	require.NoError(t, os.WriteFile(logFile(b.folder), log, 0o600))
	require.NoError(t, os.Remove(filepath.Join(b.folder, "jobs", "late", "end.json")))
	b.begin()
	require.Equal(t, why, b.becomes("late", stateFailed).Why)
}

// fill has a disk without room in the place of this process's file with such a name.
func fill(prefix string) error {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer full.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err == nil && strings.HasPrefix(to, prefix) {
			fd, err := strconv.Atoi(entry.Name())
			return errors.Join(err, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
		}
	}
	return fmt.Errorf("there is no open file %s", prefix)
}

// TestAClockThatWasAYearAhead sets the clock for a moment, while jobs are taken on. The backoff of
// a job that is to be run again passes all the same, in this process and in the next.
func TestAClockThatWasAYearAhead(t *testing.T) {
	b := start(t)
	b.stop()
	clock := &clockAhead{Clock: journal.MachineClock()}
	b.clock = clock
	b.begin()
	again := func(name string) Submission {
		return shell(name, `[ "$BERTH_INCARNATION" -gt 2 ] || exit 75`)
	}
	clock.ahead.Store(int64(365 * berth.Day))
	b.submits(again("first"))
	clock.ahead.Store(0)
	b.becomes("first", stateEnded)
	b.stop()
	clock.ahead.Store(int64(365 * berth.Day))
	b.begin()
	clock.ahead.Store(0)
	b.submits(again("second"))
	b.becomes("second", stateEnded)
}

// A clockAhead is ahead on the wall, by so many milliseconds.
type clockAhead struct {
	journal.Clock
	ahead atomic.Int64
}

func (c *clockAhead) Read() (berth.Time, time.Duration) {
	wall, elapsed := c.Clock.Read()
	return wall.Add(berth.Duration(c.ahead.Load())), elapsed
}

// supervisorOf is the process that started another.
func supervisorOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	parent, err := strconv.Atoi(string(regexp.MustCompile(`PPid:\t(\d+)`).FindSubmatch(text)[1]))
	require.NoError(t, err)
	return parent
}

// TestMachineRestarts: nothing of what ran is left, and its process IDs are others' now.
// The others are left alone, and the jobs begin again from their checkpoints.
func TestMachineRestarts(t *testing.T) {
	b := start(t)
	b.submits(counts("job", 8))
	pid := b.becomes("job", "running").PID
	b.stop()
	require.NoError(t, syscall.Kill(supervisorOf(t, pid), syscall.SIGKILL))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, other.Start())
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	file := filepath.Join(b.folder, "jobs", "job", "1", "program.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = regexp.MustCompile(`"pid": \d+`).ReplaceAll(text, []byte(`"pid": `+strconv.Itoa(other.Process.Pid)))
	require.NoError(t, os.WriteFile(file, text, 0o600))

	b.begin()
	b.until("it runs again", func() bool { j := b.job("job"); return j.Incarnation == 2 && j.State == "running" })
	require.True(t, runs(other.Process.Pid))
}

// TestStartedInVain: the orchestrator was killed between the folder of a life and its
// supervisor.
func TestStartedInVain(t *testing.T) {
	b := start(t)
	b.submits(counts("first", 8), counts("second", 8))
	b.becomes("first", "running")
	life := filepath.Join(b.folder, "jobs", "second", "1")
	require.NoError(t, os.Mkdir(life, 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(life, "pulse"), 0o600))
	require.NoError(t, b.cancel(t.Context(), "first"))
	b.until("it runs in another life", func() bool { j := b.job("second"); return j.Incarnation == 2 && j.State == "running" })
}

// TestSupervisorKilled: the program goes on; when it ends nobody knows how, so it is run
// again.
func TestSupervisorKilled(t *testing.T) {
	b := start(t)
	b.submits(counts("job", 1))
	pid := b.becomes("job", "running").PID
	require.NoError(t, syscall.Kill(supervisorOf(t, pid), syscall.SIGKILL))
	before := b.steps("job")
	b.until("it goes on", func() bool { return b.steps("job") > before+3 })
	require.Equal(t, "running", b.job("job").State)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	b.until("it runs again", func() bool { j := b.job("job"); return j.Incarnation == 2 && j.State == "running" })
}

// TestStrays: what should not run is killed when the orchestrator starts.
func TestStrays(t *testing.T) {
	b := start(t)
	b.submits(counts("job", 8))
	b.becomes("job", "running")
	b.stop()
	stray, err := process.Start(filepath.Join(b.folder, "jobs", "job", "7"), process.Launch{
		Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Dir: "/", Output: filepath.Join(b.folder, "stray"),
	})
	require.NoError(t, err)
	b.begin()
	exit, err := stray.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "SIGKILL", exit.Signal)
	require.Equal(t, "running", b.job("job").State)
}

// TestWithdrawn: a victim that was asked for a checkpoint goes on when its beneficiary goes away.
func TestWithdrawn(t *testing.T) {
	b := start(t)
	b.submits(counts("slow", 8, "-write", "300ms"))
	b.output("slow", "^step 1$")
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("slow", stateCheckpointing)
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	b.becomes("slow", "running")
	b.output("slow", "^checkpoint at step")
	before := b.steps("slow")
	b.until("it counts on", func() bool { return b.steps("slow") > before })
	j := b.job("slow")
	require.EqualValues(t, 1, j.Incarnation)
	b.until("its checkpoint counts", func() bool { return !b.job("slow").Checkpoint.IsZero() })
}

// TestLeavesForNobody: a program ended with its checkpoint while nobody needs its place any
// more.
func TestLeavesForNobody(t *testing.T) {
	b := start(t)
	b.submits(counts("leaver", 8, "-write", "300ms", "-leave"))
	b.output("leaver", "^step 1$")
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("leaver", stateCheckpointing)
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	b.until("it runs again", func() bool { j := b.job("leaver"); return j.Incarnation == 2 && j.State == "running" })
	b.output("leaver", "^incarnation 2 begins at step [1-9]")
}

// TestAnsweredForNobody is the same in one moment: the checkpoint is reported, and the
// beneficiary gone, in one round of the loop.
func TestAnsweredForNobody(t *testing.T) {
	b := start(t)
	b.submits(counts("leaver", 8, "-write", "1000s"))
	b.output("leaver", "^step 1$")
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("leaver", stateCheckpointing)
	require.NoError(t, b.o.ask(t.Context(), func() error {
		l := b.o.lives["leaver"]
		l.cancel() // before it is killed: nobody is to tell of that end as well
		_ = l.process.SignalGroup(process.Kill)
		b.o.ended(l, process.Exit{Code: exitAgain, At: time.Now()}, nil)
		return b.o.cancelJob("urgent")
	}))
	b.until("it runs again", func() bool { j := b.job("leaver"); return j.Incarnation == 2 && j.State == "running" })
}

// TestEndedBeforeItWasStopped: a job that came to its end by itself is not run again.
func TestEndedBeforeItWasStopped(t *testing.T) {
	b := start(t)
	b.submits(shell("job", "sleep 1000"))
	b.becomes("job", "running")
	require.NoError(t, b.o.ask(t.Context(), func() error {
		l := b.o.lives["job"]
		l.release, l.early = 999, true // an order that the core knows nothing of: stale
		l.cancel()
		_ = l.process.SignalGroup(process.Kill)
		b.o.ended(l, process.Exit{At: time.Now()}, nil)
		return nil
	}))
	require.Equal(t, "exit status 0", b.becomes("job", stateEnded).Why)
}

// TestStoppedAndKilled: livenode was killed when it had asked a victim to end and had not heard
// that it has. The victim ended well, and is run again all the same.
func TestStoppedAndKilled(t *testing.T) {
	b := start(t)
	end := filepath.Join(t.TempDir(), "end")
	victim := shell("victim", `trap 'until [ -e `+end+` ]; do sleep 0.01; done; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
	victim.GPUs, victim.StopTimeout = 8, berth.Minute
	b.submits(victim)
	b.output("victim", "^up$")
	pid := b.becomes("victim", "running").PID
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("victim", "releasing")
	b.stop() // it leaves what runs alone, as one that is killed does
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	require.True(t, eventually(func() bool { return !runs(pid) }))
	b.begin()
	b.becomes("urgent", "running")
	require.Equal(t, "pending", b.job("victim").State)
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	require.EqualValues(t, 2, b.becomes("victim", "running").Incarnation)
}

// TestCannotBeDivided: a GPU that does not become what a job needs is no reason for the job
// to be stuck.
func TestCannotBeDivided(t *testing.T) {
	b := start(t, onMIG, func(c *machineConfig) { c.migApply = true })
	b.submits(counts("whole", 1))
	b.until("it was tried", func() bool { return b.decided("mode whole takes an operator") })
	b.becomes("whole", "pending")
	text, err := b.why(t.Context(), "whole")
	require.NoError(t, err)
	require.Contains(t, text, "GPUs in MIG mode are for instances alone")
	b.submits(instance("part", "1g.10gb"))
	b.becomes("part", "running")
}

// TestMPSDaemon: the control daemon of a GPU is started once, and again when it is gone, told
// to quit, and told which GPU is its.
func TestMPSDaemon(t *testing.T) {
	folder := t.TempDir()
	script := `#!/bin/sh
echo "$* $CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $(cat)" >> ` + folder + `/said
[ "$1" = -d ] && touch ` + folder + `/up
[ -e ` + folder + `/up ] || { echo "no daemon" >&2; exit 1; }
`
	require.NoError(t, os.WriteFile(filepath.Join(folder, mpsControl), []byte(script), 0o700))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("CUDA_VISIBLE_DEVICES", "5")
	m := &mps{folder: filepath.Join(folder, "mps")}
	require.NoError(t, m.stop(3), "there is none")
	require.NoError(t, m.resume(3, "GPU-abc"), "nobody shares it")
	require.NoError(t, m.start(3, "GPU-abc"))
	require.NoError(t, m.start(3, "GPU-abc"))
	require.NoError(t, os.Remove(filepath.Join(folder, "up")), "the machine is rebooted")
	require.NoError(t, m.resume(3, "GPU-abc"))
	require.NoError(t, m.stop(3))
	pipe := filepath.Join(folder, "mps", "3")
	require.NoDirExists(t, pipe)
	said, err := os.ReadFile(filepath.Join(folder, "said"))
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		"  " + pipe + " get_server_list",
		"-d GPU-abc " + pipe + " ",
		"  " + pipe + " get_server_list",
		"  " + pipe + " get_server_list",
		"-d GPU-abc " + pipe + " ",
		"  " + pipe + " get_server_list",
		"  " + pipe + " quit",
		"",
	}, "\n"), string(said))

	require.NoError(t, os.Remove(filepath.Join(folder, "up")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, mpsControl), []byte("#!/bin/sh\necho no >&2\nexit 1\n"), 0o700))
	require.ErrorContains(t, m.start(3, "GPU-abc"), "nvidia-cuda-mps-control -d: exit status 1 no")
}

// TestKeepsSoManyEnds: what is over is forgotten, the oldest first.
func TestKeepsSoManyEnds(t *testing.T) {
	r, err := readRecords(t.TempDir())
	require.NoError(t, err)
	for i := range keptEnds + 3 {
		one, err := r.add(Submission{Name: "job-" + strconv.Itoa(i)})
		require.NoError(t, err)
		if i != 0 {
			require.NoError(t, r.finish(one, true, "exit status 0"))
		}
	}
	require.Nil(t, r.find("job-1"))
	require.Nil(t, r.find("job-2"))
	again, err := readRecords(r.folder)
	require.NoError(t, err)
	require.Len(t, again.list, keptEnds+1)
	require.Equal(t, "job-0", again.list[0].Name)
	require.Nil(t, again.list[0].end)
	require.Equal(t, "exit status 0", again.list[1].end.Text)
	require.Zero(t, again.list[1].GPUs)
	require.Equal(t, berth.ClassBatch, again.list[1].Class)
}

// TestLosesItsGPUWhileItIsStarted: what is on its way when a GPU fails is killed as soon
// as it has come, and nothing is started where it was before that.
func TestLosesItsGPUWhileItIsStarted(t *testing.T) {
	b := start(t)
	job, next := shell("job", "echo $$; sleep 1000"), shell("next", "echo up; sleep 1000")
	job.GPUs, next.GPUs = 8, 4
	failed := make(chan error, 1)
	b.o.post(func() { // in one go, so that nobody hears meanwhile that it has started
		_, err := b.o.submit(job)
		err = errors.Join(err, b.o.pass())
		_, waits := b.o.submit(next)
		event := berth.GPUFailed{Node: b.o.machine.name, GPU: 0, Reason: "for this test"}
		b.o.befell(event)
		b.o.must(event)
		failed <- errors.Join(err, waits, b.o.pass())
	})
	require.NoError(t, <-failed)
	b.output("next", "^up$")
	text, err := os.ReadFile(filepath.Join(b.folder, "jobs", "job", "1", "program.json"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(regexp.MustCompile(`"pid": (\d+)`).FindSubmatch(text)[1]))
	require.NoError(t, err)
	require.False(t, runs(pid), "both are there")
	require.True(t, b.decided("job has lost a GPU"))
}
