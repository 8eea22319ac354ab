package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// gatedCore has so many jobs that wait for their begin times, for another job, and for slots of an
// array, beside one that runs and is of all of that.
func gatedCore(t testing.TB, many int) *core.Core {
	t.Helper()
	sched, err := core.New(atOnce(berth.Config{}))
	require.NoError(t, err)
	tell := func(e berth.Event) { require.NoError(t, sched.Apply(1, e)) }
	tell(berth.NodeJoined{Node: berth.Node{ID: "n", CPUMilli: 1 << 20, GPUs: []berth.GPU{{Product: "H100"}}}})
	tell(berth.QueueSet{Queue: quota.Queue{Name: "q"}})
	submit := func(id string, change func(*berth.Job)) {
		j := berth.Job{ID: berth.JobID(id), Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.HostOnly(1, 0)}}}
		change(&j)
		tell(berth.JobSubmitted{Job: j})
	}
	sweep := &berth.Array{Name: "sweep", Width: 1}
	submit("first", func(j *berth.Job) { j.Array = sweep })
	for i := range many {
		submit(fmt.Sprintf("%06d", i), func(j *berth.Job) {
			switch i % 3 {
			case 0:
				j.Begin = berth.Time(berth.Day)
			case 1:
				j.After = []berth.Dependency{{Job: "first", Kind: berth.DependencyAny}}
			default:
				j.Array = sweep
			}
		})
	}
	orders, err := sched.Schedule(2)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.NoError(t, sched.Apply(2, berth.OrderReported{Order: 1, Outcome: berth.OutcomeDone}))
	_, err = sched.Schedule(2)
	require.NoError(t, err)
	return sched
}

// Jobs at gates cost a pass nothing, and what else happens neither: 10,000 of them make no more
// searches, and no more memory is allocated, than without.
func TestJobsAtGatesCostNothing(t *testing.T) {
	costs := map[int]float64{}
	for _, many := range []int{0, 10_000} {
		sched := gatedCore(t, many)
		require.Equal(t, many, sched.Report().Waiting.Gated)
		searches := sched.Report().Totals.PlacementAttempts
		now, number := berth.Time(3), 0
		pass := func() {
			_, err := sched.Schedule(now)
			require.NoError(t, err)
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { now++; pass() }), "%d gated", many)
		costs[many] = testing.AllocsPerRun(50, func() { // a job comes and goes
			number++
			id := berth.JobID(fmt.Sprint("more", number))
			require.NoError(t, sched.Apply(now, berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: []berth.Group{{Members: 1, Claim: berth.WholeGPUs(1)}}}}))
			pass()
			require.NoError(t, sched.Apply(now, berth.JobCancelled{Job: id}))
			pass()
			for _, o := range sched.Outstanding() {
				require.NoError(t, sched.Apply(now, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}))
			}
			pass()
		})
		require.EqualValues(t, number, sched.Report().Totals.PlacementAttempts-searches, "%d gated", many)
		if at, some := sched.NextWake(); many > 0 {
			require.True(t, some)
			require.Equal(t, berth.Time(berth.Day), at)
		}
	}
	require.LessOrEqual(t, costs[10_000], costs[0]+2)
}

// All that waits for one job goes on when it ends, in one pass, and all gates are gone.
func TestGatesOpenTogether(t *testing.T) {
	sched := gatedCore(t, 300)
	require.NoError(t, sched.Apply(5, berth.JobFinished{Job: "first", Incarnation: 1}))
	require.Equal(t, 100+99, sched.Report().Waiting.Gated, "those with a begin time, and all but one of the array")
	orders, err := sched.Schedule(5)
	require.NoError(t, err)
	require.Len(t, orders, 101)
	require.NoError(t, sched.Check())
	orders, err = sched.Schedule(berth.Time(berth.Day))
	require.NoError(t, err)
	require.Equal(t, 99, sched.Report().Waiting.Gated)
	require.NotEmpty(t, orders)
	require.NoError(t, sched.Check())
}

// A gate that no core would have saved is refused, with the job and the field.
func TestAGateOfNoCoreIsRefused(t *testing.T) {
	snapshot, err := gatedCore(t, 3).Snapshot()
	require.NoError(t, err)
	for name, c := range map[string]struct{ from, to, field string }{
		"of a job that asks for none":   {`,"begin":86400000}`, `}`, "jobs[0].gate.begun"},
		"open, and kept":                {`"gate":{"begun":true,"awaits":["first"]}`, `"gate":{"begun":true}`, "jobs[1].gate"},
		"for another than it asks for":  {`"awaits":["first"]`, `"awaits":["000000"]`, "jobs[1].gate.awaits[0]"},
		"for one twice":                 {`"awaits":["first"]`, `"awaits":["first","first"]`, "jobs[1].gate.awaits[1]"},
		"broken by one that may end so": {`"awaits":["first"]`, `"broken":"first"`, "jobs[1].gate.broken"},
		"broken, at an instant to come": {`"awaits":["first"]`, `"brokenAt":9`, "jobs[1].gate.brokenAt"},
		"not begun, and may begin":      {`{"begun":true,"awaits"`, `{"awaits"`, "jobs[1].gate.begun"},
		"for a slot that is free":       {`"array":{"name":"sweep","width":1}`, `"array":{"name":"sweep","width":2}`, "jobs[2].gate"},
		"of a job that has completed":   {`"gate":{"begun":true,"awaits":["first"]}`, `"completed":true,"gate":{"begun":true,"awaits":["first"]}`, "jobs[1].gate"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(string(snapshot), c.from, c.to)
			require.NotEqual(t, string(snapshot), text)
			_, err := core.Restore([]byte(text))
			var refusal *berth.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.field, refusal.Field, refusal)
		})
	}
}
