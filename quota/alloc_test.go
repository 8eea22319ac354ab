package quota

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
)

// bigTree has 10,000 queues: 10 organisations of 27 teams of 36 projects, with
// guarantees, limits and usage, all active.
func bigTree(t testing.TB) (*Tree, []QueueIndex) {
	t.Helper()
	tree := NewTree()
	h100 := mustRetain(t, tree, "H100")
	var leaves []QueueIndex
	set := func(name, parent QueueID, guarantee int64) QueueIndex {
		return mustSet(t, tree, Queue{
			Name: name, Parent: parent, Weight: int64(len(name)),
			Guarantee: Amounts{GPUMilli: guarantee}, Limit: Amounts{GPUMilli: 1 << 30, GPUMilliOf("H100"): 1 << 30, CPUMilli: 1 << 30},
		})
	}
	for o := range 10 {
		org := QueueID(fmt.Sprintf("org%d", o))
		set(org, "", 27*36*8000)
		for m := range 27 {
			team := QueueID(fmt.Sprintf("%s-team%d", org, m))
			set(team, org, 36*8000)
			for p := range 36 {
				i := set(QueueID(fmt.Sprintf("%s-project%d", team, p)), team, 8000)
				leaves = append(leaves, i)
				require.NoError(t, tree.Charge(i, Charge{GPUMilli: int64(1+(o+m+p)%16) * 1000, Host: countable.Amounts{countable.CPUMilli: 8}, Product: h100}))
				tree.activateUnknown(i)
			}
		}
	}
	require.Equal(t, 10*(1+27*(1+36)), tree.Len())
	require.NoError(t, tree.Check())
	return tree, leaves
}

// TestDecisionsAllocateNothing guards the steady state.
func TestDecisionsAllocateNothing(t *testing.T) {
	tree, leaves := bigTree(t)
	c := Charge{GPUMilli: 8000, Host: countable.Amounts{countable.CPUMilli: 1000, countable.MemoryMiB: 10}, Product: tree.Product("H100")}
	huge := Charge{GPUMilli: 1 << 31, Product: c.Product}
	verdicts, product := make([]Verdict, 0, 8), GPUMilliOf("H100")
	n := 0
	for name, f := range map[string]func(QueueIndex){
		"in the way": func(i QueueIndex) { verdicts = tree.InTheWay(verdicts, i, huge) },
		"charge":     func(i QueueIndex) { _ = tree.Charge(i, c); _ = tree.Discharge(i, c) },
		"fits":       func(i QueueIndex) { tree.Fits(i, c) },
		"fits not":   func(i QueueIndex) { tree.Fits(i, huge) },
		"within":     func(i QueueIndex) { tree.Within(i, c) },
		"next":       func(QueueIndex) { tree.Next() },
		"activate":   func(i QueueIndex) { tree.Deactivate(i); tree.activateUnknown(i) },
		"set next":   func(i QueueIndex) { n++; _ = tree.SetNext(i, Charge{GPUMilli: int64(n%9) * 1000}) },
		"capacity":   func(QueueIndex) { n++; _ = tree.SetCapacity(product, int64(n)) },
		"product":    func(QueueIndex) { tree.Product("H100") },
		"retain":     func(QueueIndex) { p, _ := tree.RetainProduct("H100"); tree.ReleaseProduct(p) },
	} {
		require.Zero(t, testing.AllocsPerRun(200, func() {
			n++
			f(leaves[n*7919%len(leaves)])
		}), name)
	}
	require.NoError(t, tree.Check())
}

// TestDeepTree: a chain as deep as the tree is large takes no stack.
func TestDeepTree(t *testing.T) {
	tree := NewTree()
	const depth = 10_000
	parent := QueueID("")
	for d := range depth {
		name := QueueID(fmt.Sprintf("q%d", d))
		mustSet(t, tree, Queue{Name: name, Parent: parent})
		parent = name
	}
	leaf, _ := tree.Lookup(parent)
	tree.activateUnknown(leaf)
	require.NoError(t, tree.Charge(leaf, Charge{GPUMilli: 5, Product: NoProduct}))
	next, ok := tree.Next()
	require.True(t, ok)
	require.Equal(t, leaf, next)
	require.Equal(t, int64(5), tree.Used(RootQueue, GPUMilli))
	require.NoError(t, tree.Check())
}

func BenchmarkCharge(b *testing.B) {
	tree, leaves := bigTree(b)
	c := Charge{GPUMilli: 8000, Host: countable.Amounts{countable.CPUMilli: 1000, countable.MemoryMiB: 10}, Product: tree.Product("H100")}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		i := leaves[n*7919%len(leaves)]
		_ = tree.Charge(i, c)
		_ = tree.Discharge(i, c)
		n++
	}
	b.ReportMetric(float64(tree.Len()), "queues")
}

func BenchmarkFits(b *testing.B) {
	tree, leaves := bigTree(b)
	c := Charge{GPUMilli: 8000, Host: countable.Amounts{countable.CPUMilli: 1000, countable.MemoryMiB: 10}, Product: tree.Product("H100")}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		tree.Fits(leaves[n*7919%len(leaves)], c)
		n++
	}
}

func BenchmarkInTheWay(b *testing.B) {
	tree, leaves := bigTree(b)
	huge := Charge{GPUMilli: 1 << 31, Host: countable.Amounts{countable.CPUMilli: 1 << 31}, Product: tree.Product("H100")}
	verdicts := make([]Verdict, 0, 16)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		verdicts = tree.InTheWay(verdicts, leaves[n*7919%len(leaves)], huge)
		n++
	}
	require.Len(b, verdicts, 9)
}

// BenchmarkServe is one turn of the loop: Next, Fits, Charge, and the next job of the
// queue; and now and then one that runs dry.
func BenchmarkServe(b *testing.B) {
	tree, _ := bigTree(b)
	c := Charge{GPUMilli: 1000, Product: tree.Product("H100")}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		i, _ := tree.Next()
		tree.Fits(i, c)
		_ = tree.Charge(i, c)
		if n++; n%4 == 0 {
			tree.Deactivate(i)
		}
		_ = tree.SetNext(i, Charge{GPUMilli: int64(n%8+1) * 1000})
	}
}

// BenchmarkSetNext is another job that becomes the first of its queue.
func BenchmarkSetNext(b *testing.B) {
	tree, leaves := bigTree(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_ = tree.SetNext(leaves[n*7919%len(leaves)], Charge{GPUMilli: int64(n%8+1) * 1000})
		n++
	}
}

// BenchmarkSetCapacity is a node that joins or leaves, with shares that follow.
func BenchmarkSetCapacity(b *testing.B) {
	tree, _ := bigTree(b)
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		_ = tree.SetCapacity(GPUMilli, 1<<20+n%16*8000)
		n++
	}
}

func BenchmarkSet(b *testing.B) {
	tree, leaves := bigTree(b)
	q := tree.Config(leaves[77])
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		q.Weight = n%7 + 1
		_, _ = tree.Set(q)
		n++
	}
}
