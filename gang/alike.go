package gang

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth/topology"
)

// A gang whose groups are each to have one kind of node, or all of one variant, is searched for
// with one choice of these after the other, as a request without a choice. Each kind has classes
// of its own, so that the counts of the topology tell which can hold a group at all; variants are
// told apart by a walk over the nodes.

// maxAlike bounds how many choices of kinds and variants are tried for one request.
const maxAlike = 128

// An alike is the scratch of the choice among kinds and variants.
type alike struct {
	// request is what is tried: the caller's, but for classes and matches.
	request Request
	groups  []alikeGroup
	// texts are the variants of the nodes below Within, of is which of them each node has, from 1,
	// and room how many members of each group fit on the nodes of each.
	texts []string
	index map[string]int
	of    []int32
	room  []int
	// variants are those that may hold all groups, in the order of their texts; the one tried is
	// at a position, and variant is its number in of.
	variants []int32
	at       int
	variant  int32
	// best is the best placement so far, if there is one.
	best  []Member
	rank  rank
	found bool
}

// An alikeGroup is what one group may have.
type alikeGroup struct {
	kinds     []int32 // that may hold the group, in the order of its classes
	at        int     // of these, the one tried
	classes   []topology.NodeClass
	instances []ClassProfile
}

// A rank is how well a choice holds a gang.
type rank struct {
	members      int
	level        topology.Level
	span, broken int64
}

// oneWay reports whether a request has no kinds to choose from, and no variants.
func (r *Request) oneWay() bool {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.mayVary() || r.Variant != nil && g.Claim.WantsDevice() {
			return false
		}
	}
	return true
}

// mayVary reports whether the members of a group could stand on several kinds.
func (g *Group) mayVary() bool {
	if g.Members == 1 {
		return false
	}
	for _, kind := range g.Kinds {
		if kind != g.Kinds[0] {
			return true
		}
	}
	return false
}

// WantsDevice reports whether members with a claim get GPUs or a part of one.
func (c *Claim) WantsDevice() bool {
	return c.GPUs > 0 || c.Share.GPUMilli > 0 || len(c.Instances) > 0
}

// placeAlike is Place for a valid request with a choice: the best of what all choices give, the
// first one of those that are equally good. It ends with one that cannot be bettered.
func (f *Fleet) placeAlike(r *Request, p *Placement) bool {
	a := &f.search.alike
	a.begin(r)
	defer a.end()
	more := f.listKinds(r) && f.listVariants(r)
	for tries := 0; more && tries < maxAlike; tries++ {
		a.narrow(r)
		if f.placeAsIs(&a.request, p) {
			rank := f.rankOf(&a.request, p)
			if !a.found || rank.compare(a.rank, r.Locality) < 0 {
				a.found, a.rank = true, rank
				a.best = append(a.best[:0], p.Members...)
			}
			for i := range p.Members {
				f.give(&p.Members[i].Hold)
			}
			if f.perfect(r, rank) {
				break
			}
		}
		more = a.next()
	}
	p.Members = p.Members[:0]
	p.Domain, p.Level = topology.RootDomain, topology.LevelFleet
	if !a.found {
		return false
	}
	p.Members = append(p.Members, a.best...)
	for i := range p.Members {
		f.take(&p.Members[i].Hold)
	}
	f.locate(p)
	return true
}

func (a *alike) begin(r *Request) {
	groups := a.request.Groups[:0]
	a.request = *r
	a.request.Groups, a.request.Variant = append(groups, r.Groups...), nil
	for len(a.groups) < len(r.Groups) {
		a.groups = append(a.groups, alikeGroup{})
	}
	a.texts, a.variants, a.at, a.variant = a.texts[:0], a.variants[:0], 0, 0
	a.best, a.found = a.best[:0], false
}

// end lets go of what belongs to the caller.
func (a *alike) end() {
	clear(a.request.Groups)
	clear(a.texts)
	clear(a.index)
}

// listKinds lists the kinds that may hold each group by their counts, and reports whether each
// group has one.
func (f *Fleet) listKinds(r *Request) bool {
	a := &f.search.alike
	for i := range r.Groups {
		list := &a.groups[i]
		list.kinds, list.at = list.kinds[:0], 0
		g := &r.Groups[i]
		if !g.mayVary() {
			continue
		}
		for _, kind := range g.Kinds {
			if slices.Contains(list.kinds, kind) {
				continue
			}
			one := *g
			list.classes = g.ofKind(list.classes[:0], kind)
			one.Classes = list.classes
			if g.Claim.GPUs == 0 || f.counted(r.Within, &one) >= g.min() {
				list.kinds = append(list.kinds, kind)
			}
		}
		if len(list.kinds) == 0 {
			return false
		}
	}
	return true
}

// ofKind appends the classes of a group that are of one kind.
func (g *Group) ofKind(classes []topology.NodeClass, kind int32) []topology.NodeClass {
	for i, class := range g.Classes {
		if g.Kinds[i] == kind {
			classes = append(classes, class)
		}
	}
	return classes
}

// listVariants finds the variants of which the nodes have room for each group by itself, and
// reports whether there are any. O(nodes x groups).
func (f *Fleet) listVariants(r *Request) bool {
	a := &f.search.alike
	if r.Variant == nil {
		return true
	}
	f.tellApart(r)
	groups := len(r.Groups)
	for v := range a.texts {
		enough := true
		for i := range r.Groups {
			enough = enough && (!r.Groups[i].Claim.WantsDevice() || a.room[v*groups+i] >= r.Groups[i].min())
		}
		if enough {
			a.variants = append(a.variants, int32(v))
		}
	}
	slices.SortFunc(a.variants, func(v, w int32) int { return cmp.Compare(a.texts[v], a.texts[w]) })
	for i := range r.Groups {
		if match := r.Groups[i].Match; r.Groups[i].Claim.WantsDevice() {
			a.request.Groups[i].Match = func(n topology.NodeIndex) bool {
				return a.of[n] == a.variant && (match == nil || match(n))
			}
		}
	}
	return len(a.variants) > 0
}

// tellApart finds the variant of each node that may serve a group, and what fits there.
func (f *Fleet) tellApart(r *Request) {
	a := &f.search.alike
	if a.index == nil {
		a.index = map[string]int{}
	}
	a.of, a.room = slices.Grow(a.of[:0], len(f.nodes))[:len(f.nodes)], a.room[:0]
	level := f.tree.DomainLevel(r.Within)
	for at := range f.nodes {
		n := topology.NodeIndex(at)
		a.of[n] = 0
		if !f.nodes[n].schedulable || f.tree.DomainOf(n, level) != r.Within {
			continue
		}
		for i := range r.Groups {
			g := &r.Groups[i]
			if !g.Claim.WantsDevice() || !f.servesOn(n, g) {
				continue
			}
			if a.of[n] == 0 {
				a.of[n] = a.number(r.Variant(n), len(r.Groups))
			}
			room := &a.room[int(a.of[n]-1)*len(r.Groups)+i]
			*room = add(*room, f.fits(n, &g.Claim))
		}
	}
}

// number is the number of a variant, from 1.
func (a *alike) number(text string, groups int) int32 {
	i, known := a.index[text]
	if !known {
		i = len(a.texts)
		a.index[text] = i
		a.texts = append(a.texts, text)
		for range groups {
			a.room = append(a.room, 0)
		}
	}
	return int32(i) + 1
}

// narrow makes the request of the choice that is to be tried.
func (a *alike) narrow(r *Request) {
	for i := range r.Groups {
		g, list := &r.Groups[i], &a.groups[i]
		one := &a.request.Groups[i]
		if one.Kinds = nil; len(list.kinds) == 0 {
			continue
		}
		list.classes = g.ofKind(list.classes[:0], list.kinds[list.at])
		list.instances = list.instances[:0]
		for _, p := range g.Claim.Instances {
			if slices.Contains(list.classes, p.Class) {
				list.instances = append(list.instances, p)
			}
		}
		one.Classes, one.Claim.Instances = list.classes, list.instances
	}
	if len(a.variants) > 0 {
		a.variant = a.variants[a.at] + 1
	}
}

// next goes on to the next choice: another kind of the last group that has one, else of those
// before it, else the next variant. False: there are no more.
func (a *alike) next() bool {
	for i := len(a.request.Groups) - 1; i >= 0; i-- {
		list := &a.groups[i]
		if list.at++; list.at < len(list.kinds) {
			return true
		}
		list.at = 0
	}
	a.at++
	return a.at < len(a.variants)
}

// rankOf is how well the placement that was just found holds a gang. What gains nothing from being
// close is judged by what it breaks.
func (f *Fleet) rankOf(r *Request, p *Placement) rank {
	cost := f.cost(r, p.Members)
	k := rank{members: len(p.Members), broken: cost.Broken}
	if f.search.near {
		k.level, k.span = min(p.Level, r.closeEnough(f)), cost.Span
	}
	return k
}

// closeEnough is the level below which nothing is closer.
func (r *Request) closeEnough(f *Fleet) topology.Level {
	preferred := r.Preferred
	if len(r.Groups) == 1 {
		_, preferred = r.only(0)
	}
	return cmp.Or(preferred, f.tree.NodeLevel())
}

// perfect reports whether no choice can hold a gang better.
func (f *Fleet) perfect(r *Request, k rank) bool {
	members := 0
	for i := range r.Groups {
		members += r.Groups[i].Members
	}
	return k.members == members && k.span == 0 && k.broken == 0 && (!f.search.near || k.level == r.closeEnough(f))
}

// compare orders ranks, the better first: the more members, then as the locality has it.
func (k rank) compare(l rank, locality Locality) int {
	members, level := cmp.Compare(l.members, k.members), cmp.Compare(l.level, k.level)
	span, broken := cmp.Compare(k.span, l.span), cmp.Compare(k.broken, l.broken)
	switch locality {
	case LocalityBalanced:
		return cmp.Or(members, level, broken, span)
	case LocalityLoose:
		return cmp.Or(members, broken, level, span)
	}
	return cmp.Or(members, level, span, broken)
}
