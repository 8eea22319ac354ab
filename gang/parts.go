package gang

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// This file is about parts: groups that stay together inside the domain of their gang, once or in
// several copies.
//
// The law. Let p be a part with the level l, which is its Required, or Request.Apart where that is
// narrower, and u(g) = Members/Copies of each of its groups g. In each domain of l, and of each
// level wider than l, there is a number k so that k u(g) members of each g stand in it. With Apart
// the sum of k over all parts is at most 1 in each domain of that level. Which members are one copy
// follows: each domain of l has whole copies, and members are numbered domain by domain. What a
// group of several copies requires holds for the u(g) members of each copy.
//
// A part is placed as a gang is: each copy in the lowest domain that holds it, there in the
// tightest. The solver has the law as a condition on its states, so that what parts placed one by
// one do not find is found for certain, as far as it goes.
//
// Rejected: a gang for each part, of which the caller keeps all or none. Of two that each find a
// place first for themselves, the first may take the only place of the second, and no solver sees
// both.

const (
	// MaxParts bounds the parts of a request, and MaxCopies the copies of all of them together.
	MaxParts  = 64
	MaxCopies = 1024
)

// parts is the scratch of a search for a request with parts.
type parts struct {
	// inside: a copy, or a group that is of no part, is being placed.
	inside bool
	// rescues: what the groups of a copy do not find one after the other the solver looks for, as
	// the whole request is too much for it.
	rescues bool
	// leads has one group of each part, and those of none; trial is an order of the groups of a
	// copy on trial, scope those groups, and wanted what was wanted of each of them.
	leads, trial, scope, wanted []int
	// taken are the domains of the level Apart that have a copy.
	taken []topology.DomainIndex
}

// copies is how often a part is there.
func (p *Part) copies() int { return max(1, p.Copies) }

// levelOf is the level inside one domain of which each copy of a part is.
func (r *Request) levelOf(part int) topology.Level { return max(r.Parts[part].Required, r.Apart) }

// tie is the level inside one domain of which a group has to be because of its part; that of a part
// in several copies ties no group as a whole.
func (r *Request) tie(group int) topology.Level {
	if p := r.Groups[group].Part; p > 0 && r.copiesOf(group) == 1 {
		return r.levelOf(p - 1)
	}
	return topology.LevelFleet
}

// Around is the narrowest level inside one domain of which all members of a group have to be, as
// required of the gang, of its part or of the group. O(1).
func (r *Request) Around(group int) topology.Level {
	return max(r.Required, r.own(group))
}

// own is Around without what the gang requires.
func (r *Request) own(group int) topology.Level {
	if r.copiesOf(group) > 1 {
		return topology.LevelFleet
	}
	return max(r.tie(group), r.Groups[group].Required)
}

// only returns the levels of a group that is placed alone, which are the gang's as well: inside one
// domain of which it has to be, and at which it prefers to be.
func (r *Request) only(group int) (required, preferred topology.Level) {
	g := &r.Groups[group]
	if g.Part != 0 && r.copiesOf(group) > 1 {
		return r.Required, r.Preferred
	}
	required, preferred = max(r.Required, r.tie(group), g.required()), r.Preferred
	if g.Preferred != 0 {
		preferred = g.Preferred
	}
	return required, preferred
}

// copiesOf is in how many copies of its part a group is.
func (r *Request) copiesOf(group int) int {
	if p := r.Groups[group].Part; p > 0 {
		return r.Parts[p-1].copies()
	}
	return 1
}

// CopyOf is the level inside one domain of which each copy of the part of a group has to be, and
// how many members of the group are in a copy; level 0 where it is of no part with several copies.
// O(1).
func (r *Request) CopyOf(group int) (level topology.Level, members int) {
	if r.copiesOf(group) == 1 {
		return topology.LevelFleet, r.Groups[group].Members
	}
	return r.levelOf(r.Groups[group].Part - 1), r.unit(group, r.Groups[group].Members)
}

// standApart reports whether copies of parts have to be in different domains.
func (r *Request) standApart() bool {
	copies := 0
	for i := range r.Parts {
		copies += r.Parts[i].copies()
	}
	return r.Apart > 0 && copies > 1
}

// mates reports whether two groups are one, or of one part that is there once.
func (r *Request) mates(a, b int) bool {
	return a == b || r.tie(a) > topology.LevelFleet && r.Groups[a].Part == r.Groups[b].Part
}

// unit is how many of the wanted members of a group a copy of its part has.
func (r *Request) unit(group, wanted int) int { return wanted / r.copiesOf(group) }

// validateParts checks the parts of a request that has some, or says Apart.
func (f *Fleet) validateParts(r *Request) *Error {
	refuse := func(kind error, field, format string, args ...any) *Error {
		return &Error{Field: field, Reason: fmt.Sprintf(format, args...), Kind: kind}
	}
	if len(r.Parts) > MaxParts {
		return refuse(ErrInvalid, "parts", "%d parts are more than %d", len(r.Parts), MaxParts)
	}
	copies := 0
	for i := range r.Parts {
		p := &r.Parts[i]
		switch copies += p.copies(); {
		case p.Required < 0 || p.Required > f.tree.NodeLevel():
			return refuse(ErrUnknown, fmt.Sprintf("parts[%d].required", i), "there is no level %d", p.Required)
		case p.Required > 0 && p.Required < r.Apart:
			return refuse(ErrInvalid, fmt.Sprintf("parts[%d].required", i), "%s is wider than the %s in which parts stand apart", f.tree.LevelName(p.Required), f.tree.LevelName(r.Apart))
		case p.Copies < 0 || copies > MaxCopies:
			return refuse(ErrInvalid, fmt.Sprintf("parts[%d].copies", i), "%d copies are negative, or more than %d with those before", p.Copies, MaxCopies)
		}
	}
	switch {
	case r.Apart < 0 || r.Apart > f.tree.NodeLevel():
		return refuse(ErrUnknown, "apart", "there is no level %d", r.Apart)
	case r.Apart == f.tree.NodeLevel():
		return refuse(ErrInvalid, "apart", "parts stand apart in domains, not on nodes")
	case r.standApart() && r.Apart <= r.Required:
		return refuse(ErrInvalid, "apart", "%s is not narrower than the required %s", f.tree.LevelName(r.Apart), f.tree.LevelName(r.Required))
	}
	return nil
}

// validateInPart checks a valid group that is of a part against it.
func (r *Request) validateInPart(g *Group) *Error {
	if g.Part < 0 || g.Part > len(r.Parts) {
		return &Error{Field: "part", Reason: fmt.Sprintf("there is no part %d", g.Part), Kind: ErrInvalid}
	}
	copies := r.Parts[g.Part-1].copies()
	switch {
	case copies == 1:
	case g.Members%copies != 0 || g.Members/copies%g.outermost() != 0:
		return &Error{Field: "members", Reason: fmt.Sprintf("%d cannot be divided into %d copies of whole segments", g.Members, copies), Kind: ErrInvalid}
	case g.min() != g.Members:
		return &Error{Field: "minMembers", Reason: "a group of several copies has all of its members", Kind: ErrInvalid}
	case g.Spread > 0 || g.Balance > 0 || g.RailLevel > 0:
		return &Error{Field: "part", Reason: "a group of several copies is neither spread nor balanced, and not on aligned rails", Kind: ErrInvalid}
	}
	return nil
}

// divides reports whether what is placed next are parts, and not groups.
func (s *search) divides() bool { return len(s.request.Parts) > 0 && !s.parts.inside }

// leads lists one group for each part among some groups, and those that are of none.
func (s *search) leads(scope []int) []int {
	s.parts.leads = s.parts.leads[:0]
	for i, group := range scope {
		part := s.request.Groups[group].Part
		if part == 0 || !slices.ContainsFunc(scope[:i], func(g int) bool { return s.request.Groups[g].Part == part }) {
			s.parts.leads = append(s.parts.leads, group)
		}
	}
	return s.parts.leads
}

// placePart places all copies of a part in a domain. False: some may be placed.
func (f *Fleet) placePart(d topology.DomainIndex, part int) bool {
	s := &f.search
	r, p := s.request, &s.parts
	p.scope, p.wanted, p.trial = p.scope[:0], p.wanted[:0], p.trial[:0]
	for _, group := range s.order {
		if r.Groups[group].Part == part+1 {
			p.scope, p.trial, p.wanted = append(p.scope, group), append(p.trial, group), append(p.wanted, s.counts[group])
			s.counts[group] = r.unit(group, s.counts[group])
		}
	}
	p.inside, p.rescues = true, !f.solvable(d, s.order, rescueSteps-s.solver.spent, true)
	ok := true
	for range r.Parts[part].copies() {
		if ok = f.placeCopy(d, part); !ok {
			break
		}
	}
	p.inside, p.rescues, s.surveyed = false, false, -1
	for i, group := range p.scope {
		s.counts[group] = p.wanted[i]
	}
	return ok
}

// placeCopy places one copy of a part in a domain, or nothing.
func (f *Fleet) placeCopy(d topology.DomainIndex, part int) bool {
	s := &f.search
	r, p := s.request, &s.parts
	required, preferred := r.levelOf(part), topology.LevelFleet
	if g := &r.Groups[p.scope[0]]; len(p.scope) == 1 {
		required, preferred = max(required, g.required()), g.Preferred
	}
	switch {
	case r.Apart == 0:
		return f.place(d, p.scope, required, preferred)
	case f.tree.DomainLevel(d) >= r.Apart: // all of it is in one domain of that level
		p.taken = append(p.taken, d)
		return len(p.taken) == 1 && f.place(d, p.scope, required, preferred)
	}
	f.survey(d, p.scope)
	base := len(s.candidates)
	f.collect(d, p.scope, r.Apart)
	list := s.candidates[base:]
	slices.SortFunc(list, func(a, b candidate) int { return s.compare(&a, &b) })
	at := slices.IndexFunc(list, func(c candidate) bool {
		return !slices.Contains(p.taken, c.domain) && f.place(c.domain, p.scope, required, preferred)
	})
	if at >= 0 {
		p.taken = append(p.taken, list[at].domain)
	}
	s.candidates = s.candidates[:base]
	return at >= 0
}

// A solverPart is one part as the solver sees it.
type solverPart struct {
	level  topology.Level
	copies int
	groups []int // of the request
	units  []int // members of each in a copy
	// own are the levels that those of a copy of each require among themselves, where there are
	// several copies.
	own []topology.Level
}

// setUpParts lists the parts.
func (v *solver) setUpParts(s *search, scope []int) {
	if v.distinct, v.parts = s.request.Apart, v.parts[:0]; s.parts.inside {
		return // all of a copy is in one domain of its level
	}
	for part := range s.request.Parts {
		var one solverPart
		if len(v.parts) < cap(v.parts) { // its memory is used again
			one = v.parts[:len(v.parts)+1][len(v.parts)]
		}
		one.level, one.copies, one.groups, one.units, one.own = s.request.levelOf(part), s.request.Parts[part].copies(), one.groups[:0], one.units[:0], one.own[:0]
		for _, group := range scope {
			if s.request.Groups[group].Part == part+1 {
				one.groups, one.units = append(one.groups, group), append(one.units, s.request.unit(group, s.counts[group]))
				own := topology.LevelFleet
				if one.copies > 1 {
					own = s.request.Groups[group].Required
				}
				one.own = append(one.own, own)
			}
		}
		if len(one.groups) > 0 {
			v.parts = append(v.parts, one)
		}
	}
}

// crowds reports whether copies would have to share a domain of the level at which they are apart.
func (v *solver) crowds() bool {
	copies := 0
	for i := range v.parts {
		copies += v.parts[i].copies
	}
	return v.distinct > 0 && v.level >= v.distinct && copies > 1
}

// keepsParts reports whether a domain of a level may have a state: see the law above.
func (v *solver) keepsParts(state int, level topology.Level) bool {
	together := 0
	for i := range v.parts {
		p := &v.parts[i]
		copies := -1
		for j, group := range p.groups {
			members := v.membersOf(state, group)
			if level <= max(p.level, p.own[j]) && members%p.units[j] != 0 || level <= p.level && copies >= 0 && copies != members/p.units[j] {
				return false
			}
			copies = members / p.units[j]
		}
		together += copies
	}
	return level != v.distinct || v.distinct == 0 || together <= 1
}

// membersOf is how many members of a group of the request a state has.
func (v *solver) membersOf(state, group int) (members int) {
	for i := range v.groups {
		if v.groups[i].group == group {
			members += int(v.members[state*len(v.groups)+i])
		}
	}
	return members
}
