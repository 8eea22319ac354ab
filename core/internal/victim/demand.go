package victim

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/preempt"
	"github.com/berth-sched/berth/topology"
)

// What a victim search knows of its replica and its candidates beside the test of a fit, so that
// hardly a call of that test is in vain.

// Demand is what the replica needs at least, in whole GPUs: the members of its largest
// group, each on a node, in one domain of the level that is required and of one product. Nothing
// is known of parts of GPUs. The nodes are those that are free for a member, as many as it could
// use, and those on which one of the candidates stands.
func (t *Search) Demand(candidates []preempt.Candidate) preempt.Requirement {
	c, tree := t.victims, t.victims.state.Fleet.Tree()
	at := t.largestGroup()
	g := &t.Request.Groups[at]
	if g.Claim.GPUs == 0 {
		return preempt.Requirement{}
	}
	d := preempt.Requirement{Members: g.Members, MemberMilli: int64(g.Claim.GPUs) * 1000}
	required := max(t.Request.Around(at), g.RailLevel)
	if required == tree.NodeLevel() && g.RailLevel < required {
		d.Members, d.MemberMilli = 1, d.MemberMilli*int64(d.Members)
	}
	listed := map[topology.NodeIndex]bool{}
	pieces := map[int32]int64{} // by region, of nodes without a candidate
	// An exclusive claim on a node depends on the victims that are gone.
	anyone := g.Match == nil || t.Rep.Job.Spec.Topology.Exclusive != ""
	add := func(n topology.NodeIndex, stands bool) {
		if listed[n] || !c.state.Fleet.Schedulable(n) || !slices.Contains(g.Classes, tree.NodeClass(n)) || !anyone && !g.Match(n) {
			return
		}
		room := preempt.FreeDomain{
			Domain: int32(n), Region: t.regionOf(g, required, n, d.Members > 1),
			FreeMilli: 1000 * int64(berth.GPUSet(c.state.Fleet.FreeMask(n)).Len()),
		}
		if !stands {
			if pieces[room.Region] >= int64(d.Members) {
				return
			}
			pieces[room.Region] += room.FreeMilli / d.MemberMilli
		}
		listed[n] = true
		d.Domains = append(d.Domains, room)
	}
	for i := range candidates {
		for _, n := range candidates[i].Domains {
			add(topology.NodeIndex(n), true)
		}
	}
	for _, class := range g.Classes {
		if tree.FreeOfClass(t.Request.Within, class) == 0 {
			continue
		}
		gpus, _ := tree.ClassGPUs(class)
		for k := int(d.MemberMilli / 1000); k <= gpus; k++ {
			tree.Visit(t.Request.Within, g.Classes, class, k, func(n topology.NodeIndex) bool {
				add(n, false)
				return false
			})
		}
	}
	return d
}

// largestGroup is the position of the group that asks for the most GPUs.
func (t *Search) largestGroup() (at int) {
	list := t.Request.Groups
	for i := range list {
		if list[i].Members*list[i].Claim.GPUs > list[at].Members*list[at].Claim.GPUs {
			at = i
		}
	}
	return at
}

// regionOf numbers the regions in which members of a group have to be together: a domain of the
// level that is required, with nodes of one product if there are several members.
func (t *Search) regionOf(g *gang.Group, required topology.Level, n topology.NodeIndex, several bool) int32 {
	tree, region := t.victims.state.Fleet.Tree(), int32(0)
	if required > topology.LevelFleet && required < tree.NodeLevel() {
		region = int32(tree.DomainOf(n, required))
	}
	if len(g.Kinds) > 0 && several { // all of them have one product
		region = region*int32(len(g.Kinds)) + g.Kinds[slices.Index(g.Classes, tree.NodeClass(n))]
	}
	return region
}
