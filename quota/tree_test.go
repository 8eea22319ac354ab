package quota

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/drawn"
)

// A pair is a tree and its twin, given the same.
type pair struct {
	tree *Tree
	twin *twin
}

var (
	testNames    = []QueueID{"a", "b", "c", "d", "e", "f", "g", "h"}
	testProducts = []string{"A100", "H100", "B200"}
)

func drawAmounts(t *rapid.T, label string) Amounts {
	resources := []Resource{GPUMilli, GPUMilli, CPUMilli, MemoryMiB, GPUMilliOf("A100"), GPUMilliOf("H100"), GPUMilliOf("B200")}
	return rapid.MapOfN(rapid.SampledFrom(resources), rapid.Int64Range(0, 8), 0, 2).Draw(t, label)
}

func drawCharge(t *rapid.T) twinCharge {
	c := twinCharge{product: rapid.SampledFrom(append(testProducts, "")).Draw(t, "product")}
	c.GPUMilli = rapid.Int64Range(0, 4).Draw(t, "gpu")
	c.Host[countable.CPUMilli] = rapid.Int64Range(0, 2).Draw(t, "cpu")
	c.Host[countable.MemoryMiB] = rapid.Int64Range(0, 2).Draw(t, "memory")
	c.NonPreemptible = rapid.Bool().Draw(t, "non-preemptible")
	return c
}

// resolve fills in the product for the tree: none if the tree does not have it,
// and then nobody limits it either.
func (p *pair) resolve(c twinCharge) twinCharge {
	c.Product = p.tree.Product(c.product)
	return c
}

func (p *pair) retainProduct(t *rapid.T) {
	name := rapid.SampledFrom(testProducts).Draw(t, "product")
	i, err := p.tree.RetainProduct(name)
	if kind := p.twin.retain(name); kind != nil {
		require.ErrorIs(t, err, kind)
		require.Equal(t, NoProduct, i)
		return
	}
	require.NoError(t, err)
	require.Equal(t, i, p.tree.Product(name))
}

func (p *pair) releaseProduct(t *rapid.T) {
	name := rapid.SampledFrom(testProducts).Draw(t, "product")
	p.tree.ReleaseProduct(p.tree.Product(name))
	p.twin.retained[name] = max(p.twin.retained[name]-1, 0)
}

// restore puts a tree built from what the twin knows in the place of the one that
// has lived until now. As the twin goes on agreeing with it, the two are the same
// to a caller, whatever came and went in the old one.
func (p *pair) restore(t *rapid.T) {
	fresh := NewTree()
	fresh.maxProducts = p.twin.maxProducts
	names := slices.Sorted(maps.Keys(p.twin.products()))
	for _, name := range rapid.Permutation(names).Draw(t, "products") {
		_, err := fresh.RetainProduct(name)
		require.NoError(t, err)
	}
	queues := p.twin.names()
	slices.SortStableFunc(queues, func(a, b QueueID) int { return len(p.twin.path(a)) - len(p.twin.path(b)) })
	for _, name := range queues {
		mustSet(t, fresh, p.twin.queues[name])
	}
	for r, v := range p.twin.capacity {
		require.NoError(t, fresh.SetCapacity(r, v))
	}
	for _, name := range queues {
		i, _ := fresh.Lookup(name)
		for at, c := range p.twin.charges[name] {
			c.Product = fresh.Product(c.product)
			p.twin.charges[name][at] = c
			require.NoError(t, fresh.Charge(i, c.Charge))
		}
		for range p.twin.members[name] {
			require.NoError(t, fresh.Retain(i))
		}
		if p.twin.active[name] {
			require.NoError(t, fresh.SetNext(i, gpus(p.twin.asks[name])))
		}
	}
	for _, name := range names {
		for range p.twin.retained[name] {
			_, err := fresh.RetainProduct(name)
			require.NoError(t, err)
		}
		fresh.ReleaseProduct(fresh.Product(name))
	}
	p.tree = fresh
}

// leave takes everything out again, in any order that the tree allows.
func (p *pair) leave(t *rapid.T) {
	for _, name := range rapid.Permutation(testProducts).Draw(t, "released") {
		for range p.twin.retained[name] {
			p.tree.ReleaseProduct(p.tree.Product(name))
		}
	}
	queues := rapid.Permutation(p.twin.names()).Draw(t, "emptied")
	for _, name := range queues {
		i, _ := p.tree.Lookup(name)
		for range p.twin.members[name] {
			require.NoError(t, p.tree.Release(i))
		}
		for _, c := range p.twin.charges[name] {
			require.NoError(t, p.tree.Discharge(i, c.Charge))
			require.NoError(t, p.tree.Check())
		}
	}
	slices.SortStableFunc(queues, func(a, b QueueID) int { return len(p.twin.path(b)) - len(p.twin.path(a)) })
	for _, name := range queues {
		require.NoError(t, p.tree.Remove(name))
		require.NoError(t, p.tree.Check())
	}
	for r := range p.twin.capacity {
		require.NoError(t, p.tree.SetCapacity(r, UnknownCapacity))
	}
	require.Empty(t, p.tree.byProduct)
	require.Empty(t, p.tree.products)
	require.Len(t, p.tree.names, int(firstProduct))
	require.Empty(t, p.tree.nodes[RootQueue].sparse)
}

func (p *pair) set(t *rapid.T) {
	q := Queue{
		Name:      rapid.SampledFrom(testNames).Draw(t, "name"),
		Parent:    rapid.SampledFrom(append(p.twin.names(), "", "", testNames[0])).Draw(t, "parent"),
		Guarantee: drawAmounts(t, "guarantee"),
		Limit:     drawAmounts(t, "limit"),
		Weight:    rapid.Int64Range(0, 3).Draw(t, "weight"),
		Priority:  rapid.SampledFrom([]int32{0, 0, 0, 1, -1}).Draw(t, "priority"),
	}
	if rapid.IntRange(0, 2).Draw(t, "lends") == 0 {
		q.LendingLimit = drawAmounts(t, "lending limit")
		q.BorrowingLimit = drawAmounts(t, "borrowing limit")
	}
	if old, ok := p.twin.queues[q.Name]; ok && rapid.IntRange(0, 9).Draw(t, "move") > 0 {
		q.Parent = old.Parent
	}
	for r, g := range q.Guarantee {
		if _, ok := q.Limit[r]; ok { // seldom contradict itself
			q.Limit[r] += g
		}
	}
	i, err := p.tree.Set(q)
	if kind := p.twin.set(q); kind != nil {
		require.ErrorIs(t, err, kind)
		require.Equal(t, NoQueue, i)
		return
	}
	require.NoError(t, err)
	require.Equal(t, q.Name, p.tree.Name(i))
}

// setCapacity tells both the capacity of some resource, or withdraws it.
func (p *pair) setCapacity(t *rapid.T) {
	r := rapid.SampledFrom([]Resource{GPUMilli, GPUMilli, CPUMilli, GPUMilliOf("A100")}).Draw(t, "resource")
	v := rapid.Int64Range(-1, 12).Draw(t, "capacity")
	old, known := p.twin.capacity[r]
	err := p.tree.SetCapacity(r, v)
	if p.twin.capacity[r] = v; v == UnknownCapacity {
		delete(p.twin.capacity, r)
	}
	if len(p.twin.products()) > p.twin.maxProducts {
		require.ErrorIs(t, err, ErrLimit)
		if delete(p.twin.capacity, r); known {
			p.twin.capacity[r] = old
		}
		return
	}
	require.NoError(t, err)
}

func (p *pair) remove(t *rapid.T) {
	name := rapid.SampledFrom(testNames).Draw(t, "name")
	err := p.tree.Remove(name)
	require.ErrorIs(t, err, p.twin.remove(name))
}

func (p *pair) retain(t *rapid.T) {
	name, i := p.queue(t)
	switch err := p.tree.Retain(i); {
	case p.twin.leaf(name):
		require.NoError(t, err)
		p.twin.members[name]++
	default:
		require.Error(t, err)
	}
}

func (p *pair) unretain(t *rapid.T) {
	name, i := p.queue(t)
	switch err := p.tree.Release(i); {
	case p.twin.members[name] > 0:
		require.NoError(t, err)
		p.twin.members[name]--
	default:
		require.Error(t, err)
	}
}

func (p *pair) activate(t *rapid.T) {
	name, i := p.queue(t)
	p.tree.activateUnknown(i)
	if p.twin.leaf(name) {
		p.twin.active[name] = true
	}
}

func (p *pair) deactivate(t *rapid.T) {
	name, i := p.queue(t)
	p.tree.Deactivate(i)
	p.twin.deactivate(name)
}

func (p *pair) setNext(t *rapid.T) {
	name, i := p.queue(t)
	next := drawCharge(t)
	err := p.tree.SetNext(i, next.Charge)
	if !p.twin.leaf(name) {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	p.twin.active[name] = true
	p.twin.asks[name] = next.GPUMilli
}

func (p *pair) charge(t *rapid.T) {
	name, i := p.queue(t)
	c := p.resolve(drawCharge(t))
	if c.Product == NoProduct { // charged as no product: the twin must not count one
		c.product = ""
	}
	err := p.tree.Charge(i, c.Charge)
	if !p.twin.leaf(name) {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	if c.GPUMilli+c.Host[countable.CPUMilli]+c.Host[countable.MemoryMiB] > 0 {
		p.twin.charges[name] = append(p.twin.charges[name], c)
	}
}

func (p *pair) discharge(t *rapid.T) {
	name, i := p.queue(t)
	have := p.twin.charges[name]
	if len(have) == 0 {
		require.Error(t, p.tree.Discharge(i, Charge{Host: countable.Amounts{countable.CPUMilli: 1}}))
		return
	}
	at := rapid.IntRange(0, len(have)-1).Draw(t, "which")
	require.NoError(t, p.tree.Discharge(i, have[at].Charge))
	if p.twin.charges[name] = append(have[:at:at], have[at+1:]...); len(have) == 1 {
		delete(p.twin.charges, name)
	}
}

// queue draws a name and its index, None where the tree has no such queue.
func (p *pair) queue(t *rapid.T) (QueueID, QueueIndex) {
	name := rapid.SampledFrom(append(p.twin.names(), testNames[0])).Draw(t, "queue")
	i, _ := p.tree.Lookup(name)
	return name, i
}

// agree compares every answer of the two.
func (p *pair) agree(t *rapid.T) {
	require.NoError(t, p.tree.Check())
	require.Equal(t, p.twin.names(), p.tree.Queues())
	require.Equal(t, len(p.twin.queues), p.tree.Len())
	next, ok := p.tree.Next()
	require.Equal(t, p.twin.next(), p.tree.Name(next))
	require.Equal(t, p.twin.next() != "", ok)

	products := p.twin.products()
	require.Len(t, p.tree.byProduct, len(products))
	for _, name := range testProducts {
		require.Equal(t, products[name], p.tree.Product(name) != NoProduct, name)
	}

	c := p.resolve(drawCharge(t))
	for name, q := range p.twin.queues {
		i, ok := p.tree.Lookup(name)
		require.True(t, ok)
		require.Equal(t, q.Parent, p.tree.Name(p.tree.Parent(i)))
		require.Equal(t, p.twin.leaf(name), p.tree.Leaf(i))
		require.Equal(t, p.twin.active[name], p.tree.Active(i))
		standing := p.tree.Positions(nil, i)
		said := standing[len(standing)-1]
		require.Equal(t, p.twin.standing(name), Position{
			WithinGuarantee: said.WithinGuarantee, Next: said.Next, NextCovered: said.NextCovered, Position: said.Position, Siblings: said.Siblings,
		}, name)
		for _, r := range []Resource{GPUMilli, CPUMilli, MemoryMiB, GPUMilliOf("A100"), GPUMilliOf("H100"), GPUMilliOf("B200")} {
			require.Equal(t, p.twin.used(name, r), p.tree.Used(i, r))
			require.Equal(t, p.twin.covered(name, r), p.tree.Covered(i, r))
			require.Equal(t, p.twin.held(name, r)-p.twin.used(name, r), p.tree.withheldFrom(i, r))
			require.Equal(t, q.Guarantee[r], p.tree.Guaranteed(i, r))
			limit, limited := p.tree.LimitOf(i, r)
			want, wantLimited := q.Limit[r]
			require.Equal(t, []any{want, wantLimited}, []any{limit, limited})
		}
		require.Equal(t, p.twin.within(name, c), p.tree.Within(i, c.Charge))
		p.agreeOnFit(t, name, i, c)
	}
}

// agreeOnFit compares what stands in the way of a charge: all of it, and the first.
func (p *pair) agreeOnFit(t *rapid.T, name QueueID, i QueueIndex, c twinCharge) {
	var said []string
	all := p.tree.InTheWay(nil, i, c.Charge)
	for _, v := range all {
		said = append(said, describe(p.tree.Name(v.At), v))
	}
	require.Equal(t, p.twin.inTheWay(name, c), said)
	verdict, fits := p.tree.Fits(i, c.Charge)
	require.Equal(t, len(all) == 0, fits)
	if !fits {
		require.Equal(t, all[0], verdict)
	}
}

// TestTwin drives a tree and its twin through the same random life: order,
// limits at every level, guarantees, products that come and go, and the rules of
// Set, Remove and Retain. Now and then a fresh tree takes over.
func TestTwin(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		p := &pair{tree: NewTree(), twin: newTwin(rapid.IntRange(0, len(testProducts)).Draw(t, "most products"))}
		p.tree.maxProducts = p.twin.maxProducts
		for range 8 { // begin with a tree of some size
			p.set(t)
		}
		p.agree(t)
		steps := []func(*rapid.T){
			p.set, p.set, p.set, p.set, p.remove, p.retain, p.unretain, p.activate, p.activate,
			p.setNext, p.setNext, p.setNext, p.setNext, p.setNext, p.deactivate, p.deactivate, p.charge, p.charge, p.charge, p.discharge, p.discharge,
			p.retainProduct, p.retainProduct, p.releaseProduct, p.releaseProduct, p.restore, p.setCapacity, p.setCapacity,
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			rapid.SampledFrom(steps).Draw(t, "step")(t)
			p.agree(t)
		}
		p.leave(t)
	})
}

// TestS3_UsageIsTheSumOfCharges: after every charge and discharge, at every
// queue, usage is the sum of what is charged at and below it, and never negative.
func TestS3_UsageIsTheSumOfCharges(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		tree := NewTree()
		leaves := drawForest(t, tree)
		live := map[QueueIndex][]Charge{}
		for _, name := range testProducts {
			mustRetain(t, tree, name)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.SampledFrom(leaves).Draw(t, "leaf")
			if have := live[i]; len(have) > 0 && rapid.Bool().Draw(t, "discharge") {
				require.NoError(t, tree.Discharge(i, have[0]))
				live[i] = have[1:]
			} else {
				c := drawCharge(t).Charge
				c.Product = tree.Product(rapid.SampledFrom(testProducts).Draw(t, "of"))
				require.NoError(t, tree.Charge(i, c))
				live[i] = append(live[i], c)
			}
			require.NoError(t, tree.Check())
		}
		all := map[QueueIndex]int64{}
		for leaf, charges := range live {
			for at := leaf; at != NoQueue; at = tree.Parent(at) {
				for _, c := range charges {
					all[at] += c.GPUMilli
				}
			}
		}
		for _, name := range tree.Queues() {
			i, _ := tree.Lookup(name)
			require.Equal(t, all[i], tree.Used(i, GPUMilli))
		}
		require.Equal(t, all[RootQueue], tree.Used(RootQueue, GPUMilli))
	})
}

// drawForest makes a random tree of up to 30 queues and returns its leaves.
func drawForest(t *rapid.T, tree *Tree) []QueueIndex {
	names := []QueueID{""}
	for n := range rapid.IntRange(1, 30).Draw(t, "queues") {
		q := Queue{Name: QueueID(fmt.Sprintf("q%02d", n)), Parent: rapid.SampledFrom(names).Draw(t, "parent")}
		_, err := tree.Set(q)
		require.NoError(t, err)
		names = append(names, q.Name)
	}
	var leaves []QueueIndex
	for _, name := range tree.Queues() {
		if i, _ := tree.Lookup(name); tree.Leaf(i) {
			leaves = append(leaves, i)
		}
	}
	return leaves
}

// TestOrderForgetsHistory: the same queues in another order of creation, after
// removals, with other indexes, are served in the same order.
func TestOrderForgetsHistory(t *testing.T) {
	drawn.Check(t, func(t *rapid.T) {
		names := rapid.Permutation(testNames).Draw(t, "created")
		plain, mixed := NewTree(), NewTree()
		for _, name := range testNames {
			require.NoError(t, enter(plain, name))
		}
		for _, name := range names {
			require.NoError(t, enter(mixed, "not "+name))
		}
		for _, name := range names {
			require.NoError(t, mixed.Remove("not "+name))
			require.NoError(t, enter(mixed, name))
		}
		for step := range 40 {
			i, _ := plain.Next()
			j, _ := mixed.Next()
			require.Equal(t, plain.Name(i), mixed.Name(j))
			c := Charge{GPUMilli: int64(step%3) + 1, Product: NoProduct}
			require.NoError(t, plain.Charge(i, c))
			require.NoError(t, mixed.Charge(j, c))
		}
	})
}

func enter(tree *Tree, name QueueID) error {
	i, err := tree.Set(Queue{Name: name, Guarantee: Amounts{GPUMilli: int64(name[0] % 3)}, Weight: int64(name[0]%2) + 1})
	tree.activateUnknown(i)
	return err
}

// TestNextFillsByWeight: unit charges to the queue that is next reach the guarantees
// first and then shares in proportion to the weights.
func TestNextFillsByWeight(t *testing.T) {
	tree := NewTree()
	a := mustSet(t, tree, Queue{Name: "a", Guarantee: Amounts{GPUMilli: 10}})
	b := mustSet(t, tree, Queue{Name: "b", Guarantee: Amounts{GPUMilli: 30}, Weight: 2})
	c := mustSet(t, tree, Queue{Name: "c", Weight: 3})
	for _, i := range []QueueIndex{a, b, c} {
		tree.activateUnknown(i)
	}
	serve := func(n int) []int64 {
		for range n {
			i, ok := tree.Next()
			require.True(t, ok)
			require.NoError(t, tree.Charge(i, Charge{GPUMilli: 1, Product: NoProduct}))
		}
		return []int64{tree.Used(a, GPUMilli), tree.Used(b, GPUMilli), tree.Used(c, GPUMilli)}
	}
	require.Equal(t, []int64{5, 15, 0}, serve(20), "guarantees fill evenly")
	require.Equal(t, []int64{10, 30, 0}, serve(20))
	require.Equal(t, []int64{20, 50, 30}, serve(60), "what is over goes 1:2:3")
	tree.Deactivate(c)
	require.Equal(t, []int64{24, 56, 30}, serve(10), "1:2 while c has nothing to serve")
}
