// Package hardware tells the classes of nodes apart, by what claims and selectors see of them, and
// keeps which there are.
package hardware

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/spec"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/topology"
)

// A Key is what selectors other than labels see of a node. Nodes of one
// class are counted together in the topology tree. Taints are in it, unlike labels: nearly every
// job has to stay off a tainted node, and would have to look at each node otherwise.
type Key struct {
	pool, Product string
	GPUMemory     int64
	compute       berth.ComputeCapability
	GPUs          int
	nvlink        bool
	// Rate is what the NICs carry together, in kbit/s.
	Rate  int64
	Table string
	// taints as in taintsKey.
	taints string
	// Fence names the reservations that a node is in; empty: none.
	Fence string
}

// KeyOf is the class of a node outside all reservations, where the fabric has lost so many
// thousandths of what it carries.
func KeyOf(n *spec.Node, lostMilli int) Key {
	return Key{
		pool: n.Pool, GPUs: len(n.GPUs), Rate: rateOf(n, lostMilli), taints: taintsKey(n.Taints),
		Product: n.Product, GPUMemory: n.GPUMemoryMiB, compute: n.ComputeCapability, nvlink: n.Clique != "", Table: n.MIGTable,
	}
}

// rateOf is what the NICs of a node carry together, in kbit/s. NICs that tell no rate count as
// 1 Mbit/s, so that a loss counts there too. 0 for a node without GPUs: where members of the host
// alone go, rates do not count.
func rateOf(n *spec.Node, lostMilli int) int64 {
	if len(n.GPUs) == 0 {
		return 0
	}
	mbit := int64(0)
	for i := range n.NICs {
		mbit += n.NICs[i].MbitPerSecond
	}
	return max(1, mbit) * int64(1000-lostMilli)
}

// MaxShares is how many members may share a GPU of the node.
func MaxShares(n *spec.Node) int {
	switch {
	case len(n.GPUs) == 0:
		return 0
	case n.MaxShares > 0:
		return n.MaxShares
	case n.ComputeCapability.Major > 0 && n.ComputeCapability.Major < 7:
		return 16
	}
	return 48
}

// SameShape reports whether two descriptions of a node differ only in what may
// change under running members: labels, taints, host capacity, NICs and the GPUs' names
// and health.
func SameShape(n, m *spec.Node) bool {
	a, b := n.Model, m.Model
	if (a.Clique == "") == (b.Clique == "") {
		a.Clique, b.Clique = "", ""
	}
	return n.ID == m.ID && n.Pool == m.Pool && len(n.GPUs) == len(m.GPUs) && slices.Equal(n.Domains, m.Domains) && a == b
}

// compare orders classes: the order in which a job that takes any of several
// considers them when all else is equal. Less memory first, so that the bigger
// GPUs stay free for claims that need them.
func (k Key) compare(l Key) int {
	return cmp.Or(
		cmp.Compare(k.GPUMemory, l.GPUMemory),
		cmp.Compare(k.Product, l.Product),
		cmp.Compare(k.compute.Major, l.compute.Major),
		cmp.Compare(k.compute.Minor, l.compute.Minor),
		cmp.Compare(k.GPUs, l.GPUs),
		cmp.Compare(k.pool, l.pool),
		cmp.Compare(k.links(), l.links()),
		cmp.Compare(k.Rate, l.Rate),
		cmp.Compare(k.Table, l.Table),
		cmp.Compare(k.taints, l.taints),
		cmp.Compare(k.Fence, l.Fence),
	)
}

// links is 1 where GPUs are joined by NVLink, else 0.
func (k Key) links() int {
	if k.nvlink {
		return 1
	}
	return 0
}

// Admits reports whether nodes of the class can serve members of the group, as
// far as the class tells.
func (k Key) Admits(g *berth.Group) bool {
	s := &g.Selector
	switch {
	case len(s.Pools) > 0 && !slices.Contains(s.Pools, k.pool),
		len(s.Products) > 0 && !slices.Contains(s.Products, k.Product),
		k.GPUMemory < s.MinGPUMemoryMiB,
		k.compute.Less(s.MinComputeCapability),
		k.GPUs < g.Claim.GPUs,
		k.GPUs == 0 && values.WantsDevice(&g.Claim),
		g.Claim.NVLink && !k.nvlink:
		return false
	}
	_, repels := k.Repels(g)
	return !repels
}

// AdmitsButForTaints is Admits for nodes that are the same and have no taints.
func (k Key) AdmitsButForTaints(g *berth.Group) bool {
	k.taints = ""
	return k.Admits(g)
}

// A Table interns classes, with what their nodes are set aside for, which are of type R. A vacant
// index is used again.
//
// Its invariants:
//
//  1. A class has a node, and none has the key of another.
//  2. sorted and open are in the order of the keys, and kinds counts the same classes.
type Table[R any] struct {
	ByKey map[Key]int
	List  []entry[R]
	// Version changes with the set of classes that are in no reservation, and with that of all
	// kinds of hardware: what follows from these is stale if it is of another version.
	Version int
	// sorted and open list all classes, and those in no reservation, in the order of their keys.
	sorted, open []topology.NodeClass
	// kinds counts the classes by their keys without what they are set aside for.
	kinds map[Key]int
}

// NewTable returns a table without classes.
func NewTable[R any]() Table[R] {
	return Table[R]{ByKey: map[Key]int{}, kinds: map[Key]int{}}
}

type entry[R any] struct {
	Key          Key
	Table        *catalogue.Table
	Reservations []R // those that Key.Fence names
	Nodes        int // 0: vacant
}

// Add counts one more node of a class, and returns the index of the class.
func (t *Table[R]) Add(k Key, table *catalogue.Table, reservations []R) int {
	i, known := t.ByKey[k]
	if !known {
		i = slices.IndexFunc(t.List, func(e entry[R]) bool { return e.Nodes == 0 })
		if i < 0 {
			i = len(t.List)
			t.List = append(t.List, entry[R]{})
		}
		t.List[i].Key, t.List[i].Table, t.List[i].Reservations = k, table, reservations
		t.ByKey[k] = i
		t.note(i, 1)
	}
	t.List[i].Nodes++
	return i
}

// CountWith is how many classes there are once a node of class gone has left and one of class k
// has come. A negative gone: no node leaves.
func (t *Table[R]) CountWith(k Key, gone int) int {
	count := len(t.ByKey)
	i, known := t.ByKey[k]
	if !known {
		count++
	}
	if gone >= 0 && t.List[gone].Nodes == 1 && !(known && i == gone) {
		count--
	}
	return count
}

// CountMoved is how many classes there are once nodes of classes gone have each got the key at the
// same place in keys. O(nodes).
func (t *Table[R]) CountMoved(gone []int, keys []Key) int {
	count := len(t.ByKey)
	leave, come := map[int]int{}, map[Key]bool{}
	for i, key := range keys {
		leave[gone[i]]++
		if _, known := t.ByKey[key]; !known && !come[key] {
			count++
		}
		come[key] = true
	}
	for _, i := range gone {
		if leave[i] == t.List[i].Nodes && !come[t.List[i].Key] {
			count--
			delete(leave, i)
		}
	}
	return count
}

// Drop counts a node of a class no longer.
func (t *Table[R]) Drop(i int) {
	t.List[i].Nodes--
	if t.List[i].Nodes == 0 {
		t.note(i, -1)
		delete(t.ByKey, t.List[i].Key)
		t.List[i].Table, t.List[i].Reservations = nil, nil
	}
}

// note enters a class into the orders, or takes it out. O(classes).
func (t *Table[R]) note(i, change int) {
	key := t.List[i].Key
	t.sorted = t.withOrWithout(t.sorted, i, change)
	kind := key
	kind.Fence = ""
	before := t.kinds[kind]
	if t.kinds[kind] += change; t.kinds[kind] == 0 {
		delete(t.kinds, kind)
	}
	if key.Fence == "" {
		t.open = t.withOrWithout(t.open, i, change)
	}
	if key.Fence == "" || before == 0 || before+change == 0 {
		t.Version++
	}
}

// Check makes the keys, the orders and the kinds anew of the classes, which have so many nodes, and
// compares. It is for tests.
func (t *Table[R]) Check(nodes map[int]int) error {
	fresh := Table[R]{ByKey: map[Key]int{}, List: t.List, kinds: map[Key]int{}}
	for i := range t.List {
		e := &t.List[i]
		switch {
		case e.Nodes != nodes[i]:
			return fmt.Errorf("class %d has %d nodes, counted %d", i, nodes[i], e.Nodes)
		case e.Nodes > 0:
			fresh.ByKey[e.Key] = i
			fresh.note(i, 1)
		case e.Table != nil || e.Reservations != nil:
			return fmt.Errorf("something is left of class %d", i)
		}
	}
	if !maps.Equal(fresh.ByKey, t.ByKey) || !slices.Equal(fresh.sorted, t.sorted) || !slices.Equal(fresh.open, t.open) || !maps.Equal(fresh.kinds, t.kinds) {
		return fmt.Errorf("the classes are not in the order of their keys, or not known by them")
	}
	return nil
}

// withOrWithout puts a class into an order, or takes it out.
func (t *Table[R]) withOrWithout(order []topology.NodeClass, i, change int) []topology.NodeClass {
	at, _ := slices.BinarySearchFunc(order, t.List[i].Key, func(c topology.NodeClass, k Key) int { return t.List[c].Key.compare(k) })
	if change < 0 {
		return slices.Delete(order, at, at+1)
	}
	return slices.Insert(order, at, topology.NodeClass(i))
}

// Outdate makes what follows from the classes stale, where something else has changed by which it
// is made.
func (t *Table[R]) Outdate() { t.Version++ }

// admits is Key.Admits, and reports whether an instance that is claimed can be had.
func (e *entry[R]) admits(g *berth.Group) bool {
	return e.Key.Admits(g) && (!g.Claim.WantsInstance() || len(e.Table.Profiles(&g.Claim)) > 0)
}

// Admits reports whether nodes of the class with an index can serve members of the group, as far
// as the class tells.
func (t *Table[R]) Admits(i int, g *berth.Group) bool { return t.List[i].admits(g) }

// Open are the classes that are in no reservation, in the order of their keys.
func (t *Table[R]) Open() []topology.NodeClass { return t.open }

// Matching lists the classes that admit the group, in the order of their keys. Of
// those that are set aside it lists the open ones. O(classes), and without those O(classes that
// are in no reservation).
func (t *Table[R]) Matching(g *berth.Group, open func([]R) bool) []topology.NodeClass {
	order := t.sorted
	if open == nil {
		order = t.open
	}
	var classes []topology.NodeClass
	for _, i := range order {
		e := &t.List[i]
		if e.admits(g) && (e.Key.Fence == "" || open(e.Reservations)) {
			classes = append(classes, i)
		}
	}
	return classes
}
