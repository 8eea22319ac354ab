package core_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// A crowded fleet is drawn: nodes in racks, nearly full of jobs of several queues that began at
// random, and one that waits.
type crowded struct {
	*rand.Rand
	jobs  []berth.JobObserved
	nodes []berth.Node
	list  []quota.Queue
	waits berth.Job
}

func newCrowded(seed uint64) *crowded {
	w := &crowded{Rand: rand.New(rand.NewPCG(seed, 5))}
	free := map[int]berth.GPUSet{}
	racks := 1 + w.IntN(5)
	for i := range 4 * racks {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%02d", i)), Domains: []string{fmt.Sprint("block", i/8), fmt.Sprint("rack", i/4)}, CPUMilli: 80_000}
		for range 8 {
			n.GPUs = append(n.GPUs, berth.GPU{Product: "H100"})
		}
		if w.IntN(4) == 0 {
			n.Labels = map[string]string{"disk": "fast"}
		}
		w.nodes = append(w.nodes, n)
		free[i] = 255
	}
	all := int64(len(w.nodes)) * 8000
	for _, name := range []string{"a", "b", "c"} {
		q := quota.Queue{Name: berth.QueueID(name), Guarantee: quota.Amounts{quota.GPUMilli: w.Int64N(all / 2)}}
		if w.IntN(4) == 0 {
			q.Limit = quota.Amounts{quota.GPUMilli: all/2 + w.Int64N(all/2)}
		}
		w.list = append(w.list, q)
	}
	for left := 8 * len(w.nodes) * 15 / 16; left > 0; {
		left -= max(1, w.draw(free))
	}
	w.waits = w.beneficiary()
	return w
}

// draw draws a job that runs, and says how many GPUs it holds.
func (w *crowded) draw(free map[int]berth.GPUSet) (gpus int) {
	j := berth.Job{ID: berth.JobID(fmt.Sprint("j", len(w.jobs))), Queue: berth.QueueID(w.list[w.IntN(3)].Name), Class: berth.Class(w.IntN(2)), Priority: w.Int32N(2)}
	if w.IntN(16) == 0 {
		j.Class = berth.ClassLatencyCritical
	}
	cpu := int64(10_000)
	if w.IntN(8) == 0 {
		cpu = 1000 + w.Int64N(40_000)
	}
	if w.IntN(8) == 0 {
		j.MinRuntime = berth.Hour
	}
	j.Checkpoint = berth.Checkpoint{Supported: w.IntN(2) == 0, Cost: berth.Duration(w.Int64N(60_000)), RestartCost: berth.Duration(w.Int64N(60_000))}
	if w.IntN(4) == 0 {
		j.Checkpoint.Interval = berth.Hour
	}
	each, members := 1<<w.IntN(4), 1
	if w.IntN(4) == 0 {
		members = 2 + w.IntN(4)
	}
	g := berth.Group{Members: members, Claim: berth.Claim{GPUs: each, CPUMilli: int64(each) * cpu}}
	if members > 1 && w.IntN(2) == 0 {
		g.MinMembers = 1 + w.IntN(members)
	}
	r := berth.ObservedReplica{Incarnation: 1, Started: berth.Time(w.Int64N(int64(2 * berth.Hour)))}
	taken := map[int]berth.GPUSet{}
	for m := range members {
		for _, i := range w.Perm(len(w.nodes)) {
			if rest := free[i] &^ taken[i]; rest.Len() >= each {
				set := berth.GPUSet(0)
				for g := 0; set.Len() < each; g++ {
					if rest.Has(g) {
						set |= 1 << g
					}
				}
				taken[i] |= set
				r.Members = append(r.Members, berth.MemberPlacement{Index: m, Node: w.nodes[i].ID, GPUs: set})
				break
			}
		}
	}
	if len(r.Members) < members {
		return 0
	}
	for i, set := range taken { // in no order that matters
		free[i] &^= set
	}
	j.Groups = []berth.Group{g}
	w.jobs = append(w.jobs, berth.JobObserved{Job: j, Running: []berth.ObservedReplica{r}})
	return each * members
}

// beneficiary draws the job that waits.
func (w *crowded) beneficiary() berth.Job {
	j := berth.Job{ID: "waits", Queue: "a", Class: berth.Class(1 + w.IntN(2)), Priority: w.Int32N(3)}
	each := 1 << w.IntN(4)
	g := berth.Group{Members: 1 + w.IntN(6), Claim: berth.Claim{GPUs: each, CPUMilli: int64(each) * 10_000}}
	switch w.IntN(10) {
	case 0:
		g.Members = 2 * (1 + w.IntN(3))
		g.Topology.Segments = []berth.Segment{{Size: 2, Level: "rack"}}
	case 1:
		j.Topology.Required = "rack"
	case 2:
		j.Topology.Required = "node"
		g.Members = 1 + w.IntN(2)
	case 3:
		j.Topology.Exclusive = "rack"
	case 4:
		g.Selector.Labels = map[string]string{"disk": "fast"}
	case 5:
		j.Groups = append(j.Groups, berth.Group{Name: "driver", Members: 1, Claim: berth.Claim{GPUs: w.IntN(2), CPUMilli: 10_000}})
		g.Name = "workers"
	case 6:
		g.Claim = berth.Claim{CPUMilli: 40_000}
	}
	j.Groups = append(j.Groups, g)
	return j
}

// build has the world run, with other bounds.
func (w *crowded) build(t *testing.T, change func(*core.Bounds)) *divided {
	t.Helper()
	c, err := core.New(berth.Config{
		Levels: []string{"block", "rack"},
		Policy: berth.Policy{
			Preemption:      berth.Preemption{MaxRatio: w.ratio(), Gain: berth.GainPolicy{IgnoreCost: true}},
			Defragmentation: berth.Defragmentation{Mode: berth.DefragmentationOff}, // victims alone
		},
	})
	require.NoError(t, err)
	d := &divided{T: t, Core: c, now: berth.Time(3 * berth.Hour)}
	d.lower(change)
	for _, q := range w.list {
		d.tell(berth.QueueSet{Queue: q})
	}
	for _, n := range w.nodes {
		require.NoError(t, c.Apply(d.now, berth.NodeJoined{Node: n}))
	}
	for _, j := range w.jobs {
		require.NoError(t, c.Apply(d.now, j))
	}
	d.tell(berth.JobSubmitted{Job: w.waits})
	require.NoError(t, c.Check())
	return d
}

func (w *crowded) ratio() int { return []int{0, -1, 1, 2}[len(w.jobs)%4] }

// Where more runs than a search looks at, it finds victims whenever there are any, at nearly the
// same cost: candidates belong to places. Where a search is cut short, the answer says so.
func TestVictimsAreFoundPlaceByPlace(t *testing.T) {
	t.Parallel()
	found := [2]preempt.GPUMilliseconds{}
	cases := map[string]int{}
	for seed := range drawn.Seeds(60) {
		w := newCrowded(seed)
		plan := func(change func(*core.Bounds)) berth.StartPlan {
			d := w.build(t, change)
			plan, err := d.StartPlan(d.now, "waits", 0)
			require.NoError(t, err)
			d.pass()
			require.NoError(t, d.Check())
			return plan
		}
		all := plan(func(b *core.Bounds) {})
		few := plan(func(b *core.Bounds) { b.Candidates = 1 + int(seed%3) })
		require.Equal(t, len(all.Victims) > 0, len(few.Victims) > 0, "seed %d: %+v, %s; %s", seed, w.waits, all.Text, few.Text)
		cut := plan(func(b *core.Bounds) { b.Candidates, b.VictimSearches = 1, 1+int(seed%16) })
		switch {
		case len(all.Victims) == 0:
			cases["none"]++
		case len(cut.Victims) > 0:
			cases["found in time"]++
		default:
			require.True(t, cut.Reason.CutShort, "seed %d: %s", seed, cut.Text)
			if len(cut.Moves) == 0 {
				require.Contains(t, cut.Text, "no preemption and no move was found")
			}
			cases["cut short"]++
		}
		found[0], found[1] = found[0]+all.Cost, found[1]+few.Cost
	}
	t.Logf("%v, at a cost of %v and %v", cases, berth.Duration(found[0]), berth.Duration(found[1]))
	if _, one := os.LookupEnv("BERTH_SEED"); !one {
		require.Len(t, cases, 3)
		require.LessOrEqual(t, found[1], found[0]+found[0]/5)
	}
}

// A search that keeps the cheapest spots alone, and finds all of them where those do not suffice,
// chooses what one does that has all of them from the beginning.
func TestTheCheapestSpotsAreFoundFirst(t *testing.T) {
	t.Parallel()
	chosen := 0
	for seed := range drawn.Seeds(60) {
		w := newCrowded(seed)
		plan := func(most int) (berth.StartPlan, []berth.Order) {
			d := w.build(t, func(b *core.Bounds) { b.Candidates = 1 + int(seed%3) })
			core.SpotsAtFirst(d.Core, most)
			plan, err := d.StartPlan(d.now, "waits", 0)
			require.NoError(t, err)
			return plan, d.pass()
		}
		all, orders := plan(-1)
		for _, most := range []int{1, 2, 5} {
			few, same := plan(most)
			require.Equal(t, all, few, "seed %d: %+v", seed, w.waits)
			require.Equal(t, orders, same, "seed %d: %+v", seed, w.waits)
		}
		chosen += len(all.Victims)
	}
	require.Positive(t, chosen)
}

// So it does where most spots are told to be dearer at a glance: of jobs of one kind, on nodes of
// which some have GPUs free.
func TestSpotsAreDearerAtAGlance(t *testing.T) {
	t.Parallel()
	d := singles(t, 80)
	random := rand.New(rand.NewPCG(2, 2))
	for range 80 {
		_ = d.Apply(d.now, berth.JobFinished{Job: berth.JobID(fmt.Sprintf("j%04d-%d", random.IntN(80), random.IntN(8))), Incarnation: 1}) // unless it did before
	}
	for _, queue := range []berth.QueueID{"a", "b"} {
		for gpus := 1; gpus <= 8; gpus++ {
			for _, gang := range []int{1, 3, 70} {
				id := berth.JobID(fmt.Sprint("waits-", queue, gpus, "-", gang))
				d.tell(one(queue, id, gpus, ranks(1), members(gang)))
				plan := func(most int) (berth.StartPlan, int) {
					core.SpotsAtFirst(d.Core, most)
					_, before, _ := core.VictimWork(d.Core)
					plan, err := d.StartPlan(d.now, id, 0)
					require.NoError(t, err)
					_, after, _ := core.VictimWork(d.Core)
					return plan, after - before
				}
				all, many := plan(-1)
				few, weighed := plan(20)
				require.Equal(t, all, few, id)
				if gang == 1 {
					require.Less(t, weighed, max(1, many), id)
				}
				d.tell(berth.JobCancelled{Job: id})
			}
		}
	}
}

// The work of a search is in proportion to the places that it is about, each of which it looks at
// once, and not to what runs: it gathers as many candidates on a large fleet as on a small one, and
// weighs few more places.
func TestVictimsOfALargeFleetTakeNoMoreCandidates(t *testing.T) {
	t.Parallel()
	for _, queue := range []berth.QueueID{"a", "b"} { // within a queue, and between two
		for _, gang := range []struct{ members, gathered, weighed int }{{1, 64, 100}, {8, 96, 240}} {
			for _, nodes := range []int{80, 320} {
				d := singles(t, nodes)
				d.tell(one(queue, "waits", 8, ranks(1), members(gang.members)))
				require.Len(t, d.pass(), 8*gang.members)
				places, weighed, gathered := core.VictimWork(d.Core)
				require.Equal(t, nodes, places)
				require.LessOrEqual(t, weighed, gang.weighed)
				require.Equal(t, gang.gathered, gathered)
			}
		}
	}
}

// A job that fits on what departing members leave takes no candidates at all.
func TestWhatFitsOnWhatDepartsTakesNoCandidates(t *testing.T) {
	t.Parallel()
	d := singles(t, 80)
	for k := range 3 {
		d.tell(berth.JobCancelled{Job: berth.JobID(fmt.Sprintf("j%04d-0", k))})
		d.tell(one("b", berth.JobID(fmt.Sprint("waits", k)), 1))
	}
	require.Len(t, d.pass(), 3, "members that are stopped, and no victims")
	require.Empty(t, d.pass())
	places, _, gathered := core.VictimWork(d.Core)
	require.Zero(t, places+gathered)
	d.tell(one("b", "waits for victims", 2))
	require.NotEmpty(t, d.pass())
	_, _, gathered = core.VictimWork(d.Core)
	require.Positive(t, gathered)
}

// singles is a core with nodes full of single-GPU jobs of queue a that began at random, all of
// which is guaranteed to queue b.
func singles(t *testing.T, nodes int) *divided {
	t.Helper()
	c, err := core.New(berth.Config{})
	require.NoError(t, err)
	d := &divided{T: t, Core: c, now: berth.Time(3 * berth.Hour)}
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "a"}})
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "b", Guarantee: quota.Amounts{quota.GPUMilli: int64(nodes) * 8000}}})
	random := rand.New(rand.NewPCG(1, uint64(nodes)))
	for i := range nodes {
		id := berth.NodeID(fmt.Sprintf("n%04d", i))
		require.NoError(t, c.Apply(d.now, berth.NodeJoined{Node: berth.Node{ID: id, GPUs: slices.Repeat([]berth.GPU{{Product: "H100"}}, 8)}}))
		for g := range 8 {
			job := one("a", berth.JobID(fmt.Sprintf("j%04d-%d", i, g)), 1).(berth.JobSubmitted).Job
			require.NoError(t, c.Apply(d.now, berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
				Incarnation: 1, Started: berth.Time(random.Int64N(int64(2 * berth.Hour))),
				Members: []berth.MemberPlacement{{Node: id, GPUs: 1 << g}},
			}}}))
		}
	}
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{Gain: berth.GainPolicy{IgnoreCost: true}}}})
	d.pass()
	return d
}

// What victim searches go by follows what runs: Check, which every step calls, holds it against
// that.
func TestProspectsFollowWhatRuns(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3")
	d.lower(func(b *core.Bounds) { b.Candidates = 1 })
	d.runs(
		one("q", "low1", 8), one("q", "low2", 4), one("q", "low3", 4, func(j *berth.Job) { j.MinRuntime = berth.Hour }),
		one("q", "low4", 8, func(j *berth.Job) { j.Checkpoint.Interval = berth.Hour }),
	)
	d.tell(one("q", "high", 8, ranks(1)))
	orders := d.pass()
	require.NotEmpty(t, orders)
	d.tell(berth.CheckpointWritten{Job: "low2", Incarnation: 1})
	d.carryOut(orders)
	d.carryOut(d.pass())
	d.tell(berth.JobCancelled{Job: "low3"})
	d.carryOut(d.pass())
	d.now += berth.Time(2 * berth.Hour)
	d.tell(one("q", "higher", 8, ranks(2)))
	d.carryOut(d.pass())
	d.tell(berth.PolicyChanged{Policy: berth.Policy{Preemption: berth.Preemption{MinRuntime: berth.Hour}}})
	d.carryOut(d.pass())
}

// So it does where a gang goes on without some of its members.
func TestProspectsFollowAGangThatLosesSome(t *testing.T) {
	d := fleetOf(t, "n1", "n2", "n3", "n4")
	d.lower(func(b *core.Bounds) { b.Candidates = 1 })
	d.runs(one("q", "low", 8), one("q", "wide", 8, members(3), func(j *berth.Job) { j.Groups[0].MinMembers = 1 }))
	d.tell(one("q", "high", 8, ranks(1)))
	shrink := d.pass()
	require.Len(t, shrink, 1)
	d.carryOut(shrink)
	d.settle(0)
	d.tell(one("q", "large", 8, ranks(1), members(9)))
	require.Empty(t, d.pass(), "it looks at all of them")
	d.tell(berth.GPUFailed{Node: d.on("wide")[0], GPU: 0})
}
