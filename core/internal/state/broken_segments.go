package state

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
)

// The part of the questions about gangs that is about segments which lost members to failed
// hardware.

// BrokenForGood lists, by flat index, the members that are left of segments which can never be
// whole again where they stand: some of their members are absent, and the domain that the segment
// has to stay in would not hold all of it even if the nodes there held nothing. Nodes that take no
// work, GPUs that have failed, and hot spares, of which a gang that runs gets none, count as gone.
// Of nested segments the widest goes with one that is broken.
//
// The law: a segment S of n members, of which some are absent, has to stay in a domain D, the
// narrowest that those present allow. S is broken for good if idle(D) < n, where idle(D) is how
// many of its members fit in D if nothing is held there.
//
// The case: a GPU fails under a tensor-parallel group of eight on one node. Seven members stay,
// which the job cannot use, and the eighth has no place as long as they do (KAI-Scheduler #2208).
//
// Rejected: to give up what is left of any segment as soon as a member is lost. Where another node
// of the domain can take the lost member, it is there again before a whole segment is elsewhere.
//
// It is looked at when any hardware is lost, as the gang may have counted on that:
// O(conditions of nodes in D) for each segment that is short.
func (st *State) BrokenForGood(rep *record.Replica) (left []int) {
	for g := range rep.Job.Spec.Groups {
		segments := rep.Job.Spec.Groups[g].Topology.Segments
		if len(segments) == 0 {
			continue
		}
		spec, b := st.further(rep, g)
		first := rep.Job.Offset(g)
		for own := range slices.Chunk(rep.MembersOf(g), segments[0].Size) {
			if record.Incomplete(own) && !st.canBeWhole(own, segments, &spec, b) {
				for i := range own {
					if own[i].There() {
						left = append(left, first+i)
					}
				}
			}
			first += len(own)
		}
	}
	return left
}

// canBeWhole reports whether a segment, the widest of a list, that has members inside a boundary
// and lacks others could be whole there if nothing were held, and so could those nested in it.
func (st *State) canBeWhole(own []record.Member, segments []berth.Segment, of *record.ShapeSpec, b boundary) bool {
	b.include(own, segments[0].Level)
	if nested := segments[1:]; len(nested) > 0 {
		for part := range slices.Chunk(own, nested[0].Size) {
			if record.Incomplete(part) && !st.canBeWhole(part, nested, of, b) {
				return false
			}
		}
	}
	spec := *of
	b.bound(&spec)
	spec.Groups = slices.Clone(of.Groups)
	g := &spec.Groups[0]
	g.Members, g.MinMembers, g.Topology = len(own), 0, berth.Topology{}
	request := st.Request(&spec)
	short, isShort := st.Fleet.Diagnose(st.Widen(&spec, &request, func(res *record.Reservation) bool { return !res.IsSpares() }))
	return !isShort || short.IfIdle >= len(own)
}
