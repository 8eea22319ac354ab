package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core"
	"github.com/berth-sched/berth/internal/drawn"
	"github.com/berth-sched/berth/quota"
)

func gpuMilli(gpus int64) quota.Amounts { return quota.Amounts{quota.GPUMilli: 1000 * gpus} }

// atOnce is a configuration under which guarantees are taken back at once, and at any cost, for
// tests of what is taken back: when is tested beside them.
func atOnce(config berth.Config) berth.Config {
	config.Policy.Preemption.GuaranteeWithin = berth.Off
	return config
}

// shared is a core with one node of 8 GPUs and two queues, each guaranteed 4.
func shared(t *testing.T, config berth.Config, change func(a, b *quota.Queue)) *divided {
	t.Helper()
	sched, err := core.New(atOnce(config))
	require.NoError(t, err)
	d := &divided{T: t, Core: sched}
	a, b := quota.Queue{Name: "a", Guarantee: gpuMilli(4)}, quota.Queue{Name: "b", Guarantee: gpuMilli(4)}
	change(&a, &b)
	d.tell(berth.QueueSet{Queue: a})
	d.tell(berth.QueueSet{Queue: b})
	d.node("n", 8, berth.GPUModeWhole)
	return d
}

func (d *divided) of(queue berth.QueueID, id berth.JobID, gpus int) {
	d.Helper()
	d.tell(berth.JobSubmitted{Job: berth.Job{ID: id, Queue: queue, Groups: []berth.Group{{Members: 1, Claim: berth.Claim{GPUs: gpus}}}}})
}

// What a queue does not lend stays free for it, and Explain names the queue.
func TestWhatIsNotLentStaysFree(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, b *quota.Queue) { b.LendingLimit = gpuMilli(1) })
	for i := range 8 {
		d.of("a", berth.JobID(fmt.Sprint("a", i)), 1)
	}
	require.Len(t, d.pass(), 5, "4 of its own and 1 that b lends")
	e, err := d.Explain("a7")
	require.NoError(t, err)
	require.Equal(t, berth.ReasonQuota, e.Replicas[0].Reason.Code)
	require.Contains(t, e.Replicas[0].Reason.Text, "queue b")
	d.of("b", "b0", 3)
	require.Len(t, d.pass(), 1, "it is there when it is wanted")
	d.tell(berth.GPUFailed{Node: "n", GPU: 0}) // less capacity strands nobody
	require.NoError(t, d.Check())
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "b", Guarantee: gpuMilli(3)}})
	d.tell(berth.GPURepaired{Node: "n", GPU: 0})
	require.NotEmpty(t, d.pass())
}

func TestABorrowingLimitHolds(t *testing.T) {
	d := shared(t, berth.Config{}, func(a, _ *quota.Queue) { a.BorrowingLimit = gpuMilli(2) })
	for i := range 8 {
		d.of("a", berth.JobID(fmt.Sprint("a", i)), 1)
	}
	require.Len(t, d.pass(), 6)
	e, err := d.Explain("a7")
	require.NoError(t, err)
	require.Contains(t, e.Replicas[0].Reason.Remedy, "borrowing limit")
	d.tell(berth.QueueSet{Queue: quota.Queue{Name: "a", Guarantee: gpuMilli(4), BorrowingLimit: gpuMilli(3)}})
	require.Len(t, d.pass(), 1)
}

// Of two queues with the same weight, the one that had all of the idle fleet overnight is
// served behind the other in the morning, until that is forgotten.
func TestThePastCounts(t *testing.T) {
	for _, half := range []berth.Duration{0, 4 * berth.Hour} {
		d := shared(t, berth.Config{Policy: berth.Policy{UsageHalfLife: half}}, func(a, b *quota.Queue) { a.Guarantee, b.Guarantee = nil, nil })
		for i := range 8 {
			d.of("a", berth.JobID(fmt.Sprint("night", i)), 1)
		}
		d.carryOut(d.pass())
		d.now += berth.Time(12 * berth.Hour)
		for i := range 8 {
			d.tell(berth.JobFinished{Job: berth.JobID(fmt.Sprint("night", i)), Incarnation: 1})
		}
		for i := range 8 {
			d.of("a", berth.JobID(fmt.Sprint("a", i)), 1)
			d.of("b", berth.JobID(fmt.Sprint("b", i)), 1)
		}
		won := map[berth.QueueID]int{}
		for _, o := range d.pass() {
			e, err := d.Explain(o.Header().Job)
			require.NoError(t, err)
			won[e.Queue]++
		}
		require.Equal(t, 8, won["a"]+won["b"])
		if half == 0 {
			require.Equal(t, 4, won["a"])
		} else {
			require.Less(t, won["a"], 3)
			require.Positive(t, won["a"], "nobody falls to nothing")
		}
	}
}

// The ledger is the integral of what is allocated, whatever happens, and it is the same
// after a restore.
func TestTheLedgerIsTheIntegral(t *testing.T) {
	drawn.Check(t, func(r *rapid.T) {
		d := shared(t, berth.Config{Ledger: true}, func(a, _ *quota.Queue) { a.Guarantee = gpuMilli(2) })
		var allocated, active, borrowed int64 // of queue a
		running, busy := map[berth.JobID]int{}, map[berth.JobID]int{}
		for step := range rapid.IntRange(1, 12).Draw(r, "steps") {
			id := berth.JobID(fmt.Sprint("j", step))
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0, 1:
				d.of("a", id, rapid.IntRange(1, 3).Draw(r, "GPUs"))
				for _, o := range d.pass() {
					b := bindOf(t, o)
					running[b.Job] = b.Members[0].GPUs.Len()
					d.report(o, berth.OutcomeDone)
				}
			case 2:
				if id, ok := anyJob(running, r); ok {
					busy[id] = rapid.IntRange(0, 1000).Draw(r, "busy")
					d.tell(berth.ActivityReported{Job: id, Incarnation: 1, ActiveMilli: busy[id]})
				}
			case 3:
				if id, ok := anyJob(running, r); ok {
					d.tell(berth.JobFinished{Job: id, Incarnation: 1})
					delete(running, id)
					delete(busy, id)
				}
			}
			for _, o := range d.pass() { // what was waiting
				b := bindOf(t, o)
				running[b.Job] = b.Members[0].GPUs.Len()
				d.report(o, berth.OutcomeDone)
			}
			length := rapid.Int64Range(0, 5000).Draw(r, "ms")
			used := int64(0)
			for id, gpus := range running {
				used += int64(gpus)
				active += int64(gpus) * int64(busy[id]) * length
			}
			allocated += used * length
			borrowed += max(used-2, 0) * length
			d.now += berth.Time(length)
			d.pass()
		}
		sum := berth.LedgerLine{}
		lines, queues := d.Core.Ledger()
		for _, l := range lines {
			require.Equal(r, berth.QueueID("a"), l.Queue)
			sum.Allocated += l.Allocated
			sum.Active += l.Active
		}
		require.Equal(r, allocated, sum.Allocated)
		require.Equal(r, active/1000, sum.Active)
		if i := slices.IndexFunc(queues, func(q berth.QueueTime) bool { return q.Queue == "a" }); allocated > 0 || i >= 0 {
			require.Equal(r, berth.QueueTime{Queue: "a", Guaranteed: allocated - borrowed, Borrowed: borrowed}, queues[i])
		}
		d.tell(berth.LedgerSettled{})
		if lines, queues := d.Core.Ledger(); len(running) == 0 {
			require.Empty(r, lines)
			require.Empty(r, queues)
		}
	})
}

// What a gang grows by is as busy as the rest of it, until it is told otherwise.
func TestTheLedgerHasTheActivityOfAGangThatGrows(t *testing.T) {
	d := shared(t, berth.Config{Ledger: true}, func(_, _ *quota.Queue) {})
	d.runs(one("b", "fills", 4), one("a", "wide", 1, elastic(6, 2)))
	d.tell(berth.ActivityReported{Job: "wide", Incarnation: 1, ActiveMilli: 501})
	d.tell(berth.JobFinished{Job: "fills", Incarnation: 1})
	orders := d.pass()
	require.Equal(t, []string{"bind wide grows"}, told(orders))
	d.carryOut(orders)
	d.now += 1000
	d.pass()
	lines, _ := d.Core.Ledger()
	at := slices.IndexFunc(lines, func(l berth.LedgerLine) bool { return l.Queue == "a" })
	require.EqualValues(t, 6*501, lines[at].Active)
}

// What was settled is forgotten by queue too, also of a queue that is gone; what is in use is not.
func TestLedgerSettledForgetsQueueTime(t *testing.T) {
	d := shared(t, berth.Config{Ledger: true}, func(_, _ *quota.Queue) {})
	d.of("a", "over", 2)
	d.of("b", "runs", 1)
	for _, o := range d.pass() {
		d.report(o, berth.OutcomeDone)
	}
	d.now += berth.Time(berth.Hour)
	d.tell(berth.JobFinished{Job: "over", Incarnation: 1})
	d.pass()
	_, queues := d.Ledger()
	require.Len(t, queues, 2)
	d.tell(berth.QueueRemoved{Queue: "a"})
	d.tell(berth.LedgerSettled{})
	_, queues = d.Ledger()
	require.Len(t, queues, 1)
	require.Equal(t, berth.QueueID("b"), queues[0].Queue)
}

// anyJob draws a job that runs.
func anyJob(running map[berth.JobID]int, r *rapid.T) (berth.JobID, bool) {
	var ids []berth.JobID
	for i := range 1000 {
		if id := berth.JobID(fmt.Sprint("j", i)); running[id] > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", false
	}
	return rapid.SampledFrom(ids).Draw(r, "job"), true
}

// A queue that asks for exactly its fair share is not over it, and one more GPU is.
func TestExplainAtExactlyTheFairShare(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.of("b", "b0", 4)
	d.of("b", "b1", 4)
	require.Len(t, d.pass(), 2, "they are being started, and cannot be asked to go")
	d.of("a", "exactly", 4)
	d.of("a", "more", 5)
	require.Empty(t, d.pass())
	for id, over := range map[berth.JobID]bool{"exactly": false, "more": true} {
		e, err := d.Explain(id)
		require.NoError(t, err)
		require.Equal(t, over, strings.Contains(e.Replicas[0].Reason.Preemption, "more than its fair share"), e.Replicas[0].Reason.Preemption)
	}
}

// What fits exactly into the guarantee of its queue is due by it: it is taken back at any price.
func TestExactlyTheGuaranteeIsDue(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, _ *quota.Queue) {})
	d.of("b", "b0", 4)
	d.of("b", "b1", 4)
	for _, o := range d.pass() {
		d.report(o, berth.OutcomeDone)
	}
	d.now += berth.Time(10 * berth.Hour)
	d.of("a", "exactly", 4)
	orders := d.pass()
	require.Len(t, orders, 1)
	require.Equal(t, berth.ReplicaRef{Job: "exactly"}, orders[0].Header().Cause.Beneficiary)
}

// Explain tells where a job stands in its queue, and its queue among its siblings.
func TestExplainTellsTheStanding(t *testing.T) {
	d := shared(t, berth.Config{Policy: berth.Policy{PassBudget: 1}}, func(_, b *quota.Queue) { b.Weight = 3 })
	d.of("a", "a0", 6)
	d.of("b", "b0", 6)
	d.of("b", "b1", 6)
	d.of("b", "b2", 6)
	d.pass()
	e, err := d.Explain("b2")
	require.NoError(t, err)
	require.Equal(t, 2, e.Replicas[0].Position, "after b1, as b0 has started")
	require.Len(t, e.Positions, 1)
	require.False(t, e.Positions[0].WithinGuarantee, "its next job would take it over its guarantee")
	require.Equal(t, 2, e.Positions[0].Position, "a borrows less for its weight with its next job")
	require.EqualValues(t, 4000, e.Positions[0].FairMilli, "both want all that is theirs")
	require.EqualValues(t, 6000, e.Positions[0].NextMilli)
	require.EqualValues(t, 4000, e.Positions[0].GuaranteedMilli)
	require.EqualValues(t, 3, e.Positions[0].Weight)
	require.EqualValues(t, 1000, e.Positions[0].WeightFactorMilli)
	e, err = d.Explain("b0")
	require.NoError(t, err)
	require.Zero(t, e.Replicas[0].Position)
	require.Nil(t, e.Positions)
}

// The largest hosts that a fleet may have add up to more than a quota tree counts, and
// that is no reason to fall over.
func TestAFleetOfTheLargestHosts(t *testing.T) {
	d := newDivided(t, berth.Geometry{})
	for i := range 300 {
		d.tell(berth.NodeJoined{Node: berth.Node{ID: berth.NodeID(fmt.Sprint("n", i)), CPUMilli: 1 << 32, MemoryMiB: 1 << 32}})
	}
	d.pass()
	for i := range 299 {
		d.tell(berth.NodeLost{Node: berth.NodeID(fmt.Sprint("n", i))})
	}
	d.pass()
}

// When a queue goes, what it did not lend is there for others at once.
func TestARemovedQueueKeepsNothing(t *testing.T) {
	d := shared(t, berth.Config{}, func(_, b *quota.Queue) { b.LendingLimit = gpuMilli(0) })
	for i := range 8 {
		d.of("a", berth.JobID(fmt.Sprint("a", i)), 1)
	}
	require.Len(t, d.pass(), 4)
	d.tell(berth.QueueRemoved{Queue: "b"})
	require.Len(t, d.pass(), 4)
}

// A snapshot whose ledger or past is not that of what is held is refused.
func TestAForgedPastIsRefused(t *testing.T) {
	d := shared(t, berth.Config{Ledger: true, Policy: berth.Policy{UsageHalfLife: berth.Hour}}, func(_, _ *quota.Queue) {})
	d.of("a", "a0", 6)
	d.carryOut(d.pass())
	d.now += 1000
	b, err := d.Snapshot()
	require.NoError(t, err)
	for old, forged := range map[string]string{
		`"guaranteed":{"rateMilli":4000`: `"guaranteed":{"rateMilli":1000`,
		`"borrowed":{"rateMilli":2000`:   `"borrowed":{"rateMilli":0`,
		`"allocated":{"rateMilli":6000`:  `"allocated":{"rateMilli":7000`,
		`"halfLifeMilliseconds":3600000`: `"halfLifeMilliseconds":6400000`,
	} {
		require.Contains(t, string(b), old)
		_, err := core.Restore([]byte(strings.ReplaceAll(string(b), old, forged)))
		require.ErrorIs(t, err, berth.ErrInvalid, "%s", forged)
	}
}
