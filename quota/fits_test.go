package quota

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
)

// All that is in the way is told at once, from the queue up; what is kept of one
// product is told apart from limits, and from what is kept of GPUs in all.
func TestAllThatIsInTheWay(t *testing.T) {
	tree := NewTree()
	h100 := mustRetain(t, tree, "H100")
	org := mustSet(t, tree, Queue{Name: "org", Limit: Amounts{GPUMilli: 9, MemoryMiB: 5}})
	team := mustSet(t, tree, Queue{
		Name: "team", Parent: "org", Guarantee: Amounts{CPUMilli: 1},
		Limit: Amounts{GPUMilliOf("H100"): 4}, BorrowingLimit: Amounts{CPUMilli: 1},
	})
	owner := mustSet(t, tree, Queue{
		Name: "owner", Guarantee: Amounts{GPUMilli: 6, GPUMilliOf("H100"): 6}, LendingLimit: Amounts{GPUMilli: 1, GPUMilliOf("H100"): 0},
	})
	require.NoError(t, tree.SetCapacity(GPUMilli, 16))
	require.NoError(t, tree.SetCapacity(GPUMilliOf("H100"), 8))
	require.NoError(t, tree.Charge(team, Charge{GPUMilli: 1, Product: h100}))
	asked := Charge{GPUMilli: 9, Host: countable.Amounts{countable.CPUMilli: 3, countable.MemoryMiB: 6}, Product: h100}
	all := tree.InTheWay(nil, team, asked)
	require.Equal(t, []Verdict{
		{At: team, Resource: GPUMilliOf("H100"), Limit: 4, Used: 1, Asked: 9, Kind: VerdictLimit},
		{At: team, Resource: CPUMilli, Limit: 2, Asked: 3, Kind: VerdictBorrowingLimit},
		{At: org, Resource: GPUMilli, Limit: 9, Used: 1, Asked: 9, Kind: VerdictLimit},
		{At: org, Resource: MemoryMiB, Limit: 5, Asked: 6, Kind: VerdictLimit},
		{At: RootQueue, Resource: GPUMilliOf("H100"), Limit: 8, Used: 1, Asked: 9, Kind: VerdictLendingLimit, Withheld: 6},
	}, all)
	queue, kept := tree.WithheldBy(all[4])
	require.Equal(t, owner, queue)
	require.Equal(t, int64(6), kept)
	mustSet(t, tree, Queue{Name: "team", Parent: "org", Limit: Amounts{GPUMilli: 3}, BorrowingLimit: Amounts{GPUMilli: 2}})
	require.Equal(t, []Verdict{
		{At: team, Resource: GPUMilli, Limit: 2, Used: 1, Asked: 9, Kind: VerdictBorrowingLimit},
		{At: team, Resource: GPUMilli, Limit: 3, Used: 1, Asked: 9, Kind: VerdictLimit},
	}, tree.InTheWay(nil, team, asked)[:2], "the lower limit first")
	require.Zero(t, testing.AllocsPerRun(5, func() { tree.Fits(team, asked) }))
	mustSet(t, tree, Queue{Name: "team", Parent: "org"})
	require.Empty(t, tree.InTheWay(all, team, Charge{GPUMilli: 1, Product: h100}))
	require.Len(t, tree.InTheWay(nil, team, Charge{GPUMilli: 2, Product: h100}), 1, "of the product it is kept, of GPUs in all not")
}

// What could never be charged fits nowhere, however large it is.
func TestFitsHugeAmounts(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: MaxAmount}, LendingLimit: Amounts{GPUMilli: 0}})
	require.NoError(t, tree.SetCapacity(GPUMilli, MaxAmount))
	for _, c := range []Charge{gpus(MaxAmount + 1), gpus(math.MaxInt64), {Host: countable.Amounts{countable.CPUMilli: math.MaxInt64}}, {Host: countable.Amounts{countable.MemoryMiB: math.MaxInt64}}} {
		verdict, fits := tree.Fits(a, c)
		require.False(t, fits)
		require.Equal(t, NoQueue, verdict.At)
	}
	_, fits := tree.Fits(a, gpus(MaxAmount))
	require.True(t, fits)
}

// TestInTheWayIsAllThatIs: when all that is in the way of a charge is changed by what
// was said of it, the charge fits; when one of it is not, that one stays in the way.
func TestInTheWayIsAllThatIs(t *testing.T) {
	several := 0
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		mustRetain(t, tree, "H100")
		i, parent := NoQueue, QueueID("")
		for d := range rapid.IntRange(1, 3).Draw(t, "depth") {
			name := QueueID(fmt.Sprintf("q%d", d))
			i = mustSet(t, tree, Queue{Name: name, Parent: parent})
			q := Queue{Name: name, Parent: parent, Limit: drawAmounts(t, "limit"), BorrowingLimit: drawAmounts(t, "borrowing limit")}
			owner := Queue{Name: "owner " + name, Parent: parent, Guarantee: drawAmounts(t, "guarantee"), LendingLimit: drawAmounts(t, "lending limit")}
			for _, q := range []Queue{q, owner} { // some do not add up
				_, _ = tree.Set(q)
			}
			parent = name
		}
		for _, r := range []Resource{GPUMilli, CPUMilli, GPUMilliOf("H100")} {
			require.NoError(t, tree.SetCapacity(r, rapid.Int64Range(-1, 12).Draw(t, "capacity")))
		}
		c := Charge{GPUMilli: 3, Host: countable.Amounts{countable.CPUMilli: 2, countable.MemoryMiB: 1}, Product: tree.Product("H100")}
		for range rapid.IntRange(0, 2).Draw(t, "charges") {
			require.NoError(t, tree.Charge(i, c))
		}
		all := tree.InTheWay(nil, i, c)
		several += max(0, len(all)-1)
		spared := rapid.IntRange(0, len(all)).Draw(t, "spared")
		for k, v := range all {
			if k == spared {
				continue
			}
			needed := v.Used + v.Asked + v.Withheld
			if v.At == RootQueue {
				require.NoError(t, tree.SetCapacity(v.Resource, needed))
				continue
			}
			q := tree.Config(v.At)
			if limit, ok := q.Limit[v.Resource]; ok && v.Kind != VerdictBorrowingLimit {
				q.Limit[v.Resource] = max(limit, needed)
			}
			if b, ok := q.BorrowingLimit[v.Resource]; ok && v.Kind != VerdictLimit {
				promised := tree.statement(v.At, v.Resource)
				q.BorrowingLimit[v.Resource] = max(b, needed-promised.promised())
			}
			mustSet(t, tree, q)
		}
		left := tree.InTheWay(nil, i, c)
		if spared == len(all) {
			require.Empty(t, left)
			return
		}
		require.Equal(t, all[spared:spared+1], left)
	})
	if drawn.Many() {
		require.Greater(t, several, 5, "the test has to see some that are in the way together")
	}
}

// What is never reclaimed fits into the guarantee of its queue together, whatever else that uses,
// and no further; without a guarantee nothing does.
func TestNonPreemptible(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 4}})
	b := mustSet(t, tree, Queue{Name: "b"})
	fixed := func(n int64) Charge { return Charge{GPUMilli: n, NonPreemptible: true} }
	require.NoError(t, tree.Charge(a, gpus(9)))
	require.NoError(t, tree.Charge(a, fixed(3)))
	_, fits := tree.Fits(a, fixed(1))
	require.True(t, fits)
	verdict, fits := tree.Fits(a, fixed(2))
	require.False(t, fits)
	require.Equal(t, Verdict{At: a, Resource: GPUMilli, Limit: 4, Used: 3, Asked: 2, Kind: VerdictNonPreemptible}, verdict)
	require.Error(t, tree.Discharge(a, fixed(4)), "of those that are never reclaimed three are in use")
	require.NoError(t, tree.Discharge(a, fixed(2)))
	_, fits = tree.Fits(a, fixed(3))
	require.True(t, fits)
	_, fits = tree.Fits(b, fixed(1))
	require.False(t, fits)
	require.NoError(t, tree.Check())
}
