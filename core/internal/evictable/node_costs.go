package evictable

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/topology"
)

// A NodeCost is a node and what it costs to clear it, or a lower bound of that, for each thousandth
// of a GPU, in thousandths of a GPU-millisecond.
type NodeCost struct {
	Node topology.NodeIndex
	rank int32
	Cost int64
}

// With is the same node at another cost.
func (c NodeCost) With(cost int64) NodeCost { return NodeCost{c.Node, c.rank, cost} }

// Before compares by cost, and then by the names of the nodes.
func (c NodeCost) Before(o NodeCost) bool {
	return cmp.Or(cmp.Compare(c.Cost, o.Cost), cmp.Compare(c.rank, o.rank)) < 0
}

// LowerBounds are those of the nodes from which something may be taken back, the least on top.
func (p *Index) LowerBounds() pq.Heap[NodeCost] {
	p.Refresh()
	p.rankNodes()
	list := p.bounds[:0]
	for i := range p.nodes {
		f := &p.nodes[i]
		if cost := f.bound.at(p.state.Now); cost != none {
			list = append(list, NodeCost{topology.NodeIndex(i), f.rank, cost / 1000})
		}
	}
	p.bounds = list
	return pq.Of(list, NodeCost.Before)
}

// rankNodes gives all nodes their ranks by name, if others came since the last time.
// O(nodes log nodes) then.
func (p *Index) rankNodes() {
	if len(p.renamed) == 0 {
		return
	}
	p.names = slices.DeleteFunc(p.names, func(i topology.NodeIndex) bool { return p.nodes[i].rank < 0 })
	for _, i := range p.renamed {
		p.nodes[i].rank = 0 // of a node that has gone, too: another may come in its place
		if p.nodes[i].node != nil {
			p.names = append(p.names, i)
		}
	}
	p.renamed = p.renamed[:0]
	slices.SortFunc(p.names, func(a, b topology.NodeIndex) int { return record.CompareNodes(p.nodes[a].node, p.nodes[b].node) })
	for rank, i := range p.names {
		p.nodes[i].rank = int32(rank)
	}
}
