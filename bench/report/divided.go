package report

import (
	"maps"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/mig"
)

// A gpuKey names a GPU.
type gpuKey struct {
	node berth.NodeID
	gpu  int
}

// A change is a Repartition that is out.
type change struct {
	order  berth.Repartition
	before berth.GPUMode
}

// needs reports whether a member needs what was ordered.
func (c *change) needs(p *berth.MemberPlacement) bool {
	if p.Node != c.order.Node || !p.GPUs.Has(c.order.GPU) {
		return false
	}
	return c.before != c.order.Mode || slices.Contains(c.order.Create, p.Instance)
}

// milli is what a placement holds, in thousandths of a GPU.
func (b *book) milli(p *berth.MemberPlacement) int64 {
	switch {
	case p.ShareMilli > 0:
		return int64(p.ShareMilli)
	case p.Instance.Size > 0:
		return 1000 * int64(p.Instance.Size) / int64(b.slices(p.Node))
	}
	return 1000 * int64(p.GPUs.Len())
}

// slices is how many memory slices each GPU of a node has.
func (b *book) slices(node berth.NodeID) int {
	name := b.nodes[node].GPUs[0].MIGTable
	if table, told := b.tables[name]; told {
		return table.MemorySlices
	}
	table, _ := mig.Lookup(name)
	return max(table.MemorySlices, 1)
}

// joined notes the modes of a node's GPUs.
func (b *book) joined(n *berth.Node) {
	for g := range n.GPUs {
		key := gpuKey{n.ID, g}
		if _, known := b.modes[key]; !known {
			b.modes[key] = n.GPUs[g].Mode
		}
	}
}

// left forgets the GPUs of a node.
func (b *book) left(node berth.NodeID) {
	for g := range b.nodes[node].GPUs {
		delete(b.modes, gpuKey{node, g})
	}
	for id, c := range b.changes {
		if c.order.Node == node {
			delete(b.changes, id)
		}
	}
}

// ordered notes a Repartition.
func (b *book) ordered(order berth.Repartition) {
	key := gpuKey{order.Node, order.GPU}
	b.changes[order.ID] = &change{order, b.modes[key]}
	b.modes[key] = order.Mode
}

// changed notes how a Repartition ended. What could not come about is held by nobody.
func (b *book) changed(now berth.Time, c *change, done bool) {
	delete(b.changes, c.order.ID)
	if done {
		return
	}
	b.modes[gpuKey{c.order.Node, c.order.GPU}] = c.before
	b.lose(now, c.needs)
}

// expireChanges ends the Repartitions that were not reported in time. Members that need what
// was ordered may be coming up: they hold what they hold until their own order is over.
func (b *book) expireChanges(now berth.Time) {
	maps.DeleteFunc(b.changes, func(_ berth.OrderID, c *change) bool { return c.order.Deadline <= now })
}
