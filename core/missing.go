package core

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/topology"
)

// missing is what one group of a gang that has started is short of and can get in one
// go, where the rest of the gang lets it be: at least one member, or one segment.
//
// In a group with segments that is, of what is missing, the part up to the first
// segment that is there in part; or, if that comes first, the rest of that segment, in
// its own domain. It is always what is missing of the first members, by index.
func (c *Core) missing(rep *replica, group int) shapeSpec {
	spec := shapeSpec{Groups: []berth.Group{rep.job.spec.Groups[group]}}
	if rep.job.spec.Topology.Exclusive != "" {
		spec.Topology.Exclusive = rep.job.spec.Topology.Exclusive
		spec.Of, spec.OfReplica = rep.job.spec.ID, rep.Number
	}
	g := &spec.Groups[0]
	if g.Claim.Share != nil {
		spec.Tenant = rep.job.spec.Tenant
	}
	b := boundary{core: c}
	b.include(rep.members, rep.job.spec.Topology.Required)
	first, end := rep.job.offsets[group], rep.job.offsets[group+1]
	own := rep.members[first:end]
	if there(own) {
		b.include(own, g.Topology.Required)
		g.Topology = berth.Topology{Segments: g.Topology.Segments} // the boundary says the rest
	}
	g.Name, g.Min = "", 1
	for len(g.Topology.Segments) > 0 {
		segment := g.Topology.Segments[0]
		whole, part := firstMissing(own, segment.Size)
		if part == nil {
			g.Replicas, g.Min = whole, segment.Size
			break
		}
		own, g.Topology.Segments = part, g.Topology.Segments[1:]
		b.include(own, segment.Level)
	}
	if len(g.Topology.Segments) == 0 {
		g.Replicas = absent(own)
	}
	spec.Within = b.within
	if b.only != nil {
		spec.Only = b.only.spec.ID
	}
	return spec
}

// firstMissing looks at the segments of a list of members, up to the first that is
// there in part. It returns how many members are in segments that are not there at
// all or, if there are none before it, the one that is there in part.
func firstMissing(members []member, size int) (whole int, part []member) {
	for segment := range slices.Chunk(members, size) {
		switch missing := absent(segment); {
		case missing == 0:
		case missing == size:
			whole += size
		case whole > 0:
			return whole, nil
		default:
			return 0, segment
		}
	}
	return whole, nil
}

// absent counts the members that are not there.
func absent(members []member) int {
	n := 0
	for i := range members {
		if members[i].state == memberAbsent {
			n++
		}
	}
	return n
}

// there reports whether a member runs or is being started.
func (m member) there() bool { return m.state == memberRunning || m.state == memberBinding }

// there reports whether any of the members is.
func there(members []member) bool {
	return slices.ContainsFunc(members, member.there)
}

// A boundary is the narrowest domain, or the node, in which further members have to be
// so that required levels are kept.
type boundary struct {
	core   *Core
	within topology.Domain
	only   *node
}

// include narrows the boundary to the domain of a level in which members are that have
// started.
func (b *boundary) include(members []member, name string) {
	tree := b.core.fleet.Tree()
	level, _ := tree.Level(name)
	if name == "" || b.only != nil {
		return
	}
	i := slices.IndexFunc(members, member.there)
	switch {
	case i < 0:
	case level >= tree.NodeLevel():
		b.only = members[i].node
	case level > tree.DomainLevel(b.within):
		b.within = tree.DomainOf(members[i].node.index, level)
	}
}
