package core_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

// grower has an elastic gang of queue "own" run on a fleet with fewer members than it wants. It
// reports how many run, of how many; 0: there is no place for any.
func (w *smallFleet) grower(d *divided, r *rand.Rand, size int) (runs, wants int) {
	each := 1 + r.IntN(2)
	job := smallJob{queue: "own", each: each}
	var placed []berth.MemberPlacement
	for range 1 + r.IntN(3) {
		n := r.IntN(len(w.free))
		if w.free[n] < each {
			continue
		}
		var gpus berth.GPUSet
		for g := range each {
			gpus |= 1 << (size - w.free[n] + g)
		}
		w.free[n] -= each
		placed = append(placed, berth.MemberPlacement{Index: len(placed), Node: berth.NodeID(fmt.Sprint("n", n)), GPUs: gpus})
		job.on = append(job.on, n)
	}
	if len(placed) == 0 {
		return 0, 0
	}
	runs = len(placed)
	wants, job.least = runs+1+r.IntN(4), 1+r.IntN(runs)
	require.NoError(d, d.Apply(0, berth.JobObserved{
		Job:     berth.Job{ID: "grower", Queue: "own", Groups: []berth.Group{{Members: wants, MinMembers: job.least, Claim: berth.Claim{GPUs: each}}}},
		Running: []berth.ObservedReplica{{Incarnation: 1, Members: placed}},
	}))
	w.running = append(w.running, job)
	w.members, w.each = 1, each
	return runs, wants
}

// now is a fleet as it is by now, by what the core says of each job that was told.
func (w *smallFleet) now(d *divided, size int) *smallFleet {
	out := &smallFleet{size: size, guarantee: w.guarantee, members: w.members, each: w.each}
	for range w.free {
		out.free = append(out.free, size)
	}
	for spec := range d.Jobs() {
		g := &spec.Job.Groups[0]
		j := smallJob{queue: spec.Job.Queue, each: g.Claim.GPUs, least: cmp.Or(g.MinMembers, g.Members)}
		for _, m := range d.explain(spec.Job.ID).Members {
			var n int
			_, err := fmt.Sscanf(string(m.Node), "n%d", &n)
			require.NoError(d, err)
			j.on = append(j.on, n)
			out.free[n] -= j.each
		}
		if len(j.on) > 0 {
			out.running = append(out.running, j)
		}
	}
	return out
}

// leaves reports whether a queue is left its guarantee in use, or all that it has if that is less.
func (w *smallFleet) leaves(q berth.QueueID, gone choice) bool {
	_, used := w.fill(q, nil)
	_, left := w.fill(q, gone)
	return left >= min(used, w.guarantee[q])
}

// rests runs passes, and has everything carried out, until a while brings no order.
func (d *divided) rests() {
	for quiet, pass := 0, 0; quiet < 8; pass++ {
		require.Less(d, pass, 200, "the fleet does not come to rest")
		orders, err := d.Schedule(d.now)
		require.NoError(d, err)
		for _, o := range orders {
			require.NoError(d, d.Apply(d.now, berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}))
		}
		if quiet++; len(orders) > 0 {
			quiet = 0
		}
		d.now += berth.Time(10 * berth.Second)
	}
}

// TestGrowthHasToPay: what a gang grows by within its guarantee is weighed until it has waited for
// GuaranteeWithin, as all else is.
func TestGrowthHasToPay(t *testing.T) {
	sched, err := core.New(berth.Config{})
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "a", Guarantee: gpuMilli(4)}})
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "b", Guarantee: gpuMilli(4)}})
	d.node("n", 8, berth.GPUModeWhole)
	costly := func(j *berth.Job) { j.Checkpoint = berth.Checkpoint{Supported: true, Cost: berth.Hour} }
	d.runs(one("b", "keeps", 4, costly), one("b", "gives", 2, costly))
	d.runs(one("a", "grows", 1, func(j *berth.Job) { j.Groups[0].Members, j.Groups[0].MinMembers = 4, 2 }))
	require.Len(t, d.explain("grows").Members, 2)
	require.Empty(t, d.pass())
	d.now += berth.Time(30 * berth.Minute)
	require.Empty(t, d.pass())
	d.now += berth.Time(2 * berth.Hour)
	require.Equal(t, []string{"requestCheckpoint gives reclaimed"}, told(d.pass()))
}

// TestL1_AGangGrowsWithinItsGuarantee: on fleets of up to four nodes an elastic gang gets a further
// member at the cost of others just if some evictions let it that leave every other queue what it
// keeps, and its own within its guarantee, by brute force over all of them. At rest there are none
// that leave every other queue its guarantee in use.
func TestL1_AGangGrowsWithinItsGuarantee(t *testing.T) {
	grown, whole, kept, beyond := 0, 0, 0, 0
	for seed := range drawn.Seeds(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		d, w := drawFleet(t, r, berth.Config{}, 13, false)
		size := w.size
		runs, wants := w.grower(d, r, size)
		if runs == 0 || w.fits(nil) {
			continue
		}
		_, used := w.fill("own", nil)
		want := used+w.each <= w.guarantee["own"] && w.collectable(nil)
		d.rests()
		got := len(d.explain("grower").Members)
		require.Equal(t, want, got > runs, "seed %d: %+v", seed, w)
		switch {
		case used+w.each > w.guarantee["own"]:
			beyond++
			continue
		case !want:
			kept++
			continue
		case got == wants:
			whole++
		}
		grown++
		after := w.now(d, size)
		_, used = after.fill("own", nil)
		require.False(t, got < wants && used+w.each <= w.guarantee["own"] && (after.fits(nil) || after.takes(nil, after.leaves)), "seed %d: %d of %d, %+v", seed, got, wants, after)
	}
	t.Logf("%d grew, %d of them to their full size; others keep what %d would need; %d would borrow", grown, whole, kept, beyond)
	if drawn.Many() {
		require.Positive(t, min(grown, whole, kept, beyond))
	}
}

// Each group of a gang that grows bids for itself: that there are no victims for the one says
// nothing of the other, though a pass looks for victims for one of them only.
func TestEachGroupThatGrowsBids(t *testing.T) {
	for bids := 1; bids <= 2; bids++ {
		d := shared(t, berth.Config{}, func(_, b *quota.Queue) { b.Guarantee = nil })
		d.pooled("driver", 1)
		d.runs(one("b", "low", 1, inPool("p")), one("b", "large", 6, inPool("p")))
		d.tell(one("a", "gang", 1, func(j *berth.Job) {
			driver, workers := j.Groups[0], j.Groups[0]
			driver.Name, driver.Members, driver.MinMembers, driver.Selector.Pools = "driver", 2, 1, []string{"driver"}
			workers.Name, workers.Members, workers.MinMembers, workers.Selector.Pools = "workers", 2, 1, []string{"p"}
			j.Groups = []berth.Group{driver, workers}
		}))
		d.carryOut(d.pass())
		d.lower(func(b *core.Bounds) { b.Bids = bids })
		orders := append(d.pass(), d.pass()...)
		require.Equal(t, []string{"release low reclaimed"}, told(orders), "%d bids", bids)
	}
}
