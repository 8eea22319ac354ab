package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/berthtest/internal/worlds"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/quota"
)

// small is a fleet of one GPU with one queue, and then the given arrivals.
func small(arrivals ...sim.Arrival) sim.Workload {
	return sim.FromSlice(append([]sim.Arrival{
		{Event: berth.NodeJoined{Node: berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}}},
		{Event: berth.QueueSet{Queue: quota.Queue{Name: "q"}}},
	}, arrivals...))
}

func submit(at berth.Time, id berth.JobID, runtime berth.Duration) sim.Arrival {
	one := []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}
	return sim.Arrival{At: at, Runtime: runtime, Event: berth.JobSubmitted{Job: berth.Job{ID: id, Queue: "q", Groups: one}}}
}

// trace runs a simulation and returns what passed, a line each.
func trace(t *testing.T, w sim.Workload, o sim.Options) []string {
	t.Helper()
	var lines []string
	o.Applied = func(now berth.Time, e berth.Event, err error) {
		lines = append(lines, fmt.Sprintf("%d %s %v", now, e.Kind(), err == nil))
	}
	o.Scheduled = func(now berth.Time, actions []berth.Order) {
		lines = append(lines, fmt.Sprintf("%d pass", now))
		for _, a := range actions {
			lines = append(lines, fmt.Sprintf("%d #%d %s %s", now, a.Header().ID, a.Kind(), a.Header().Job))
		}
	}
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	s := sim.New(sched, w, o)
	require.NoError(t, s.Run(berth.Time(berth.Day)))
	_, more := s.Next()
	require.False(t, more)
	return lines
}

func TestOrdersTakeTheirTime(t *testing.T) {
	require.Equal(t, []string{
		"0 nodeJoined true", "0 queueSet true", "0 pass",
		"100 jobSubmitted true", "100 pass", "100 #1 bind a",
		"110 orderReported true", "110 pass",
		"200 jobCancelled true", "200 pass", "200 #2 release a",
		"205 orderReported true", "205 pass",
	}, trace(t,
		small(submit(100, "a", 0), sim.Arrival{At: 200, Event: berth.JobCancelled{Job: "a"}}),
		sim.Options{StartDelay: 10, StopDelay: 5}))
}

// A Bind that is overtaken by a Release is neither carried out nor reported, and
// the end of a job that did not start is not told.
func TestOvertakenOrdersAreLeftAlone(t *testing.T) {
	require.Equal(t, []string{
		"0 nodeJoined true", "0 queueSet true", "0 pass",
		"100 jobSubmitted true", "100 pass", "100 #1 bind a",
		"105 jobCancelled true", "105 pass", "105 #2 release a",
		"107 orderReported true", "107 pass",
	}, trace(t,
		small(submit(100, "a", 50), sim.Arrival{At: 105, Event: berth.JobCancelled{Job: "a"}}),
		sim.Options{StartDelay: 10, StopDelay: 2}))
}

func TestPassesComeAtMultiplesOfTheInterval(t *testing.T) {
	require.Equal(t, []string{
		"0 nodeJoined true", "0 queueSet true", "0 pass",
		"101 jobSubmitted true", "120 pass", "120 #1 bind a",
		"120 orderReported true", "150 jobFinished true", "160 pass",
	}, trace(t, small(submit(101, "a", 30)), sim.Options{PassInterval: 40}))
}

// Runtime counts anew in every life.
func TestRuntimeStartsAnewWithEachLife(t *testing.T) {
	node := berth.Node{ID: "n1", GPUs: []berth.GPU{{Product: "H100"}}}
	require.Equal(t, []string{
		"0 nodeJoined true", "0 queueSet true", "0 jobSubmitted true", "0 pass", "0 #1 bind a",
		"0 orderReported true", "0 pass",
		"60 nodeLost true", "60 pass",
		"70 nodeJoined true", "70 pass", "70 #2 bind a",
		"70 orderReported true", "70 pass",
		"170 jobFinished true", "170 pass",
	}, trace(t, small(
		submit(0, "a", 100),
		sim.Arrival{At: 60, Event: berth.NodeLost{Node: "n1"}},
		sim.Arrival{At: 70, Event: berth.NodeJoined{Node: node}},
	), sim.Options{}))
}

func TestWorkloadOutOfOrderIsRefused(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	s := sim.New(sched, small(submit(100, "a", 0), submit(99, "b", 0)), sim.Options{})
	require.ErrorContains(t, s.Run(1000), "arrival at 99 follows one at 100")
}

// The same seed gives the same run, with all of its faults; another seed another.
func TestSeedsDecide(t *testing.T) {
	journal := func(seed uint64) []string {
		r := worlds.NewRunWith(4, func(o *sim.Options) {
			o.Seed = seed
			o.Faults.BindFail, o.Faults.MemberDie = 0.3, 0.1
		})
		require.NoError(t, r.All())
		return r.Journal
	}
	require.Equal(t, journal(1), journal(1))
	require.NotEqual(t, journal(1), journal(2))
}
