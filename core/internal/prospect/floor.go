package prospect

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/topology"
)

// A Floor is a node, and what it costs at the least to clear it for each thousandth of a GPU, in
// thousandths of a GPU-millisecond.
type Floor struct {
	Node topology.NodeIndex
	rank int32
	Cost int64
}

// With is the same node at another cost.
func (f Floor) With(cost int64) Floor { return Floor{f.Node, f.rank, cost} }

// Before is the order of floors: by cost, and by the names of the nodes.
func (f Floor) Before(o Floor) bool {
	return cmp.Or(cmp.Compare(f.Cost, o.Cost), cmp.Compare(f.rank, o.rank)) < 0
}

// Floors are the nodes from which something may be taken back, the least on top.
func (p *Prospects) Floors() pq.Heap[Floor] {
	p.Refresh()
	p.rankNodes()
	list := p.floors[:0]
	for i := range p.nodes {
		b, cost := &p.nodes[i].bottom, int64(none)
		if b.grows != none {
			cost = b.grows + int64(p.state.Now)
		}
		if cost = min(cost, b.fixed); cost != none {
			list = append(list, Floor{topology.NodeIndex(i), p.ranks[i], cost / 1000})
		}
	}
	p.floors = list
	return pq.Of(list, Floor.Before)
}

// rankNodes gives the nodes that came since the last time their ranks among all, by name.
// O(nodes log nodes) where many came, and O(nodes) for each where few did.
func (p *Prospects) rankNodes() {
	if len(p.renamed) == 0 {
		return
	}
	id := func(i topology.NodeIndex) berth.NodeID { return p.state.Nodes[i].Spec.ID }
	p.names = slices.DeleteFunc(p.names, func(i topology.NodeIndex) bool { return p.ranks[i] < 0 })
	for _, i := range p.renamed { // of a node that has gone, too: another may come in its place
		p.ranks[i] = 0
	}
	fresh := slices.DeleteFunc(p.renamed, func(i topology.NodeIndex) bool { return p.state.Nodes[i] == nil })
	if p.renamed = p.renamed[:0]; len(fresh) > 32 {
		p.names = append(p.names, fresh...)
		slices.SortFunc(p.names, func(a, b topology.NodeIndex) int { return cmp.Compare(id(a), id(b)) })
	} else {
		for _, i := range fresh {
			at, _ := slices.BinarySearchFunc(p.names, id(i), func(o topology.NodeIndex, name berth.NodeID) int { return cmp.Compare(id(o), name) })
			p.names = slices.Insert(p.names, at, i)
		}
	}
	for rank, i := range p.names {
		p.ranks[i] = int32(rank)
	}
}
