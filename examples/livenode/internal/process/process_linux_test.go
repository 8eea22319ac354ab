package process

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/examples/livenode/internal/durable"
)

// TestMain makes this binary a supervisor when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == SuperviseCommand {
		if err := Supervise(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience is for how long a test waits for what has to come; none waits so long if all
// is well.
const patience = 2 * time.Minute

// shell is a launch of a script.
func shell(t *testing.T, script string) (string, Launch) {
	t.Helper()
	dir := t.TempDir()
	return filepath.Join(dir, "life"), Launch{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"WORD=berth"},
		Dir: dir, Output: filepath.Join(dir, "output"),
	}
}

func launched(t *testing.T, script string) (*Process, string, Launch) {
	t.Helper()
	folder, launch := shell(t, script)
	p, err := Start(folder, launch)
	require.NoError(t, err)
	t.Cleanup(func() { // the folder is removed next, so nobody may write there any more
		_ = p.SignalGroup(Kill)
		_, _ = p.Wait(context.Background())
	})
	return p, folder, launch
}

func waited(t *testing.T, p *Process) Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	require.NoError(t, err)
	return exit
}

// printed waits until the output has a line, and returns it.
func printed(t *testing.T, launch Launch) string {
	t.Helper()
	var text []byte
	require.Eventually(t, func() bool {
		text, _ = os.ReadFile(launch.Output)
		return strings.Contains(string(text), "\n")
	}, patience, 5*time.Millisecond)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func TestRunsWhatIsLaunched(t *testing.T) {
	p, _, launch := launched(t, `echo "$WORD in $(pwd)"; exit 3`)
	exit := waited(t, p)
	require.Equal(t, 3, exit.Code)
	require.False(t, exit.OK())
	require.Equal(t, "exit status 3", exit.String())
	require.Equal(t, "berth in "+launch.Dir, printed(t, launch))
}

func TestEndsWell(t *testing.T) {
	p, folder, _ := launched(t, "true")
	require.True(t, waited(t, p).OK())
	exit, err := Ended(folder)
	require.NoError(t, err)
	require.True(t, exit.OK())
	require.WithinDuration(t, time.Now(), exit.At, patience)
	require.ErrorIs(t, p.Signal(Terminate), ErrGone)
}

func TestEndedByASignal(t *testing.T) {
	p, _, launch := launched(t, "echo up; sleep 1000")
	printed(t, launch)
	require.NoError(t, p.Signal(Terminate))
	exit := waited(t, p)
	require.Equal(t, "ended by SIGTERM", exit.String())
	require.False(t, exit.OK())
}

func TestCouldNotBeStarted(t *testing.T) {
	folder, launch := shell(t, "")
	launch.Path = "/no/such/program"
	p, err := Start(folder, launch)
	require.NoError(t, err)
	require.Zero(t, p.PID())
	exit := waited(t, p)
	require.Contains(t, exit.NotStarted, "/no/such/program")
	require.False(t, exit.OK())
}

func TestFoundAgain(t *testing.T) {
	p, folder, launch := launched(t, "sleep 1000")
	again, err := Open(folder)
	require.NoError(t, err)
	require.Equal(t, p.PID(), again.PID())
	_, err = Start(folder, launch)
	require.ErrorIs(t, err, fs.ErrExist, "one folder is one program")

	require.NoError(t, again.SignalGroup(Kill))
	exit := waited(t, again)
	require.Equal(t, exit, waited(t, p), "all that wait hear the same")
}

func TestEndedWhileNobodyLooked(t *testing.T) {
	p, folder, _ := launched(t, "exit 5")
	waited(t, p)
	again, err := Open(folder)
	require.NoError(t, err)
	require.Equal(t, 5, waited(t, again).Code)
}

func TestNothingWasStarted(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "life"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestTheGroupEndsWithItsLeader(t *testing.T) {
	p, _, launch := launched(t, "sleep 1000 & echo $!; exit 0")
	require.True(t, waited(t, p).OK())
	pid, err := strconv.Atoi(printed(t, launch))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := identify(os.DirFS("/proc"), pid)
		return err != nil
	}, patience, 5*time.Millisecond)
}

// TestTheSupervisorIsKilled: the program goes on, and is watched by its ID; how it ended
// nobody knows.
func TestTheSupervisorIsKilled(t *testing.T) {
	p, folder, launch := launched(t, "echo $PPID; sleep 1000")
	supervisor, err := strconv.Atoi(printed(t, launch))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))

	again, err := Open(folder)
	require.NoError(t, err)
	require.Equal(t, p.PID(), again.PID())
	ended := make(chan error)
	go func() {
		_, err := again.Wait(context.Background())
		ended <- err
	}()
	select {
	case err := <-ended:
		require.FailNow(t, "the program goes on", "%v", err)
	case <-time.After(2 * orphanPoll):
	}
	require.NoError(t, again.Signal(Kill))
	require.ErrorIs(t, <-ended, ErrUnknownEnd)
}

// TestTheSupervisorStays: what ends other programs leaves it to see how its own ends, which
// gets all signals as any program does.
func TestTheSupervisorStays(t *testing.T) {
	p, _, launch := launched(t, "echo $PPID; sleep 1000")
	supervisor, err := strconv.Atoi(printed(t, launch))
	require.NoError(t, err)
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		require.NoError(t, syscall.Kill(supervisor, s))
	}
	require.NoError(t, p.SignalGroup(Terminate))
	require.Equal(t, "SIGTERM", waited(t, p).Signal)
}

func TestGroupAndName(t *testing.T) {
	p, _, launch := launched(t, "sleep 1000 & echo $!; wait")
	child, err := strconv.Atoi(printed(t, launch))
	require.NoError(t, err)
	group, err := Group(child)
	require.NoError(t, err)
	require.Equal(t, p.PID(), group)
	require.Equal(t, "sh", Name(p.PID()))
	require.NoError(t, p.SignalGroup(Kill))
	waited(t, p)
	require.Empty(t, Name(p.PID()))
	_, err = Group(p.PID())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestAnotherHasItsID: a process ID that now is another's is left alone.
func TestAnotherHasItsID(t *testing.T) {
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its group could be hit, too
	require.NoError(t, other.Start())
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	now, err := identify(os.DirFS("/proc"), other.Process.Pid)
	require.NoError(t, err)

	folder := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, filePulse), 0o600))
	for _, former := range []identity{
		{PID: now.PID, Start: now.Start - 1, Boot: now.Boot},
		{PID: now.PID, Start: now.Start, Boot: "before the machine restarted"},
	} {
		require.NoError(t, durable.WriteJSON(filepath.Join(folder, fileProgram), former))
		p, err := Open(folder)
		require.NoError(t, err)
		require.ErrorIs(t, p.SignalGroup(Kill), ErrGone)
		_, err = p.Wait(t.Context())
		require.ErrorIs(t, err, ErrUnknownEnd)
	}
	require.True(t, now.alive(os.DirFS("/proc")), "it was left alone")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	p, _, _ := launched(t, "sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestIdentify(t *testing.T) {
	rest := strings.Repeat(" 0", 18)
	proc := fstest.MapFS{
		"sys/kernel/random/boot_id": {Data: []byte("b00t\n")},
		"10/stat":                   {Data: []byte("10 (sleep) S" + rest + " 123 0\n")},
		"11/stat":                   {Data: []byte("11 (a) b (c)) R" + rest + " 456 0\n")},
		"12/stat":                   {Data: []byte("12 (gone) Z" + rest + " 789 0\n")},
		"13/stat":                   {Data: []byte("13 (short) S 0 0\n")},
		"14/stat":                   {Data: []byte("14 (odd) S" + rest + " x 0\n")},
	}
	i, err := identify(proc, 10)
	require.NoError(t, err)
	require.Equal(t, identity{PID: 10, Start: 123, Boot: "b00t"}, i)
	i, err = identify(proc, 11)
	require.NoError(t, err)
	require.EqualValues(t, 456, i.Start, "names have spaces and parentheses")
	_, err = identify(proc, 12)
	require.ErrorIs(t, err, fs.ErrNotExist, "a zombie has ended")
	for _, pid := range []int{9, 13, 14} {
		_, err = identify(proc, pid)
		require.Error(t, err)
	}
	_, err = identify(fstest.MapFS{}, 10)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSignals(t *testing.T) {
	for _, name := range []string{"USR1", "SIGUSR1", "usr1"} {
		s, err := ParseSignal(name)
		require.NoError(t, err)
		require.Equal(t, "SIGUSR1", s.String())
	}
	_, err := ParseSignal("USR3")
	require.ErrorContains(t, err, `"USR3"`)
	require.Equal(t, "signal 63", Signal(63).String())
}
