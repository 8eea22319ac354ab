package quota

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/fields"
)

func mustSet(t require.TestingT, tree *Tree, q Queue) QueueIndex {
	i, err := tree.Set(q)
	require.NoError(t, err)
	return i
}

func mustRetain(t require.TestingT, tree *Tree, product string) ProductIndex {
	p, err := tree.RetainProduct(product)
	require.NoError(t, err)
	return p
}

func TestSetRefuses(t *testing.T) {
	tree := NewTree()
	mustSet(t, tree, Queue{Name: "org", Guarantee: Amounts{GPUMilli: 10}, Limit: Amounts{GPUMilli: 20, CPUMilli: 5}})
	mustSet(t, tree, Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPUMilli: 6}})
	mustSet(t, tree, Queue{Name: "group", Parent: "org"})
	busy := mustSet(t, tree, Queue{Name: "busy"})
	require.NoError(t, tree.Retain(busy))
	full := mustSet(t, tree, Queue{Name: "full"})
	require.NoError(t, tree.Charge(full, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}))

	for _, c := range []struct {
		name  string
		queue Queue
		kind  error
		text  string
	}{
		{"empty name", Queue{}, ErrInvalid, `queue "": name: is empty`},
		{"control character", Queue{Name: "a\n"}, ErrInvalid, `name: has the control character U+000A`},
		{"not UTF-8", Queue{Name: "a\xff"}, ErrInvalid, `name: is not valid UTF-8`},
		{"long name", Queue{Name: QueueID(make([]byte, MaxNameBytes+1))}, ErrInvalid, `name: has 1025 bytes`},
		{"negative guarantee", Queue{Name: "a", Guarantee: Amounts{GPUMilli: -1}}, ErrInvalid, `guarantee["gpuMilli"]: is negative: -1`},
		{"negative limit", Queue{Name: "a", Limit: Amounts{MemoryMiB: -1}}, ErrInvalid, `limit["memoryMiB"]: is negative: -1`},
		{"huge limit", Queue{Name: "a", Limit: Amounts{CPUMilli: MaxAmount + 1}}, ErrInvalid, `limit["cpuMilli"]: 1099511627777 exceeds`},
		{"negative weight", Queue{Name: "a", Weight: -1}, ErrInvalid, `weight: is negative: -1`},
		{"no resource", Queue{Name: "a", Limit: Amounts{"disk": 1}}, ErrInvalid, `limit["disk"]: is none of`},
		{"no product", Queue{Name: "a", Limit: Amounts{"gpuMilli:": 1}}, ErrInvalid, `limit["gpuMilli:"]: the product is empty`},
		{"lending", Queue{Name: "a", LendingLimit: Amounts{GPUMilli: -1}}, ErrInvalid, `lendingLimit["gpuMilli"]: is negative: -1`},
		{"borrowing", Queue{Name: "a", BorrowingLimit: Amounts{"tpu": 1}}, ErrInvalid, `borrowingLimit["tpu"]: is none of`},
		{"parent unknown", Queue{Name: "a", Parent: "b"}, ErrUnknown, `parent: no queue is named "b"`},
		{"own parent", Queue{Name: "a", Parent: "a"}, ErrUnknown, `parent: no queue is named "a"`},
		{"moved", Queue{Name: "team"}, ErrUnsupported, `parent: moves the queue from "org" to ""`},
		{"below jobs", Queue{Name: "a", Parent: "busy"}, ErrInUse, `parent: "busy" has jobs of its own: 1`},
		{"below usage", Queue{Name: "a", Parent: "full"}, ErrInUse, `parent: "full" has usage of its own`},
		{"above its limit", Queue{Name: "a", Guarantee: Amounts{CPUMilli: 2}, Limit: Amounts{CPUMilli: 1}}, ErrInvalid, `limit["cpuMilli"]: 1 is less than the 2 guaranteed`},
		{"more than the parent's", Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPUMilli: 11}}, ErrInvalid, `guarantee["gpuMilli"]: with its siblings' makes 11 of the 10 that "org" is guaranteed`},
		{"with siblings'", Queue{Name: "a", Parent: "org", Guarantee: Amounts{GPUMilli: 5}}, ErrInvalid, `makes 11 of the 10`},
		{"through a silent parent", Queue{Name: "a", Parent: "group", Guarantee: Amounts{GPUMilli: 5}}, ErrInvalid, `makes 11 of the 10 that "org" is guaranteed`},
		{"more than a limit above", Queue{Name: "a", Parent: "group", Guarantee: Amounts{CPUMilli: 6}}, ErrInvalid, `makes 6 of the 5 that "org" is limited to`},
		{"less than the children's", Queue{Name: "org", Guarantee: Amounts{GPUMilli: 5}}, ErrInvalid, `guarantee["gpuMilli"]: 5 is less than the 6 guaranteed to the queues below`},
		{"limit below the children's", Queue{Name: "org", Limit: Amounts{GPUMilli: 5}}, ErrInvalid, `limit["gpuMilli"]: 5 is less than the 6 guaranteed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tree.Set(c.queue)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, c.queue.Name, typed.Queue)
			require.NoError(t, tree.Check())
			require.Equal(t, []QueueID{"busy", "full", "group", "org", "team"}, tree.Queues())
		})
	}
}

func TestRemoveRefuses(t *testing.T) {
	tree := NewTree()
	mustSet(t, tree, Queue{Name: "org"})
	team := mustSet(t, tree, Queue{Name: "team", Parent: "org", Guarantee: Amounts{GPUMilli: 1}})
	require.ErrorIs(t, tree.Remove("none"), ErrUnknown)
	require.ErrorIs(t, tree.Remove(""), ErrUnknown)
	require.ErrorIs(t, tree.Remove("org"), ErrInUse)

	require.NoError(t, tree.Retain(team))
	require.ErrorIs(t, tree.Remove("team"), ErrInUse)
	require.NoError(t, tree.Release(team))
	require.ErrorIs(t, tree.Release(team), ErrInvalid)

	require.NoError(t, tree.Charge(team, Charge{Host: countable.Amounts{countable.MemoryMiB: 1}}))
	require.ErrorIs(t, tree.Remove("team"), ErrInUse)
	require.NoError(t, tree.Discharge(team, Charge{Host: countable.Amounts{countable.MemoryMiB: 1}}))

	tree.activateUnknown(team)
	require.NoError(t, tree.Remove("team"))
	require.NoError(t, tree.Check())
	_, ok := tree.Next()
	require.False(t, ok)
	require.Equal(t, team, mustSet(t, tree, Queue{Name: "other"}), "a free index is used again")
	require.NoError(t, tree.Remove("org"))
	require.NoError(t, tree.Check())
}

// A limit below what is used strands nobody: usage stays, and only what would
// add to it is held back.
func TestLimitLoweredBelowUsage(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a"})
	require.NoError(t, tree.Charge(a, Charge{GPUMilli: 8000, Product: NoProduct}))
	mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilli: 2000}})
	require.Equal(t, int64(8000), tree.Used(a, GPUMilli))

	verdict, ok := tree.Fits(a, Charge{GPUMilli: 1, Product: NoProduct})
	require.False(t, ok)
	require.Equal(t, Verdict{At: a, Resource: GPUMilli, Limit: 2000, Used: 8000, Asked: 1, Kind: VerdictLimit}, verdict)
	_, ok = tree.Fits(a, Charge{Host: countable.Amounts{countable.CPUMilli: 1}})
	require.True(t, ok, "another resource is not held back")

	require.NoError(t, tree.Discharge(a, Charge{GPUMilli: 7000, Product: NoProduct}))
	_, ok = tree.Fits(a, Charge{GPUMilli: 1000, Product: NoProduct})
	require.True(t, ok)
}

func TestChargeRefuses(t *testing.T) {
	tree := NewTree()
	org := mustSet(t, tree, Queue{Name: "org"})
	a := mustSet(t, tree, Queue{Name: "a", Parent: "org"})
	h100 := mustRetain(t, tree, "H100")
	require.NoError(t, tree.Charge(a, Charge{GPUMilli: 1000, Host: countable.Amounts{countable.CPUMilli: 10, countable.MemoryMiB: 20}, Product: h100}))
	for name, c := range map[string]struct {
		at     QueueIndex
		charge Charge
		kind   error
	}{
		"root":            {RootQueue, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}, ErrInvalid},
		"inner":           {org, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}, ErrInvalid},
		"none":            {NoQueue, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}, ErrUnknown},
		"beyond":          {99, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}, ErrUnknown},
		"negative":        {a, Charge{Host: countable.Amounts{countable.CPUMilli: -1}}, ErrInvalid},
		"huge":            {a, Charge{Host: countable.Amounts{countable.MemoryMiB: MaxAmount + 1}}, ErrInvalid},
		"unknown product": {a, Charge{GPUMilli: 1, Product: 7}, ErrInvalid},
		"no such product": {a, Charge{GPUMilli: 1, Product: -1}, ErrInvalid},
	} {
		require.ErrorIs(t, tree.Charge(c.at, c.charge), c.kind, name)
		require.ErrorIs(t, tree.Discharge(c.at, c.charge), c.kind, name)
	}
	other := mustRetain(t, tree, "A100")
	for _, c := range []Charge{
		{GPUMilli: 1001, Product: NoProduct},
		{GPUMilli: 1, Product: other},
		{Host: countable.Amounts{countable.CPUMilli: 11}},
		{Host: countable.Amounts{countable.MemoryMiB: 21}},
		{GPUMilli: 1000, Host: countable.Amounts{countable.CPUMilli: 10, countable.MemoryMiB: 21}, Product: h100},
	} {
		require.ErrorIs(t, tree.Discharge(a, c), ErrInvalid)
	}
	require.NoError(t, tree.Check())
	require.Equal(t, int64(1000), tree.Used(RootQueue, GPUMilliOf("H100")))
	require.Zero(t, tree.Used(RootQueue, "disk"))
}

// A charge of GPUs that names no product is of none: it takes nothing of the product that
// came first.
func TestAChargeWithoutAProductIsOfNone(t *testing.T) {
	tree := NewTree()
	h100 := mustRetain(t, tree, "H100")
	require.NotEqual(t, NoProduct, h100)
	a := mustSet(t, tree, Queue{Name: "a", Limit: Amounts{GPUMilliOf("H100"): 1000}})
	require.NoError(t, tree.Charge(a, Charge{GPUMilli: 5000}))
	require.Equal(t, int64(5000), tree.Used(a, GPUMilli))
	require.Zero(t, tree.Used(a, GPUMilliOf("H100")))
	_, fits := tree.Fits(a, Charge{GPUMilli: 1000, Product: h100})
	require.True(t, fits)
	require.NoError(t, tree.Discharge(a, Charge{GPUMilli: 5000}))
	require.NoError(t, tree.Check())
}

// Nothing that a caller can say makes a tree panic.
func TestWhatIsNoQueue(t *testing.T) {
	tree := NewTree()
	for _, i := range []QueueIndex{NoQueue, 5, -1 << 31, 1<<31 - 1} {
		tree.activateUnknown(i)
		tree.Deactivate(i)
		require.False(t, tree.Active(i))
		require.False(t, tree.Leaf(i))
		require.False(t, tree.Within(i, Charge{}))
		require.Equal(t, NoQueue, tree.Parent(i))
		require.Empty(t, tree.Name(i))
		require.Equal(t, Queue{}, tree.Config(i))
		require.Zero(t, tree.Used(i, GPUMilli))
		require.Zero(t, tree.Guaranteed(i, "gpuMilli:H100"))
		_, limited := tree.LimitOf(i, GPUMilli)
		require.False(t, limited)
		verdict, fits := tree.Fits(i, Charge{})
		require.False(t, fits)
		require.Equal(t, NoQueue, verdict.At)
		require.Equal(t, []Verdict{{At: NoQueue}}, tree.InTheWay(nil, i, Charge{}))
		require.ErrorIs(t, tree.Retain(i), ErrUnknown)
		require.ErrorIs(t, tree.Release(i), ErrUnknown)
		tree.ReleaseProduct(ProductIndex(i))
	}
	require.Equal(t, NoProduct, tree.Product(""))
	require.ErrorIs(t, tree.Retain(RootQueue), ErrInvalid)
	_, ok := tree.Next()
	require.False(t, ok)
}

// Usage stops short of the end of the counter, and amounts near it compare
// exactly.
func TestExtremes(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: MaxAmount}, Weight: MaxAmount})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: MaxAmount - 1}, Weight: MaxAmount})
	tree.activateUnknown(a)
	tree.activateUnknown(b)
	most := Charge{GPUMilli: MaxAmount, Product: NoProduct}
	require.NoError(t, tree.Charge(a, most))
	require.NoError(t, tree.Charge(b, most))
	next, _ := tree.Next()
	require.Equal(t, a, next, "0/w against 1/w")
	for tree.Used(RootQueue, GPUMilli) <= maxUsage-MaxAmount {
		tree.nodes[a].host[gpuID].used += 1 << 50 // in leaps, as single charges would take long
		tree.nodes[RootQueue].host[gpuID].used += 1 << 50
	}
	tree.reorder(a)
	require.ErrorIs(t, tree.Charge(b, most), ErrInvalid)
	require.NoError(t, tree.Check())
}

// Config hands out and takes in copies.
func TestConfigIsACopy(t *testing.T) {
	tree := NewTree()
	given := Queue{Name: "a", Limit: Amounts{GPUMilli: 1}, Guarantee: Amounts{}}
	a := mustSet(t, tree, given)
	given.Limit[GPUMilli] = 9
	tree.Config(a).Limit[GPUMilli] = 9
	require.Equal(t, Queue{Name: "a", Limit: Amounts{GPUMilli: 1}}, tree.Config(a))
	require.NoError(t, tree.Check())
}

func TestResourcesOfHosts(t *testing.T) {
	require.Equal(t, CPUMilli, HostOf(countable.CPUMilli))
	require.Equal(t, MemoryMiB, HostOf(countable.MemoryMiB))
	r, ok := MemoryMiB.Host()
	require.True(t, ok)
	require.Equal(t, countable.MemoryMiB, r)
	for _, other := range []Resource{GPUMilli, GPUMilliOf("cpu"), "", "disk"} {
		_, ok := other.Host()
		require.False(t, ok, other)
	}
}

// A copy of a queue has every field, and shares none.
func TestACopyOfAQueueIsWholeAndSharesNothing(t *testing.T) {
	require.Empty(t, fields.Forgotten(func(q Queue) Queue { return q.clone() }), "Queue.clone of quota.go")
	require.Len(t, fields.Places(reflect.TypeFor[Queue]()), 4+2*len(new(Queue).stated()), "a list of amounts is missing in Queue.stated of quota.go")
}
