package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/journal"
	"github.com/berth-sched/berth/nvmlsrc"
)

// TestMain makes this binary livenode when it is started with one of its commands, as
// supervisors, workloads and orchestrators that are to be killed are. Tests mostly wait, so more of
// them run at once than there are processors.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	if err := flag.Set("test.parallel", "6"); err != nil { // before the command line is read
		panic(err)
	}
	os.Exit(m.Run())
}

// patience is for how long a test waits for what has to come. None waits so long if all is well,
// and a machine that is busy with something else is no fault.
const patience = 2 * time.Minute

// A bench is an orchestrator of a pretend box, and a client of it.
type bench struct {
	*client
	t    *testing.T
	o    *orchestrator
	stop func()
	// clock, if it is not the machine's.
	clock journal.Clock
	// fails: it is to end with an error, which is in failure then.
	fails   bool
	failure error
}

// start starts an orchestrator in a new folder.
func start(t *testing.T, change ...func(*machineConfig)) *bench {
	t.Helper()
	t.Parallel()
	b := &bench{t: t, client: newClient(t.TempDir())}
	b.begin(change...)
	t.Cleanup(func() {
		b.stop()
		killPrograms(b.folder)
	})
	return b
}

// begin starts the orchestrator, in the folder that it had.
func (b *bench) begin(change ...func(*machineConfig)) {
	b.t.Helper()
	c := machineConfig{box: "hgx-h100", folder: b.folder, every: nvmlsrc.MinInterval}
	for _, f := range change {
		f(&c)
	}
	m, err := openMachine(c)
	require.NoError(b.t, err)
	policy := policyFor(c.migApply)
	policy.RetryBackoff = 50 * berth.Millisecond
	policy.Lending.QuietFor = 50 * berth.Millisecond
	for i := range policy.Geometry {
		policy.Geometry[i].Cost = 100 * berth.Millisecond
	}
	b.o, err = newOrchestrator(b.folder, m, policy, b.clock, io.Discard)
	require.NoError(b.t, err)
	listener, err := listen(b.folder)
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.o.serveUntil(ctx, listener) }()
	stopped := false
	b.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			b.failure = <-ended
			require.Equal(b.t, b.fails, b.failure != nil, "%v", b.failure)
			require.NoError(b.t, m.close())
			b.http.CloseIdleConnections() // a submission over one would not be tried again
		}
	}
}

// counts is a submission of a workload that counts steps.
func counts(name string, gpus int, flags ...string) Submission {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Submission{
		Name: name, Queue: DefaultQueue, GPUs: gpus, Path: self, Dir: "/", Env: os.Environ(),
		Command:     append([]string{"livenode", "workload", "-each", "10ms", "-steps", "1000000"}, flags...),
		StopTimeout: berth.Minute, CheckpointSignal: "USR1", Grace: berth.Minute,
	}
}

// shell is a submission of a script.
func shell(name string, script string) Submission {
	s := counts(name, 1)
	s.Path, s.Command, s.CheckpointSignal = "/bin/sh", []string{"sh", "-c", script}, ""
	return s
}

// inventory is what was learnt of the machine last.
func (b *bench) inventory() (v nvmlsrc.Inventory) {
	b.t.Helper()
	require.NoError(b.t, b.o.ask(b.t.Context(), func() error {
		v = b.o.inventory
		return nil
	}))
	return v
}

func urgent(s Submission) Submission {
	s.Class = berth.ClassLatencyCritical
	return s
}

// submits submits jobs.
func (b *bench) submits(list ...Submission) {
	b.t.Helper()
	for _, s := range list {
		_, err := b.submit(b.t.Context(), s)
		require.NoError(b.t, err)
	}
}

// job returns a job as it is now.
func (b *bench) job(name string) JobStatus {
	b.t.Helper()
	s, err := b.status(b.t.Context())
	require.NoError(b.t, err)
	for _, j := range s.Jobs {
		if j.Name == name {
			return j
		}
	}
	require.FailNow(b.t, "no job "+name)
	return JobStatus{}
}

// until waits until something is so.
func (b *bench) until(what string, so func() bool) {
	b.t.Helper()
	if !eventually(so) {
		s, _ := b.status(context.Background())
		require.FailNow(b.t, what, newPainter(160, false).frame(&s))
	}
}

func eventually(so func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return true
		}
	}
	return false
}

// becomes waits until a job is in a state, and returns it.
func (b *bench) becomes(name, state string) (j JobStatus) {
	b.t.Helper()
	b.until(name+" becomes "+state, func() bool {
		j = b.job(name)
		return j.State == state
	})
	return j
}

// steps is how far a job has counted.
func (b *bench) steps(name string) int {
	text, _ := os.ReadFile(filepath.Join(b.folder, "jobs", name, "output.log"))
	return strings.Count(string(text), "\nstep ")
}

// output waits until a job has printed what matches, and returns what does.
func (b *bench) output(name, pattern string) (match string) {
	b.t.Helper()
	b.until(name+" prints "+pattern, func() bool {
		text, _ := os.ReadFile(filepath.Join(b.folder, "jobs", name, "output.log"))
		match = string(regexp.MustCompile("(?m)" + pattern).Find(text))
		return match != ""
	})
	return match
}

func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestAJobFromItsSubmissionToItsEnd(t *testing.T) {
	b := start(t)
	s := shell("", `echo "$BERTH_JOB incarnation $BERTH_INCARNATION in $(pwd)"; echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES"; exit 0`)
	s.GPUs = 2
	name, err := b.submit(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "sh", name)
	j := b.becomes(name, stateEnded)
	require.Equal(t, "exit status 0", j.Why)
	b.output(name, "^sh incarnation 1 in /$")
	var uuids []string
	for _, g := range b.inventory().GPUs {
		uuids = append(uuids, g.UUID)
	}
	got, _ := strings.CutPrefix(b.output(name, "^PCI_BUS_ID .*$"), "PCI_BUS_ID ")
	require.Subset(t, uuids, strings.Split(got, ","))
	require.Len(t, strings.Split(got, ","), 2)

	name, err = b.submit(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "sh-2", name, "a name of its own")
}

// TestCheckpointThenEvict is the whole protocol: a full node, a latency-critical job, a
// checkpoint in time, and the victim back at the step at which it left.
func TestCheckpointThenEvict(t *testing.T) {
	b := start(t)
	b.submits(counts("large", 6), counts("small", 2))
	b.becomes("large", "running")
	b.becomes("small", "running")
	b.output("small", "^step 3$")

	b.submits(urgent(counts("urgent", 2)))
	b.becomes("urgent", "running")
	require.Equal(t, "pending", b.job("small").State, "the least harm is to stop the small one")
	require.Equal(t, "running", b.job("large").State)
	at, _ := strings.CutPrefix(b.output("small", "^checkpoint at step .*$"), "checkpoint at step ")

	require.NoError(t, b.cancel(t.Context(), "urgent"))
	j := b.becomes("small", "running")
	require.EqualValues(t, 2, j.Incarnation)
	b.output("small", "^incarnation 2 begins at step "+at+" on ")
	require.Equal(t, "cancelled", b.becomes("urgent", stateFailed).Why)
}

func TestTooLateForItsCheckpoint(t *testing.T) {
	b := start(t)
	slow := counts("slow", 8, "-write", "1000s")
	slow.Grace = 50 * berth.Millisecond
	b.submits(slow)
	b.output("slow", "^step 1$")
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("urgent", "running")
	require.Equal(t, "pending", b.job("slow").State)
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	b.output("slow", "^incarnation 2 begins at step 0 ")
}

func TestAProgramThatIgnoresSIGTERMIsKilled(t *testing.T) {
	b := start(t)
	deaf := counts("deaf", 8, "-deaf")
	deaf.StopTimeout = 50 * berth.Millisecond
	b.submits(deaf)
	b.output("deaf", "^step 1$")
	pid := b.becomes("deaf", "running").PID
	require.NoError(t, b.cancel(t.Context(), "deaf"))
	require.Equal(t, "cancelled", b.becomes("deaf", stateFailed).Why)
	require.False(t, runs(pid))
	b.submits(counts("next", 8))
	b.becomes("next", "running")
}

func TestAProgramThatDies(t *testing.T) {
	b := start(t)
	b.submits(shell("fails", "exit 3"), shell("crashes", "kill -SEGV $$"))
	require.Equal(t, "exit status 3", b.becomes("fails", stateFailed).Why)
	require.Equal(t, "ended by SIGSEGV", b.becomes("crashes", stateFailed).Why)
	s := shell("nothing", "")
	s.Path = "/no/such/program"
	b.submits(s)
	require.Contains(t, b.becomes("nothing", stateFailed).Why, "could not be started")
	b.submits(counts("all", 8))
	b.becomes("all", "running") // nothing of them is held
}

// TestLeavesByItself: a program may answer a request by ending, to be run again.
func TestLeavesByItself(t *testing.T) {
	b := start(t)
	b.submits(counts("leaver", 8, "-leave"))
	b.output("leaver", "^step 2$")
	b.submits(urgent(counts("urgent", 8)))
	at, _ := strings.CutPrefix(b.output("leaver", "^checkpoint at step .*$"), "checkpoint at step ")
	b.becomes("urgent", "running")
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	b.becomes("leaver", "running")
	b.output("leaver", "^incarnation 2 begins at step "+at+" on ")
}

// TestDiesOfTheRequest: a program that has no handler yet is not at fault.
func TestDiesOfTheRequest(t *testing.T) {
	b := start(t)
	s := shell("early", "sleep 1000")
	s.GPUs, s.CheckpointSignal = 8, "USR1"
	b.submits(s)
	b.becomes("early", "running")
	b.submits(urgent(counts("urgent", 8)))
	b.becomes("urgent", "running")
	require.Equal(t, "pending", b.job("early").State)
}

func TestCheckpointsByItself(t *testing.T) {
	b := start(t)
	b.submits(shell("saver", `sleep 0.05; : > "$BERTH_CHECKPOINT_DONE"; sleep 1000`))
	b.until("it was seen", func() bool { return !b.job("saver").Checkpoint.IsZero() })
	require.Equal(t, "running", b.job("saver").State)
}

func TestCancelOfOneThatWaits(t *testing.T) {
	b := start(t)
	b.submits(counts("first", 8), counts("second", 8))
	b.becomes("first", "running")
	b.becomes("second", "pending")
	require.NoError(t, b.cancel(t.Context(), "second"))
	require.Equal(t, stateFailed, b.job("second").State)
	require.ErrorContains(t, b.cancel(t.Context(), "second"), "is over")
	require.ErrorContains(t, b.cancel(t.Context(), "third"), "no such job")
}

func TestWhy(t *testing.T) {
	b := start(t)
	b.submits(counts("first", 8), counts("second", 4))
	b.becomes("first", "running")
	text, err := b.why(t.Context(), "second")
	require.NoError(t, err)
	for _, part := range []string{"second (4 GPUs, batch, queue default) is pending", "it waits (gpus)", "would help:", "number 1 of those that wait"} {
		require.Contains(t, text, part)
	}
	b.submits(instance("divided", "1g.10gb"))
	b.until("it is explained", func() bool {
		text, err = b.why(t.Context(), "divided")
		return err == nil && strings.Contains(text, "no GPU is in MIG mode")
	})
	_, err = b.why(t.Context(), "none")
	require.ErrorContains(t, err, "no such job")
}

func TestWhatIsRefused(t *testing.T) {
	b := start(t)
	refused := func(text string, change func(*Submission)) {
		t.Helper()
		s := counts("job", 1)
		change(&s)
		_, err := b.submit(t.Context(), s)
		require.ErrorContains(t, err, text)
	}
	refused("no name for a job", func(s *Submission) { s.Name = "../x" })
	refused("needs a command", func(s *Submission) { s.Command = nil })
	refused("asks for one of", func(s *Submission) { s.MIG = "1g.10gb" })
	refused("asks for one of", func(s *Submission) { s.GPUs = 0 })
	refused("asks for one of", func(s *Submission) { s.Borrow = &berth.Borrow{MemoryMiB: 1} })
	refused("nothing to lend", func(s *Submission) {
		s.GPUs, s.Borrow, s.Lend = 0, &berth.Borrow{MemoryMiB: 1}, &berth.Lend{MemoryMiB: 1}
	})
	refused("memoryMiB", func(s *Submission) { s.Lend = &berth.Lend{} })
	refused("1 to 99 percent", func(s *Submission) { s.GPUs, s.SharePercent = 0, 100 })
	refused("time to stop", func(s *Submission) { s.StopTimeout = berth.Hour })
	refused("is no signal", func(s *Submission) { s.CheckpointSignal = "USR3" })
	refused("livenode queue nowhere", func(s *Submission) { s.Queue = "nowhere" })
	refused("gpus", func(s *Submission) { s.GPUs = -1 })
	b.submits(counts("job", 1))
	refused("there is a job job already", func(*Submission) {})
}

// TestSharesOfAGPU: two shares are on one GPU, with the environment of MPS.
func TestSharesOfAGPU(t *testing.T) {
	b := start(t)
	share := func(name string, percent int) Submission {
		s := shell(name, "env | grep ^CUDA_ | sort; sleep 1000")
		s.GPUs, s.SharePercent = 0, percent
		s.Env = append(s.Env, "CUDA_VISIBLE_DEVICES=7", "CUDA_MPS_PIPE_DIRECTORY=/elsewhere")
		return s
	}
	b.submits(share("a", 30), share("b", 50))
	b.becomes("a", "running")
	b.becomes("b", "running")
	uuid := b.inventory().GPUs[0].UUID
	for name, percent := range map[string]int{"a": 30, "b": 50} {
		b.output(name, "^CUDA_VISIBLE_DEVICES="+uuid+"$")
		b.output(name, "^CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="+strconv.Itoa(percent)+"$")
		b.output(name, fmt.Sprintf("^CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM$", 81559*int64(percent)/100))
		b.output(name, "^CUDA_MPS_PIPE_DIRECTORY="+regexp.QuoteMeta(filepath.Join(b.folder, "mps", "0"))+"$")
	}
	s, err := b.status(t.Context())
	require.NoError(t, err)
	require.Len(t, s.GPUs[0].Holders, 2)
	require.Equal(t, berth.GPUModeMPS, s.GPUs[0].Mode)
}

// instance is a submission of a workload that wants a MIG instance.
func instance(name, profile string) Submission {
	s := counts(name, 0)
	s.MIG = profile
	return s
}

func onMIG(c *machineConfig) { c.box = "mig-h100" }

// TestInstances: a MIG device goes by its UUID, and instances that somebody else uses are
// left alone.
func TestInstances(t *testing.T) {
	b := start(t, onMIG)
	b.submits(instance("small", "1g.10gb"), instance("middle", "2g.20gb"))
	b.becomes("small", "running")
	uuid := strings.TrimPrefix(b.output("small", "on MIG-.*$"), "on ")
	var uuids []string
	for _, g := range b.inventory().GPUs {
		for _, i := range g.MIG.Instances {
			uuids = append(uuids, i.UUIDs...)
		}
	}
	require.Contains(t, uuids, uuid)

	text, err := b.why(t.Context(), "middle")
	require.NoError(t, err)
	require.Contains(t, text, "livenode serve -mig-apply makes", "the only one has a stranger on it")
	s, err := b.status(t.Context())
	require.NoError(t, err)
	require.Contains(t, s.GPUs[0].Holders, Holder{Job: "others", Milli: 250, Instance: "2g.20gb@0:2"})
}

// TestMakesInstances: with -mig-apply the instance that a job waits for is made, and is
// there after a restart.
func TestMakesInstances(t *testing.T) {
	b := start(t, onMIG, func(c *machineConfig) { c.migApply = true })
	b.submits(instance("middle", "2g.20gb"))
	b.becomes("middle", "running")
	b.output("middle", "on MIG-")
	place := b.job("middle").Place
	require.Contains(t, place, ", instance 2g.20gb@")
	b.stop()
	b.begin(onMIG)
	require.Equal(t, place, b.becomes("middle", "running").Place)
}

// TestAFailedGPU: an Xid of the hardware takes its job away, one of the program does not,
// and a GPU comes back when an operator says so.
func TestAFailedGPU(t *testing.T) {
	b := start(t)
	b.submits(counts("job", 8))
	b.becomes("job", "running")
	require.NoError(t, b.fault(t.Context(), Fault{GPU: 3, Xid: 31}))
	b.until("Xid 31 is told", func() bool { return b.decided("GPU 3 reports Xid 31") })
	require.EqualValues(t, 1, b.job("job").Incarnation)

	pid := b.job("job").PID
	b.submits(counts("next", 4))
	require.NoError(t, b.fault(t.Context(), Fault{GPU: 3, Xid: 79}))
	b.becomes("next", "running")
	require.False(t, runs(pid), "nothing is started where something still runs")
	b.becomes("job", "pending")
	b.stop()
	b.begin()
	s, err := b.status(t.Context())
	require.NoError(t, err)
	require.Contains(t, s.GPUs[3].Failure, "Xid 79", "the core remembers it, and says so when asked")
	b.becomes("job", "pending")
	require.ErrorContains(t, b.repaired(t.Context(), "8"), "there is no GPU 8")
	require.NoError(t, b.repaired(t.Context(), "3"))
	require.NoError(t, b.cancel(t.Context(), "next"))
	require.EqualValues(t, 2, b.becomes("job", "running").Incarnation)
	s, err = b.status(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.GPUs[3].Failure)
}

// TestOthers: what somebody else has taken is not given, until it is free.
func TestOthers(t *testing.T) {
	b := start(t)
	uuid := b.inventory().GPUs[5].UUID
	require.NoError(t, b.o.machine.pretend.Start(123, uuid))
	b.until("it is seen", func() bool { return b.decided("GPU 5 is used by a process outside livenode") })
	b.submits(counts("all", 8), counts("most", 7))
	b.becomes("most", "running")
	require.Equal(t, "GPUs 0-4,6-7", b.job("most").Place)
	b.stop()
	b.begin() // and the stranger's process is gone
	b.until("it is free", func() bool { return b.decided("is free again") })
	require.NoError(t, b.cancel(t.Context(), "most"))
	b.becomes("all", "running")
}

// decided reports whether something was decided that contains a text.
func (b *bench) decided(text string) bool {
	s, err := b.status(b.t.Context())
	require.NoError(b.t, err)
	return slices.ContainsFunc(s.Decisions, func(d Decision) bool { return strings.Contains(d.Text, text) })
}

// TestActivity: what is measured of the GPUs is shown.
func TestActivity(t *testing.T) {
	b := start(t)
	b.submits(counts("job", 1))
	b.becomes("job", "running")
	b.until("its GPU is busy, and the next is not", func() bool {
		s, err := b.status(t.Context())
		require.NoError(t, err)
		busy, idle := s.GPUs[0].Reading, s.GPUs[1].Reading
		return busy != nil && busy.ActiveMilli != nil && *busy.ActiveMilli > 500 && idle.ActiveMilli != nil && *idle.ActiveMilli < 100
	})
}

// TestRestart: the orchestrator ends in peace, what runs goes on, and what ended meanwhile
// is known afterwards.
func TestRestart(t *testing.T) {
	b := start(t)
	b.submits(counts("stays", 4), shell("ends", "sleep 1000"), counts("waits", 8))
	b.becomes("stays", "running")
	b.becomes("waits", "pending")
	pid, ends := b.job("stays").PID, b.becomes("ends", "running").PID
	b.stop()
	_, err := b.status(t.Context())
	require.ErrorIs(t, err, errNotServing)

	require.True(t, runs(pid))
	require.NoError(t, syscall.Kill(ends, syscall.SIGKILL))
	b.begin()
	require.Equal(t, "ended by SIGKILL", b.becomes("ends", stateFailed).Why)
	j := b.becomes("stays", "running")
	require.Equal(t, pid, j.PID)
	require.EqualValues(t, 1, j.Incarnation)
	require.NoError(t, b.cancel(t.Context(), "stays"))
	b.becomes("waits", "running")
}

// TestKilled: an orchestrator of its own process is killed with -9, in the middle of
// things, and the next one knows everything.
func TestKilled(t *testing.T) {
	b := &bench{t: t, client: newClient(t.TempDir())}
	t.Cleanup(func() { killPrograms(b.folder) })
	server := serving(t, b.folder)
	b.until("it serves", func() bool { _, err := b.status(t.Context()); return err == nil })
	b.submits(counts("stays", 6), counts("leaves", 2))
	b.becomes("stays", "running")
	b.becomes("leaves", "running") // what is only being started is no victim
	b.output("leaves", "^step 2$")
	pid := b.job("stays").PID
	b.submits(urgent(counts("urgent", 2)))
	require.NoError(t, server.Process.Kill())
	_ = server.Wait()

	before := b.steps("stays")
	b.until("it goes on alone", func() bool { return b.steps("stays") > before })
	require.True(t, runs(pid))

	serving(t, b.folder)
	b.until("it serves again", func() bool { _, err := b.status(t.Context()); return err == nil })
	b.becomes("urgent", "running")
	b.becomes("leaves", "pending")
	j := b.becomes("stays", "running")
	require.Equal(t, pid, j.PID)
	require.NoError(t, b.cancel(t.Context(), "urgent"))
	b.becomes("leaves", "running")
	b.output("leaves", "^incarnation 2 begins at step [1-9]")
}

// serving starts an orchestrator as a process of its own.
func serving(t *testing.T, folder string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	var said bytes.Buffer
	c := exec.Command(self, "serve", "-fake", "hgx-h100", "-state", folder)
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return c
}

// TestDemo plays the stories that are promised, on a large machine and on a small one, and
// where it cannot be played.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, play := range []struct{ story, box, last string }{
		{"preempt", "hgx-h100", "all 14 checks passed"},
		{"preempt", "pcie", "all 12 checks passed"},
		{"lend", "pcie", "all 12 checks passed"},
	} {
		t.Run(play.story+" on "+play.box, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Zero(t, livenode(t.Context(), []string{"demo", "-fake", play.box, "-story", play.story, "-pause", "0"}, &stdout, &stderr), "%s%s", &stdout, &stderr)
			require.Contains(t, stdout.String(), play.last)
		})
	}
	_, err := storyOf("borrow")
	require.ErrorContains(t, err, "there are preempt and lend")
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, livenode(t.Context(), []string{"demo", "-fake", "mig-h100", "-pause", "0"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "needs GPUs that are idle and not partitioned")
}
