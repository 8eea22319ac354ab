package admission

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/topology"
)

// checkParts checks the parts of a gang by themselves.
func (ad *Admission) checkParts(t *berth.Topology) *berth.Error {
	apart, err := ad.backlog.CheckLevel(t.Apart)
	if err != nil {
		return refusal.In(err, "apart")
	}
	required, _ := ad.backlog.CheckLevel(t.Required)
	switch {
	case len(t.Parts) > limits.MaxParts:
		return refusal.Of(berth.ErrLimit, "parts", fmt.Sprintf("%d parts; the most is %d", len(t.Parts), limits.MaxParts))
	case t.Apart != "" && len(t.Parts) == 0:
		return refusal.Of(berth.ErrInvalid, "apart", "the job has no parts")
	case t.Apart == limits.LevelNode:
		return refusal.Of(berth.ErrUnsupported, "apart", "parts stand apart in domains, not on nodes")
	case t.Apart != "" && apart <= required:
		return refusal.Of(berth.ErrInvalid, "apart", fmt.Sprintf("%q is not narrower than the required level", errtext.Short(t.Apart)))
	}
	copies := 0
	for i := range t.Parts {
		if err := ad.checkPart(t.Parts, i, apart, &copies); err != nil {
			return refusal.In(err, errtext.Index("parts", i))
		}
	}
	return nil
}

// checkPart checks one of a list of parts, and counts its copies.
func (ad *Admission) checkPart(list []berth.Part, i int, apart topology.Level, copies *int) *berth.Error {
	p := &list[i]
	if err := refusal.Name(p.Name); err != nil {
		return refusal.In(err, "name")
	}
	required, err := ad.backlog.CheckLevel(p.Required)
	switch {
	case err != nil:
		return refusal.In(err, "required")
	case p.Copies < 0:
		return refusal.Of(berth.ErrInvalid, "copies", fmt.Sprintf("%d is negative", p.Copies))
	case p.Copies > limits.MaxCopies || *copies+record.Copies(p) > limits.MaxCopies:
		return refusal.Of(berth.ErrLimit, "copies", fmt.Sprintf("the parts have more than %d copies", limits.MaxCopies))
	case p.Required != "" && required < apart:
		return refusal.Of(berth.ErrInvalid, "required", fmt.Sprintf("%q is wider than the level at which parts stand apart", errtext.Short(p.Required)))
	case slices.ContainsFunc(list[:i], func(q berth.Part) bool { return q.Name == p.Name }):
		return refusal.Of(berth.ErrDuplicate, "name", fmt.Sprintf("%q names a part of the job already", errtext.Short(p.Name)))
	}
	*copies += record.Copies(p)
	return nil
}

// checkPartedGroup checks a group against its part.
func checkPartedGroup(j *berth.Job, g *berth.Group) *berth.Error {
	p := record.PartOf(&j.Topology, g)
	switch {
	case g.Part == "":
		return nil
	case p == nil:
		return refusal.Of(berth.ErrUnknown, "part", fmt.Sprintf("%q is not in topology.parts", errtext.Short(g.Part)))
	}
	t, copies := &g.Topology, record.Copies(p)
	switch {
	case copies == 1:
	case g.Members%copies != 0:
		return refusal.Of(berth.ErrInvalid, "members", fmt.Sprintf("%d members cannot be divided into %d copies", g.Members, copies))
	case len(t.Segments) > 0 && t.Segments[0].Size > 0 && g.Members/copies%t.Segments[0].Size != 0:
		return refusal.Of(berth.ErrInvalid, "topology.segments[0].size", fmt.Sprintf("the %d members of a copy cannot be divided into segments of %d", g.Members/copies, t.Segments[0].Size))
	case record.Least(g) != g.Members:
		return refusal.Of(berth.ErrUnsupported, "minMembers", "a part with copies is not elastic")
	case record.PlacedTogether(t):
		return refusal.Of(berth.ErrUnsupported, "topology", "a group of a part with copies is not balanced, spread or on aligned rails")
	}
	return nil
}
