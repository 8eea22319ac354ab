package search

import (
	"math"
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// This file keeps services out of the only domain of a gang that waits.
//
// The law: room(g, d) is how many members of a group g of a waiting gang the domain d holds if
// services alone run there. A replica of a service has a place with room(g, d) >= needed(g)
// before and not after it only if another domain d' has room(g, d') >= needed(g), or if the
// replica fits nowhere else.
//
// The case: two leaves with eight free nodes each, of which a gang of eight may use all nodes of
// the one and seven of the other, as one is of another pool. By counts the leaves are alike, the
// service takes a node of the first, and the gang waits for ever: a service does not end. Script
// 355 plays it.
//
// Rejected: what is free now instead of room(g, d), as jobs end and leave a domain whole; a place
// that is forbidden to the service, as it would wait beside GPUs that are free; gangs that must be
// on one node, since the search breaks up few whole nodes anyway. Claims of shares and instances
// fit into what is left of a GPU, and are not looked at.

// onlyDomains bounds how often a search for a service begins anew, without further domains.
const onlyDomains = 8

// leavingOnlyDomains is a request of a service without the domains that some gang needs, or the
// request itself where that fits nowhere. O(waiting shapes x nodes of a domain), and O(nodes) for
// each domain that is left out.
func (se *Search) leavingOnlyDomains(r *gang.Request) *gang.Request {
	rest := r
	for range onlyDomains {
		if !se.find(rest) {
			return r
		}
		members := se.books.Placement.Members
		only := se.onlyDomainsTaken(members)
		se.books.GiveBack(members)
		if len(only) == 0 {
			return rest
		}
		for _, d := range only {
			rest = se.outside(d, rest)
		}
	}
	return r
}

// onlyDomainsTaken lists the domains that are the last with room for a gang that waits, but for
// members that are held and not booked. It lists them all: a set that hangs on no order of gangs.
func (se *Search) onlyDomainsTaken(members []gang.Member) (only []topology.DomainIndex) {
	tree := se.state.Fleet.Tree()
	for _, b := range se.backlog.DomainBound {
		se.state.Compile(b.Shape)
		least := &b.Shape.Minimum
		for i := range least.Groups {
			g := &least.Groups[i]
			level := max(least.Required, g.Required)
			if level == topology.LevelFleet || level == tree.NodeLevel() || g.Claim.GPUs == 0 {
				continue
			}
			for m := range members {
				d := tree.DomainOf(members[m].Hold.Node, level)
				if slices.Contains(only, d) || se.roomBesideServices(d, g, nil) >= g.Members || se.roomBesideServices(d, g, members) < g.Members {
					continue
				}
				if !se.anyRoom(topology.RootDomain, level, g) {
					only = append(only, d)
				}
			}
		}
	}
	return only
}

// anyRoom reports whether a domain of a level, at or below another, has room for a group.
func (se *Search) anyRoom(d topology.DomainIndex, level topology.Level, g *gang.Group) bool {
	tree := se.state.Fleet.Tree()
	if tree.DomainLevel(d) == level {
		return se.roomBesideServices(d, g, nil) >= g.Members
	}
	return slices.ContainsFunc(tree.Children(d), func(child topology.DomainIndex) bool { return se.anyRoom(child, level, g) })
}

// roomBesideServices is how many members of a group a domain holds if services alone run there,
// without some members that are held and not booked.
func (se *Search) roomBesideServices(d topology.DomainIndex, g *gang.Group, without []gang.Member) (room int) {
	tree := se.state.Fleet.Tree()
	for _, child := range tree.Children(d) {
		room += se.roomBesideServices(child, g, without)
	}
	for _, at := range tree.Nodes(d) {
		n := se.state.Nodes[at]
		if n.Closed() || !n.Suits(g) {
			continue
		}
		gpus, host := se.state.Fleet.FreeMask(at), se.state.Fleet.HostFree(at)
		leaves := func(h *gang.Hold) {
			if h.Share.GPUMilli == 0 && h.Instance == (mig.Placement{}) {
				gpus |= h.GPUs
			}
			host = host.Plus(h.Host)
		}
		for _, m := range n.Members {
			if m.Rep.Job.Spec.Service == nil {
				leaves(&m.Rep.Members[m.Index].Hold)
			}
		}
		for m := range without {
			if without[m].Hold.Node == at {
				leaves(&without[m].Hold)
			}
		}
		fits := bits.OnesCount64(gpus) / g.Claim.GPUs
		for r, asked := range g.Claim.Host {
			if asked > 0 {
				fits = int(min(int64(fits), host[r]/asked))
			}
		}
		room += fits
	}
	return min(room, math.MaxInt32)
}

// outside is a request without the nodes of a domain.
func (se *Search) outside(d topology.DomainIndex, r *gang.Request) *gang.Request {
	tree := se.state.Fleet.Tree()
	level := tree.DomainLevel(d)
	rest := *r
	rest.Groups = slices.Clone(r.Groups)
	for i := range rest.Groups {
		match := rest.Groups[i].Match
		rest.Groups[i].Match = func(n topology.NodeIndex) bool {
			return tree.DomainOf(n, level) != d && (match == nil || match(n))
		}
	}
	return &rest
}
