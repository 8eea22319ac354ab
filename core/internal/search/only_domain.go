package search

import (
	"math/bits"
	"slices"

	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// This file keeps services out of the only domain of a gang that waits.
//
// The law: room(g, d) is how many members of a group g of a waiting gang fit into the nodes of the
// domain d that take work, if services alone run there, all of one product where the group wants
// that. A replica of a service gets a place with room(g, d) >= needed(g) before and not after it
// only if another domain has room for g, or if the replica fits nowhere else.
//
// The case: two leaves with four free nodes each. A gang of four may use all nodes of the one and
// three of the other, as one is of another pool. By counts the leaves are alike, the service takes
// a node of the first, and the gang waits for ever: a service does not end. Script 355 plays it.
//
// Rejected: room by the GPUs that are free now, as jobs end and leave a domain whole; a place that
// is forbidden to the service, as it would wait beside GPUs that are free.
//
// Its limits: plans, moves and evictions place services without it. Groups of one gang count one by
// one. Gangs with domains for themselves, gangs that must be on one node or on nodes of the same
// labels, and claims of shares and instances are not looked at; nor is any gang where more than
// mostBound buckets wait for a domain, so that a search stays short.

const (
	// onlyDomains bounds how often a search for a service begins anew, without further domains.
	onlyDomains = 8
	// mostBound bounds the buckets that are looked at for each place of a service.
	mostBound = 64
)

// leavesDomains reports whether a service is to leave domains to gangs.
func (se *Search) leavesDomains() bool {
	return len(se.backlog.DomainBound) > 0 && len(se.backlog.DomainBound) <= mostBound
}

// onlyDomainsTaken lists the domains that are the last with room for a gang that waits, but for
// members that are held and not booked. The list is the same set in whatever order gangs wait.
// O(mostBound x nodes of a domain x members there), and O(nodes) for each domain that it lists.
func (se *Search) onlyDomainsTaken(members []gang.Member) (only []topology.DomainIndex) {
	tree := se.state.Fleet.Tree()
	for _, b := range se.backlog.DomainBound {
		if b.Shape.Buckets[0] != b {
			continue // those of another queue ask for the same
		}
		se.state.Compile(b.Shape)
		least := &b.Shape.Minimum
		for i := range least.Groups {
			g := &least.Groups[i]
			level := least.Around(i)
			if level == topology.LevelFleet || level == tree.NodeLevel() || g.Claim.GPUs == 0 {
				continue
			}
			last := topology.RootDomain
			for m := range members {
				d := tree.DomainOf(members[m].Hold.Node, level)
				if d == last || slices.Contains(only, d) {
					continue
				}
				last = d
				if !se.hasRoom(d, g, nil) && se.hasRoom(d, g, members) && !se.anyHasRoom(topology.RootDomain, level, g) {
					only = append(only, d)
				}
			}
		}
	}
	return only
}

// anyHasRoom reports whether a domain of a level, at or below another, has room for a group.
func (se *Search) anyHasRoom(d topology.DomainIndex, level topology.Level, g *gang.Group) bool {
	tree := se.state.Fleet.Tree()
	if tree.DomainLevel(d) == level {
		return se.hasRoom(d, g, nil)
	}
	return slices.ContainsFunc(tree.Children(d), func(child topology.DomainIndex) bool { return se.anyHasRoom(child, level, g) })
}

// hasRoom reports whether a domain has room for all members of a group, without some that are held
// and not booked: for all of one kind, where the group is to be of one.
func (se *Search) hasRoom(d topology.DomainIndex, g *gang.Group, without []gang.Member) bool {
	if len(g.Kinds) == 0 || g.Members == 1 {
		return se.roomBesideServices(d, g, without, g.Members) >= g.Members
	}
	for i, kind := range g.Kinds {
		if slices.Contains(g.Kinds[:i], kind) {
			continue
		}
		one := g.Only(func(class topology.NodeClass) bool { return g.Kinds[slices.Index(g.Classes, class)] == kind })
		if se.roomBesideServices(d, &one, without, g.Members) >= g.Members {
			return true
		}
	}
	return false
}

// roomBesideServices is how many members of a group fit into a domain if services alone run there,
// or as many as are enough.
func (se *Search) roomBesideServices(d topology.DomainIndex, g *gang.Group, without []gang.Member, enough int) (room int) {
	tree := se.state.Fleet.Tree()
	for _, child := range tree.Children(d) {
		if room >= enough {
			return room
		}
		room += se.roomBesideServices(child, g, without, enough-room)
	}
	for _, at := range tree.Nodes(d) {
		if room >= enough {
			return room
		}
		if n := se.state.Nodes[at]; !n.Closed() && n.Suits(g) {
			room += se.roomOnNode(n, &g.Claim, without)
		}
	}
	return room
}

// roomOnNode is roomBesideServices for a node.
func (se *Search) roomOnNode(n *record.Node, c *gang.Claim, without []gang.Member) int {
	gpus, host := se.state.Fleet.FreeMask(n.Index), se.state.Fleet.HostFree(n.Index)
	declared := se.state.Fleet.DeclaredFree(n.Index)
	leaves := func(h *gang.Hold) {
		if h.Share.GPUMilli == 0 && h.Instance == (mig.Placement{}) {
			gpus |= h.GPUs
		}
		host, declared = host.Plus(h.Host), declared.Plus(h.Declared)
	}
	for _, m := range n.Members {
		if m.Rep.Job.Spec.Service == nil {
			leaves(&m.Rep.Members[m.Index].Hold)
		}
	}
	for m := range without {
		if without[m].Hold.Node == n.Index {
			leaves(&without[m].Hold)
		}
	}
	fits := int64(bits.OnesCount64(gpus) / c.GPUs)
	for r, asked := range c.Host {
		if asked > 0 {
			fits = min(fits, max(0, host[r])/asked)
		}
	}
	for i := range countable.MaxDeclared {
		if asked := c.Declared.Of(i); asked > 0 {
			fits = min(fits, max(0, declared.Of(i))/asked)
		}
	}
	return int(fits)
}

// outside is a request without the nodes of some domains.
func (se *Search) outside(domains []topology.DomainIndex, r *gang.Request) *gang.Request {
	tree := se.state.Fleet.Tree()
	return leavingOut(r, func(n topology.NodeIndex) bool {
		return slices.ContainsFunc(domains, func(d topology.DomainIndex) bool { return tree.DomainOf(n, tree.DomainLevel(d)) == d })
	})
}
