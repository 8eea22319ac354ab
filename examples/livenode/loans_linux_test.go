package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/nvmlsrc"
)

// lends and borrows are submissions of workloads that do.
func lends(name string, within berth.Duration, flags ...string) Submission {
	s := counts(name, 1, flags...)
	s.Lend = &berth.Lend{Within: within, MemoryMiB: 8 << 10}
	return s
}

func borrows(name string, flags ...string) Submission {
	s := counts(name, 0, flags...)
	s.Borrow = &berth.Borrow{MemoryMiB: 24 << 10}
	return s
}

// keepsBusy says how busy a job keeps its GPU, as the driver of the pretend box measures.
func (b *bench) keepsBusy(name string, milli int) {
	b.t.Helper()
	require.NoError(b.t, b.o.machine.pretend.SetProcessActivity(b.job(name).PID, milli))
}

// TestALoan is a loan from the command lines to the second life of the borrower, with an
// orchestrator that ends in between. The service says itself how busy it is.
func TestALoan(t *testing.T) {
	b := start(t)
	requests := filepath.Join(t.TempDir(), "requests")
	require.NoError(t, os.WriteFile(requests, nil, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	loops := []string{"workload", "-each", "10ms", "-steps", "1000000"}
	b.says(append([]string{"run", "-name", "web", "-class", "latency-critical", "-lend", "1m", "-memory", "8GiB", "--", self}, append(loops, "-serves", requests)...)...)
	b.says(append([]string{"run", "-name", "night", "-borrow", "-memory", "24GiB", "-checkpoint-signal", "USR1", "--", self}, loops...)...)
	b.output("web", "^step 3$")
	require.Equal(t, "pending", b.job("night").State, "nothing is idle")
	require.Contains(t, b.says("why", "night"), "a job lends its GPUs that was submitted with livenode run -lend")

	require.NoError(t, os.Remove(requests))
	b.output("night", "^step 3$")
	gpu, _ := strings.CutPrefix(b.output("web", " on GPU-.*$"), " on ")
	b.output("night", "^incarnation 1 begins at step 0 on "+gpu+"$")
	served := b.steps("web")
	require.Contains(t, b.says("ps", "-state", b.folder), "GPU 0; is idle, and lends to night")
	require.Contains(t, b.says("why", "night"), "it borrows from web")
	drawn := b.says("top", "-state", b.folder)
	require.Contains(t, drawn, "aBaBaB")
	require.Contains(t, drawn, "web, lent to night")

	pids := []int{b.job("web").PID, b.job("night").PID}
	b.stop()
	b.begin()
	b.output("night", "^step "+b.nextStep("night")+"$")
	require.Equal(t, pids, []int{b.job("web").PID, b.job("night").PID}, "both are found, and the loan stands")
	require.Equal(t, served, b.steps("web"), "it has nothing to do")

	require.NoError(t, os.WriteFile(requests, nil, 0o600))
	b.becomes("night", "pending")
	at, _ := strings.CutPrefix(b.output("night", "^checkpoint at step .*$"), "checkpoint at step ")
	j := b.job("web")
	require.Equal(t, "running", j.State)
	require.Equal(t, pids[0], j.PID)
	require.Positive(t, j.Switched)
	require.Less(t, j.Switched, berth.Minute)
	require.Contains(t, b.says("why", "web"), "it had its GPUs to itself again "+j.Switched.String()+" after")
	s, err := b.status(t.Context())
	require.NoError(t, err)
	require.True(t, inOrder(&s, "web is busy again", "ask night for a checkpoint", "night has written its checkpoint", "stop night", "night is stopped", "web has its GPUs to itself again"))

	require.NoError(t, os.Remove(requests))
	b.output("night", "^incarnation 2 begins at step "+at+" on "+gpu+"$")
}

// nextStep is one that a job has not counted yet.
func (b *bench) nextStep(name string) string {
	s := &stage{client: b.client}
	return number(s.step(name) + 5)
}

// TestALoanIsMeasured: where the lender says nothing, the driver tells its work from that of the
// borrower, which keeps the same GPU busy.
func TestALoanIsMeasured(t *testing.T) {
	b := start(t)
	b.submits(lends("web", berth.Minute), borrows("night"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 30)
	b.output("night", "^step 3$")
	b.until("the GPU is measured while both run", func() bool {
		s, err := b.status(t.Context())
		return err == nil && len(s.GPUs[0].Holders) == 2 && s.GPUs[0].Reading != nil && *s.GPUs[0].Reading.ActiveMilli == busyMilli+30
	})
	time.Sleep(3 * nvmlsrc.MinInterval) // some readings more
	require.EqualValues(t, 1, b.job("night").Incarnation)
	require.Equal(t, "running", b.job("night").State, "the GPU is busy, and its lender is not")
	b.keepsBusy("web", 60) // a change that is not told elsewhere
	b.becomes("night", "pending")
	require.Equal(t, "running", b.job("web").State)
}

// TestIdleFromItsStart: a job that never did anything lends too.
func TestIdleFromItsStart(t *testing.T) {
	b := start(t)
	b.submits(lends("web", berth.Minute, "-serves", "/no/such/file"), borrows("night"))
	b.becomes("night", "running")
}

// TestALoanWithoutMeasurement: where the driver cannot tell processes apart, what a lender has not
// said counts as its own work: it gets its GPU back rather than not.
func TestALoanWithoutMeasurement(t *testing.T) {
	b := start(t)
	b.driverRefuses("processActivity")
	b.submits(lends("web", berth.Minute), borrows("night"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 0)
	b.output("night", "^step 1$")
	b.output("night", "^checkpoint at step ")
	b.becomes("night", "pending")
}

// driverRefuses has the driver of the pretend box answer none of some questions about GPU 0.
func (b *bench) driverRefuses(questions ...nvmlsrc.Query) {
	b.t.Helper()
	for _, q := range questions {
		require.NoError(b.t, b.o.machine.pretend.Refuse(0, q, nvmlsrc.ErrUnsupported))
	}
}

// TestALoanWhileMeasurementEnds: a lender of which nothing is known any more gets its GPU back.
func TestALoanWhileMeasurementEnds(t *testing.T) {
	b := start(t)
	b.submits(lends("web", berth.Minute), borrows("night"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 0)
	b.output("night", "^step 3$")
	b.driverRefuses("activity", "utilization", "processActivity")
	b.becomes("night", "pending")
	require.Equal(t, "running", b.job("web").State)
	require.Positive(t, b.job("web").Switched)
}

// TestALoanByProcessesAlone: the work of processes suffices, where that of the GPU is not measured.
func TestALoanByProcessesAlone(t *testing.T) {
	b := start(t)
	b.driverRefuses("activity", "utilization")
	b.submits(lends("web", berth.Minute), borrows("night"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 0)
	b.output("night", "^step 3$")
	b.keepsBusy("web", 1000)
	b.becomes("night", "pending")
}

// TestALenderThatEnds: the borrower goes, and until then it says by when.
func TestALenderThatEnds(t *testing.T) {
	b := start(t)
	until := filepath.Join(t.TempDir(), "until")
	b.submits(lends("web", berth.Minute, "-until", until), borrows("night", "-write", "1000s"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 0)
	b.output("night", "^step 3$")
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	require.Regexp(t, "^gives back by [0-9:]+$", b.becomes("night", stateCheckpointing).Why)
}

// TestABorrowerThatStays: a lender has its GPU back in time whatever the borrower does.
func TestABorrowerThatStays(t *testing.T) {
	b := start(t)
	b.submits(lends("web", 400*berth.Millisecond), borrows("night", "-deaf", "-write", "1000s"))
	b.output("web", "^step 3$")
	b.keepsBusy("web", 0)
	b.output("night", "^step 3$")
	pid := b.job("night").PID
	b.keepsBusy("web", 1000)
	b.until("the borrower is gone", func() bool { return b.job("web").Switched != 0 })
	require.False(t, runs(pid))
	require.GreaterOrEqual(t, b.job("web").Switched, 400*berth.Millisecond, "it had all of its time")
	require.Less(t, b.job("web").Switched, berth.Minute, "and not its own -stop-timeout")
}

// TestWhatAJobSaysOfItsActivity: numbers from 0 to 1000 count, anything else does not, and without
// a file the job is measured.
func TestWhatAJobSaysOfItsActivity(t *testing.T) {
	b := start(t)
	b.submits(lends("web", berth.Minute), borrows("night"))
	b.output("web", "^step 3$")
	var file string
	require.NoError(t, b.o.ask(t.Context(), func() error {
		l := b.o.lives["web"]
		file = activityFile(l.job, l.incarnation)
		return nil
	}))
	says := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	says(" 0\n")
	b.becomes("night", "running")
	for _, nonsense := range []string{"", "-1", "1001", "busy"} {
		says(nonsense)
		time.Sleep(3 * filePoll)
		require.Equal(t, "running", b.job("night").State, nonsense)
	}
	require.NoError(t, os.Remove(file))
	b.becomes("night", "pending") // it is as busy as ever
}
