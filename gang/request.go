package gang

import (
	"errors"
	"fmt"

	"github.com/berth-sched/berth/countable"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/internal/errtext"
	"github.com/berth-sched/berth/mig"
	"github.com/berth-sched/berth/topology"
)

// A Request is a gang to be placed: all of its groups or nothing. Place does not
// change it, so it can be made once for all gangs of one shape.
type Request struct {
	Groups []Group
	// Within limits the search to the nodes at or below one domain; the zero value
	// is the whole fleet.
	Within topology.DomainIndex
	// Required: all members of all groups inside one domain of this level. 0: none.
	Required topology.Level
	// Preferred is the level at which the search starts; it goes on at wider levels
	// up to Required. 0: at single nodes. It is not wider than Required.
	Preferred topology.Level
	// Parts are groups that stay together, each part in a domain of its own level.
	Parts []Part
	// Apart: the copies of all parts stand in different domains of this level, each inside one of
	// them. It is wider than the node, narrower than Required, and no narrower than the Required of
	// any part. 0: none.
	Apart topology.Level
	// Locality weighs being close against packing. The zero value is Strict.
	Locality Locality
	// Variant, unless nil, tells nodes apart, as by the version of a driver: all members that
	// claim GPUs or a part of one go to nodes with one text, whichever. It is asked for nodes
	// that match, and must give the same answer as long as a call lasts.
	Variant func(topology.NodeIndex) string
}

// A Part is some groups of a gang that stay together, inside the domain of the gang: those that
// name it in Group.Part.
type Part struct {
	// Required: all members of a copy of the part inside one domain of this level. 0: that of
	// Request.Apart.
	Required topology.Level
	// Copies is how often the part is there, each copy with as many members of each of its groups:
	// members 0 to Members/Copies-1 of each are the first copy, and so on. 0: once. Groups of a
	// part with several copies have all of their members or none, are neither spread nor balanced
	// and have no RailLevel, and of each copy whole outermost segments; their own Required and
	// Preferred are for the members of each copy.
	Copies int
}

// A Locality is the dial between communication and packing: how far a gang may move
// apart so that fewer whole domains are broken. A domain is whole while all of its
// GPUs are free and all of its nodes take work; a placement breaks it by using some
// of it, but not all.
type Locality uint8

const (
	// LocalityStrict: the lowest domain that fits, always; there the fewest domains, and only
	// then the fewest broken ones.
	LocalityStrict Locality = iota
	// LocalityBalanced: one level above the lowest that fits, if that breaks fewer whole
	// domains, by cost.
	LocalityBalanced
	// LocalityLoose: any level up to the required one, to break the fewest whole domains, by
	// cost; of equals the lowest.
	LocalityLoose
)

const localityNames enum.Names = "Locality: strict|balanced|loose"

// String returns the name of a locality, such as "strict".
func (l Locality) String() string { return enum.Text(localityNames, l) }

func (l Locality) MarshalText() ([]byte, error) { return enum.Marshal(localityNames, l, invalidText) }

func (l *Locality) UnmarshalText(b []byte) error {
	return enum.Unmarshal(localityNames, l, b, invalidText)
}

// A Segment is a part of a group that stays together.
type Segment struct {
	// Size is the number of members. 0 and 1 ask for nothing.
	Size int
	// Level of the domain that each segment stays in. Fleet asks for nothing.
	Level topology.Level
}

// A Group is a number of like members of a gang.
type Group struct {
	// Members is their number; MinMembers is the number without which the gang is
	// not worth starting; zero: Members.
	Members, MinMembers int
	// Part is the position of the group's part in Request.Parts, from 1; 0: it is of none.
	Part int
	// Claim of each member.
	Claim Claim
	// Classes of nodes that will do. Where all else is equal an earlier class is
	// taken first. Not empty, and no class twice.
	Classes []topology.NodeClass
	// Kinds, unless empty, has a number for each of Classes, such as one for each product: all
	// members of the group go to classes of one number, whichever. See the package comment for
	// how it is chosen.
	Kinds []int32
	// Tiers, unless empty, has a number for each of Classes: the group goes to classes of the least
	// number if these hold the whole gang with all its members, else to those of the least two, and
	// so on. Each number takes a search. For claims of whole GPUs.
	Tiers []int32
	// Match, unless nil, tells which nodes of these classes will do. It must give
	// the same answer for the same node as long as a call lasts.
	Match func(topology.NodeIndex) bool
	// Tag is for the functions of SetScorer: the search does not look at it.
	Tag any
	// Required and Preferred are as in Request, for the members of this group among
	// themselves.
	Required, Preferred topology.Level
	// Segments keep members together: of an entry, members 0 to Size-1 inside one
	// domain of Level, the next Size members again, and so on. They are nested, the
	// outermost first: the size of each divides the one before, and its level is at
	// least as narrow. Members and MinMembers are multiples of the outermost size, and there
	// are only whole ones of it, also where its level is the fleet's.
	Segments []Segment
	// Balance divides the members, or the outermost segments, as evenly as possible
	// over the domains of this level that the group uses: first the fewest domains that
	// can hold it, inside the domain that the search settles on, then the largest
	// possible minimum. It has an effect only where it is narrower than the
	// domain settled on. 0: none.
	Balance topology.Level
	// Spread: over all domains of this level that have at least one node for the
	// group, inside the domain of its required level (or Within), the numbers of
	// its members differ by at most MaxSkew. A node is for the group if it takes work,
	// is of one of Classes and matches, whatever is free there. 0: none.
	Spread topology.Level
	// MaxSkew is at least 1 with Spread, and 0 without.
	MaxSkew int
	// RailLevel is rail alignment: all members inside one domain of this level, or on one
	// node, and the same GPUs, by index, are used on every node, except that one node
	// may use a subset of them. For claims of whole GPUs; nodes with more than
	// MaxRails GPUs are not used. 0: none.
	RailLevel topology.Level
}

// Only is the group with those of its classes alone for which a function says so, and with what is
// said of each of them. It shares nothing of that with the group. O(classes).
func (g *Group) Only(keep func(topology.NodeClass) bool) Group {
	one := *g
	one.Classes, one.Kinds, one.Tiers, one.Claim.Instances = nil, nil, nil, nil
	for i, class := range g.Classes {
		if !keep(class) {
			continue
		}
		if one.Classes = append(one.Classes, class); len(g.Kinds) > 0 {
			one.Kinds = append(one.Kinds, g.Kinds[i])
		}
		if len(g.Tiers) > 0 {
			one.Tiers = append(one.Tiers, g.Tiers[i])
		}
	}
	for _, p := range g.Claim.Instances {
		if keep(p.Class) {
			one.Claim.Instances = append(one.Claim.Instances, p)
		}
	}
	return one
}

// A Placement is where a gang went.
type Placement struct {
	// Members in the order of group and index. Each group has members 0 to some
	// number, which is at least the group's minimum.
	Members []Member
	// Domain is the lowest domain that holds all members.
	Domain topology.DomainIndex
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
	if g.MinMembers == 0 {
		return g.Members
	}
	return g.MinMembers
}

// required is the level of the domain in which the group has to be.
func (g *Group) required() topology.Level { return max(g.Required, g.RailLevel) }

// segment returns how many members must be together, as seen from inside a domain of
// a level: 1 where that is no constraint any more.
func (g *Group) segment(inside topology.Level) int {
	for i := range g.Segments {
		if s := &g.Segments[i]; s.Level > inside && s.Size > 1 {
			return s.Size
		}
	}
	return 1
}

// outermost is the number of members that only come and go together: those of the widest
// segment, also where that may be spread over the fleet.
func (g *Group) outermost() int { return g.segment(topology.LevelFleet - 1) }

// narrowest is the narrowest level of the group's segments that is not the node's:
// inside a domain of it, counts of GPUs tell all. Fleet if there is none.
func (g *Group) narrowest(node topology.Level) topology.Level {
	for i := len(g.Segments) - 1; i >= 0; i-- {
		if s := &g.Segments[i]; s.Level < node && s.Size > 1 {
			return s.Level
		}
	}
	return topology.LevelFleet
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
	if r.Locality > LocalityLoose {
		return &Error{Field: "locality", Reason: fmt.Sprintf("there is no locality %d", r.Locality), Kind: ErrInvalid}
	}
	if err := f.validateLevels(r.Required, r.Preferred); err != nil {
		return err
	}
	if len(r.Parts) > 0 || r.Apart != 0 {
		if err := f.validateParts(r); err != nil {
			return err
		}
	}
	for i := range r.Groups {
		err := f.validateGroup(&r.Groups[i])
		if err == nil && r.Groups[i].Part != 0 {
			err = r.validateInPart(&r.Groups[i])
		}
		if err != nil {
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
	case g.Members < 1 || g.Members > MaxMembers:
		return invalid("members", "%d members are not within 1 and %d", g.Members, MaxMembers)
	case g.MinMembers < 0 || g.MinMembers > g.Members:
		return invalid("minMembers", "a minimum of %d is not within 0 and the count of %d", g.MinMembers, g.Members)
	case len(g.Classes) == 0:
		return invalid("classes", "there are none")
	}
	if err := f.validateClasses(g.Classes); err != nil {
		return err
	}
	if len(g.Kinds) > 0 && len(g.Kinds) != len(g.Classes) {
		return invalid("kinds", "%d kinds for %d classes", len(g.Kinds), len(g.Classes))
	}
	switch {
	case len(g.Tiers) > 0 && len(g.Tiers) != len(g.Classes):
		return invalid("tiers", "%d tiers for %d classes", len(g.Tiers), len(g.Classes))
	case len(g.Tiers) > 0 && g.Claim.GPUs == 0:
		return invalid("tiers", "members without whole GPUs have none")
	}
	if err := f.validateLevels(g.Required, g.Preferred); err != nil {
		return err
	}
	if err := f.validateSegments(g); err != nil {
		return err
	}
	if err := f.validateWishes(g); err != nil {
		return err
	}
	if err := f.validateInstances(g); err != nil {
		return err
	}
	return g.Claim.validate()
}

// validateSegments checks the nesting of segments.
func (f *Fleet) validateSegments(g *Group) *Error {
	refuse := func(kind error, i int, field, format string, args ...any) *Error {
		return &Error{Field: fmt.Sprintf("segments[%d].%s", i, field), Reason: fmt.Sprintf(format, args...), Kind: kind}
	}
	var outer Segment
	for i, s := range g.Segments {
		switch {
		case s.Size < 0:
			return refuse(ErrInvalid, i, "size", "%d is negative", s.Size)
		case s.Level < 0 || s.Level > f.tree.NodeLevel():
			return refuse(ErrUnknown, i, "level", "there is no level %d", s.Level)
		case s.Size <= 1:
			continue
		case outer.Size > 0 && outer.Size%s.Size != 0:
			return refuse(ErrInvalid, i, "size", "%d does not divide the %d of the segment around it", s.Size, outer.Size)
		case outer.Size > 0 && s.Level < outer.Level:
			return refuse(ErrInvalid, i, "level", "%s is wider than the %s of the segment around it",
				f.tree.LevelName(s.Level), f.tree.LevelName(outer.Level))
		case g.Members%s.Size != 0 || g.MinMembers%s.Size != 0:
			return refuse(ErrInvalid, i, "size", "%d members, or the minimum of %d, cannot be divided into segments of %d", g.Members, g.min(), s.Size)
		}
		outer = s
		for _, wish := range [...]struct {
			field string
			level topology.Level
		}{{"balance", g.Balance}, {"spread", g.Spread}} {
			if s.Level < wish.level {
				return &Error{Field: wish.field, Kind: ErrInvalid, Reason: fmt.Sprintf("%s is narrower than the %s of a segment",
					f.tree.LevelName(wish.level), f.tree.LevelName(s.Level))}
			}
		}
		if g.RailLevel > 0 && s.Level > g.RailLevel && s.Level < f.tree.NodeLevel() {
			return &Error{Field: "railLevel", Kind: ErrInvalid, Reason: fmt.Sprintf("a segment in one %s, between %s and the node",
				f.tree.LevelName(s.Level), f.tree.LevelName(g.RailLevel))}
		}
	}
	return nil
}

// validateWishes checks balance, spread and alignment.
func (f *Fleet) validateWishes(g *Group) *Error {
	if g.Balance == 0 && g.Spread == 0 && g.RailLevel == 0 && g.MaxSkew == 0 {
		return nil
	}
	for _, wish := range [...]struct {
		field string
		level topology.Level
	}{{"balance", g.Balance}, {"spread", g.Spread}, {"railLevel", g.RailLevel}} {
		if wish.level < 0 || wish.level > f.tree.NodeLevel() {
			return &Error{Field: wish.field, Reason: fmt.Sprintf("there is no level %d", wish.level), Kind: ErrUnknown}
		}
	}
	switch {
	case g.Spread == 0 && g.MaxSkew != 0:
		return &Error{Field: "maxSkew", Reason: "a skew without a level to spread over", Kind: ErrInvalid}
	case g.Spread != 0 && (g.MaxSkew < 1 || g.MaxSkew > MaxMembers):
		return &Error{Field: "maxSkew", Reason: fmt.Sprintf("%d is not within 1 and %d", g.MaxSkew, MaxMembers), Kind: ErrInvalid}
	case g.RailLevel != 0 && g.Claim.GPUs == 0:
		return &Error{Field: "railLevel", Reason: "members without whole GPUs have no rails", Kind: ErrInvalid}
	case g.RailLevel != 0 && (g.Spread != 0 || g.Balance != 0):
		return &Error{Field: "railLevel", Reason: "it excludes spread and balance", Kind: ErrInvalid}
	}
	return nil
}

// validateInstances checks the profiles of a claim against the classes of its group, which
// validateClasses has just seen. O(profiles).
func (f *Fleet) validateInstances(g *Group) *Error {
	for i, p := range g.Claim.Instances {
		refuse := func(field, format string, args ...any) *Error {
			return &Error{
				Field: fmt.Sprintf("claim.instances[%d].%s", i, field), Reason: fmt.Sprintf(format, args...), Kind: ErrInvalid,
			}
		}
		switch {
		case p.Class < 0 || int(p.Class) >= len(f.seen) || f.seen[p.Class] != f.epoch:
			return refuse("class", "class %d is none of the group's", p.Class)
		case int(p.Class) < len(f.divided) && f.divided[p.Class].lacks(p.Index):
			return refuse("index", "the nodes of class %d have no profile %d", p.Class, p.Index)
		}
	}
	return nil
}

func (f *Fleet) validateClasses(classes []topology.NodeClass) *Error {
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
	case s.GPUMilli < 0 || s.GPUMilli >= wholeMilli:
		return invalid("share.gpuMilli", "%d thousandths are not within 1 and 999", s.GPUMilli)
	case c.GPUs > 0 && s.GPUMilli > 0:
		return invalid("share", "whole GPUs and a share exclude each other")
	case len(c.Instances) > 0 && (c.GPUs > 0 || s.GPUMilli > 0):
		return invalid("instances", "an instance excludes whole GPUs and a share")
	case len(c.Instances) > MaxClaimProfiles:
		return invalid("instances", "%d profiles are more than %d", len(c.Instances), MaxClaimProfiles)
	case s.GPUMilli == 0 && *s != Share{}:
		return invalid("share.gpuMilli", "a share of no compute")
	case s.Over && s.GPUMilli != overMilli:
		return invalid("share.gpuMilli", "%d thousandths of a lent GPU, which are not divided", s.GPUMilli)
	case s.MemoryMiB < 0 || s.MemoryMiB > MaxAmount:
		return invalid("share.memoryMiB", "%d MiB are not within 0 and %d", s.MemoryMiB, int64(MaxAmount))
	case s.GPUMilli > 0 && (s.Owner == 0 || s.Owner > MaxOwner):
		return invalid("share.owner", "owner %d is not within 1 and %d", s.Owner, MaxOwner)
	}
	for r := range c.Host {
		if amount := c.Host[r]; amount < 0 || amount > MaxAmount {
			return invalid(countable.Resource(r).Field(), "%d is not within 0 and %d", amount, int64(MaxAmount))
		}
	}
	if i := outOfRange(c.Declared); i >= 0 {
		return invalid(declaredField(i), "%d is not within 0 and %d", c.Declared[i], int64(MaxAmount))
	}
	for i, p := range c.Instances {
		if p.Index < 0 || p.Index >= mig.MaxProfiles {
			return invalid(fmt.Sprintf("instances[%d].index", i), "%d is not within 0 and %d", p.Index, mig.MaxProfiles-1)
		}
	}
	return nil
}

// The kinds of refusal. Test for them with errors.Is; get the details with
// errors.As and an *Error.
var (
	// ErrInvalid: a value that makes no sense by itself, such as a negative amount.
	ErrInvalid = errors.New("invalid")
	// ErrUnknown: a node, a GPU, a level or a domain that the fleet does not have.
	ErrUnknown = errors.New("unknown")
	// ErrHeld: a GPU that somebody else holds.
	ErrHeld = errors.New("already held")
	// ErrCapacity: more than is left.
	ErrCapacity = errors.New("not enough left")
	// ErrUnavailable: a node that takes no work, or a GPU that failed.
	ErrUnavailable = errors.New("not available")
	// ErrNotHeld: a release of what is not held so.
	ErrNotHeld = errors.New("not held")
	// ErrInUse: a node on which something is held.
	ErrInUse = errors.New("in use")
)

// An Error is a refusal. What was refused changed nothing.
type Error struct {
	// Node is the name of the node at fault, empty where none is.
	Node string
	// Field is the path of the offending value, such as hold.gpus or
	// groups[1].claim.
	Field string
	// Reason says what is wrong, in a sentence without a full stop.
	Reason string
	// Kind is one of the sentinels of this package.
	Kind error
}

func (e *Error) Error() string {
	return errtext.Join("gang", errtext.Named("node", e.Node), e.Field, e.Reason)
}

// Unwrap makes errors.Is find the kind of the refusal.
func (e *Error) Unwrap() error { return e.Kind }

// invalidText refuses a text or number that is no value of a type.
func invalidText(name, reason string) error {
	return &Error{Field: name, Reason: reason, Kind: ErrInvalid}
}
