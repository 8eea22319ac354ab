package record

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/topology"
)

// A ClassKey is what selectors other than labels see of a node. Nodes of one
// class are counted together in the topology tree.
type ClassKey struct {
	pool, Product string
	GPUMemory     int64
	compute       berth.ComputeCapability
	GPUs          int
	nvlink        bool
	Table         string
	// Fence names the reservations that a node is in; empty: none.
	Fence string
}

// KeyOf is the class of a node outside all reservations.
func KeyOf(n *berth.Node) ClassKey {
	k := ClassKey{pool: n.Pool, GPUs: len(n.GPUs)}
	if len(n.GPUs) > 0 {
		g := &n.GPUs[0]
		k.Product, k.GPUMemory, k.compute, k.nvlink, k.Table = g.Product, g.MemoryMiB, g.ComputeCapability, g.Clique != "", g.MIGTable
	}
	return k
}

// compare orders classes: the order in which a job that takes any of several
// considers them when all else is equal. Less memory first, so that the bigger
// GPUs stay free for claims that need them.
func (k ClassKey) compare(l ClassKey) int {
	return cmp.Or(
		cmp.Compare(k.GPUMemory, l.GPUMemory),
		cmp.Compare(k.Product, l.Product),
		cmp.Compare(k.compute.Major, l.compute.Major),
		cmp.Compare(k.compute.Minor, l.compute.Minor),
		cmp.Compare(k.GPUs, l.GPUs),
		cmp.Compare(k.pool, l.pool),
		CompareBool(k.nvlink, l.nvlink),
		cmp.Compare(k.Table, l.Table),
		cmp.Compare(k.Fence, l.Fence),
	)
}

// CompareBool orders false before true.
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// Admits reports whether nodes of the class can serve members of the group, as
// far as the class tells.
func (k ClassKey) Admits(g *berth.Group) bool {
	s := &g.Selector
	switch {
	case len(s.Pools) > 0 && !slices.Contains(s.Pools, k.pool),
		len(s.Products) > 0 && !slices.Contains(s.Products, k.Product),
		k.GPUMemory < s.MinGPUMemoryMiB,
		k.compute.Less(s.MinComputeCapability),
		k.GPUs < g.Claim.GPUs,
		k.GPUs == 0 && g.Claim.WantsDevice(),
		g.Claim.NVLink && !k.nvlink:
		return false
	}
	return true
}

// A ClassTable interns hardware classes. A vacant index is used again.
type ClassTable struct {
	ByKey map[ClassKey]int
	List  []classEntry
	// Version changes with the set of classes outside all reservations, and with the set of all
	// kinds of hardware. What follows from these is stale if it is of another version.
	Version int
	// sorted lists the classes in the order of their keys.
	sorted []topology.NodeClass
	// kinds counts the classes by their keys without what they are set aside for.
	kinds map[ClassKey]int
}

// NewClassTable returns a table without classes.
func NewClassTable() ClassTable {
	return ClassTable{ByKey: map[ClassKey]int{}, kinds: map[ClassKey]int{}}
}

type classEntry struct {
	Key          ClassKey
	Table        *catalogue.Table
	Reservations []*Reservation // those that key.fence names
	Nodes        int            // 0: vacant
}

// Add counts one more node of a class, and returns the index of the class.
func (t *ClassTable) Add(k ClassKey, table *catalogue.Table, windows []*Reservation) int {
	i, known := t.ByKey[k]
	if !known {
		i = slices.IndexFunc(t.List, func(e classEntry) bool { return e.Nodes == 0 })
		if i < 0 {
			i = len(t.List)
			t.List = append(t.List, classEntry{})
		}
		t.List[i].Key, t.List[i].Table, t.List[i].Reservations = k, table, windows
		t.ByKey[k] = i
		t.note(i, 1)
	}
	t.List[i].Nodes++
	return i
}

// CountWith is how many classes there are once a node of class gone has left and one of class k
// has come. A negative gone: no node leaves.
func (t *ClassTable) CountWith(k ClassKey, gone int) int {
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

// Drop counts a node of a class no longer.
func (t *ClassTable) Drop(i int) {
	t.List[i].Nodes--
	if t.List[i].Nodes == 0 {
		t.note(i, -1)
		delete(t.ByKey, t.List[i].Key)
		t.List[i].Table, t.List[i].Reservations = nil, nil
	}
}

// note enters a class into the order, or takes it out. O(classes).
func (t *ClassTable) note(i, change int) {
	key := t.List[i].Key
	at, _ := slices.BinarySearchFunc(t.sorted, key, func(c topology.NodeClass, k ClassKey) int { return t.List[c].Key.compare(k) })
	if change > 0 {
		t.sorted = slices.Insert(t.sorted, at, topology.NodeClass(i))
	} else {
		t.sorted = slices.Delete(t.sorted, at, at+1)
	}
	kind := key
	kind.Fence = ""
	before := t.kinds[kind]
	if t.kinds[kind] += change; t.kinds[kind] == 0 {
		delete(t.kinds, kind)
	}
	if key.Fence == "" || before == 0 || before+change == 0 {
		t.Version++
	}
}

// Ordered reports whether the order and the kinds are those of the classes.
func (t *ClassTable) Ordered() bool {
	of := ClassTable{List: t.List, kinds: map[ClassKey]int{}}
	for i := range t.List {
		if t.List[i].Nodes > 0 {
			of.note(i, 1)
		}
	}
	return slices.Equal(of.sorted, t.sorted) && maps.Equal(of.kinds, t.kinds)
}

// admits is ClassKey.Admits, and reports whether an instance that is claimed can be had.
func (e *classEntry) admits(g *berth.Group) bool {
	return e.Key.Admits(g) && (!g.Claim.WantsInstance() || len(e.Table.Profiles(&g.Claim)) > 0)
}

// Admits reports whether nodes of the class with an index can serve members of the group, as far
// as the class tells.
func (t *ClassTable) Admits(i int, g *berth.Group) bool { return t.List[i].admits(g) }

// Matching lists the classes that admit the group, in the order of their keys. Of
// those that are set aside it lists the open ones. O(classes).
func (t *ClassTable) Matching(g *berth.Group, open func([]*Reservation) bool) []topology.NodeClass {
	var classes []topology.NodeClass
	for _, i := range t.sorted {
		e := &t.List[i]
		if e.admits(g) && (e.Key.Fence == "" || open != nil && open(e.Reservations)) {
			classes = append(classes, i)
		}
	}
	return classes
}

type label struct{ key, value string }
