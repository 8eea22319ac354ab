package core_test

import (
	"cmp"
	"fmt"
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

// A piece is a member that needs a place, in a pool.
type piece struct{ gpus, pool int }

// packs reports whether members find room on nodes with so many free: each in turn is tried on each
// node. Of nodes of one pool with as much free it is tried on one.
func (w *smallFleet) packs(free []int, members []piece) bool {
	if len(members) == 0 {
		return true
	}
	m := members[0]
	for n := range free {
		same := false
		for other := range n {
			same = same || free[other] == free[n] && other%w.pools == n%w.pools
		}
		if same || free[n] < m.gpus || !w.suits(m.pool, n) {
			continue
		}
		free[n] -= m.gpus
		found := w.packs(free, members[1:])
		if free[n] += m.gpus; found {
			return true
		}
	}
	return false
}

// anyNumber of moves is as many as there are jobs, at the least.
const anyNumber = 16

// rearranges reports whether the beneficiary fits once some of what runs is gone and no more
// than so many others have moved: those chosen so far, by job, and any of the jobs from one on.
func (w *smallFleet) rearranges(gone choice, moved []int, from, most int) bool {
	free := slices.Clone(w.free)
	members := slices.Repeat([]piece{{w.each, w.pool}}, w.members)
	for k, j := range w.running {
		for m, n := range j.on {
			switch {
			case gone[k]>>m&1 != 0:
				free[n] += j.each
			case slices.Contains(moved, k):
				free[n] += j.each
				members = append(members, piece{j.each, j.pool})
			}
		}
	}
	slices.SortFunc(members, func(a, b piece) int { return cmp.Or(cmp.Compare(b.gpus, a.gpus), cmp.Compare(b.pool, a.pool)) })
	if w.packs(free, members) {
		return true
	}
	for k := from; k < len(w.running) && most > 0; k++ {
		if w.running[k].moves && w.rearranges(gone, append(slices.Clip(moved), k), k+1, most-1) {
			return true
		}
	}
	return false
}

// withMoves reports whether some evictions, and moves of what stays, let the beneficiary start.
func (w *smallFleet) withMoves(gone choice, most int) bool {
	if len(gone) == len(w.running) {
		if !w.keeps("a", gone) || !w.keeps("b", gone) {
			return false
		}
		if most < anyNumber {
			return w.rearranges(gone, nil, 0, most)
		}
		var all []int // that may stay where they are
		for k := range w.running {
			if w.running[k].moves {
				all = append(all, k)
			}
		}
		return w.rearranges(gone, all, 0, 0)
	}
	j := &w.running[len(gone)]
	all := uint(1)<<len(j.on) - 1
	for part := range all + 1 {
		if some := part == all || len(j.on)-bits.OnesCount(part) >= j.least; part > 0 && (!some || j.queue == "own") {
			continue
		}
		if w.withMoves(append(slices.Clip(gone), part), most) {
			return true
		}
	}
	return false
}

// TestL1_AGuaranteeIsCollectedByMoves: on fleets of up to four nodes a gang that its queue is owed
// starts just if some evictions let it, beside moves of what stays, no more than the policy has,
// that leave every other queue what it keeps, by brute force over all of them. Whatever moves
// runs again.
func TestL1_AGuaranteeIsCollectedByMoves(t *testing.T) {
	evicted, moved, refused := 0, 0, 0
	for seed := range drawn.Seeds(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var config berth.Config
		jobs := 8
		if config.Policy.Defragmentation.MaxMoves = 1 + r.IntN(3); config.Policy.Defragmentation.MaxMoves == 3 {
			config.Policy.Defragmentation.MaxMoves, jobs = anyNumber, 13
		}
		d, w := drawFleet(t, r, config, jobs, true)
		_, used := w.fill("own", nil)
		if used+w.members*w.each > w.guarantee["own"] || w.fits(nil) {
			continue
		}
		d.tell(berth.JobSubmitted{Job: berth.Job{ID: "owed", Queue: "own", Groups: []berth.Group{{Members: w.members, Claim: berth.Claim{GPUs: w.each}, Selector: within(w.pool)}}}})
		alone := w.collectable(nil)
		want := alone || w.withMoves(nil, config.Policy.Defragmentation.MaxMoves)
		name := fmt.Sprintf("seed %d, %d moves: %+v", seed, config.Policy.Defragmentation.MaxMoves, w)
		gone, moves := w.collect(d, name)
		job, _ := d.Job("owed")
		require.Equal(t, want, job.Replicas[0].State == berth.ReplicaRunning, name)
		require.True(t, w.keeps("a", gone) && w.keeps("b", gone), name)
		require.Equal(t, want && !alone, moves > 0, name)
		require.LessOrEqual(t, moves, config.Policy.Defragmentation.MaxMoves, name)
		switch {
		case moves > 0:
			moved++
		case want:
			evicted++
		default:
			refused++
		}
	}
	t.Logf("%d collected by evictions, %d with moves, %d not", evicted, moved, refused)
	if drawn.Many() {
		require.Positive(t, evicted)
		require.Positive(t, moved)
		require.Positive(t, refused)
	}
}

// collect runs passes, has everything carried out, and returns what was evicted, and how many
// moved, before the beneficiary runs. Whatever moved runs then.
func (w *smallFleet) collect(d *divided, name string) (gone choice, moves int) {
	d.Helper()
	gone = make(choice, len(w.running))
	moving := map[berth.JobID]bool{}
	for range 12 {
		orders, err := d.Schedule(d.now)
		require.NoError(d, err)
		for _, o := range orders {
			h := o.Header()
			stop, stops := o.(berth.Release)
			switch {
			case !stops || h.Cause.Beneficiary.Job != "owed":
			case h.Cause.Code == berth.CauseMoved:
				moving[h.Job] = true
			default:
				k := slices.IndexFunc(w.running, func(j smallJob) bool { return j.id == h.Job })
				for _, m := range stop.Members {
					gone[k] |= 1 << m.Index
				}
			}
			d.report(o, berth.OutcomeDone)
		}
		require.NoError(d, d.Check(), name)
		if job, _ := d.Job("owed"); job.Replicas[0].State == berth.ReplicaRunning {
			break
		}
		d.now += 1000
	}
	for id := range moving {
		job, _ := d.Job(id)
		require.Equal(d, berth.ReplicaRunning, job.Replicas[0].State, "%s moved: %s", id, name)
	}
	return gone, len(moving)
}

// TestMovesAreLookedForInRounds: with one gang a round the first, which costs the least to move
// and has nowhere to go, does not keep the second one from being moved a pass later. A core that
// is restored in between goes on where it was.
func TestMovesAreLookedForInRounds(t *testing.T) {
	d := oneMoverARound(t, berth.Topology{})
	require.Empty(t, d.pass())
	wake, due := d.NextWake()
	require.True(t, due && wake == d.now, "the next round is due")
	d = d.restored()
	orders := d.pass()
	require.Equal(t, []string{"requestCheckpoint small moved"}, told(orders))
	d.carryOut(orders)
	require.Equal(t, []string{"release small moved", "bind small resumed", "bind whole victims-gone"}, told(d.settle(d.now)))
}

// TestExclusiveGangsTakeNoRound: gangs that have their nodes for themselves are not moved for a
// guarantee, and no round is spent on them.
func TestExclusiveGangsTakeNoRound(t *testing.T) {
	d := oneMoverARound(t, berth.Topology{Exclusive: "node"})
	require.Empty(t, d.pass())
	wake, due := d.NextWake()
	require.False(t, due && wake == d.now, "a round of gangs that have their nodes for themselves")
}

// oneMoverARound has a job wait within its guarantee for a whole node, and rounds of one gang: the
// first is a large one, which fits nowhere else, and then comes a small one, which does. Both have
// a topology.
func oneMoverARound(t *testing.T, topology berth.Topology) *divided {
	c, err := core.New(berth.Config{})
	require.NoError(t, err)
	d := &divided{T: t, Core: c}
	d.lower(func(b *core.Bounds) { b.Movers = 1 })
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "own", Guarantee: gpuMilli(19)}})
	d.pooled("n1", 8)
	d.pooled("n2", 8)
	d.pooled("n3", 3)
	for _, j := range []struct {
		id   berth.JobID
		node berth.NodeID
		gpus int
		cost berth.Duration
	}{{"large", "n1", 6, berth.Second}, {"small", "n2", 3, berth.Minute}} {
		d.tell(berth.JobObserved{
			Job: berth.Job{
				ID: j.id, Queue: "own", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: j.gpus}}}, Topology: topology,
				Checkpoint: berth.Checkpoint{Supported: true, RestartCost: j.cost},
			},
			Running: []berth.ObservedReplica{{Incarnation: 1, Members: []berth.MemberPlacement{{Node: j.node, GPUs: 1<<j.gpus - 1}}}},
		})
	}
	d.tell(one("own", "whole", 8))
	return d
}

// TestMovesAndVictimsPlaceByPlace: where more runs than one search looks at, the victims beside a
// gang that moves come from the nodes that are the cheapest to clear.
func TestMovesAndVictimsPlaceByPlace(t *testing.T) {
	c, err := core.New(berth.Config{})
	require.NoError(t, err)
	d := &divided{T: t, Core: c}
	d.lower(func(b *core.Bounds) { b.Candidates = 2 })
	for _, q := range []string{"prod", "research"} {
		d.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(q), Guarantee: gpuMilli(8)}})
	}
	d.pooled("n0", 8)
	d.pooled("n1", 8)
	used := make([]int, 2)
	for _, j := range []standingJob{
		{"five", "research", 5, 1, true, nil, []int{0}},
		{"two", "research", 2, 1, true, nil, []int{0}},
		{"four", "research", 4, 1, true, nil, []int{1}},
		{"three", "research", 3, 1, true, nil, []int{1}},
	} {
		d.stands(&j, used)
	}
	d.tell(one("prod", "serve", 8))
	require.Equal(t, []string{
		"requestCheckpoint four reclaimed", "requestCheckpoint three moved", "requestCheckpoint two reclaimed",
	}, told(d.pass()))
}

// A standingJob is a job that runs, its members on nodes by number.
type standingJob struct {
	id, queue   string
	each, least int
	moves       bool
	pools       []string
	on          []int
}

// TestMovesThatAreHardToFind: choices of which the first that comes to mind does not do.
func TestMovesThatAreHardToFind(t *testing.T) {
	for name, c := range map[string]struct {
		sizes     []int
		own, a, b int64
		jobs      []standingJob
		owed      func(*berth.Job)
		most      int
		want      bool
	}{
		"the larger one has to leave the tightest place to the smaller": {
			[]int{5, 3, 4},
			12, 0, 0,
			[]standingJob{{"large", "own", 3, 1, true, nil, []int{0}}, {"small", "own", 2, 1, true, []string{"n0", "n1"}, []int{0}}},
			func(j *berth.Job) { j.Groups[0].Claim.GPUs, j.Groups[0].Selector.Pools = 5, []string{"n0"} }, 2, true,
		},
		"two would have to move, and one may": {
			[]int{5, 3, 4},
			12, 0, 0,
			[]standingJob{{"large", "own", 3, 1, true, nil, []int{0}}, {"small", "own", 2, 1, true, []string{"n0", "n1"}, []int{0}}},
			func(j *berth.Job) { j.Groups[0].Claim.GPUs, j.Groups[0].Selector.Pools = 5, []string{"n0"} }, 1, false,
		},
		"of two alike the one that stays is the one that moves": {
			[]int{6, 6},
			10, 1, 1,
			[]standingJob{
				{"a0", "a", 1, 1, true, nil, []int{0}},
				{"a1", "a", 3, 1, true, nil, []int{1}},
				{"a2", "a", 2, 1, true, nil, []int{1}},
				{"a4", "a", 2, 1, false, nil, []int{0}},
				{"b5", "b", 1, 1, true, nil, []int{0}},
				{"a6", "a", 1, 1, true, nil, []int{0}},
			},
			func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].Claim.GPUs = 2, 5 }, 1, true,
		},
		"all that an elastic gang has above its minimum, and the gang, are too much": {
			[]int{3, 3, 3, 3},
			5, 3, 4,
			[]standingJob{
				{"a0", "a", 1, 1, false, nil, []int{3}},
				{"b1", "b", 1, 1, true, nil, []int{0, 1}},
				{"b2", "b", 1, 3, false, nil, []int{2, 2, 3}},
				{"a4", "a", 1, 2, true, nil, []int{1, 1}},
			},
			func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].Claim.GPUs = 2, 2 }, 1, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var config berth.Config
			config.Policy.Defragmentation.MaxMoves = c.most
			sched, err := core.New(atOnce(config))
			require.NoError(t, err)
			d := &divided{T: t, Core: sched}
			for q, milli := range map[string]int64{"own": c.own, "a": c.a, "b": c.b} {
				d.tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(q), Guarantee: gpuMilli(milli)}})
			}
			for n, size := range c.sizes {
				d.pooled(fmt.Sprint("n", n), size)
			}
			used := make([]int, len(c.sizes))
			for _, j := range c.jobs {
				d.stands(&j, used)
			}
			d.tell(one("own", "owed", 1, c.owed))
			require.Equal(t, c.want, d.becomes("owed", berth.ReplicaRunning))
		})
	}
}

// stands has a job run on the next GPUs of its nodes.
func (d *divided) stands(j *standingJob, used []int) {
	d.Helper()
	var placed []berth.MemberPlacement
	for m, n := range j.on {
		var gpus berth.GPUSet
		for range j.each {
			gpus |= 1 << used[n]
			used[n]++
		}
		placed = append(placed, berth.MemberPlacement{Index: m, Node: berth.NodeID(fmt.Sprint("n", n)), GPUs: gpus})
	}
	d.tell(berth.JobObserved{
		Job: berth.Job{
			ID: berth.JobID(j.id), Queue: berth.QueueID(j.queue), Checkpoint: berth.Checkpoint{Supported: j.moves},
			Groups: []berth.Group{{Members: len(j.on), MinMembers: j.least, Claim: berth.Claim{GPUs: j.each}, Selector: berth.Selector{Pools: j.pools}}},
		},
		Running: []berth.ObservedReplica{{Incarnation: 1, Members: placed}},
	})
}
