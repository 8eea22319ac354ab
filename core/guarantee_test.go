package core_test

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// A smallFleet is a fleet of a few nodes with jobs on it, by its own arithmetic.
type smallFleet struct {
	size      int // GPUs of a node
	free      []int
	running   []smallJob
	guarantee map[berth.QueueID]int
	parent    map[berth.QueueID]berth.QueueID // of queues that are below another
	// a beneficiary of queue "own": so many members of so many GPUs each.
	members, each int
	// pools of nodes in turn, by number from 1; 0 for the beneficiary: any.
	pools, pool int
}

// suits reports whether a node is of a pool.
func (w *smallFleet) suits(pool, n int) bool { return pool == 0 || 1+n%w.pools == pool }

// within is a selector of a pool.
func within(pool int) berth.Selector {
	if pool == 0 {
		return berth.Selector{}
	}
	return berth.Selector{Pools: []string{fmt.Sprint("p", pool)}}
}

// A smallJob is a job that runs: its members by node, of so many GPUs each, of which some are
// enough.
type smallJob struct {
	id          berth.JobID
	queue       berth.QueueID
	on          []int
	each, least int
	// moves: it writes checkpoints, so that it may move.
	moves bool
	// pool it has to be in: 1 or 2; 0: any.
	pool int
}

// A choice of victims has the members that go of each job, as bits.
type choice []uint

// fits reports whether the beneficiary fits once some of what runs is gone.
func (w *smallFleet) fits(gone choice) bool {
	free := slices.Clone(w.free)
	for k, bits := range gone {
		for m, n := range w.running[k].on {
			free[n] += w.running[k].each * int(bits>>m&1)
		}
	}
	room := 0
	for n, f := range free {
		if w.suits(w.pool, n) {
			room += f / w.each
		}
	}
	return room >= w.members
}

// fill is the most of a guarantee that the jobs at and below a queue fill, by all sums, and what
// they use. The minimum of a gang counts as one job, and each member above that as another.
func (w *smallFleet) fill(q berth.QueueID, gone choice) (most, used int) {
	sums := map[int]bool{0: true}
	add := func(gpus int) {
		used += gpus
		for _, sum := range slices.Collect(maps.Keys(sums)) {
			sums[sum+gpus] = true
		}
	}
	for k, j := range w.running {
		left := len(j.on)
		if gone != nil {
			left -= bits.OnesCount(gone[k])
		}
		if !w.below(j.queue, q) || left == 0 {
			continue
		}
		add(j.least * j.each)
		for range left - j.least {
			add(j.each)
		}
	}
	for sum := range sums {
		if sum <= w.guarantee[q] {
			most = max(most, sum)
		}
	}
	return most, used
}

// below reports whether a queue is another, or stands below it.
func (w *smallFleet) below(q, above berth.QueueID) bool {
	for q != "" && q != above {
		q = w.parent[q]
	}
	return q == above
}

// keeps reports whether a queue is left what it keeps.
func (w *smallFleet) keeps(q berth.QueueID, gone choice) bool {
	before, used := w.fill(q, nil)
	after, left := w.fill(q, gone)
	return after >= before || left >= min(used, w.guarantee[q])
}

// collectable reports whether some evictions let the beneficiary start: of whole gangs, and of
// members above their minimums, that leave the other queues what they keep.
func (w *smallFleet) collectable(gone choice) bool { return w.takes(gone, w.keeps) }

func (w *smallFleet) takes(gone choice, keeps func(berth.QueueID, choice) bool) bool {
	return w.takesSome(gone, func(gone choice) bool { return keeps("a", gone) && keeps("b", gone) })
}

// takesSome reports whether some evictions that are allowed let the beneficiary start.
func (w *smallFleet) takesSome(gone choice, allowed func(choice) bool) bool {
	if len(gone) == len(w.running) {
		return w.fits(gone) && allowed(gone)
	}
	j := &w.running[len(gone)]
	all := uint(1)<<len(j.on) - 1
	for part := range all + 1 {
		some := part == all || len(j.on)-bits.OnesCount(part) >= j.least
		if part > 0 && (!some || j.queue == "own") {
			continue
		}
		if w.takesSome(append(slices.Clip(gone), part), allowed) {
			return true
		}
	}
	return false
}

// drawFleet draws one with so many jobs at most, some of which may move if any does, and tells a
// core of it.
func drawFleet(t *testing.T, r *rand.Rand, config berth.Config, jobs int, move bool) (*divided, *smallFleet) {
	c, err := core.New(atOnce(config))
	require.NoError(t, err)
	d := &divided{T: t, Core: c}
	w := &smallFleet{guarantee: map[berth.QueueID]int{}}
	nodes, size := 1+r.IntN(4), 2+r.IntN(5)
	if w.pools = 1; move {
		w.pools += r.IntN(2)
	}
	left := nodes * size
	for _, q := range []berth.QueueID{"own", "a", "b"} {
		w.guarantee[q] = r.IntN(left + 1)
		left -= w.guarantee[q]
		w.queue(d, q)
	}
	w.draw(d, r, nodes, size, jobs, move, "own", "a", "a", "a", "b", "b")
	return d, w
}

// queue tells a core of a queue.
func (w *smallFleet) queue(d *divided, q berth.QueueID) {
	require.NoError(d, d.Apply(0, berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(q), Parent: berth.QueueID(w.parent[q]), Guarantee: gpuMilli(int64(w.guarantee[q]))}}))
}

// draw draws nodes, so many jobs at most, each of one of some queues, and a beneficiary.
func (w *smallFleet) draw(d *divided, r *rand.Rand, nodes, size, jobs int, move bool, queues ...berth.QueueID) {
	w.size = size
	for n := range nodes {
		spec := berth.Node{ID: berth.NodeID(fmt.Sprint("n", n)), Pool: fmt.Sprint("p", 1+n%w.pools)}
		for range size {
			spec.GPUs = append(spec.GPUs, berth.GPU{Product: "H100"})
		}
		require.NoError(d, d.Apply(0, berth.NodeJoined{Node: spec}))
		w.free = append(w.free, size)
	}
	for k := range 1 + r.IntN(jobs) {
		queue := queues[r.IntN(len(queues))]
		w.run(d, r, size, queue, berth.JobID(fmt.Sprintf("%s%02d", queue, k)), move)
	}
	w.members, w.each = 1+r.IntN(3), 1+r.IntN(size)
	w.pool = w.drawPool(r)
}

// drawPool draws a pool, where there are two.
func (w *smallFleet) drawPool(r *rand.Rand) int {
	if w.pools == 1 {
		return 0
	}
	return r.IntN(3)
}

// run has a job of some members run on nodes that are drawn, if they have so much free.
func (w *smallFleet) run(d *divided, r *rand.Rand, size int, queue berth.QueueID, id berth.JobID, move bool) {
	members, each := 1+r.IntN(3)*r.IntN(2), 1+r.IntN(3)
	job := smallJob{id: id, queue: queue, each: each, least: members}
	if r.IntN(3) == 0 {
		job.least = 1 + r.IntN(members)
	}
	job.moves, job.pool = move && r.IntN(3) > 0, w.drawPool(r)
	var placed []berth.MemberPlacement
	free := slices.Clone(w.free)
	for m := range members {
		n := r.IntN(len(free))
		if free[n] < each || !w.suits(job.pool, n) {
			return
		}
		var gpus berth.GPUSet
		for g := range each {
			gpus |= 1 << (size - free[n] + g)
		}
		free[n] -= each
		placed = append(placed, berth.MemberPlacement{Index: m, Node: berth.NodeID(fmt.Sprint("n", n)), GPUs: gpus})
		job.on = append(job.on, n)
	}
	require.NoError(d, d.Apply(0, berth.JobObserved{
		Job:     berth.Job{ID: id, Queue: queue, Checkpoint: berth.Checkpoint{Supported: job.moves}, Groups: []berth.Group{{Members: members, MinMembers: job.least, Claim: berth.Claim{GPUs: each}, Selector: within(job.pool)}}},
		Running: []berth.ObservedReplica{{Incarnation: 1, Members: placed}},
	}))
	w.free = free
	w.running = append(w.running, job)
}

// becomes runs passes, and has everything carried out, until a job is in a state or nothing
// happens any more.
func (d *divided) becomes(id berth.JobID, state berth.ReplicaState) bool {
	for range 12 {
		orders, err := d.Schedule(d.now)
		require.NoError(d, err)
		for _, o := range orders {
			require.NoError(d, d.Apply(d.now, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}))
		}
		if job, _ := d.Job(id); job.Replicas[0].State == state {
			return true
		}
		d.now += 1000
	}
	return false
}

// TestL1_AGuaranteeIsCollected: on fleets of up to four nodes a gang that its queue is owed starts
// just if some evictions let it that leave every other queue what it keeps, by brute force over all
// of them.
func TestL1_AGuaranteeIsCollected(t *testing.T) {
	collected, refused := 0, 0
	for seed := range drawn.Seeds(250) {
		r := rand.New(rand.NewPCG(seed, 1))
		d, w := drawFleet(t, r, berth.Config{}, 13, false)
		_, used := w.fill("own", nil)
		if used+w.members*w.each > w.guarantee["own"] || w.fits(nil) {
			continue
		}
		require.NoError(t, d.Apply(0, berth.JobSubmitted{Job: berth.Job{ID: "owed", Queue: "own", Groups: []berth.Group{{Members: w.members, Claim: berth.Claim{GPUs: w.each}}}}}))
		want := w.collectable(nil)
		require.Equal(t, want, d.becomes("owed", berth.ReplicaRunning), "seed %d: %+v", seed, w)
		if want {
			collected++
		} else {
			refused++
		}
	}
	t.Logf("%d collected, %d not", collected, refused)
	if drawn.Many() {
		require.Positive(t, collected)
		require.Positive(t, refused)
	}
}

// TestL2_WhatAQueueKeptItKeeps: a queue gives the job that filled its guarantee, as it has as much
// in use without it, and keeps that: the large job, which fills nothing, does not go next. When
// something of the queue ends by itself, that is forgotten. Each pass is held to that of a core
// restored from a snapshot.
func TestL2_WhatAQueueKeptItKeeps(t *testing.T) {
	c, err := core.New(atOnce(berth.Config{}))
	require.NoError(t, err)
	d := &divided{T: t, Core: c}
	d.pooled("n1", 4)
	d.pooled("n2", 8)
	d.pooled("n3", 1)
	for name, gpus := range map[string]int64{"giver": 4, "first": 4, "second": 1} {
		d.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name), Guarantee: gpuMilli(gpus)}})
	}
	d.runs(one("giver", "small", 4, inPool("n1")), one("giver", "large", 8, inPool("n2")), one("giver", "tiny", 1, inPool("n3")))
	d.now += 1000
	d.tell(one("first", "f", 4, inPool("n1")))
	require.Equal(t, []string{"release small reclaimed", "bind f victims-gone"}, told(d.settle(d.now)))
	d.tell(one("second", "s", 1, inPool("n2")))
	require.Empty(t, d.settle(d.now))
	reason := d.explain("s").Reason
	require.Equal(t, []berth.Protection{{Queue: "giver", GuaranteeMilli: 4000, KeptMilli: 4000, UsedMilli: 9000, Jobs: []berth.ReplicaRef{{Job: "large"}}}}, reason.Protected)
	require.Contains(t, reason.Preemption, "queue giver keeps 4 GPUs of the 9 GPUs that it uses")
	d.tell(berth.JobFinished{Job: "tiny", Incarnation: 1})
	d.settle(d.now)
	d.now += berth.Time(berth.Minute)
	d.settle(d.now)
	require.Equal(t, berth.ReplicaRunning, d.explain("s").State)
}
