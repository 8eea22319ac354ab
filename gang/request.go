package gang

import (
	"fmt"

	"github.com/berth-sched/berth/topology"
)

// A Request is a gang to be placed: all of its groups or nothing. Place does not
// change it, so it can be made once for all gangs of one shape.
type Request struct {
	Groups []Group
	// Within limits the search to the nodes at or below one domain; the zero value
	// is the whole fleet.
	Within topology.Domain
	// Required: all members of all groups inside one domain of this level. 0: none.
	Required topology.Level
	// Preferred is the level at which the search starts; it goes on at wider levels
	// up to Required. 0: at single nodes. It is not wider than Required.
	Preferred topology.Level
}

// A Group is a number of like members of a gang.
type Group struct {
	// Count is the number of members; Min is the number without which the gang is
	// not worth starting; zero: Count.
	Count, Min int
	// Claim of each member.
	Claim Claim
	// Classes of nodes that will do. Where all else is equal an earlier class is
	// taken first. Not empty, and no class twice.
	Classes []topology.Class
	// Match, unless nil, tells which nodes of these classes will do. It must give
	// the same answer for the same node as long as a call lasts.
	Match func(topology.Node) bool
	// Required and Preferred are as in Request, for the members of this group among
	// themselves.
	Required, Preferred topology.Level
	// Segment: members 0 to Segment-1 inside one domain of SegmentLevel, the next
	// Segment members again, and so on. 0 and 1: none. Count and Min are multiples
	// of it.
	Segment      int
	SegmentLevel topology.Level
}

// A Placement is where a gang went.
type Placement struct {
	// Members in the order of group and index. Each group has members 0 to some
	// number, which is at least the group's minimum.
	Members []Member
	// Domain is the lowest domain that holds all members.
	Domain topology.Domain
	// Level is the level of Domain, or the node level if one node holds all members.
	Level topology.Level
}

// A Member is one placed member.
type Member struct {
	// Group is the position of the group in Request.Groups, Index that of the member
	// in its group.
	Group, Index int
	Hold         Hold
}

// min is the least number of members that will do.
func (g *Group) min() int {
	if g.Min == 0 {
		return g.Count
	}
	return g.Min
}

// segment returns how many members must be together, as seen from inside a domain of
// a level: 1 where that is no constraint any more.
func (g *Group) segment(inside topology.Level) int {
	if g.Segment <= 1 || g.SegmentLevel <= inside {
		return 1
	}
	return g.Segment
}

// Validate says what is wrong with a request, as an *Error: ErrInvalid, or ErrUnknown
// for a level or a domain that the fleet does not have. A class without nodes is
// fine; it has nothing to give. O(groups x classes), and no allocation when the
// request is valid.
func (f *Fleet) Validate(r *Request) error {
	if r == nil || len(r.Groups) == 0 {
		return &Error{Field: "groups", Reason: "there are none", Kind: ErrInvalid}
	}
	if !f.tree.HasDomain(r.Within) {
		return &Error{Field: "within", Reason: fmt.Sprintf("there is no domain with index %d", r.Within), Kind: ErrUnknown}
	}
	if err := f.validateLevels(r.Required, r.Preferred); err != nil {
		return err
	}
	for i := range r.Groups {
		if err := f.validateGroup(&r.Groups[i]); err != nil {
			err.Field = fmt.Sprintf("groups[%d].%s", i, err.Field)
			return err
		}
	}
	return nil
}

func (f *Fleet) validateGroup(g *Group) *Error {
	invalid := func(field, format string, args ...any) *Error {
		return &Error{Field: field, Reason: fmt.Sprintf(format, args...), Kind: ErrInvalid}
	}
	switch {
	case g.Count < 1 || g.Count > MaxMembers:
		return invalid("count", "%d members are not within 1 and %d", g.Count, MaxMembers)
	case g.Min < 0 || g.Min > g.Count:
		return invalid("min", "a minimum of %d is not within 0 and the count of %d", g.Min, g.Count)
	case g.Segment < 0:
		return invalid("segment", "%d is negative", g.Segment)
	case g.Segment > 1 && g.SegmentLevel < 1:
		return invalid("segmentLevel", "segments need a level below the fleet")
	case g.Segment > 1 && (g.Count%g.Segment != 0 || g.Min%g.Segment != 0):
		return invalid("segment", "%d members, at least %d, do not come in segments of %d", g.Count, g.min(), g.Segment)
	case g.SegmentLevel < 0 || g.SegmentLevel > f.tree.NodeLevel():
		return &Error{Field: "segmentLevel", Reason: fmt.Sprintf("there is no level %d", g.SegmentLevel), Kind: ErrUnknown}
	case len(g.Classes) == 0:
		return invalid("classes", "there are none")
	}
	if err := f.validateClasses(g.Classes); err != nil {
		return err
	}
	if err := f.validateLevels(g.Required, g.Preferred); err != nil {
		return err
	}
	return g.Claim.validate()
}

func (f *Fleet) validateClasses(classes []topology.Class) *Error {
	f.epoch++
	for i, c := range classes {
		if c < 0 || c >= topology.MaxClasses {
			return &Error{
				Field: fmt.Sprintf("classes[%d]", i), Kind: ErrInvalid,
				Reason: fmt.Sprintf("class %d is not within 0 and %d", c, topology.MaxClasses-1),
			}
		}
		for int(c) >= len(f.seen) {
			f.seen = append(f.seen, 0)
		}
		if f.seen[c] == f.epoch {
			return &Error{Field: fmt.Sprintf("classes[%d]", i), Reason: fmt.Sprintf("class %d is there twice", c), Kind: ErrInvalid}
		}
		f.seen[c] = f.epoch
	}
	return nil
}

func (f *Fleet) validateLevels(required, preferred topology.Level) *Error {
	switch {
	case required < 0 || required > f.tree.NodeLevel():
		return &Error{Field: "required", Reason: fmt.Sprintf("there is no level %d", required), Kind: ErrUnknown}
	case preferred < 0 || preferred > f.tree.NodeLevel():
		return &Error{Field: "preferred", Reason: fmt.Sprintf("there is no level %d", preferred), Kind: ErrUnknown}
	case preferred != 0 && preferred < required:
		return &Error{
			Field: "preferred", Kind: ErrInvalid,
			Reason: fmt.Sprintf("%s is wider than the required %s", f.tree.LevelName(preferred), f.tree.LevelName(required)),
		}
	}
	return nil
}

func (c *Claim) validate() *Error {
	invalid := func(field, format string, args ...any) *Error {
		return &Error{Field: "claim." + field, Reason: fmt.Sprintf(format, args...), Kind: ErrInvalid}
	}
	switch s := &c.Share; {
	case c.GPUs < 0 || c.GPUs > topology.MaxGPUs:
		return invalid("gpus", "%d GPUs are not within 0 and %d", c.GPUs, topology.MaxGPUs)
	case s.Milli < 0 || s.Milli >= wholeMilli:
		return invalid("share.milli", "%d thousandths are not within 1 and 999", s.Milli)
	case c.GPUs > 0 && s.Milli > 0:
		return invalid("share", "whole GPUs and a share exclude each other")
	case s.Milli == 0 && *s != Share{}:
		return invalid("share.milli", "a share of no compute")
	case s.MemoryMiB < 0 || s.MemoryMiB > MaxAmount:
		return invalid("share.memoryMiB", "%d MiB are not within 0 and %d", s.MemoryMiB, int64(MaxAmount))
	case s.Owner > MaxOwner:
		return invalid("share.owner", "owner %d is above %d", s.Owner, MaxOwner)
	case c.CPUMilli < 0 || c.CPUMilli > MaxAmount:
		return invalid("cpuMilli", "%d is not within 0 and %d", c.CPUMilli, int64(MaxAmount))
	case c.MemoryMiB < 0 || c.MemoryMiB > MaxAmount:
		return invalid("memoryMiB", "%d is not within 0 and %d", c.MemoryMiB, int64(MaxAmount))
	}
	return nil
}
