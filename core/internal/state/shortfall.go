package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/catalogue"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/topology"
)

// Shortfall is what one group of a gang that has started is short of and can get in one
// go, where the rest of the gang lets it be: at least one member, or one segment.
//
// In a group with segments that is, of what is missing, the part up to the first
// segment that is there in part; or, if that comes first, the rest of that segment, in
// its own domain. It is always what is missing of the first members, by index.
func (st *State) Shortfall(rep *record.Replica, group int) record.ShapeSpec {
	spec, b := st.further(rep, group)
	own, g := rep.MembersOf(group), &spec.Groups[0]
	g.MinMembers = 1
	if copies := record.CopiesOf(&rep.Job.Spec.Topology, &rep.Job.Spec.Groups[group]); copies > 1 {
		own = st.shortCopy(rep, group, copies, &b)
	}
	for len(g.Topology.Segments) > 0 {
		segment := g.Topology.Segments[0]
		whole, part := firstMissing(own, segment.Size)
		if part == nil {
			g.Members, g.MinMembers = whole, segment.Size
			break
		}
		own, g.Topology.Segments = part, g.Topology.Segments[1:]
		b.include(own, segment.Level)
	}
	if len(g.Topology.Segments) == 0 {
		g.Members = record.Absent(own)
	}
	b.bound(&spec)
	return spec
}

// further is what further members of a group of a gang that has started ask for, apart from its
// segments and their number, and where the rest of the gang lets them be.
func (st *State) further(rep *record.Replica, group int) (spec record.ShapeSpec, b boundary) {
	spec = record.ShapeSpec{Groups: []berth.Group{rep.Job.Spec.Groups[group]}, NonPreemptible: rep.Job.Spec.NonPreemptible}
	spec.Gang = min(gpusOf(rep.Job.Spec.Groups), berth.MaxGPUs+1)
	if rep.Job.Spec.Topology.Exclusive != "" {
		spec.Topology.Exclusive = rep.Job.Spec.Topology.Exclusive
		spec.Of, spec.OfReplica = rep.Job.Spec.ID, rep.Number
	}
	g := &spec.Groups[0]
	if _, some := catalogue.OwnerOf(catalogue.TrustDomain{}, &g.Claim); some {
		spec.TrustDomain = rep.Job.TrustDomain()
	}
	spec.SameLabels = slices.Sorted(slices.Values(rep.Job.Spec.SameLabels))
	spec.Like = likeNode(rep, spec.SameLabels)
	b = boundary{state: st}
	t := &rep.Job.Spec.Topology
	b.include(rep.Members, t.Required)
	p, single := record.PartOf(t, g), true
	if p != nil {
		if g.Part, single = "", record.Copies(p) == 1; single {
			b.include(rep.CopyOf(p, 0), PartLevel(t, p))
		}
	}
	if own := rep.MembersOf(group); record.There(own) {
		if single {
			b.include(own, g.Topology.Required)
		}
		g.Topology = berth.Topology{Segments: g.Topology.Segments} // the boundary says the rest
		if !g.MixProducts && values.WantsDevice(&g.Claim) {
			i := slices.IndexFunc(own, record.Member.There)
			g.Selector.Products = []string{own[i].Node.Spec.Product}
		}
	}
	g.Name = ""
	return spec, b
}

// shortCopy lists the members of a group in the first copy of its part that lacks some, and narrows
// the boundary to where the rest of that copy lets them be.
func (st *State) shortCopy(rep *record.Replica, group, copies int, b *boundary) []record.Member {
	t, g := &rep.Job.Spec.Topology, &rep.Job.Spec.Groups[group]
	each, at := g.Members/copies, 0
	own := rep.MembersOf(group)
	for at < copies-1 && record.Absent(own[at*each:(at+1)*each]) == 0 {
		at++
	}
	own = own[at*each : (at+1)*each]
	p := record.PartOf(t, g)
	b.include(rep.CopyOf(p, at), PartLevel(t, p))
	b.include(own, g.Topology.Required)
	return own
}

// likeNode names the node that further members of a gang have to be labelled like: that of its
// first member with GPUs that is there, whatever it carries now; empty: none is. So the name does
// not change with labels.
func likeNode(rep *record.Replica, labels []string) berth.NodeID {
	if len(labels) == 0 {
		return ""
	}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if m.There() && values.WantsDevice(&rep.Job.Spec.Groups[rep.Job.Group(flat)].Claim) {
			return m.Node.Spec.ID
		}
	}
	return ""
}

// A boundary is the narrowest domain, or the node, in which further members have to be
// so that required levels are kept.
type boundary struct {
	state  *State
	within topology.DomainIndex
	only   *record.Node
}

// include narrows the boundary to the domain of a level in which members are that have
// started.
func (b *boundary) include(members []record.Member, name string) {
	tree := b.state.Fleet.Tree()
	level, _ := tree.Level(name)
	if name == "" || b.only != nil {
		return
	}
	i := slices.IndexFunc(members, record.Member.There)
	switch {
	case i < 0:
	case level >= tree.NodeLevel():
		b.only = members[i].Node
	case level > tree.DomainLevel(b.within):
		b.within = tree.DomainOf(members[i].Node.Index, level)
	}
}

// bound has a request stay inside a boundary.
func (b *boundary) bound(spec *record.ShapeSpec) {
	spec.Within = b.within
	if b.only != nil {
		spec.Only = b.only.Spec.ID
	}
}

// firstMissing looks at the segments of a list of members, up to the first that is
// there in part. It returns how many members are in segments that are not there at
// all or, if there are none before it, the one that is there in part.
func firstMissing(members []record.Member, size int) (whole int, part []record.Member) {
	for segment := range slices.Chunk(members, size) {
		switch missing := record.Absent(segment); {
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
