package evict

import (
	"cmp"
	"math"
	"slices"

	"github.com/berth-sched/berth/core/internal/evictable"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/pq"
	"github.com/berth-sched/berth/preempt"
)

// A NodeToClear is a node with those that could be moved off it.
type NodeToClear struct {
	*record.Node
	Movers []*record.Replica
	Milli  int64
	Cost   preempt.GPUMilliseconds
}

// nodeToClear is a node with the gangs on it that may move; false: there are none.
func (r *rearrangement) nodeToClear(n *record.Node, may func(*record.Replica) bool) (to NodeToClear, some bool) {
	to.Node = n
	r.im.evict.Cleared++
	for _, at := range n.Members {
		rep := at.Rep
		if !may(rep) {
			continue
		}
		to.Milli += record.ChargeOf(&rep.Members[at.Index].Hold, n).GPUMilli
		if !slices.Contains(to.Movers, rep) {
			to.Movers = append(to.Movers, rep)
			to.Cost += min(r.im.evict.victims.CostToMove(rep), math.MaxInt64-to.Cost)
		}
	}
	slices.SortFunc(to.Movers, record.CompareReplicas)
	return to, len(to.Movers) > 0 && to.Milli > 0
}

// costOfEach is what it costs to clear a node, for each thousandth of a GPU.
func costOfEach(n *NodeToClear) int64 { return int64(n.Cost) / n.Milli }

// nodesToClear lists the nodes with gangs that may move, in the order of what it costs to clear
// them for each GPU. To look at so many takes as long as some searches.
func (r *rearrangement) nodesToClear(may func(*record.Replica) bool) (list []NodeToClear) {
	for _, n := range r.im.evict.state.Nodes {
		if n == nil {
			continue
		}
		if to, some := r.nodeToClear(n, may); some {
			list = append(list, to)
		}
	}
	slices.SortFunc(list, func(a, b NodeToClear) int {
		return cmp.Or(cmp.Compare(costOfEach(&a), costOfEach(&b)), record.CompareNodes(a.Node, b.Node))
	})
	r.im.VictimSearches -= len(list) / 16
	return list
}

// A clearing gives the nodes of nodesToClear one by one, in the same order: it looks at those alone
// that may be next, as the least that it costs to clear them says.
type clearing struct {
	r     *rearrangement
	may   func(*record.Replica) bool
	suits func(*record.Node) bool
	// bounds are those of the nodes that were not looked at; looked are the others that were not
	// given yet.
	bounds pq.Heap[evictable.NodeCost]
	looked pq.Heap[weighed]
}

// A weighed node has its own cost.
type weighed struct {
	evictable.NodeCost
	NodeToClear
}

// clearing begins one, of the nodes that suit and the gangs that may move.
func (r *rearrangement) clearing(suits func(*record.Node) bool, may func(*record.Replica) bool) *clearing {
	return &clearing{
		r: r, may: may, suits: suits, bounds: r.im.evict.victims.LowerBounds(),
		looked: pq.New(func(a, b weighed) bool { return a.Before(b.NodeCost) }, nil),
	}
}

// next gives the next node; false: that was all. Everything is in place as it was at the beginning.
func (c *clearing) next() (to NodeToClear, some bool) {
	for c.bounds.Len() > 0 && (c.looked.Len() == 0 || c.bounds.Min().Before(c.looked.Min().NodeCost)) {
		bound := c.bounds.Pop()
		n := c.r.im.evict.state.Nodes[bound.Node]
		if !c.suits(n) {
			continue
		}
		if to, some = c.r.nodeToClear(n, c.may); some {
			c.looked.Push(weighed{bound.With(costOfEach(&to)), to})
		}
	}
	if c.looked.Len() == 0 {
		return NodeToClear{}, false
	}
	return c.looked.Pop().NodeToClear, true
}
