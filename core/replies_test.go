package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/quota"
)

// passesToRest runs passes until nothing is due at this instant, and reports what they order done.
func passesToRest(t *testing.T, c *core.Core) (passes int) {
	t.Helper()
	for at, due := c.Now(), true; due && at <= c.Now(); at, due = c.NextWake() {
		passAndReport(t, c, c.Now())
		passes++
		require.Less(t, passes, 10_000)
	}
	return passes
}

// passAndReport has a core schedule at an instant, and reports that all its orders are carried out.
func passAndReport(t *testing.T, c *core.Core, at berth.Time) {
	t.Helper()
	orders, err := c.Schedule(at)
	require.NoError(t, err)
	for _, o := range orders {
		if err := c.Apply(c.Now(), berth.OrderReported{Order: o.Header().ID, Outcome: berth.OutcomeDone}); err != nil {
			require.ErrorContains(t, err, "not outstanding any more") // the pass that gave it took it back
		}
	}
}

// lends is a core at an instant, on which one queue lends and another asks.
func lends(t *testing.T, config berth.Config, at berth.Time) *core.Core {
	t.Helper()
	c, err := core.New(config)
	require.NoError(t, err)
	_, err = c.Schedule(at)
	require.NoError(t, err)
	for _, name := range []string{"lends", "asks"} {
		mustApply(c, at, berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}})
	}
	return c
}

// runs is the report of a job of one member, which has held some GPUs of a node since an instant.
func runs(job berth.Job, node berth.NodeID, gpus berth.GPUSet, started berth.Time) berth.JobObserved {
	return berth.JobObserved{Job: job, Running: []berth.ObservedReplica{{
		Incarnation: 1, Started: started, Members: []berth.MemberPlacement{{Node: node, GPUs: gpus}},
	}}}
}

// h100s is a node of eight.
func h100s(id string) berth.NodeJoined {
	return berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(id), GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100"})}}
}

// Queues that are each a little below their share, of whatever weights, guarantees and limits, ask
// the same of others: what one of them was told holds for the next, and no bid is told otherwise
// than by a search of its own.
func TestABidIsAnsweredAsByASearchOfItsOwn(t *testing.T) {
	told := 0
	for seed := range drawn.Seeds(60) {
		w := rand.New(rand.NewPCG(seed, 11))
		c, err := core.New(berth.Config{Gain: standardGain(), Policy: berth.Policy{Preemption: berth.Preemption{MinRuntime: berth.Duration(w.Int64N(3)) * berth.Hour}}})
		require.NoError(t, err)
		core.DoubtReplies(c, func(job berth.JobID, equal bool) {
			told++
			require.True(t, equal, "seed %d: %s", seed, job)
		})
		fillBelowShares(t, c, w)
		for range 4 {
			passesToRest(t, c)
			require.NoError(t, c.Check())
			_, err = c.Schedule(c.Now().Add(10 * berth.Minute))
			require.NoError(t, err)
		}
	}
	require.Greater(t, told, 100, "bids that an earlier search answers")
}

// standardGain is the gain of the default policy, as a function of the embedder's: nothing is known
// of that beforehand, so that each bid is searched for.
func standardGain() berth.GainFunc {
	scale := preempt.Scale{ClassGain: []int64{0, int64(berth.Hour), int64(24 * berth.Hour)}, TurnGain: int64(10 * berth.Minute), WaitMilli: 1000}
	return func(b preempt.Beneficiary) preempt.GPUMilliseconds { return scale.Gain(&b) }
}

// fillBelowShares has many queues, of whatever weights, guarantees and limits, share a full fleet,
// and jobs wait in all of them.
func fillBelowShares(t *testing.T, c *core.Core, w *rand.Rand) {
	t.Helper()
	tell := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
	_, err := c.Schedule(berth.Time(4 * berth.Hour))
	require.NoError(t, err)
	queues, nodes := 6+w.IntN(24), 16+w.IntN(32)
	parents := []string{"", "x", "y"}[:1+w.IntN(3)]
	for _, name := range parents[1:] {
		tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}})
	}
	name := func(i int) string { return fmt.Sprint("q", i) }
	for i := range queues {
		q := quota.Queue{Name: berth.QueueID(name(i)), Parent: berth.QueueID(parents[w.IntN(len(parents))]), Weight: 1 + w.Int64N(2)}
		if w.IntN(2) == 0 {
			q.Guarantee = quota.Amounts{quota.GPUMilli: 2000 * (1 + w.Int64N(8))}
			if w.IntN(2) == 0 {
				q.LendingLimit = quota.Amounts{quota.GPUMilli: w.Int64N(2) * 4000}
			}
		}
		if w.IntN(4) == 0 {
			q.Limit = quota.Amounts{quota.GPUMilli: 16_000 + 8000*w.Int64N(4)}
		}
		tell(berth.QueueSet{Queue: q})
	}
	for i := range nodes {
		n := berth.Node{ID: berth.NodeID(fmt.Sprintf("n%02d", i)), MemoryMiB: 64, GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100"})}
		tell(berth.NodeJoined{Node: n})
		each := 1 << (2 + w.IntN(2))
		for first := 0; first < 8; first += each {
			job := berth.Job{
				ID: berth.JobID(fmt.Sprint("runs", i, first)), Queue: berth.QueueID(name(w.IntN(queues))), Class: berth.Class(w.IntN(2)),
				Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: each}}}, Checkpoint: berth.Checkpoint{Supported: w.IntN(8) == 0, RestartCost: berth.Duration(w.Int64N(3)) * berth.Hour / 2},
			}
			tell(runs(job, n.ID, (1<<each-1)<<first, berth.Time(w.Int64N(int64(4*berth.Hour)))))
		}
	}
	for i := range 6 * queues {
		if i%queues == 0 {
			_, err = c.Schedule(c.Now().Add(berth.Minute))
			require.NoError(t, err)
		}
		tell(berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(fmt.Sprint("waits", i)), Queue: berth.QueueID(name(i % queues)), Class: berth.Class(w.IntN(16) / 15),
			Groups: []berth.Group{{Members: 1 + w.IntN(2), Claim: berth.Claim{GPUs: 1 << w.IntN(3), MemoryMiB: w.Int64N(40)}}},
		}})
	}
}

// What a pass does not bid for, since no victim could pay for it, it bids for as soon as one does:
// a core that searches for each bid, since it knows nothing of its gain, evicts as many, and each
// at the same instant or at most an eighth of the wait and two minutes away. Either may be the
// later one: what searched in vain looks again after an eighth of its wait, and after a change in
// two minutes at the latest.
func TestNoBidIsLeftOutThatPays(t *testing.T) {
	evicted := 0
	for seed := range drawn.Seeds(25) {
		var all [2][]berth.Time
		for i, gain := range []berth.GainFunc{nil, standardGain()} {
			w := rand.New(rand.NewPCG(seed, 12))
			minRuntime := berth.Duration(w.Int64N(3)) * berth.Hour
			c := lends(t, berth.Config{Gain: gain, Policy: berth.Policy{Preemption: berth.Preemption{MinRuntime: minRuntime}}}, berth.Time(6*berth.Hour))
			tell := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
			for k := range 2 + w.IntN(4) {
				id := fmt.Sprint("n", k)
				tell(h100s(id))
				each := 1 << w.IntN(4)
				for first := 0; first < 8; first += each {
					job := berth.Job{
						ID: berth.JobID(fmt.Sprint(id, first)), Queue: "lends", ExpectedRuntime: 48 * berth.Hour,
						Groups:     []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: each}}},
						Checkpoint: berth.Checkpoint{Supported: w.IntN(8) == 0, RestartCost: berth.Duration(w.Int64N(3)) * berth.Hour},
					}
					tell(runs(job, berth.NodeID(id), (1<<each-1)<<first, berth.Time(w.Int64N(int64(6*berth.Hour)))))
				}
			}
			for k := range 3 {
				tell(berth.JobSubmitted{Job: berth.Job{
					ID: berth.JobID(fmt.Sprint("waits", k)), Queue: "asks", Class: berth.Class(w.IntN(4) / 3),
					Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1 << w.IntN(4)}}},
				}})
			}
			for end := c.Now().Add(48 * berth.Hour); c.Now() < end; {
				passesToRest(t, c)
				require.NoError(t, c.Check())
				for len(all[i]) < int(c.Report().Totals.Preemptions) {
					all[i] = append(all[i], c.Now())
				}
				at, due := c.NextWake()
				if !due {
					break
				}
				passAndReport(t, c, min(at, end))
			}
			evicted += int(c.Report().Totals.Preemptions)
		}
		require.Len(t, all[0], len(all[1]), "seed %d", seed)
		for k, at := range all[0] {
			first, last := min(at, all[1][k]), max(at, all[1][k])
			require.LessOrEqual(t, last.Sub(first), last.Sub(berth.Time(6*berth.Hour))/8+2*berth.Minute, "seed %d: %s and %s", seed, at, all[1][k])
		}
	}
	require.Greater(t, evicted, 20, "evictions")
}

// What a victim loses grows as it works. If it grows as fast as the gain, a bid for it never pays;
// another victim of a cost that does not grow is the cheaper one in a while. It is found though
// nothing happens meanwhile, at most an eighth of the wait late.
func TestAVictimThatBecomesTheCheaperOneIsFoundInAQuietFleet(t *testing.T) {
	config := berth.Config{Gain: standardGain(), Policy: berth.Policy{ReservedGangs: -1}} // a search for each bid
	c := lends(t, config, berth.Time(4*berth.Hour))
	tell := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
	for k, saves := range []bool{false, true} {
		id := fmt.Sprint("n", k)
		tell(h100s(id))
		job := berth.Job{
			ID: berth.JobID(id), Queue: "lends", ExpectedRuntime: 72 * berth.Hour,
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}}, Checkpoint: berth.Checkpoint{Supported: saves},
		}
		if saves {
			job.Checkpoint.RestartCost = 2 * berth.Hour
		}
		tell(runs(job, berth.NodeID(id), 255, berth.Time(3*berth.Hour)))
	}
	tell(berth.JobSubmitted{Job: berth.Job{ID: "waits", Queue: "asks", Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}}}})
	for c.Report().Totals.Preemptions == 0 {
		passesToRest(t, c)
		at, due := c.NextWake()
		require.True(t, due, "no pass is due, at %s", c.Now())
		passAndReport(t, c, at)
	}
	// The gain is that of a turn and of the wait, and the cost a restart and five minutes in the
	// queue: 2:05 are more than 0:10 and a wait of 1:55.
	pays := berth.Time(4*berth.Hour + 115*berth.Minute)
	require.Greater(t, c.Now(), pays)
	require.LessOrEqual(t, c.Now(), pays.Add(115*berth.Minute/8+berth.Minute))
	require.NoError(t, c.Check())
}

// newBelowShare is a full fleet of queues of which every second one has twice as much as the
// others, that are below their shares, and too little to gain by what they wait for. Memory is what
// the i-th request of a queue asks for.
func newBelowShare(t *testing.T, queues int, gain berth.GainFunc, memory func(queue, i int) int64) *core.Core {
	c, err := core.New(berth.Config{Gain: gain, Policy: berth.Policy{Stretch: berth.Off}})
	require.NoError(t, err)
	tell := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
	_, err = c.Schedule(berth.Time(4 * berth.Hour))
	require.NoError(t, err)
	for i := range queues {
		tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprint("q", i))}})
		for k := range 1 + i%2 {
			id := fmt.Sprintf("n%d-%d", i, k)
			tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(id), MemoryMiB: 1 << 20, GPUs: berth.EqualGPUs(8, berth.GPU{Product: "H100"})}})
			job := berth.Job{ID: berth.JobID(id), Queue: berth.QueueID(fmt.Sprint("q", i)), Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 8}}}, ExpectedRuntime: 24 * berth.Hour}
			tell(runs(job, berth.NodeID(id), 255, 0))
		}
		for gpus := range 8 {
			tell(berth.JobSubmitted{Job: berth.Job{
				ID: berth.JobID(fmt.Sprint("waits", i, gpus)), Queue: berth.QueueID(fmt.Sprint("q", i)), Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1 + gpus, MemoryMiB: memory(i, gpus)}}},
			}})
		}
	}
	return c
}

// However many queues are below their shares, they are answered in as few passes and by as few
// searches: what these look at is what runs, once for each request.
func TestManyQueuesBelowTheirSharesAreAnsweredTogether(t *testing.T) {
	var passes, looked [2]int
	for i, queues := range []int{100, 1000} {
		c := newBelowShare(t, queues, standardGain(), alike)
		core.LowerBounds(c, func(b *core.Bounds) { b.Candidates, b.Bids = 16, 8 })
		passes[i] = passesToRest(t, c)
		places, _, _ := core.VictimWork(c)
		looked[i] = places / queues
		require.NoError(t, c.Check())
	}
	require.LessOrEqual(t, max(passes[0], passes[1]), 4, "passes to rest: %v", passes)
	require.LessOrEqual(t, looked[1], looked[0], "places that were looked at, for each queue: %v", looked)
}

func alike(int, int) int64 { return 0 }

// Requests that differ by what they need of a host have one answer where one of them that needs
// less has it: there are few searches, of however many requests.
func TestDistinctRequestsAreAnsweredTogether(t *testing.T) {
	var passes, looked [2]int
	for i, queues := range []int{50, 500} {
		c := newBelowShare(t, queues, standardGain(), func(queue, i int) int64 { return int64(queue*7919%queues*8 + i) })
		core.LowerBounds(c, func(b *core.Bounds) { b.Candidates, b.Bids = 16, 8 })
		passes[i] = passesToRest(t, c)
		places, _, _ := core.VictimWork(c)
		looked[i] = places / queues
		require.NoError(t, c.Check())
	}
	require.LessOrEqual(t, passes[1], 3*passes[0], "passes to rest: %v", passes)
	require.LessOrEqual(t, looked[1], 3*looked[0], "places that were looked at, for each queue: %v", looked)
}

// A bid that could not pay whatever its victims cost takes no search, and the queues that have only
// such bids are not looked into.
func TestBidsThatCannotPayTakeNoSearch(t *testing.T) {
	var buckets [2]int
	for i, queues := range []int{100, 1000} {
		c := newBelowShare(t, queues, nil, alike)
		passesToRest(t, c)
		before := core.Buckets(c)
		for k := range 10 {
			require.NoError(t, c.Apply(c.Now(), berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(fmt.Sprint("new", k))}}))
			passesToRest(t, c)
		}
		buckets[i] = core.Buckets(c) - before
		places, candidates, _ := core.VictimWork(c)
		require.Zero(t, places+candidates, "what searches looked at")
		require.NoError(t, c.Check())
	}
	require.LessOrEqual(t, buckets[1], 2*buckets[0]+100, "bidders that were looked at: %v", buckets)
}

// After a completion no more entries are put in order than may get a reservation, however many
// wait: none, if as many gangs have one as may.
func TestACompletionPutsFewInOrderForReservations(t *testing.T) {
	var turns [2]int
	for i, queues := range []int{50, 500} {
		c := newBelowShare(t, queues, nil, alike)
		passesToRest(t, c)
		_, err := c.Schedule(c.Now().Add(berth.Hour))
		require.NoError(t, err)
		passesToRest(t, c)
		require.NotEmpty(t, c.Report().Reservations)
		before := core.Turns(c)
		for k := range 10 {
			require.NoError(t, c.Apply(c.Now(), berth.JobFinished{Job: berth.JobID(fmt.Sprintf("n%d-0", k)), Incarnation: 1}))
			passesToRest(t, c)
		}
		turns[i] = core.Turns(c) - before
	}
	require.LessOrEqual(t, turns[1], 2*turns[0], "entries that were put in order: %v", turns)
}

// Gangs of several nodes get their reservations without a look past those of one node, however many
// of these wait before them and have all the reservations that they may have.
func TestGangsOfSeveralNodesAreFoundAtOnceForReservations(t *testing.T) {
	var turns [2]int
	for i, queues := range []int{50, 500} {
		c := newBelowShare(t, queues, nil, alike)
		for q := range queues {
			require.NoError(t, c.Apply(c.Now(), berth.JobSubmitted{Job: berth.Job{
				ID: berth.JobID(fmt.Sprint("large", q)), Queue: berth.QueueID(fmt.Sprint("q", q)), Groups: []berth.Group{{Members: 2, Claim: berth.Claim{GPUs: 8}}},
			}}))
		}
		passesToRest(t, c)
		_, err := c.Schedule(c.Now().Add(berth.Hour))
		require.NoError(t, err)
		passesToRest(t, c)
		large := 0
		for _, r := range c.Report().Reservations {
			if len(r.Nodes) > 1 {
				large++
			}
		}
		require.Positive(t, large)
		turns[i] = core.Turns(c)
	}
	require.LessOrEqual(t, turns[1], turns[0]+10, "entries that were put in order: %v", turns)
}

// A bid that was in vain is due again some seconds after a change. If it cannot pay at the change,
// the core wakes all the same when it can.
func TestABidThatIsDueLaterIsMadeWhenItPays(t *testing.T) {
	c, err := core.New(berth.Config{})
	require.NoError(t, err)
	tell := func(e berth.Event) { require.NoError(t, c.Apply(c.Now(), e)) }
	_, err = c.Schedule(berth.Time(4 * berth.Hour))
	require.NoError(t, err)
	for _, name := range []string{"lends", "asks"} {
		tell(berth.QueueSet{Queue: quota.Queue{Name: berth.QueueID(name)}})
	}
	for node := range 6 {
		id, product, cost := fmt.Sprint("n", node), "H100", 2*berth.Hour
		if node == 0 { // they cost nothing, but are of no use
			product, cost = "A100", 0
		}
		tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(id), GPUs: berth.EqualGPUs(8, berth.GPU{Product: product})}})
		for gpu := range 8 {
			tell(berth.JobObserved{
				Job: berth.Job{
					ID: berth.JobID(fmt.Sprint(id, "-", gpu)), Queue: "lends", ExpectedRuntime: 48 * berth.Hour,
					Groups:     []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}},
					Checkpoint: berth.Checkpoint{Supported: true, RestartCost: cost},
				},
				Running: []berth.ObservedReplica{{Incarnation: 1, Members: []berth.MemberPlacement{{Node: berth.NodeID(id), GPUs: 1 << gpu}}}},
			})
		}
	}
	for k := range 24 {
		tell(berth.JobSubmitted{Job: berth.Job{
			ID: berth.JobID(fmt.Sprint("waits", k)), Queue: "asks",
			Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}, Selector: berth.Selector{Products: []string{"H100"}}}},
		}})
	}
	passesToRest(t, c)
	pays, due := c.NextWake() // as the search tells that was in vain
	require.True(t, due)
	_, err = c.Schedule(c.Now().Add(5 * berth.Second))
	require.NoError(t, err)
	for gpu := range 8 {
		tell(berth.JobFinished{Job: berth.JobID(fmt.Sprint("n0-", gpu)), Incarnation: 1})
	}
	for c.Report().Totals.Preemptions == 0 {
		passesToRest(t, c)
		at, due := c.NextWake()
		require.True(t, due, "no pass is due, at %s", c.Now())
		_, err = c.Schedule(at)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, c.Now(), pays.Add(berth.Minute))
}

// The rank of a job that has left its queue decides nothing about bids that are left out. A core
// that is restored does not know of that job.
func TestBidsAreLeftOutAlikeAfterARestore(t *testing.T) {
	c := newBelowShare(t, 2, nil, alike)
	job := berth.Job{ID: "urgent", Queue: "q0", Priority: 5, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: 1}}}}
	require.NoError(t, c.Apply(c.Now(), berth.JobSubmitted{Job: job}))
	require.NoError(t, c.Apply(c.Now(), berth.JobCancelled{Job: job.ID}))
	saved, err := c.Snapshot()
	require.NoError(t, err)
	again, err := core.Restore(saved)
	require.NoError(t, err)
	var after [2][]byte
	for i, c := range []*core.Core{c, again} {
		passesToRest(t, c)
		after[i], err = c.Snapshot()
		require.NoError(t, err)
	}
	require.Equal(t, string(after[0]), string(after[1]))
}
