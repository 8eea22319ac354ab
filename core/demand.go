package core

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// What a trial tells about its replica and its candidates beside the test whether it fits,
// so that hardly a call of that is made in vain.

// demand is what the replica needs at least, in whole GPUs: the members of its largest
// group, each on a node, in one domain of the level that is required. Nothing is known of
// parts of GPUs.
func (t *trial) demand() preempt.Demand {
	c, tree := t.core, t.core.fleet.Tree()
	r := t.request
	g := &r.Groups[0]
	for i := range r.Groups {
		if o := &r.Groups[i]; o.Count*o.Claim.GPUs > g.Count*g.Claim.GPUs {
			g = o
		}
	}
	if g.Claim.GPUs == 0 {
		return preempt.Demand{}
	}
	d := preempt.Demand{Pieces: g.Count, PieceMilli: int64(g.Claim.GPUs) * 1000}
	required := max(r.Required, g.Required, g.Align)
	if required == tree.NodeLevel() && g.Align < required {
		d.Pieces, d.PieceMilli = 1, d.PieceMilli*int64(d.Pieces)
	}
	// Whether a node is free for somebody who wants it alone depends on who is gone.
	anyone := g.Match == nil || t.rep.job.spec.Topology.Exclusive != ""
	for at, n := range c.nodes {
		if n == nil || !slices.Contains(g.Classes, topology.Class(n.class)) || !c.fleet.Schedulable(n.index) || !anyone && !g.Match(n.index) {
			continue
		}
		room := preempt.Room{Domain: int32(at), FreeMilli: 1000 * int64(berth.GPUSet(c.fleet.FreeMask(n.index)).Len())}
		if required > 0 && required < tree.NodeLevel() {
			room.Region = int32(tree.DomainOf(n.index, required))
		}
		d.Rooms = append(d.Rooms, room)
	}
	return d
}

// noteHolds tells a candidate on which nodes it holds something, and how much could be free
// there without it: every GPU of which it has a part.
func noteHolds(candidate *preempt.Candidate, p piece) {
	type onNode struct {
		node topology.Node
		gpus berth.GPUSet
	}
	var list []onNode
	p.eachHold(func(h *gang.Hold, _ *node) { list = append(list, onNode{h.Node, berth.GPUSet(h.GPUs)}) })
	slices.SortFunc(list, func(a, b onNode) int { return cmp.Compare(a.node, b.node) })
	for i := 0; i < len(list); {
		at, gpus := list[i].node, berth.GPUSet(0)
		for ; i < len(list) && list[i].node == at; i++ {
			gpus |= list[i].gpus
		}
		candidate.Domains = append(candidate.Domains, int32(at))
		candidate.Held = append(candidate.Held, 1000*int64(gpus.Len()))
	}
}
