package gang

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/berth-sched/berth/topology"
)

// maxOrders bounds how many orders of its groups a gang is tried in, in one domain.
const maxOrders = 8

// A search is the scratch of one Place. It stays with the fleet so that a call
// allocates nothing once it has grown.
type search struct {
	request   *Request
	placement *Placement
	// counts are the members wanted, placed those that are, both by group.
	counts, placed []int
	// identity is 0, 1, 2, ...; order has the groups hardest first, trial is an
	// order on trial.
	identity, order, trial []int
	// sameClasses: all groups with whole GPUs allow the same classes, in one order.
	sameClasses bool
	// candidates is a stack of domains to be tried.
	candidates []candidate

	// What the visits of nodes are about, and what they found.
	scope []int
	group int
	left  int
	best  shareKey
	found bool
	// within and withinLevel restrict the shared GPUs.
	within      topology.Domain
	withinLevel topology.Level
	// The visits, bound once because a method value allocates.
	visitAll, visitHost, visitOpen func(topology.Node) bool
	visitShared                    btree.ItemIteratorG[shareKey]
}

func (s *search) bind(f *Fleet) {
	s.visitAll, s.visitHost, s.visitOpen = f.tryAll, f.tryHost, f.tryOpen
	s.visitShared = f.tryShared
}

// Place finds room for a gang and holds it, or holds nothing and returns false. See
// the package comment for where it looks and what it prefers. A group gets Count
// members; if not all groups can have that, all are tried with their minimum, and
// what is found is then filled up as far as it goes. An invalid request fits
// nowhere.
//
// The placement is overwritten; its memory is used again. No allocation once
// everything has grown.
func (f *Fleet) Place(r *Request, p *Placement) bool {
	p.Members = p.Members[:0]
	p.Domain, p.Level = topology.Root, topology.Fleet
	if f.Validate(r) != nil {
		return false
	}
	f.begin(r, p)
	defer f.end()
	short := false
	for i := range r.Groups {
		f.search.counts[i] = r.Groups[i].Count
		short = short || r.Groups[i].min() < r.Groups[i].Count
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
	s.request, s.placement = r, p
	s.candidates = s.candidates[:0]
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
	// An insertion sort: the groups are few, and a closure would allocate.
	for i := range s.order {
		for j := i; j > 0 && harder(r, s.order[j], s.order[j-1]); j-- {
			s.order[j], s.order[j-1] = s.order[j-1], s.order[j]
		}
	}
}

// end lets go of what belongs to the caller.
func (f *Fleet) end() {
	f.search.request, f.search.placement, f.search.scope = nil, nil, nil
}

// harder reports whether group a is placed before group b: more GPUs a member
// first, then the larger share, then the narrower level, the larger group, more host
// CPU and memory.
func harder(r *Request, a, b int) bool {
	x, y := &r.Groups[a], &r.Groups[b]
	return cmp.Or(
		cmp.Compare(y.Claim.GPUs, x.Claim.GPUs),
		cmp.Compare(y.Claim.Share.Milli, x.Claim.Share.Milli),
		cmp.Compare(y.Required, x.Required),
		cmp.Compare(y.Count, x.Count),
		cmp.Compare(y.Claim.CPUMilli, x.Claim.CPUMilli),
		cmp.Compare(y.Claim.MemoryMiB, x.Claim.MemoryMiB),
		cmp.Compare(a, b),
	) < 0
}

// placeRequest places the wanted members of all groups, or nothing.
func (f *Fleet) placeRequest() bool {
	r := f.search.request
	required, preferred := r.Required, r.Preferred
	if len(r.Groups) == 1 {
		// The levels of the only group are the gang's as well.
		g := &r.Groups[0]
		required = max(required, g.Required)
		if g.Preferred != 0 {
			preferred = g.Preferred
		}
	}
	return f.place(r.Within, f.search.order, required, preferred)
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

// extend adds members to the groups of a gang that has its minimum, as far as they fit
// inside the required domains around it.
func (f *Fleet) extend() {
	s := &f.search
	for _, group := range s.order {
		g := &s.request.Groups[group]
		s.counts[group] = g.Count - s.placed[group]
		if s.counts[group] == 0 {
			continue
		}
		d, node := f.around(group)
		if node >= 0 {
			f.fillNode(node, group, s.counts[group])
		} else {
			f.fill(d, group)
		}
		if g.Segment > 1 { // a domain inside a segment's does not see segments
			f.rollback(len(s.placement.Members) - s.placed[group]%g.Segment)
		}
	}
}

// around returns the domain in which further members of a group may be, and the node
// if it must be one node.
func (f *Fleet) around(group int) (topology.Domain, topology.Node) {
	s := &f.search
	members := s.placement.Members
	first := members[0].Hold.Node
	mine := slices.IndexFunc(members, func(m Member) bool { return m.Group == group })
	required := [...]topology.Level{s.request.Required, s.request.Groups[group].Required}
	d := s.request.Within
	for i, n := range [...]topology.Node{first, members[mine].Hold.Node} {
		if required[i] == f.tree.NodeLevel() {
			return d, n
		}
		if domain := f.tree.DomainOf(n, required[i]); f.tree.DomainLevel(domain) > f.tree.DomainLevel(d) {
			d = domain
		}
	}
	return d, -1
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
