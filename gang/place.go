package gang

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth/topology"
)

const (
	// maxOrders bounds how many orders of its groups a gang is tried in, in one domain.
	maxOrders = 8
	// maxCompared bounds how many nodes the domains have, taken together, that are
	// compared for what using them costs, and one domain, that is searched for the least
	// cost.
	maxCompared = 64
)

// A search is the scratch of one Place. It stays with the fleet so that a call
// allocates nothing once it has grown.
type search struct {
	// request is what is asked for, or that without the classes of which nothing is free: see lean.
	// asked is all of it.
	request, asked *Request
	placement      *Placement
	// counts are the members wanted, placed those that are, both by group.
	counts, placed []int
	// identity is 0, 1, 2, ...; order has the groups hardest first, trial is an
	// order on trial.
	identity, order, trial []int
	// sameClasses: all groups with whole GPUs allow the same classes, in one order.
	sameClasses bool
	// gpus is how many whole GPUs all wanted members take. Near: some group gains from
	// being close.
	gpus int
	near bool
	// byMember: each member goes where it fits best by itself. picks are those of its places that
	// have the highest score.
	byMember bool
	picks    picks
	// cost is that of what placeIn found last, if costKnown.
	cost      placementCost
	costKnown bool
	// growing: the gang is placed already and gets more members. together is how many groups are
	// placed as one: all, unless those that need the host alone go elsewhere.
	growing  bool
	together int
	// host is the best node so far for a member without GPUs, of those looked at, with
	// room for so many.
	host             topology.NodeIndex
	hostRoom, looked int
	// loosening: a wider level is being searched for what breaks less.
	loosening bool
	// candidates is a stack of domains to be tried, stashed one of placements that were
	// taken back.
	candidates []candidate
	stashed    []Member
	// rooms is what survey found about the group surveyed, -1 for none, by domain.
	surveyed int
	rooms    []int
	// portions is scratch for the division of a group over domains.
	portions []portion
	// rails are the nodes of an aligned group, railCounts the number of them by mask.
	rails      []rail
	railCounts []int32
	solver     solver
	alike      alike
	tiers      tiers

	// What the visits of nodes are about, and what they found.
	scope []int
	one   oneNode
	group int
	left  int
	best  shareKey
	found bool
	// within and withinLevel restrict the shared GPUs.
	within      topology.DomainIndex
	withinLevel topology.Level
	// The visits, bound once because a method value allocates.
	visitAll, visitHost, visitOpen func(topology.NodeIndex) bool
	visitPlaces                    func(topology.NodeIndex) bool
	visitShared                    btree.ItemIteratorG[shareKey]
	visitPart                      btree.ItemIteratorG[partKey]

	// bid is the one looked at, or the best so far, for a part of a divided GPU, part the
	// GPU found for it; bids are all of them in order.
	bid  bid
	bids []bid
	part partKey

	// leaner is the request that lean made, free the classes in it.
	leaner Request
	free   []topology.NodeClass
	apart  apart
	parts  parts
}

func (s *search) bind(f *Fleet) {
	s.visitAll, s.visitHost, s.visitOpen = f.tryAll, f.tryHost, f.tryOpen
	s.visitShared, s.visitPart, s.visitPlaces = f.tryShared, f.tryPart, f.tryPlaces
}

// Place finds room for a gang and holds it, or holds nothing and returns false. See
// the package comment for where it looks and what it prefers. A group gets Members
// members; if not all groups can have that, all are tried with their minimum, and
// what is found is then filled up as far as it goes. An invalid request fits
// nowhere.
//
// The placement is overwritten; its memory is used again. No allocation once
// everything has grown.
func (f *Fleet) Place(r *Request, p *Placement) bool {
	if f.Validate(r) != nil {
		p.Members = p.Members[:0]
		p.Domain, p.Level = topology.RootDomain, topology.LevelFleet
		return false
	}
	f.search.solver.reset()
	return f.placeByTiers(r, p) || f.placeAnyKind(r, p)
}

// placeAnyKind is Place for a valid request of which all classes count alike.
func (f *Fleet) placeAnyKind(r *Request, p *Placement) bool {
	if r.oneWay() {
		return f.placeAsIs(r, p)
	}
	return f.placeAlike(r, p)
}

// placeAsIs is Place for a valid request without a choice of kinds or variants.
func (f *Fleet) placeAsIs(r *Request, p *Placement) bool {
	p.Members = p.Members[:0]
	p.Domain, p.Level = topology.RootDomain, topology.LevelFleet
	f.begin(r, p)
	defer f.end()
	f.search.request = f.lean(r)
	short := false
	for i := range r.Groups {
		f.search.counts[i] = r.Groups[i].Members
		short = short || r.Groups[i].min() < r.Groups[i].Members
	}
	ok := f.placeRequest()
	if !ok && short {
		for i := range r.Groups {
			f.search.counts[i] = r.Groups[i].min()
		}
		if ok = f.placeRequest(); ok {
			f.extend()
		}
	}
	if !ok {
		return false
	}
	if len(r.Groups) > 1 {
		slices.SortFunc(p.Members, compareMembers)
	}
	f.locate(p)
	return true
}

func compareMembers(a, b Member) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index, b.Index))
}

func (f *Fleet) begin(r *Request, p *Placement) {
	s := &f.search
	s.request, s.asked, s.placement = r, r, p
	s.candidates, s.stashed = s.candidates[:0], s.stashed[:0]
	s.surveyed, s.growing, s.together = -1, false, len(r.Groups)
	s.counts, s.placed, s.order, s.trial = s.counts[:0], s.placed[:0], s.order[:0], s.trial[:0]
	s.sameClasses = true
	lead := -1
	for i := range r.Groups {
		s.counts, s.placed = append(s.counts, 0), append(s.placed, 0)
		s.order, s.trial = append(s.order, i), append(s.trial, i)
		if i >= len(s.identity) {
			s.identity = append(s.identity, i)
		}
		if r.Groups[i].Claim.GPUs > 0 {
			if lead >= 0 && !slices.Equal(r.Groups[lead].Classes, r.Groups[i].Classes) {
				s.sameClasses = false
			}
			lead = i
		}
	}
	s.parts.inside, s.parts.rescues = false, false
	// An insertion sort: the groups are few, and a closure would allocate.
	for i := range s.order {
		for j := i; j > 0 && f.harder(r, s.order[j], s.order[j-1]); j-- {
			s.order[j], s.order[j-1] = s.order[j-1], s.order[j]
		}
	}
}

// manyClasses is from how many classes on a group is searched a place without those of which no GPU
// is free: each domain that is looked at takes a look at each class.
const manyClasses = 9

// lean is a request without the classes of which no GPU is free, where a group lists many. A group
// that is spread or balanced counts nodes on which nothing is free, and keeps all of its own.
// O(classes log classes).
func (f *Fleet) lean(r *Request) *Request {
	s, some := &f.search, false
	for i := range r.Groups {
		g := &r.Groups[i]
		if len(g.Classes) < f.many || g.Claim.GPUs == 0 || g.Spread != 0 || g.Balance != 0 || len(g.Kinds) > 0 {
			continue
		}
		if !some {
			some = true
			groups := append(s.leaner.Groups[:0], r.Groups...)
			s.leaner, s.free = *r, s.free[:0]
			s.leaner.Groups = groups
		}
		from := len(s.free)
		for _, c := range g.Classes {
			if f.tree.FreeOfClass(r.Within, c) > 0 {
				s.free = append(s.free, c)
			}
		}
		s.leaner.Groups[i].Classes = s.free[from:len(s.free):len(s.free)]
	}
	if !some {
		return r
	}
	return &s.leaner
}

// end lets go of what belongs to the caller.
func (f *Fleet) end() {
	s := &f.search
	s.request, s.asked, s.placement, s.scope = nil, nil, nil, nil
	s.leaner.Variant = nil
	clear(s.leaner.Groups)
	s.apart.end()
}

// harder reports whether group a is placed before group b: more GPUs a member
// first, then the larger instance, the larger share, then the narrower level, the larger group,
// more of the host.
func (f *Fleet) harder(r *Request, a, b int) bool {
	x, y := &r.Groups[a], &r.Groups[b]
	return cmp.Or(
		cmp.Compare(y.Claim.GPUs, x.Claim.GPUs),
		cmp.Compare(f.extent(&y.Claim), f.extent(&x.Claim)),
		cmp.Compare(y.Claim.Share.GPUMilli, x.Claim.Share.GPUMilli),
		cmp.Compare(y.Required, x.Required),
		cmp.Compare(y.Members, x.Members),
		y.Claim.Host.Compare(x.Claim.Host),
		y.Claim.Declared.Compare(x.Claim.Declared),
		cmp.Compare(a, b),
	) < 0
}

// placeRequest places the wanted members of all groups, or nothing.
func (f *Fleet) placeRequest() bool {
	s := &f.search
	r := s.request
	s.gpus, s.near = 0, false
	members := 0
	for i := range r.Groups {
		members += s.counts[i]
		s.near = s.near || r.Groups[i].Claim.GPUs > 0 || f.close(i)
		s.gpus += s.counts[i] * r.Groups[i].Claim.GPUs
	}
	s.byMember = !s.near || members == 1
	required, preferred := r.Required, r.Preferred
	if len(r.Groups) == 1 {
		required, preferred = r.only(0)
	}
	if f.placeApart(required, preferred) {
		return true
	}
	return f.place(r.Within, s.order, required, preferred)
}

// put lets one more member of a group hold something.
func (f *Fleet) put(group int, h *Hold) {
	f.take(h)
	s := &f.search
	s.placement.Members = append(s.placement.Members, Member{Group: group, Index: s.placed[group], Hold: *h})
	s.placed[group]++
}

// rollback gives back what was held after the first so many members.
func (f *Fleet) rollback(members int) {
	s := &f.search
	list := s.placement.Members
	for i := len(list) - 1; i >= members; i-- {
		f.give(&list[i].Hold)
		s.placed[list[i].Group]--
	}
	s.placement.Members = list[:members]
}

// locate finds the lowest domain around all members.
func (f *Fleet) locate(p *Placement) {
	first := p.Members[0].Hold.Node
	last, one := first, true
	d := f.tree.DomainOf(first, f.tree.NodeLevel())
	for i := range p.Members {
		n := p.Members[i].Hold.Node
		if n == last {
			continue
		}
		last, one = n, false
		for f.tree.DomainOf(n, f.tree.DomainLevel(d)) != d {
			d = f.tree.Parent(d)
		}
	}
	p.Domain, p.Level = d, f.tree.DomainLevel(d)
	if one {
		p.Level = f.tree.NodeLevel()
	}
}

// placeIn places the wanted members of some groups in a domain, or nothing. What the
// whole gang has found there is improved where that is cheap, and what it has not
// found is looked for once more by a systematic search.
func (f *Fleet) placeIn(d topology.DomainIndex, scope []int) bool {
	s := &f.search
	mark := len(s.placement.Members)
	whole, several := s.isWhole(scope), len(scope) > 1 || s.divides()
	improvable := whole && s.near && f.solvable(d, scope, f.steps(scope)/4, false)
	var least placementCost
	if improvable {
		least = f.least(d, scope)
	}
	ok := false
	s.costKnown = false
	if several {
		ok = f.placeSeveral(d, scope)
	} else {
		ok = f.placeOne(d, scope[0])
	}
	switch {
	case !ok:
		f.rollback(mark)
		return (whole || s.parts.rescues) && several && f.rescue(d, scope)
	case improvable:
		f.improve(d, scope, mark, least)
	}
	return true
}

// placeOne places the wanted members of one group in a domain, as its wishes have it.
func (f *Fleet) placeOne(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	level := f.tree.DomainLevel(d)
	switch {
	case g.RailLevel > 0:
		return f.fillAligned(d, group)
	case g.Spread > level:
		return f.fillSpread(d, group)
	case g.Balance > level:
		return f.fillBalanced(d, group)
	}
	return f.fill(d, group) == s.counts[group]
}

// isWhole reports whether groups are all that is placed as one, for the first time.
func (s *search) isWhole(scope []int) bool {
	return len(scope) == s.together && !s.growing && !s.parts.inside
}

// placeSeveral places several groups, or parts, one after the other, in several orders, since
// what one leaves may not do for another.
func (f *Fleet) placeSeveral(d topology.DomainIndex, scope []int) bool {
	s := &f.search
	mark := len(s.placement.Members)
	trial := s.trial
	if s.parts.inside {
		trial = s.parts.trial
	} else if s.divides() {
		scope = s.leads(scope)
	}
	trial = trial[:len(scope)]
	for first := range min(len(scope), maxOrders) {
		if !s.parts.inside {
			s.parts.taken = s.parts.taken[:0]
		}
		copy(trial, scope)
		copy(trial[1:first+1], scope[:first])
		trial[0] = scope[first]
		for i, group := range trial {
			if f.placeGroup(d, group) {
				if i == len(trial)-1 {
					return true
				}
				continue
			}
			f.rollback(mark)
			if i == 0 {
				return false // it does not even fit alone
			}
			break
		}
	}
	return false
}

// placeGroup places one group of several in the gang's domain, by its own levels if
// they are narrower.
func (f *Fleet) placeGroup(d topology.DomainIndex, group int) bool {
	s := &f.search
	g := &s.request.Groups[group]
	if s.divides() {
		if g.Part > 0 {
			return f.placePart(d, g.Part-1)
		}
		s.parts.inside = true
		defer func() { s.parts.inside = false }()
	}
	scope := s.identity[group : group+1]
	defer func() { s.surveyed = -1 }()
	if max(g.required(), g.Preferred) > f.tree.DomainLevel(d) {
		return f.place(d, scope, g.required(), g.Preferred)
	}
	f.survey(d, scope)
	return f.placeIn(d, scope)
}
