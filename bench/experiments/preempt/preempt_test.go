package preempt

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/machine"
	"github.com/berth-sched/berth/bench/study"
	"github.com/berth-sched/berth/bench/study/studytest"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/core"
)

func TestOptions(t *testing.T) {
	studytest.Refuses(t, Run, Defaults(),
		func(o *Options) { o.Nodes = 15 },
		func(o *Options) { o.Days = 0 },
		func(o *Options) { o.Seeds = 1 },
		func(o *Options) { o.Elastic = 101 },
		func(o *Options) { o.Interval = time.Second },
		func(o *Options) { o.Regroup = 2 * time.Hour },
		func(o *Options) { o.Target = 0 },
	)
}

// smallWeek is a day of a small fleet.
func smallWeek(t *testing.T) *experiment {
	o := Defaults()
	o.Nodes, o.Days, o.Seeds, o.Elastic, o.Regroup, o.Target = 64, 1, 2, 50, 15*time.Second, time.Hour
	return newExperiment(o)
}

// The same seeds give the same tables, on however many processors, and programs read the
// same figures. So small a fleet may not show what the experiment is for.
func TestPreempt(t *testing.T) {
	o := Defaults()
	o.Nodes, o.Days, o.Seeds = 32, 1, 2
	out, err := studytest.Tell(Run, o)
	if err != nil {
		require.NotContains(t, err.Error(), "GPU-milliseconds")
	}
	for _, text := range []string{"kill by priority", "berth, at once", "p99", "done again", "gangs hit/GPU", "useful training", "patience", "no gang elastic, at a p99 of"} {
		require.Contains(t, out, text)
	}
	studytest.Repeats(t, Run, o, out)

	o.JSON = true
	out, _ = studytest.Tell(Run, o)
	read := studytest.Tables(t, out)
	require.Len(t, read, len(tables)+1)
	for _, table := range read[:len(tables)] {
		require.Len(t, table.Rows, 6)
	}
	require.Len(t, read[len(tables)].Rows, 2*(2*len(patiences)+1))
}

// A watched core is compared with the checker's world after every pass.
type watched struct {
	*check.Checker
	core *core.Core
}

func (w *watched) Scheduled(now berth.Time, actions []berth.Order) error {
	if err := w.Checker.Scheduled(now, actions); err != nil {
		return err
	}
	return w.AgainstReport(w.core.Report())
}

// Every policy keeps the promises of the core, by the independent checker.
func TestPreemptChecked(t *testing.T) {
	b := smallWeek(t)
	b.Nodes = 32
	for i := range b.policies {
		w := &watched{Checker: check.New(b.policies[i].config)}
		r, err := b.newRun(&b.policies[i], b.arrivals(3, b.policies[i].rigid), w)
		require.NoError(t, err)
		w.core = r.core
		require.NoError(t, r.play(), r.policy.name)
		require.Greater(t, len(r.book.waits), 50)
		require.Zero(t, r.book.dropped)
		require.Equal(t, i == never, r.book.evicted == 0, r.policy.name)
	}
}

// One gang on two nodes, and a replica that wants two GPUs of them for an hour: the books of
// every policy, worked out by hand.
func TestPreemptBooks(t *testing.T) {
	const gpuSecond = int64(berth.Second)
	b := smallWeek(t)
	b.Nodes = 2
	from := berth.Time(warmUp)
	minute := func(m float64) berth.Time { return from.Add(berth.Duration(m * float64(berth.Minute))) }
	gang := berth.Job{
		ID: "gang", Queue: products, Groups: []berth.Group{machine.Gang(16)},
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: writeSmall, RestartCost: warmSmall},
	}
	replica := berth.Job{ID: "replica", Queue: serving, Class: berth.ClassLatencyCritical, Groups: []berth.Group{machine.Gang(2)}}
	// The gang is started at -35:00 and productive from -32:30 on, so that it has worked for
	// 57 and a half minutes when the replica comes, and would have its first checkpoint
	// soon. Its place is free again at 85:10, and two and a half minutes later it works.
	arrivals := []arrival{
		{at: minute(-35), job: gang, work: 2 * berth.Day},
		{at: minute(25), job: replica, ends: minute(85)},
	}
	const (
		unsaved = 16 * 3450 * gpuSecond
		stops   = 16 * 10 * gpuSecond
		writes  = 16 * 30 * gpuSecond
		warms   = 16 * 150 * gpuSecond
	)
	for i, c := range []struct{ redone, writing, stopping, restarting, wait int64 }{
		kill:    {unsaved, 0, stops, warms, 40},
		newest:  {unsaved, 0, stops, warms, 40},
		ask:     {0, writes, stops, warms, 70},
		shipped: {0, writes, stops, warms, 70},
		atOnce:  {unsaved, 0, stops, warms, 40},
		never:   {0, 0, 0, 0, 3600},
	} {
		r, err := b.newRun(&b.policies[i], arrivals, nil)
		require.NoError(t, err)
		require.NoError(t, r.play())
		k, name := &r.book, r.policy.name
		require.Equal(t, c.redone, k.redone, name)
		require.Equal(t, c.writing, k.sum(writing), name)
		require.Equal(t, c.stopping, k.sum(stopping), name)
		require.Equal(t, c.restarting, k.again[starting], name)
		require.Equal(t, c.redone+c.writing+c.stopping+c.restarting, k.lost(), name)
		require.Zero(t, k.first[starting], "the day before does not count")
		require.Equal(t, []berth.Duration{berth.Duration(c.wait) * berth.Second}, k.waits, name)
		if i == never {
			require.Equal(t, 1, k.missed)
			require.Zero(t, k.evicted)
			require.InDelta(t, 100, r.percent(k.useful()), 1e-9)
			continue
		}
		require.Zero(t, k.missed, name)
		require.Equal(t, hit{16, 2}, k.worst, name)
		require.Equal(t, [...]int{1, 0, 0, 16}, [...]int{k.evicted, k.shrunk, k.forTraining, int(k.stopped)}, name)
		// From 25:00 on, when it wrote or stopped, until 87:40 it made no progress.
		require.Equal(t, 16*int64(berth.Day)-16*(62*60+40)*gpuSecond, k.sum(working), name)
	}
}

// A replica that is not wanted any more while it comes up never ran, and nothing is reported of its
// start.
func TestPreemptUnwanted(t *testing.T) {
	b := smallWeek(t)
	from := berth.Time(warmUp)
	r, err := b.newRun(&b.policies[shipped], []arrival{{at: from, ends: from.Add(startTakes / 2), job: berth.Job{
		ID: "replica", Queue: serving, Class: berth.ClassLatencyCritical, Groups: []berth.Group{machine.Gang(2)},
	}}}, check.New(b.policies[shipped].config))
	require.NoError(t, err)
	require.NoError(t, r.play())
	require.Equal(t, 1, r.book.missed)
	require.Equal(t, []berth.Duration{startTakes / 2}, r.book.waits)
	require.Equal(t, 2*int64(startTakes/2+stopTakes), r.book.over[replicating])
}

// A gang that gives a node back goes on with the others after they have regrouped, and
// again when there is another.
func TestPreemptShrinks(t *testing.T) {
	b := smallWeek(t)
	r, err := b.newRun(&b.policies[never], []arrival{{job: berth.Job{
		ID: "gang", Queue: products, Groups: []berth.Group{{Members: 4, MinMembers: 2, Claim: berth.Claim{GPUs: 8}}},
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, RestartCost: warmSmall},
	}, work: 90 * berth.Minute}}, nil)
	require.NoError(t, err)
	r.from = 0 // all of it counts
	r.until = berth.Time(berth.Hour)
	require.NoError(t, r.setUp())
	require.NoError(t, r.run())
	j := r.jobs["gang"]
	worked := 32 * (berth.Hour - 150*berth.Second)
	require.Equal(t, int64(worked), r.book.sum(working)+j.atWork*int64(r.sim.Now().Sub(j.settled)))

	require.NoError(t, r.carryOut(berth.Release{
		OrderHeader: berth.OrderHeader{ID: 100, Job: "gang", Incarnation: 1, Cause: berth.Cause{Beneficiary: berth.ReplicaRef{Job: "gang"}}},
		Members:     []berth.MemberPlacement{{Index: 3}},
	}))
	require.Equal(t, int64(worked), j.done)
	require.Equal(t, regrouped, j.phase)
	require.Equal(t, [...]int{0, 1, 1, 8}, [...]int{r.book.evicted, r.book.shrunk, r.book.forTraining, int(r.book.stopped)})
	require.Zero(t, r.book.redone)
	require.ErrorIs(t, r.sim.Run(r.until.Add(stopTakes)), berth.ErrUnknown, "the core did not give that order")
	require.NoError(t, r.sim.Run(r.until.Add(15*berth.Second)))
	require.Equal(t, working, j.phase)
	require.Equal(t, int64(24), j.atWork)
	require.Equal(t, 24*15*int64(berth.Second), r.book.again[regrouped])
	require.Equal(t, 8*int64(stopTakes), r.book.again[stopping])
}

// The gang that is stopped first.
func TestPreemptOrders(t *testing.T) {
	gang := func(id berth.JobID, priority int, began berth.Time) *job {
		return &job{spec: &berth.Job{ID: id}, gang: &gang{priority: priority, began: began}}
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
	b := smallWeek(t)
	p := study.Output{}.To(io.Discard)
	weeks := func(lost int64, seconds ...berth.Duration) []*run {
		r := &run{}
		r.book.redone = lost * int64(berth.Hour)
		for _, v := range seconds {
			r.book.waits = append(r.book.waits, v*berth.Second)
		}
		return []*run{r, r}
	}
	runs := make([][]*run, len(b.policies))
	for i := range runs {
		runs[i] = weeks(100, 40+b.policies[i].patience/berth.Second)
	}
	own := []int{b.frontiers[0].own, b.frontiers[1].own}
	require.Equal(t, shipped, own[0])
	runs[own[0]], runs[own[1]] = weeks(10, 100), weeks(10, 100)
	require.Empty(t, b.Verdict(p, runs))
	runs[own[1]] = weeks(21, 100)
	require.Equal(t, []string{"no gang elastic, berth loses only 4.8 times fewer GPU-hours than kill by priority"}, b.Verdict(p, runs))
	runs[own[1]] = weeks(10, 100)
	killed := b.frontiers[0].lines[0]
	runs[killed[1]], runs[killed[2]] = weeks(80, 100), weeks(60, 160)
	require.Equal(t, []string{"with elastic gangs, berth loses only 8.0 times fewer GPU-hours than kill by priority"}, b.Verdict(p, runs))
	b.Target = time.Minute
	runs[own[0]] = weeks(6, 61)
	runs[own[0]][0].book.dropped = 1
	require.Equal(t, []string{"berth: 99 of 100 replicas run after 61 s, later than -target", "berth: 1 replicas were preempted in a week"}, b.Verdict(p, runs))
}

// What a line loses at a delay lies between its two nearest points, not beyond its ends, and is no
// more than at a point before.
func TestLostAt(t *testing.T) {
	point := func(seconds berth.Duration, lost int64) *run {
		return &run{book: book{redone: lost * int64(berth.Hour), waits: []berth.Duration{seconds * berth.Second}}}
	}
	week := []*run{point(40, 100), point(40, 100), point(100, 70), point(160, 10), point(200, 50)}
	for p99, lost := range map[float64]float64{10: 100, 40: 100, 60: 90, 100: 70, 130: 40, 160: 10, 180: 10, 500: 10} {
		require.InDelta(t, lost, lostAt(week, p99), 1e-9, p99)
	}
}

// With patience a gang is stopped for a replica so much later, and for none that is not wanted any
// more by then.
func TestPatience(t *testing.T) {
	b := smallWeek(t)
	b.Nodes = 2
	from := berth.Time(warmUp)
	gang := berth.Job{
		ID: "gang", Queue: products, Groups: []berth.Group{machine.Gang(16)},
		Checkpoint: berth.Checkpoint{Supported: true, Interval: berth.Hour, Cost: writeSmall, RestartCost: warmSmall},
	}
	replica := berth.Job{ID: "replica", Queue: serving, Class: berth.ClassLatencyCritical, Groups: []berth.Group{machine.Gang(2)}}
	policy := b.policies[kill]
	policy.patience = berth.Minute
	for wanted, evicted := range map[berth.Duration]int{59 * berth.Second: 0, berth.Hour: 1} {
		r, err := b.newRun(&policy, []arrival{{job: gang, work: 9 * berth.Day}, {at: from, ends: from.Add(wanted), job: replica}}, nil)
		require.NoError(t, err)
		require.NoError(t, r.play())
		require.Equal(t, evicted, r.book.evicted)
		require.Equal(t, []berth.Duration{min(wanted, berth.Minute+stopTakes+startTakes)}, r.book.waits)
	}
}

// Weeks without elastic gangs have the same gangs.
func TestRigid(t *testing.T) {
	b := smallWeek(t)
	elastic := 0
	other := b.arrivals(1, true)
	for i, a := range b.arrivals(1, false) {
		if a.job.Groups[0].MinMembers > 0 {
			elastic++
			a.job.Groups[0].MinMembers = 0
		}
		require.Equal(t, a, other[i])
	}
	require.Positive(t, elastic)
}
