package quota

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
)

// bigShares is bigTree with a capacity that is scarce, demand at every leaf, past
// use and some lending limits.
func bigShares(t testing.TB) (*Tree, *Shares, []QueueIndex) {
	t.Helper()
	tree, leaves := bigTree(t)
	require.NoError(t, tree.SetHalfLife(64_000))
	require.NoError(t, tree.SetCapacity(GPUMilli, 120_000_000))
	shares, err := NewShares(tree, GPUMilli, 1000)
	require.NoError(t, err)
	for k, i := range leaves {
		require.NoError(t, shares.SetDemand(i, int64(1+k*7919%23)*1000))
		if q := tree.Config(i); k%10 == 0 {
			q.LendingLimit = Amounts{GPUMilli: 4000}
			mustSet(t, tree, q)
		}
	}
	require.NoError(t, tree.Advance(10_000))
	require.NoError(t, tree.Check())
	return tree, shares, leaves
}

// flatShares is 10,000 queues below one: the widest level there is.
func flatShares(t testing.TB) (*Tree, *Shares, []QueueIndex) {
	t.Helper()
	tree := NewTree()
	shares, err := NewShares(tree, GPUMilli, 1000)
	require.NoError(t, err)
	var leaves []QueueIndex
	for k := range 10_000 {
		i := mustSet(t, tree, Queue{Name: QueueID(fmt.Sprintf("q%05d", k)), Weight: int64(k%17 + 1), Guarantee: Amounts{GPUMilli: int64(k%5) * 1000}})
		leaves = append(leaves, i)
		require.NoError(t, shares.SetDemand(i, int64(k*7919%97)*1000))
	}
	require.NoError(t, tree.SetCapacity(GPUMilli, 200_000_000))
	return tree, shares, leaves
}

// TestFairnessAllocatesNothing guards the steady state of shares, reclaim, the past
// and the ledger.
func TestFairnessAllocatesNothing(t *testing.T) {
	tree, shares, leaves := bigShares(t)
	c := Charge{GPUMilli: 1000, Host: countable.Amounts{countable.CPUMilli: 10}, Product: tree.Product("H100")}
	ledger := &Ledger{}
	key := LedgerKey{Queue: "a", Class: "batch", Product: "H100", Tenant: "x"}
	require.NoError(t, ledger.Add(key, 1, 0))
	var all []int64
	var victims []Borrower
	var standing []Position
	n := 0
	for _, i := range leaves {
		ledger.Follow(tree, i)
	}
	for name, f := range map[string]func(QueueIndex){
		"charge with a past": func(i QueueIndex) { _ = tree.Charge(i, c); _ = tree.Discharge(i, c) },
		"advance":            func(QueueIndex) { _ = tree.Advance(tree.Now() + 400) },
		"demand":             func(i QueueIndex) { _ = shares.SetDemand(i, shares.Demand(i)^1000); shares.Of(i) },
		"divide":             func(QueueIndex) { all = shares.All(all) },
		"divide guarantees":  func(QueueIndex) { all = shares.AllGuaranteed(all) },
		"may reclaim":        func(i QueueIndex) { shares.MayReclaim(i, c, leaves[(n*31)%len(leaves)], c) },
		"victims":            func(i QueueIndex) { victims = shares.Borrowers(victims, i, c) },
		"standing":           func(i QueueIndex) { standing = tree.Positions(standing, i) },
		"ledger": func(i QueueIndex) {
			_ = ledger.Advance(ledger.Now() + 1)
			_ = ledger.Add(key, 1, 1)
			ledger.Read(key)
			ledger.Follow(tree, i)
		},
	} {
		for range 3 { // buffers grow once
			f(leaves[0])
		}
		require.Zero(t, testing.AllocsPerRun(50, func() {
			n++
			f(leaves[n*7919%len(leaves)])
		}), name)
	}
	require.NoError(t, tree.Check())
}

func BenchmarkChargeWithPast(b *testing.B) {
	tree, _, leaves := bigShares(b)
	c := Charge{GPUMilli: 8000, Host: countable.Amounts{countable.CPUMilli: 1000, countable.MemoryMiB: 10}, Product: tree.Product("H100")}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		i := leaves[n*7919%len(leaves)]
		_ = tree.Charge(i, c)
		_ = tree.Discharge(i, c)
		n++
	}
}

func BenchmarkNext(b *testing.B) {
	tree, _, _ := bigShares(b)
	b.ReportAllocs()
	for b.Loop() {
		tree.Next()
	}
}

// BenchmarkAdvance is the end of a step: all averages, tilts and heaps.
func BenchmarkAdvance(b *testing.B) {
	tree, _, _ := bigShares(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = tree.Advance(tree.Now() + 1000)
	}
	b.ReportMetric(float64(tree.Len()), "queues")
}

func benchmarkDivide(b *testing.B, tree *Tree, shares *Shares, leaves []QueueIndex) {
	b.Helper()
	var all []int64
	b.Run("all", func(b *testing.B) { // every level is worked out anew
		b.ReportAllocs()
		for b.Loop() {
			clear(shares.fair.current)
			all = shares.All(all)
		}
		b.ReportMetric(float64(tree.Len()), "queues")
	})
	b.Run("rebuild", func(b *testing.B) { // after a change of the tree
		b.ReportAllocs()
		for b.Loop() {
			shares.fresh = false
			all = shares.All(all)
		}
	})
	b.Run("one demand", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			i := leaves[n*7919%len(leaves)]
			_ = shares.SetDemand(i, shares.Demand(i)^1000)
			shares.Of(i)
			n++
		}
	})
	b.Run("one share", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			shares.Of(leaves[n*7919%len(leaves)])
			n++
		}
	})
}

func BenchmarkDivide(b *testing.B) {
	tree, shares, leaves := bigShares(b)
	benchmarkDivide(b, tree, shares, leaves)
}

func BenchmarkDivideFlat(b *testing.B) {
	tree, shares, leaves := flatShares(b)
	benchmarkDivide(b, tree, shares, leaves)
}

func BenchmarkMayReclaim(b *testing.B) {
	_, shares, leaves := bigShares(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		shares.MayReclaim(leaves[n*31%len(leaves)], gpus(1000), leaves[n*7919%len(leaves)], gpus(1000))
		n++
	}
}

func BenchmarkVictims(b *testing.B) {
	_, shares, leaves := bigShares(b)
	var victims []Borrower
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		victims = shares.Borrowers(victims, leaves[n*7919%len(leaves)], gpus(1000))
		n++
	}
}

func BenchmarkLedger(b *testing.B) {
	tree, _, leaves := bigShares(b)
	ledger := &Ledger{}
	key := LedgerKey{Queue: "a", Class: "batch", Product: "H100", Tenant: "x"}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_ = ledger.Advance(int64(n))
		_ = ledger.Add(key, 1, 0)
		ledger.Follow(tree, leaves[n*7919%len(leaves)])
		n++
	}
}
