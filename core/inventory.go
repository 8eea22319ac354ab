package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/quota"
	"github.com/berth-sched/berth/topology"
)

// A node is what the core keeps of a Node.
type node struct {
	spec     berth.Node
	index    topology.Node
	class    int
	product  quota.ProductIndex
	graph    *graphEntry // nil: it tells no links
	table    *table      // nil: its GPUs do not divide
	geometry berth.Geometry
	base     []mig.ProfileName // geometry.Layout in order
	home     []mig.Placement   // a layout of these; nil: there is none
	gpus     []gpuState
	capacity capacity // that it adds to the fleet
	cordonPart
	trust trustPart
	// counted: it is one of those of which the spares are a part.
	counted bool
	// windows the node is in, in order of name. The list is never changed, but
	// replaced.
	windows []*window
	// members that hold something here, in no useful order; member.slot is the
	// position.
	members []memberAt
	// planned counts the members that a pass imagines there.
	planned int
}

// A memberAt names a member by replica and flat index.
type memberAt struct {
	rep   *replica
	index int
}

// imagined reports whether a plan in the making imagines the member gone.
func (m memberAt) imagined() bool { return m.rep.imagined || m.rep.members[m.index].imagined }

// goes reports whether the member is on its way out.
func (c *Core) goes(m memberAt) bool {
	return c.leaving.Has(m.rep) && (m.rep.State != berth.Running || m.rep.yieldsTo != nil || m.rep.members[m.index].state == memberStopping)
}

// A classKey is what selectors other than labels see of a node. Nodes of one
// class are counted together in the topology tree.
type classKey struct {
	pool, product string
	gpuMemory     int64
	compute       berth.ComputeCapability
	gpus          int
	nvlink        bool
	table         string
	// fence names the windows that a node is in; empty: none.
	fence string
}

func keyOf(n *berth.Node) classKey {
	k := classKey{pool: n.Pool, gpus: len(n.GPUs)}
	if len(n.GPUs) > 0 {
		g := &n.GPUs[0]
		k.product, k.gpuMemory, k.compute, k.nvlink, k.table = g.Product, g.MemoryMiB, g.ComputeCapability, g.Clique != "", g.Table
	}
	return k
}

// compare orders classes: the order in which a job that takes any of several
// considers them when all else is equal. Less memory first, so that the bigger
// GPUs stay free for those who need them.
func (k classKey) compare(l classKey) int {
	return cmp.Or(
		cmp.Compare(k.gpuMemory, l.gpuMemory),
		cmp.Compare(k.product, l.product),
		cmp.Compare(k.compute.Major, l.compute.Major),
		cmp.Compare(k.compute.Minor, l.compute.Minor),
		cmp.Compare(k.gpus, l.gpus),
		cmp.Compare(k.pool, l.pool),
		compareBool(k.nvlink, l.nvlink),
		cmp.Compare(k.table, l.table),
		cmp.Compare(k.fence, l.fence),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// admits reports whether nodes of the class can serve members of the group, as
// far as the class tells.
func (k classKey) admits(g *berth.Group) bool {
	s := &g.Selector
	switch {
	case len(s.Pools) > 0 && !slices.Contains(s.Pools, k.pool),
		len(s.Products) > 0 && !slices.Contains(s.Products, k.product),
		k.gpuMemory < s.MinGPUMemoryMiB,
		k.compute.Less(s.MinComputeCapability),
		k.gpus < g.Claim.GPUs,
		k.gpus == 0 && g.Claim.Device(),
		g.Claim.NVLink && !k.nvlink:
		return false
	}
	return true
}

// A classTable interns hardware classes. A vacant index is used again.
type classTable struct {
	byKey map[classKey]int
	list  []classEntry
	// version changes with the set of classes: whoever keeps a list of classes
	// has to look again.
	version int
}

type classEntry struct {
	key     classKey
	table   *table
	windows []*window // those that key.fence names
	nodes   int       // 0: vacant
}

func (t *classTable) add(k classKey, table *table, windows []*window) int {
	i, known := t.byKey[k]
	if !known {
		i = slices.IndexFunc(t.list, func(e classEntry) bool { return e.nodes == 0 })
		if i < 0 {
			i = len(t.list)
			t.list = append(t.list, classEntry{})
		}
		t.list[i].key, t.list[i].table, t.list[i].windows = k, table, windows
		t.byKey[k] = i
		t.version++
	}
	t.list[i].nodes++
	return i
}

func (t *classTable) drop(i int) {
	t.list[i].nodes--
	if t.list[i].nodes == 0 {
		delete(t.byKey, t.list[i].key)
		t.list[i].table, t.list[i].windows = nil, nil
		t.version++
	}
}

// admits is classKey.admits, and reports whether an instance that is claimed can be had.
func (e *classEntry) admits(g *berth.Group) bool {
	return e.key.admits(g) && (!g.Claim.Instance() || len(e.table.profiles(&g.Claim)) > 0)
}

// matching lists the classes that admit the group, in the order of their keys. Of
// those that are set aside it lists the open ones.
func (t *classTable) matching(g *berth.Group, open func([]*window) bool) []topology.Class {
	var classes []topology.Class
	for i := range t.list {
		e := &t.list[i]
		if e.nodes > 0 && e.admits(g) && (e.key.fence == "" || open != nil && open(e.windows)) {
			classes = append(classes, topology.Class(i))
		}
	}
	slices.SortFunc(classes, func(a, b topology.Class) int { return t.list[a].key.compare(t.list[b].key) })
	return classes
}

// instances lists the profiles that serve a claim on some classes, those that cost the
// least first.
func (t *classTable) instances(cl *berth.Claim, classes []topology.Class) []gang.Profile {
	if !cl.Instance() {
		return nil
	}
	var list []gang.Profile
	for _, class := range classes {
		for _, p := range t.list[class].table.profiles(cl) {
			list = append(list, gang.Profile{Class: class, Index: p})
		}
	}
	// Stable: by price, then as the classes and the tables have it.
	slices.SortStableFunc(list, func(a, b gang.Profile) int { return cmp.Compare(t.milli(a), t.milli(b)) })
	return list
}

func (t *classTable) milli(p gang.Profile) int { return t.list[p.Class].table.lattice.Milli(p.Index) }

// An ownerKey is who may be together on a shared GPU.
type ownerKey struct {
	tenant berth.TenantID
	mode   berth.ShareMode
}

// An ownerTable interns owners of shared GPUs, counting who uses each.
type ownerTable struct {
	byKey map[ownerKey]gang.Owner
	uses  []int
	keys  []ownerKey
}

// newOwnerTable returns an empty table. Owner 0 is nobody's.
func newOwnerTable() ownerTable {
	return ownerTable{byKey: map[ownerKey]gang.Owner{}, uses: []int{1}, keys: make([]ownerKey, 1)}
}

func (t *ownerTable) retain(k ownerKey) gang.Owner {
	o, known := t.byKey[k]
	if !known {
		i := slices.Index(t.uses, 0)
		if i < 0 {
			i = len(t.uses)
			t.uses, t.keys = append(t.uses, 0), append(t.keys, k)
		}
		o = gang.Owner(i)
		t.keys[i], t.byKey[k] = k, o
	}
	t.uses[o]++
	return o
}

func (t *ownerTable) release(o gang.Owner) {
	t.uses[o]--
	if t.uses[o] == 0 {
		delete(t.byKey, t.keys[o])
	}
}

// releaseShare gives up the use of a share's owner, if it is a share.
func (t *ownerTable) releaseShare(s gang.Share) {
	if s.Milli > 0 {
		t.release(s.Owner)
	}
}

// addNode puts a checked, unknown node into the fleet.
func (c *Core) addNode(spec berth.Node) *berth.Error {
	key, windows := keyOf(&spec), c.windowsAround(&spec)
	key.fence = fenceOf(windows)
	var table *table
	if key.table != "" {
		table, _ = c.table(key.table) // checked
	}
	product, err := c.retainProduct(key.product)
	if err != nil {
		return err
	}
	class := c.classes.add(key, table, windows)
	i, err := c.addToFleet(&spec, key, class)
	if err != nil {
		c.classes.drop(class)
		c.quota.ReleaseProduct(product)
		return err
	}
	for int(i) >= len(c.nodes) {
		c.nodes = append(c.nodes, nil)
	}
	n := &node{
		spec: spec, index: i, class: class, product: product, windows: windows, table: table,
		gpus: make([]gpuState, len(spec.GPUs)),
	}
	n.setGeometry(geometryOf(&c.config.Policy, spec.Pool))
	if table != nil {
		table.nodes++
	}
	c.countPliable(n, 1)
	for _, w := range windows {
		w.add(n)
	}
	c.nodes[i] = n
	c.nodeByID[spec.ID] = n
	c.wire(n)
	for g := range spec.GPUs {
		c.divide(n, g)
		c.settleGPU(n, g)
	}
	c.recount(n, n.capacityNow())
	c.countSound(n)
	return nil
}

// retainProduct counts one more node of a product; "" is none.
func (c *Core) retainProduct(name string) (quota.ProductIndex, *berth.Error) {
	if name == "" {
		return quota.NoProduct, nil
	}
	product, err := c.quota.RetainProduct(name)
	if err != nil {
		return product, refusal.Of(berth.ErrLimit, "node.gpus[0].product", err.Error())
	}
	return product, nil
}

func (c *Core) addToFleet(spec *berth.Node, key classKey, class int) (topology.Node, *berth.Error) {
	var lattice *mig.Lattice
	if t := c.classes.list[class].table; t != nil {
		lattice = t.lattice
	}
	if len(c.classes.byKey) > limits.MaxKinds {
		return 0, refusal.Of(berth.ErrLimit, "node", fmt.Sprintf("the fleet has %d kinds of node already (pool, product, memory and number of GPUs)", limits.MaxKinds))
	}
	i, err := c.fleet.AddNode(gang.NodeSpec{
		Name: string(spec.ID), Path: spec.Domains, Class: topology.Class(class),
		GPUs: len(spec.GPUs), GPUMemoryMiB: key.gpuMemory,
		Host: spec.Host(), Lattice: lattice, MaxShares: maxShares(spec),
	})
	if err != nil {
		return 0, refusal.Of(berth.ErrConflict, "node.id", err.Error())
	}
	return i, nil
}

// removeNode takes a node on which nothing is held out of the fleet.
func (c *Core) removeNode(n *node) {
	c.countAs(n, false)
	for _, w := range n.windows {
		w.remove(n)
	}
	c.setDraining(n, false)
	n.trust.Probation, n.trust.Trial, n.trust.Spare = 0, 0, false
	c.watch(n)
	c.recount(n, capacity{})
	c.dropRepartitions(n)
	for g := range n.gpus {
		c.lapse(n, g)
	}
	c.astray = slices.DeleteFunc(c.astray, func(at gpuAt) bool { return at.node == n })
	c.countPliable(n, -1)
	must(c.fleet.RemoveNode(n.index))
	if n.Freed {
		i := slices.Index(c.freedNodes, n)
		c.freedNodes = slices.Delete(c.freedNodes, i, i+1)
		c.agenda.freedGone()
	}
	c.nodes[n.index] = nil
	delete(c.nodeByID, n.spec.ID)
	c.classes.drop(n.class)
	c.graphs.release(n.graph)
	c.quota.ReleaseProduct(n.product)
	if n.table != nil {
		n.table.nodes--
	}
}

// setGeometry sets the geometry of the node's pool.
func (n *node) setGeometry(g berth.Geometry) {
	n.geometry, n.base = g, slices.SortedFunc(slices.Values(g.Layout), mig.ProfileName.Compare)
	n.home = nil
	if n.table != nil && len(n.base) > 0 {
		n.home, _ = n.table.arranged(n.base)
	}
}

// closed reports whether the node takes no work.
func (n *node) closed() bool { return n.Cordoned || n.trust.Probation != 0 }

// hardware is the class of the node, as the packages below know it.
func (n *node) hardware() topology.Class { return topology.Class(n.class) }

// matchesLabels reports whether the node carries all of the labels, given as
// sorted pairs.
func (n *node) matchesLabels(labels []label) bool {
	for _, l := range labels {
		if v, ok := n.spec.Labels[l.key]; !ok || v != l.value {
			return false
		}
	}
	return true
}

type label struct{ key, value string }
