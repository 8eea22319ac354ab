package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/internal/drawn"
)

// TestWholeGangsAreGivenBack: two queues with a guarantee of one GPU each, and a
// gang of two of the one on both. It is not to keep the other from its own.
func TestWholeGangsAreGivenBack(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPUMilli, 2))
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 1}})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: 1}})
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(a, 2))
	require.NoError(t, shares.SetDemand(b, 2))
	require.Equal(t, DueByGuarantee, shares.Due(a, gpus(1)))
	require.Equal(t, DueNone, shares.Due(a, gpus(2)))
	require.Equal(t, DueNone, shares.Due(RootQueue, gpus(0)))
	require.NoError(t, tree.Charge(a, gpus(2)))
	verdict, ok := shares.MayReclaim(b, gpus(1), a, gpus(2))
	require.False(t, ok)
	require.Equal(t, ReclaimVerdict{Reason: ReclaimBelowGuarantee, At: a, Used: 0, Bound: 1}, verdict)
	verdict, ok = shares.MayReclaimWhole(b, gpus(1), a, gpus(2), DueNone)
	require.True(t, ok)
	require.Equal(t, ReclaimWhole, verdict.Reason)
	verdict, ok = shares.MayReclaimWhole(b, gpus(2), a, gpus(2), DueNone)
	require.False(t, ok)
	require.Equal(t, ReclaimOverShare, verdict.Reason)
	require.NoError(t, tree.Discharge(a, gpus(1)))
	verdict, ok = shares.MayReclaimWhole(b, gpus(1), a, gpus(1), DueNone)
	require.False(t, ok, "within its guarantee it keeps what it has")
	require.Equal(t, ReclaimBelowGuarantee, verdict.Reason)
}

// TestWholeReclaimEnds: with jobs of any size, and those that are borrowed as a
// whole given back for guarantees, own jobs never go, the potential rises with each
// exchange, and it ends.
func TestWholeReclaimEnds(t *testing.T) {
	whole := 0
	drawn.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(3, 9).Draw(t, "largest")
		w := drawCrowd(t, false, largest)
		potential := func() (guaranteed, due int64) {
			for _, j := range w.jobs {
				if j.running && j.due == DueByGuarantee {
					guaranteed += j.gpus
				}
				if j.running && j.due != DueNone {
					due += j.gpus
				}
			}
			return guaranteed, due
		}
		for k := range w.jobs {
			w.start(t, k)
		}
		for round := range 3 {
			if round > 0 { // with other demand some own jobs are no longer, and others are
				w.churn(t, largest)
				for k := range w.jobs {
					w.jobs[k].due = DueNone
				}
			}
			for moved := true; moved; {
				moved = false
				order := rapid.Permutation(count(len(w.jobs))).Draw(t, "order")
				for _, k := range order {
					guaranteed, due := potential()
					victims, took, started := w.exchangeWhole(t, k, order)
					if !started {
						continue
					}
					moved = true
					whole += took
					nowGuaranteed, nowDue := potential()
					require.GreaterOrEqual(t, nowGuaranteed, guaranteed)
					if victims > 0 {
						require.True(t, nowGuaranteed > guaranteed || nowGuaranteed == guaranteed && nowDue > due, "from %d, %d to %d, %d", guaranteed, due, nowGuaranteed, nowDue)
					}
				}
			}
		}
	})
	if drawn.Many() {
		require.Positive(t, whole, "the test has to see some")
	}
}

// TestS4_OwnersAreServed: whatever the sizes of jobs, the limits and what is lent, and
// whoever was there first, reclaim ends where no queue waits for a job that is within
// its guaranteed share with what it uses. So with demand for it every queue has its
// guarantee, but for less than the least of its jobs that wait.
func TestS4_OwnersAreServed(t *testing.T) {
	taken, waiting := 0, 0
	drawn.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(1, 9).Draw(t, "largest")
		w := drawCrowd(t, true, largest)
		capacity, _ := w.tree.Capacity(GPUMilli) // at least what is guaranteed, or nobody can have it
		require.NoError(t, w.tree.SetCapacity(GPUMilli, max(capacity, w.tree.nodes[RootQueue].host[gpuID].below)))
		for round := range 3 {
			if round > 0 {
				w.churn(t, largest)
			}
			for k := range w.jobs {
				w.jobs[k].due = DueNone // also of what the first come take
				w.start(t, k)
			}
			for moved := true; moved; {
				moved = false
				for _, k := range rapid.Permutation(count(len(w.jobs))).Draw(t, "order") {
					given, _, started := w.exchangeWhole(t, k, count(len(w.jobs)))
					taken += given
					moved = moved || started
				}
			}
			require.NoError(t, w.tree.Check())
			for _, j := range w.jobs {
				if j.running {
					continue
				}
				waiting++
				require.NotEqual(t, DueByGuarantee, w.shares.Due(j.leaf, j.charge()), "%d more for %s, which uses %d of its %d",
					j.gpus, w.tree.Name(j.leaf), w.tree.Used(j.leaf, GPUMilli), w.shares.Guaranteed(j.leaf))
			}
		}
	})
	if drawn.Many() {
		require.Positive(t, taken)
		require.Positive(t, waiting)
	}
}

// exchangeWhole starts a job, if need be in the place of others that are not their
// queues' own, and counts these and those that only MayReclaimWhole lets go.
func (w *crowd) exchangeWhole(t require.TestingT, k int, others []int) (given, whole int, started bool) {
	if w.start(t, k) {
		return 0, 0, true
	}
	j := &w.jobs[k]
	if j.running {
		return 0, 0, false
	}
	var victims []int
	enough := func() bool {
		_, fits := w.tree.Fits(j.leaf, j.charge())
		return fits && w.idle() >= j.gpus
	}
	for before := -1; before < len(victims) && !enough(); { // one that goes may let others go
		before = len(victims)
		for _, o := range others {
			v := &w.jobs[o]
			if enough() || !v.running {
				continue
			}
			if verdict, ok := w.shares.MayReclaimWhole(j.leaf, j.charge(), v.leaf, v.charge(), v.due); ok {
				if verdict.Reason == ReclaimWhole {
					whole++
				}
				require.NoError(t, w.tree.Discharge(v.leaf, v.charge()))
				v.running = false
				victims = append(victims, o)
			}
		}
	}
	if w.start(t, k) {
		return len(victims), whole, true
	}
	for _, o := range victims {
		require.NoError(t, w.tree.Charge(w.jobs[o].leaf, w.jobs[o].charge()))
		w.jobs[o].running = true
	}
	return 0, 0, false
}
