package evictable

import (
	"cmp"

	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/topology"
)

// A spot is room for one member on a node.
type spot struct {
	node  topology.NodeIndex
	nth   int32 // of the members on the node
	level int32 // of the highest harm that is done for it; -1: none
	// cost is that of what goes on that level, and lower that of what goes below it.
	cost, lower int64
}

// compare is the order of spots: by harm, by cost, and by name.
func (p *Index) compare(a, b spot) int {
	if c := cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.cost, b.cost), cmp.Compare(a.lower, b.lower)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(p.state.Nodes[a.node].Spec.ID, p.state.Nodes[b.node].Spec.ID), cmp.Compare(a.nth, b.nth))
}

// A selection is of the spots that were found the cheapest: so many, or all.
type selection struct {
	index *Index
	most  int  // 0: all
	made  bool // those that are free already are only counted
	// list has them, as a heap with the dearest on top once it has so many.
	list []spot
	heap pq.Heap[spot]
	// count has the others, too.
	count int
}

// selection begins one, in memory that no pick has any more.
func (p *Index) selection(most int) selection {
	found := selection{index: p, most: most}
	if last := len(p.spare) - 1; last >= 0 {
		found.list, p.spare = p.spare[last], p.spare[:last]
	}
	return found
}

// add adds a spot, unless as many were cheaper.
func (f *selection) add(s spot) {
	f.count++
	switch {
	case f.made && s.level < 0:
	case f.most == 0 || len(f.list) < f.most:
		if f.list = append(f.list, s); len(f.list) == f.most {
			f.heap = pq.Of(f.list, func(a, b spot) bool { return f.index.compare(a, b) > 0 })
		}
	case f.index.compare(s, f.list[0]) < 0:
		f.list[0] = s
		f.heap.Fix(0)
	}
}

// full reports whether there are as many as are to be selected, and as a want has members.
func (f *selection) full(w *Want) bool {
	return f.most > 0 && len(f.list) == f.most && f.count >= w.Members
}

// worst is the dearest of a selection that is full.
func (f *selection) worst() *spot { return &f.list[0] }
