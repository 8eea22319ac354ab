package life_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/bench/baseline"
	"github.com/berth-sched/berth/bench/life"
	"github.com/berth-sched/berth/berthtest/check"
	"github.com/berth-sched/berth/berthtest/sim"
	"github.com/berth-sched/berth/quota"
)

func node(name string, gpus int) berth.Node {
	n := berth.Node{ID: berth.NodeID(name)}
	for range gpus {
		n.GPUs = append(n.GPUs, berth.GPU{Product: "P100"})
	}
	return n
}

func job(minute int, name, queue string, members, gpus, minutes int) sim.Arrival {
	return sim.Arrival{
		At: berth.Time(0).Add(berth.Duration(minute) * berth.Minute), Runtime: berth.Duration(minutes) * berth.Minute,
		Event: berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(name), Queue: berth.QueueID(queue), ExpectedRuntime: berth.Duration(minutes) * berth.Minute,
			Groups:     []berth.Group{{Members: members, Claim: berth.Claim{GPUs: gpus}}},
			Checkpoint: berth.Checkpoint{Supported: true, Cost: berth.Minute, RestartCost: berth.Minute},
		}},
	}
}

func workload(jobs ...sim.Arrival) *life.Workload {
	return &life.Workload{
		Nodes: []berth.Node{node("n1", 4), node("n2", 2)}, Queues: []quota.Queue{{Name: "a"}, {Name: "b"}}, Jobs: jobs,
	}
}

// A job that waits, one that is evicted and goes on, and what was free meanwhile.
func TestLives(t *testing.T) {
	policy := baseline.NewCells(map[berth.QueueID]map[int]int{"a": {2: 1}, "b": {4: 1}})
	w := workload(job(0, "guest", "a", 1, 4, 30), job(10, "owner", "b", 1, 3, 20), job(10, "narrow", "a", 1, 4, 5))
	book, speed, err := life.Play(baseline.New(policy, baseline.BestFit), w, life.Options{
		Step: 10 * berth.Minute, Checker: check.NewForAnyPolicy(berth.Config{}),
	})
	require.NoError(t, err)
	var got []string
	for _, j := range book.Jobs {
		got = append(got, fmt.Sprintf("%s: wait %v, delay %v, slowdown %.2f, %d evictions, %d GPU-minutes lost",
			j.ID, j.Wait(), j.Delay(), j.Slowdown(), j.Evictions, j.Lost()/int64(berth.Minute)))
	}
	require.Equal(t, []string{
		// Asked at 10, gone at 11 with 11 of 30 minutes; back at 31, restarts until 32, ends at 51.
		"guest: wait 0s, delay 21m0s, slowdown 1.70, 1 evictions, 4 GPU-minutes lost",
		"owner: wait 1m0s, delay 1m0s, slowdown 1.05, 0 evictions, 0 GPU-minutes lost",
		"narrow: wait 41m0s, delay 41m0s, slowdown 9.20, 0 evictions, 0 GPU-minutes lost",
	}, got)
	require.Equal(t, 6, book.GPUs)
	require.Equal(t, 56*berth.Minute, book.End.Sub(0))
	require.Equal(t, 56*berth.Minute, speed.Simulated())

	first, second, third := book.Slots[0], book.Slots[1], book.Slots[2]
	require.Equal(t, life.Slot{Held: 4, Free: 2, Queues: []life.QueueSlot{{Held: 4, Wanted: 4}, {}}}, first)
	require.InDelta(t, (4*1+3*9)/10.0, second.Held, 1e-9)
	require.InDelta(t, 2, second.Waiting, 1e-9, "owner and narrow, then guest and narrow")
	require.InDelta(t, 3, third.Idle, 1e-9, "as many are asked for")
	require.InDelta(t, 3, third.Stranded, 1e-9, "in pieces of 1 and 2, and all want 4")
	require.InDelta(t, 3, third.Queues[1].Held, 1e-9)
	require.InDelta(t, 8, third.Queues[0].Wanted, 1e-9)
}

// A job that can never run is told, and so is a scheduler that gives what is not there.
func TestPlayFails(t *testing.T) {
	_, _, err := life.Play(baseline.New(baseline.FIFO{}, baseline.BestFit), workload(job(0, "huge", "a", 2, 4, 1)), life.Options{})
	require.ErrorContains(t, err, "job huge of 8 GPUs never ended")
	_, _, err = life.Play(baseline.New(baseline.FIFO{}, baseline.BestFit), workload(job(0, "x", "nobody", 1, 1, 1)), life.Options{})
	require.ErrorContains(t, err, `jobSubmitted at 0 was refused: berth: jobSubmitted: job.queue: queue "nobody" is not known`)
	_, _, err = life.Play(baseline.New(twice{}, baseline.BestFit), workload(job(0, "a", "a", 1, 4, 1), job(0, "b", "a", 1, 4, 1)), life.Options{})
	require.ErrorContains(t, err, "life: order 2 gives more of node n1 than is free")
}

// twice gives the same GPUs to everybody.
type twice struct{}

func (twice) Pass(p *baseline.Pass) {
	free := append(baseline.Space(nil), p.Free...)
	for _, j := range p.Waiting() {
		p.Start(j, p.PlaceIn(j, free))
	}
}

// Everybody gets what his largest job needs, then whole nodes by GPU time.
func TestDivide(t *testing.T) {
	jobs := []sim.Arrival{
		job(0, "a1", "a", 3, 8, 100), // three nodes of 8
		job(0, "a2", "a", 1, 2, 10),
		job(0, "b1", "b", 1, 4, 900), // one, and 3600 GPU-minutes against 2400
		job(0, "c1", "c", 1, 1, 60),
	}
	require.Equal(t, []life.Share{
		{Queue: "a", Nodes: map[int]int{8: 3, 2: 1}},
		{Queue: "b", Nodes: map[int]int{8: 3, 2: 0}},
		{Queue: "c", Nodes: map[int]int{8: 0, 2: 3}},
	}, life.Divide(map[int]int{8: 6, 2: 4}, jobs))
	require.Nil(t, life.Divide(map[int]int{8: 3, 2: 4}, jobs), "too few for the largest of each")
	require.Equal(t, 26, (&life.Share{Nodes: map[int]int{8: 3, 2: 1}}).GPUs())
}
