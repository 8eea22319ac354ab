package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/check"
)

func TestPreemptUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-nodes", "15"},
		{"-days", "0"},
		{"-seeds", "1"},
		{"-elastic", "101"},
		{"-interval", "1s"},
		{"-regroup", "2h"},
		{"-target", "0s"},
	} {
		status, out, _ := call(append([]string{"preempt"}, args...)...)
		require.Equal(t, 2, status, args)
		require.Empty(t, out, args)
	}
	status, _, help := call("preempt", "-h")
	require.Zero(t, status)
	require.Contains(t, help, "does not")
	require.Contains(t, help, "-interval")
}

// smallYield is a day of a small fleet.
func smallYield(t *testing.T) *yieldBench {
	b := &yieldBench{nodes: 64, days: 1, seeds: 2, seed: 1, elastic: 50, interval: time.Hour, regroup: 15 * time.Second, target: time.Hour}
	require.NoError(t, b.configure(nil))
	return b
}

// The same seeds give the same tables, on however many processors, and programs read the
// same figures.
func TestPreempt(t *testing.T) {
	args := []string{"preempt", "-nodes", "32", "-days", "1", "-seeds", "2"}
	status, out, stderr := call(args...)
	require.Contains(t, []int{0, 1}, status, "so small a fleet shows nothing")
	require.NotContains(t, stderr, "GPU-milliseconds")
	for _, text := range []string{"kill by priority", "berth, at once", "p99", "done again", "gangs hit/GPU", "useful training", "times fewer GPU-hours"} {
		require.Contains(t, out, text)
	}
	page := filepath.Join(t.TempDir(), "preempt.html")
	_, again, _ := call(append(args, "-html", page)...)
	require.Equal(t, out, again)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, 6*2, strings.Count(string(html), "<svg"))

	_, out, _ = call(append(args, "-csv")...)
	reader := csv.NewReader(strings.NewReader(out))
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	require.NoError(t, err)
	figures := 0
	for _, group := range yieldTables {
		figures += len(group.figures)
	}
	require.Len(t, records, 2+6*(96+figures))
}

// Every policy keeps the promises of the core, by the independent checker.
func TestPreemptChecked(t *testing.T) {
	b := smallYield(t)
	b.nodes = 32
	for i := range b.policies {
		r, err := b.newRun(&b.policies[i], b.arrivals(3))
		require.NoError(t, err)
		checker := check.New(r.policy.config)
		r.applied = func(now berth.Time, e berth.Event) error { return checker.Applied(now, e) }
		r.scheduled = func(now berth.Time, actions []berth.Action) error {
			if err := checker.Scheduled(now, actions); err != nil {
				return err
			}
			return checker.Against(r.core.Report())
		}
		require.NoError(t, r.play(), r.policy.name)
		require.Greater(t, len(r.book.waits), 50)
		require.Zero(t, r.book.dropped)
		require.Equal(t, i == yieldNever, r.book.evicted == 0, r.policy.name)
	}
}

// One gang on two nodes, and a replica that wants two GPUs of them for an hour: the books of
// every policy, worked out by hand.
func TestPreemptBooks(t *testing.T) {
	const gpuSecond = int64(berth.Second)
	b := smallYield(t)
	b.nodes = 2
	from := berth.Time(yieldWarmUp)
	minute := func(m float64) berth.Time { return from.Add(berth.Duration(m * float64(berth.Minute))) }
	gang := berth.Job{
		ID: "gang", Queue: yieldProducts, Groups: []berth.Group{fairGroup(16)},
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: yieldWriteSmall, RestartCost: yieldWarmSmall},
	}
	replica := berth.Job{ID: "replica", Queue: yieldServing, Class: berth.LatencyCritical, Groups: []berth.Group{fairGroup(2)}}
	// The gang is started at -35:00 and productive from -32:30 on, so that it has worked for
	// 57 and a half minutes when the replica comes, and would have its first checkpoint
	// soon. Its place is free again at 85:10, and two and a half minutes later it works.
	arrivals := []yieldArrival{
		{at: minute(-35), job: gang, work: 2 * berth.Day},
		{at: minute(25), job: replica, ends: minute(85)},
	}
	const (
		unsaved  = 16 * 3450 * gpuSecond
		stopping = 16 * 10 * gpuSecond
		writing  = 16 * 30 * gpuSecond
		warmUp   = 16 * 150 * gpuSecond
	)
	for i, c := range []struct{ redone, writing, stopping, restarting, wait int64 }{
		yieldKill:   {unsaved, 0, stopping, warmUp, 40},
		yieldNewest: {unsaved, 0, stopping, warmUp, 40},
		yieldAsk:    {0, writing, stopping, warmUp, 70},
		yieldBerth:  {0, writing, stopping, warmUp, 70},
		yieldAtOnce: {unsaved, 0, stopping, warmUp, 40},
		yieldNever:  {0, 0, 0, 0, 3600},
	} {
		r, err := b.newRun(&b.policies[i], arrivals)
		require.NoError(t, err)
		require.NoError(t, r.play())
		k, name := &r.book, r.policy.name
		require.Equal(t, c.redone, k.redone, name)
		require.Equal(t, c.writing, k.sum(yieldWriting), name)
		require.Equal(t, c.stopping, k.sum(yieldStopping), name)
		require.Equal(t, c.restarting, k.again[yieldStarting], name)
		require.Equal(t, c.redone+c.writing+c.stopping+c.restarting, k.lost(), name)
		require.Zero(t, k.first[yieldStarting], "the day before does not count")
		require.Equal(t, []berth.Duration{berth.Duration(c.wait) * berth.Second}, k.waits, name)
		if i == yieldNever {
			require.Equal(t, 1, k.missed)
			require.Zero(t, k.evicted)
			require.InDelta(t, 100, r.percent(k.useful()), 1e-9)
			continue
		}
		require.Zero(t, k.missed, name)
		require.Equal(t, yieldHit{16, 2}, k.worst, name)
		require.Equal(t, [...]int{1, 0, 0, 16}, [...]int{k.evicted, k.shrunk, k.forTraining, int(k.stopped)}, name)
		// From 25:00 on, when it wrote or stopped, until 87:40 it made no progress.
		require.Equal(t, 16*int64(berth.Day)-16*(62*60+40)*gpuSecond, k.sum(yieldWorking), name)
	}
}

// A gang that gives a node back goes on with the others after they have regrouped, and
// again when there is another.
func TestPreemptShrinks(t *testing.T) {
	b := smallYield(t)
	r, err := b.newRun(&b.policies[yieldNever], []yieldArrival{{job: berth.Job{
		ID: "gang", Queue: yieldProducts, Groups: []berth.Group{{Replicas: 4, Min: 2, Claim: berth.Claim{GPUs: 8}}},
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, RestartCost: yieldWarmSmall},
	}, work: 90 * berth.Minute}})
	require.NoError(t, err)
	r.from = 0 // all of it counts
	r.until = berth.Time(berth.Hour)
	require.NoError(t, r.setUp())
	require.NoError(t, r.run())
	j := r.jobs["gang"]
	worked := 32 * (berth.Hour - 150*berth.Second)
	require.Equal(t, int64(worked), r.book.sum(yieldWorking)+j.atWork*int64(r.now.Sub(j.settled)))

	r.carryOut(berth.Release{
		Order:   berth.Order{ID: 100, Job: "gang", Incarnation: 1, Cause: berth.Cause{For: berth.ReplicaRef{Job: "gang"}}},
		Members: []berth.MemberPlacement{{Index: 3}},
	})
	require.Equal(t, int64(worked), j.done)
	require.Equal(t, yieldRegrouped, j.phase)
	require.Equal(t, [...]int{0, 1, 1, 8}, [...]int{r.book.evicted, r.book.shrunk, r.book.forTraining, int(r.book.stopped)})
	require.Zero(t, r.book.redone)
	for r.coming.Len() > 1 { // until it works again; what is told of the order is not to be heard
		o := r.coming.Min()
		r.coming.Remove(0)
		r.advance(o.at)
		_ = o.do()
	}
	require.Equal(t, yieldWorking, j.phase)
	require.Equal(t, int64(24), j.atWork)
	require.Equal(t, 24*15*int64(berth.Second), r.book.again[yieldRegrouped])
	require.Equal(t, 8*int64(yieldStop), r.book.again[yieldStopping])
}

// Who is stopped first.
func TestPreemptOrders(t *testing.T) {
	gang := func(id berth.JobID, priority int, began berth.Time) *yieldJob {
		return &yieldJob{spec: &berth.Job{ID: id}, yieldGang: &yieldGang{priority: priority, began: began}}
	}
	low, old, young, twin := gang("low", 0, 1), gang("old", 1, 1), gang("young", 1, 9), gang("twin", 1, 9)
	require.Negative(t, byPriority(low, young))
	require.Negative(t, byPriority(young, old))
	require.Negative(t, byPriority(twin, young))
	require.Negative(t, newestFirst(young, low))
	require.Negative(t, newestFirst(twin, young))
	require.Zero(t, newestFirst(low, low))
}

// The verdict names what is wrong.
func TestPreemptVerdict(t *testing.T) {
	b := smallYield(t)
	s := newSession("preempt", &strings.Builder{}, &strings.Builder{})
	run := func(lost int64, seconds ...berth.Duration) []*yieldRun {
		r := &yieldRun{}
		r.book.redone = lost * int64(berth.Hour)
		for _, v := range seconds {
			r.book.waits = append(r.book.waits, v*berth.Second)
		}
		return []*yieldRun{r, r}
	}
	runs := [][]*yieldRun{
		yieldKill: run(100, 40), yieldNewest: run(1), yieldAsk: run(1),
		yieldBerth: run(10, 100), yieldAtOnce: run(1), yieldNever: run(1),
	}
	require.NoError(t, b.verdict(s, runs))
	runs[yieldBerth] = run(11, 100)
	require.ErrorContains(t, b.verdict(s, runs), "berth loses only 9.1 times fewer GPU-hours than kill by priority")
	runs[yieldBerth] = run(10, 181)
	require.ErrorContains(t, b.verdict(s, runs), "berth admits 141 s later than kill by priority")
	b.target = time.Minute
	runs[yieldBerth] = run(10, 61)
	runs[yieldBerth][0].book.dropped = 1
	require.EqualError(t, b.verdict(s, runs), "berth: 99 of 100 replicas run after 61 s, later than -target; berth: 1 replicas had to yield in a week")
}
