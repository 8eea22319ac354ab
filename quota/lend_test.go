package quota

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func gpus(n int64) Charge { return Charge{GPUMilli: n, Product: NoProduct} }

// A queue that lends two of its eight GPUs keeps six free, in a fleet whose
// capacity is known; and has them without asking anyone.
func TestWhatIsNotLentStaysFree(t *testing.T) {
	tree := NewTree()
	owner := mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 8}, LendingLimit: Amounts{GPUMilli: 2}})
	guest := mustSet(t, tree, Queue{Name: "guest"})
	_, fits := tree.Fits(guest, gpus(10))
	require.True(t, fits, "without a capacity nothing is known to be kept")

	require.NoError(t, tree.SetCapacity(GPUMilli, 10))
	_, fits = tree.Fits(guest, gpus(4))
	require.True(t, fits)
	verdict, fits := tree.Fits(guest, gpus(5))
	require.False(t, fits)
	require.Equal(t, Verdict{At: RootQueue, Resource: GPUMilli, Limit: 10, Asked: 5, Kind: VerdictLendingLimit, Withheld: 6}, verdict)
	for_, amount := tree.WithheldBy(verdict)
	require.Equal(t, owner, for_)
	require.Equal(t, int64(6), amount)

	require.NoError(t, tree.SetCapacity(GPUMilli, 3))
	_, fits = tree.Fits(owner, gpus(1))
	require.True(t, fits, "its own reserve bears it, whatever has become of the fleet")
	require.NoError(t, tree.SetCapacity(GPUMilli, 10))
	require.NoError(t, tree.Charge(guest, gpus(4)))
	_, fits = tree.Fits(owner, gpus(6))
	require.True(t, fits)
	require.NoError(t, tree.Charge(owner, gpus(5)))
	require.Equal(t, int64(1), tree.withheldFrom(owner, GPUMilli))
	_, fits = tree.Fits(owner, gpus(2))
	require.True(t, fits, "beyond what it kept for itself it is capacity that says no")
	require.NoError(t, tree.Charge(owner, gpus(1)))
	_, fits = tree.Fits(guest, gpus(5))
	require.True(t, fits, "nothing is kept any more; whether there is room is for placement to say")
	require.NoError(t, tree.Check())

	mustSet(t, tree, Queue{Name: "owner", Guarantee: Amounts{GPUMilli: 8}})
	require.Zero(t, tree.withheldFrom(RootQueue, GPUMilli))
	at, _ := tree.WithheldBy(Verdict{At: RootQueue, Resource: GPUMilli, Kind: VerdictLendingLimit})
	require.Equal(t, RootQueue, at)
	at, _ = tree.WithheldBy(Verdict{At: RootQueue, Resource: GPUMilli})
	require.Equal(t, NoQueue, at)
}

// Below the limit of a parent as well: what a project does not lend its sibling
// cannot have, of what both may use together.
func TestWhatIsNotLentStaysFreeBelowALimit(t *testing.T) {
	tree := NewTree()
	org := mustSet(t, tree, Queue{Name: "org", Limit: Amounts{GPUMilli: 10}})
	team := mustSet(t, tree, Queue{Name: "team", Parent: "org"})
	deep := mustSet(t, tree, Queue{Name: "deep", Parent: "team", Guarantee: Amounts{GPUMilli: 4}, LendingLimit: Amounts{GPUMilli: 0}})
	guest := mustSet(t, tree, Queue{Name: "guest", Parent: "org"})
	verdict, fits := tree.Fits(guest, gpus(7))
	require.False(t, fits)
	require.Equal(t, Verdict{At: org, Resource: GPUMilli, Limit: 10, Asked: 7, Kind: VerdictLendingLimit, Withheld: 4}, verdict)
	for_, _ := tree.WithheldBy(verdict)
	require.Equal(t, deep, for_)
	require.Equal(t, int64(4), tree.withheldFrom(team, GPUMilli))
	_, fits = tree.Fits(deep, gpus(10))
	require.True(t, fits)
}

// A borrowing limit counts from the guarantee; lowered below what is used it
// strands nobody.
func TestBorrowingLimit(t *testing.T) {
	tree := NewTree()
	h100 := mustRetain(t, tree, "H100")
	q := Queue{Name: "a", Guarantee: Amounts{GPUMilli: 4}, BorrowingLimit: Amounts{GPUMilli: 2, GPUMilliOf("H100"): 5}}
	a := mustSet(t, tree, q)
	_, fits := tree.Fits(a, gpus(6))
	require.True(t, fits)
	verdict, fits := tree.Fits(a, gpus(7))
	require.False(t, fits)
	require.Equal(t, Verdict{At: a, Resource: GPUMilli, Limit: 6, Asked: 7, Kind: VerdictBorrowingLimit}, verdict)
	verdict, _ = tree.Fits(a, Charge{GPUMilli: 6, Product: h100})
	require.Equal(t, Verdict{At: a, Resource: GPUMilliOf("H100"), Limit: 5, Asked: 6, Kind: VerdictBorrowingLimit}, verdict)

	require.NoError(t, tree.Charge(a, gpus(6)))
	q.BorrowingLimit = Amounts{GPUMilli: 0}
	mustSet(t, tree, q)
	require.Equal(t, int64(6), tree.Used(a, GPUMilli))
	_, fits = tree.Fits(a, gpus(1))
	require.False(t, fits)
	require.Equal(t, int64(4), tree.Covered(a, GPUMilli))
	require.Equal(t, "limit, borrowing-limit, lending-limit, VerdictKind(9)",
		VerdictLimit.String()+", "+VerdictBorrowingLimit.String()+", "+VerdictLendingLimit.String()+", "+VerdictKind(9).String())
}

func TestSetCapacityRefuses(t *testing.T) {
	tree := NewTree()
	tree.maxProducts = 1
	require.NoError(t, tree.SetCapacity(GPUMilliOf("H100"), 8))
	require.NotEqual(t, NoProduct, tree.Product("H100"), "a product lives while its capacity is known")
	require.ErrorIs(t, tree.SetCapacity(GPUMilliOf("A100"), 8), ErrLimit)
	require.ErrorContains(t, tree.SetCapacity("disk", 8), `quota: capacity["disk"]: is none of`)
	require.ErrorIs(t, tree.SetCapacity(GPUMilli, -2), ErrInvalid)
	require.ErrorIs(t, tree.SetCapacity(GPUMilli, MaxAmount+1), ErrInvalid)
	require.Equal(t, Amounts{GPUMilliOf("H100"): 8}, tree.nodes[RootQueue].config.Limit)
	require.NoError(t, tree.SetCapacity(GPUMilliOf("H100"), UnknownCapacity))
	require.Equal(t, NoProduct, tree.Product("H100"))
	_, known := tree.Capacity(GPUMilliOf("H100"))
	require.False(t, known)
	require.NoError(t, tree.Check())
}

// Priority sets siblings apart once their guarantees are met, and never before.
func TestPriorityComesAfterGuarantees(t *testing.T) {
	tree := NewTree()
	first := mustSet(t, tree, Queue{Name: "first", Priority: 1})
	owed := mustSet(t, tree, Queue{Name: "owed", Guarantee: Amounts{GPUMilli: 2}})
	last := mustSet(t, tree, Queue{Name: "last", Priority: -1, Weight: 9})
	for _, i := range []QueueIndex{first, owed, last} {
		tree.activateUnknown(i)
	}
	served := []QueueIndex{}
	for range 6 {
		i, _ := tree.Next()
		served = append(served, i)
		require.NoError(t, tree.Charge(i, gpus(1)))
	}
	require.Equal(t, []QueueIndex{owed, owed, first, first, first, first}, served)
	tree.Deactivate(first)
	i, _ := tree.Next()
	require.Equal(t, owed, i)
	shares, err := NewShares(tree, GPUMilli, 1)
	require.NoError(t, err)
	require.NoError(t, tree.SetCapacity(GPUMilli, 10))
	for _, i := range []QueueIndex{first, owed, last} {
		require.NoError(t, shares.SetDemand(i, 7))
	}
	require.Equal(t, []int64{10, 7, 3, 0}, shares.All(nil))
}

// A promise to a project counts for its team and organisation where these state
// none: it is served before borrowers elsewhere, and what its sibling borrows
// counts as borrowed.
func TestGuaranteeBelowSilentQueues(t *testing.T) {
	tree := NewTree()
	mustSet(t, tree, Queue{Name: "org"})
	mustSet(t, tree, Queue{Name: "team", Parent: "org"})
	promised := mustSet(t, tree, Queue{Name: "promised", Parent: "team", Guarantee: Amounts{GPUMilli: 4}})
	sibling := mustSet(t, tree, Queue{Name: "sibling", Parent: "org"})
	other := mustSet(t, tree, Queue{Name: "a"})
	for _, i := range []QueueIndex{promised, sibling, other} {
		tree.activateUnknown(i)
	}
	require.NoError(t, tree.Charge(sibling, gpus(9)))
	for range 4 {
		i, _ := tree.Next()
		require.Equal(t, promised, i)
		require.NoError(t, tree.Charge(i, gpus(1)))
	}
	i, _ := tree.Next()
	require.Equal(t, other, i)
	org, _ := tree.Lookup("org")
	require.Equal(t, int64(4), tree.Covered(org, GPUMilli))
	require.NoError(t, tree.Discharge(promised, gpus(1)))
	standing := tree.Positions(nil, promised)
	require.Len(t, standing, 3)
	require.Equal(t, Position{Queue: org, Position: 1, Siblings: 2, WithinGuarantee: true, Used: 12, Covered: 3, Guaranteed: 4, Weight: 1, Tilt: fullTilt}, standing[0])
	tree.Deactivate(promised)
	standing = tree.Positions(standing, sibling)
	require.Len(t, standing, 2)
	require.Equal(t, Position{Queue: org, Position: 2, Siblings: 2, Used: 12, Covered: 3, Guaranteed: 4, Weight: 1, Tilt: fullTilt}, standing[0])
	require.Empty(t, tree.Positions(nil, NoQueue))
	require.Empty(t, tree.Positions(nil, RootQueue))
	require.Zero(t, tree.Positions(nil, promised)[2].Position)
	require.NoError(t, tree.Check())
}
