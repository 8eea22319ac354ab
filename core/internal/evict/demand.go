package evict

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// What a victim search knows of its replica and its candidates beside the test of a fit, so that
// hardly a call of that test is in vain.

// demand is what the replica needs at least, in whole GPUs: the members of its largest
// group, each on a node, in one domain of the level that is required and of one product. Nothing
// is known of parts of GPUs.
func (t *VictimSearch) demand() preempt.Requirement {
	c, tree := t.core, t.core.state.Fleet.Tree()
	r := t.Request
	g := &r.Groups[0]
	for i := range r.Groups {
		if o := &r.Groups[i]; o.Members*o.Claim.GPUs > g.Members*g.Claim.GPUs {
			g = o
		}
	}
	if g.Claim.GPUs == 0 {
		return preempt.Requirement{}
	}
	d := preempt.Requirement{Members: g.Members, MemberMilli: int64(g.Claim.GPUs) * 1000}
	required := max(r.Required, g.Required, g.RailLevel)
	if required == tree.NodeLevel() && g.RailLevel < required {
		d.Members, d.MemberMilli = 1, d.MemberMilli*int64(d.Members)
	}
	// An exclusive claim on a node depends on the victims that are gone.
	anyone := g.Match == nil || t.rep.Job.Spec.Topology.Exclusive != ""
	for at, n := range c.state.Nodes {
		if n == nil || !slices.Contains(g.Classes, topology.NodeClass(n.Class)) || !c.state.Fleet.Schedulable(n.Index) || !anyone && !g.Match(n.Index) {
			continue
		}
		room := preempt.FreeDomain{Domain: int32(at), FreeMilli: 1000 * int64(berth.GPUSet(c.state.Fleet.FreeMask(n.Index)).Len())}
		if required > 0 && required < tree.NodeLevel() {
			room.Region = int32(tree.DomainOf(n.Index, required))
		}
		if len(g.Kinds) > 0 && d.Members > 1 { // all of them have one product
			room.Region = room.Region*int32(len(g.Kinds)) + g.Kinds[slices.Index(g.Classes, topology.NodeClass(n.Class))]
		}
		d.Domains = append(d.Domains, room)
	}
	return d
}
