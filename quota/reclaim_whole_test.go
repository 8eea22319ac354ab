package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWholeGangsAreGivenBack: two queues with a guarantee of one GPU each, and a
// gang of two of the one on both. It is not to keep the other from its own.
func TestWholeGangsAreGivenBack(t *testing.T) {
	tree := NewTree()
	require.NoError(t, tree.SetCapacity(GPU, 2))
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPU: 1}})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPU: 1}})
	shares, err := NewShares(tree, GPU, 1)
	require.NoError(t, err)
	require.NoError(t, shares.SetDemand(a, 2))
	require.NoError(t, shares.SetDemand(b, 2))
	require.True(t, shares.Owns(a, gpus(1)))
	require.False(t, shares.Owns(a, gpus(2)))
	require.False(t, shares.Owns(Root, gpus(0)))
	require.NoError(t, tree.Charge(a, gpus(2)))
	verdict, ok := shares.MayReclaim(b, gpus(1), a, gpus(2))
	require.False(t, ok)
	require.Equal(t, ReclaimVerdict{Reason: ReclaimBelowGuarantee, At: a, Used: 0, Bound: 1}, verdict)
	verdict, ok = shares.MayReclaimWhole(b, gpus(1), a, gpus(2))
	require.True(t, ok)
	require.Equal(t, ReclaimWhole, verdict.Reason)
	verdict, ok = shares.MayReclaimWhole(b, gpus(2), a, gpus(2))
	require.False(t, ok)
	require.Equal(t, ReclaimOverShare, verdict.Reason)
	require.NoError(t, tree.Discharge(a, gpus(1)))
	verdict, ok = shares.MayReclaimWhole(b, gpus(1), a, gpus(1))
	require.False(t, ok, "within its guarantee it keeps what it has")
	require.Equal(t, ReclaimBelowGuarantee, verdict.Reason)
}

// TestWholeReclaimEnds: with jobs of any size, and those that are borrowed as a
// whole given back for guarantees, own jobs never go, the potential rises with each
// exchange, and it ends.
func TestWholeReclaimEnds(t *testing.T) {
	whole := 0
	rapid.Check(t, func(t *rapid.T) {
		largest := rapid.Int64Range(3, 9).Draw(t, "largest")
		w := drawCrowd(t, false, largest)
		potential := func() (own, fair int64) {
			for _, j := range w.jobs {
				if j.running && j.own {
					own += j.gpus
				}
			}
			_, fair = w.potential()
			return own, fair
		}
		for k := range w.jobs {
			w.start(t, k)
		}
		for round := range 3 {
			if round > 0 { // with other demand some own jobs are no longer, and others are
				w.churn(t, largest)
				for k := range w.jobs {
					w.jobs[k].own = false
				}
			}
			for moved := true; moved; {
				moved = false
				order := rapid.Permutation(count(len(w.jobs))).Draw(t, "order")
				for _, k := range order {
					own, fair := potential()
					victims, took, started := w.exchangeWhole(t, k, order)
					if !started {
						continue
					}
					moved = true
					whole += took
					nowOwn, nowFair := potential()
					require.GreaterOrEqual(t, nowOwn, own)
					if victims > 0 {
						require.True(t, nowOwn > own || nowFair > fair, "from %d, %d to %d, %d", own, fair, nowOwn, nowFair)
					}
				}
			}
		}
	})
	require.Positive(t, whole, "the test has to see some")
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
	for _, o := range others {
		v := &w.jobs[o]
		if _, fits := w.tree.Fits(j.leaf, j.charge()); fits && w.idle() >= j.gpus {
			break
		}
		if !v.running || v.own {
			continue
		}
		if verdict, ok := w.shares.MayReclaimWhole(j.leaf, j.charge(), v.leaf, v.charge()); ok {
			if verdict.Reason == ReclaimWhole {
				whole++
			}
			require.NoError(t, w.tree.Discharge(v.leaf, v.charge()))
			v.running = false
			victims = append(victims, o)
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
