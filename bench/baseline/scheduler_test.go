package baseline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/internal/drawn"
)

// policies are all, for worlds that are drawn.
func policies() map[string]func() (baseline.Policy, baseline.Fit) {
	return map[string]func() (baseline.Policy, baseline.Fit){
		"fifo":  func() (baseline.Policy, baseline.Fit) { return baseline.FIFO{}, baseline.BestFit },
		"easy":  func() (baseline.Policy, baseline.Fit) { return baseline.EASY{}, baseline.BestFit },
		"las":   func() (baseline.Policy, baseline.Fit) { return baseline.NewLAS(), baseline.Buddy },
		"cells": func() (baseline.Policy, baseline.Fit) { return baseline.NewCells(cellsOf()), baseline.Buddy },
	}
}

// Every policy keeps all promises that hold of any, and everything ends.
func TestPoliciesKeepThePromises(t *testing.T) {
	for name, make := range policies() {
		t.Run(name, func(t *testing.T) {
			cases := map[string]int{}
			for seed := range uint64(25) {
				change := []func(*berth.Job){checkpoints}
				if seed%3 == 0 {
					change = nil
				}
				p, fit := make()
				_, seen, err := play(p, fit, draw(seed, change...))
				require.NoError(t, err, "seed %d", seed)
				for what, n := range seen {
					cases[what] += n
				}
			}
			want := []string{"bind of a pending gang", "finished while running"}
			if name == "las" || name == "cells" {
				want = append(want, "checkpoint requested", "stopped without a checkpoint", "release because preempted", "finished while asked")
			}
			if name == "las" {
				want = append(want, "request withdrawn")
			}
			for _, what := range want {
				require.NotZero(t, cases[what], "no world went through %q", what)
			}
		})
	}
}

// A policy gives a GPU that a job has: the checker says which, and to which job.
type doubleBooking struct{}

func (doubleBooking) Pass(p *baseline.Pass) {
	for _, j := range p.Waiting() {
		everything := make(baseline.Space, p.Nodes())
		for n := range everything {
			everything[n] = p.All(n)
		}
		p.Start(j, p.PlaceIn(j, everything))
	}
}

// A policy that forgets its victims has no beneficiary.
type needless struct{}

func (needless) Pass(p *baseline.Pass) {
	for _, j := range p.Waiting() {
		if at := p.Place(j); at != nil {
			p.Start(j, at)
		}
	}
	if running := p.Running(); len(running) > 1 {
		p.Preempt(running[0], running[1])
	}
}

func TestBadPoliciesAreCaught(t *testing.T) {
	w := func() *life.Workload {
		return world([]berth.Node{box("n", "r", 8)}, job(0, "first", "a", 1, 8, 10), job(1, "second", "a", 1, 8, 10))
	}
	_, _, err := play(doubleBooking{}, baseline.BestFit, w())
	require.ErrorContains(t, err, "S1: GPU 0 of node n is held by first/0[0] and by second/0[0]")

	roomy := w()
	roomy.Nodes = append(roomy.Nodes, box("o", "r", 8))
	_, _, err = play(needless{}, baseline.BestFit, roomy)
	require.ErrorContains(t, err, "S7: order 3 evicts first/0 for second/0, which does not wait")
}

// The first job does not start later than when it first was the first: what is backfilled delays
// nobody.
func TestEASYDelaysNobody(t *testing.T) {
	for seed := range uint64(40) {
		w := draw(seed)
		policy := baseline.NewWatchedEASY()
		_, _, err := play(policy, baseline.BestFit, w)
		require.NoError(t, err)
		require.NotEmpty(t, policy.Promised)
		require.Empty(t, policy.Broken(), "seed %d", seed)
	}
}

// No first job of a queue waits while the queue has cells for it, unless others are
// leaving for it: with jobs of whole nodes that can be counted.
func TestCellsAreThereForTheFirstJob(t *testing.T) {
	drawn.Check(t, func(r *rapid.T) {
		own := map[berth.QueueID]int{}
		cells := map[berth.QueueID]map[int]int{}
		var nodes []berth.Node
		for _, queue := range []berth.QueueID{"a", "b", "c"} {
			own[queue] = rapid.IntRange(1, 3).Draw(r, "nodes of "+string(queue))
			cells[queue] = map[int]int{8: own[queue]}
			for range own[queue] {
				nodes = append(nodes, box(fmt.Sprintf("n%d", len(nodes)), "r", 8))
			}
		}
		var jobs []sim.Arrival
		minute := 0
		for i := range rapid.IntRange(1, 40).Draw(r, "jobs") {
			queue := rapid.SampledFrom([]berth.QueueID{"a", "b", "c"}).Draw(r, "queue")
			minute += rapid.IntRange(0, 5).Draw(r, "after")
			a := job(minute, fmt.Sprintf("j%d", i), string(queue), rapid.IntRange(1, own[queue]).Draw(r, "members"), 8, rapid.IntRange(1, 30).Draw(r, "minutes"))
			jobs = append(jobs, a)
		}
		policy := baseline.NewWatchedCells(cells)
		_, _, err := play(policy, baseline.Buddy, world(nodes, jobs...))
		require.NoError(r, err)
		require.Empty(r, policy.Broken)
	})
}

// What the harness does not take it refuses by name, and nothing changes.
func TestRefusals(t *testing.T) {
	s := baseline.New(baseline.FIFO{}, baseline.BestFit)
	checker := check.NewForAnyPolicy(config())
	tell := func(e berth.Event) {
		require.NoError(t, s.Apply(5, e))
		require.NoError(t, checker.Applied(5, e))
	}
	tell(berth.NodeJoined{Node: box("n", "r", 8)})
	tell(berth.QueueSet{Queue: world(nil).Queues[0]})
	bad := func(change func(*berth.Job)) berth.Event { return job(0, "x", "a", 1, 1, 1, change).Event }
	for _, c := range []struct {
		event berth.Event
		kind  error
		text  string
	}{
		{berth.NodeJoined{Node: box("n", "r", 8)}, berth.ErrDuplicate, `nodeJoined: node: node "n" is known`},
		{berth.NodeJoined{Node: berth.Node{ID: "m", GPUs: []berth.GPU{{Failed: true}}}}, berth.ErrUnsupported, "node.gpus[0]"},
		{berth.NodeCordoned{Node: "m"}, berth.ErrUnknown, `node "m" is not known`},
		{berth.GPUFailed{Node: "n"}, berth.ErrUnsupported, "gpuFailed"},
		{bad(func(j *berth.Job) { j.Queue = "z" }), berth.ErrUnknown, `job.queue: queue "z" is not known`},
		{bad(func(j *berth.Job) { j.Groups = nil }), berth.ErrInvalid, "job.groups: is empty"},
		{bad(func(j *berth.Job) { j.Groups[0].Claim = berth.Claim{MIG: "1g.10gb"} }), berth.ErrUnsupported, "job.groups[0].claim"},
		{bad(func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 2, 1 }), berth.ErrUnsupported, "job.groups[0].minMembers"},
		{bad(func(j *berth.Job) { j.Service = &berth.Service{} }), berth.ErrUnsupported, "job.service"},
		{bad(func(j *berth.Job) { j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Hour} }), berth.ErrUnsupported, "job.checkpoint.cost"},
		{berth.JobCancelled{Job: "x"}, berth.ErrUnknown, `job "x" is not known`},
		{berth.JobFinished{Job: "x", Incarnation: 1}, berth.ErrStale, "is over, or never began"},
		{berth.OrderReported{Order: 7, Outcome: berth.OutcomeDone}, berth.ErrUnknown, "order 7 was never given"},
	} {
		err := s.Apply(5, c.event)
		require.ErrorIs(t, err, c.kind, c.text)
		require.ErrorContains(t, err, c.text)
		require.NoError(t, checker.Rejected(5, c.event, err))
	}
	require.ErrorIs(t, s.Apply(4, berth.NodeCordoned{Node: "n"}), berth.ErrClock)
	_, err := s.Schedule(4)
	require.ErrorIs(t, err, berth.ErrClock)
	_, err = s.Snapshot()
	require.ErrorIs(t, err, berth.ErrUnsupported)
	require.NoError(t, checker.AgainstReport(s.Report()))
}

// Cancelled jobs are stopped, and a cordoned node gets nobody.
func TestCancelAndCordon(t *testing.T) {
	w := world([]berth.Node{box("n", "r", 8)},
		job(0, "runs", "a", 1, 4, 60), job(0, "too", "a", 1, 4, 60), job(1, "waits", "a", 1, 8, 5))
	at := func(minute int, e berth.Event) {
		w.Jobs = append(w.Jobs, sim.Arrival{At: berth.Time(0).Add(berth.Duration(minute) * berth.Minute), Event: e})
	}
	at(2, berth.NodeCordoned{Node: "n"})
	at(3, berth.JobCancelled{Job: "runs"})
	at(4, berth.JobCancelled{Job: "waits"})
	w.Jobs = append(w.Jobs, job(5, "late", "a", 1, 1, 5))
	at(9, berth.NodeUncordoned{Node: "n"})

	s := baseline.New(baseline.FIFO{}, baseline.BestFit)
	var log []string
	run := sim.New(s, sim.FromSlice(w.Arrivals()), sim.Options{
		Checker: strict{check.NewForAnyPolicy(config()), s},
		Scheduled: func(now berth.Time, actions []berth.Order) {
			for _, a := range actions {
				log = append(log, fmt.Sprintf("%d %s %s", int64(now)/int64(berth.Minute), a.Kind(), a.Header().Job))
			}
			for id, want := range map[berth.JobID]berth.ReasonCode{"waits": berth.ReasonGPUs, "late": berth.ReasonGPUs} {
				if e, err := s.Explain(id); err == nil && e.Replicas[0].State == berth.ReplicaPending {
					require.Equal(t, want, e.Replicas[0].Reason.Code)
					require.Equal(t, 1, e.Replicas[0].Position)
				}
			}
		},
	})
	require.NoError(t, run.Run(berth.Time(berth.Day)))
	require.Equal(t, []string{"0 bind runs", "0 bind too", "3 release runs", "9 bind late"}, log)
	_, err := s.Explain("waits")
	require.ErrorIs(t, err, berth.ErrUnknown)
}
