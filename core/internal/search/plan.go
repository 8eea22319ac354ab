package search

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/topology"
)

// The plan says when and where something that waits will fit, from the ends that are
// expected of what runs: nothing else comes, nothing ends early or late. What is on its way out
// takes each of its orders until the deadline.

// Plan finds the first instant at which a request is expected to fit, and where, if that is before
// another. It imagines the end of one replica after the other on the fleet itself and leaves it as
// it was. O(replicas imagined ended x members + searches x log of that).
func (se *Search) Plan(request *gang.Request, before berth.Time) (at berth.Time, where []gang.Member, ok bool) {
	p := planner{search: se, widest: request}
	if !p.fitsBefore(before) {
		p.moveTo(0)
		return 0, nil, false
	}
	invariant.Hold(se.find(request), "equal fleets, different answers") // it did a moment ago
	where = append(where, se.books.Placement.Members...)
	se.books.LetGo()
	at = p.end()
	p.moveTo(0)
	return at, where, true
}

// A planner is a plan in the making.
type planner struct {
	search *Search
	// widest is the request on all nodes where it may ever fit. at is the request as it is at an
	// instant; nil: it is the same at any.
	widest *gang.Request
	at     func(berth.Time) *gang.Request
	// charged is the gang that needs the quota for it, and its shape; nil: it needs none.
	// quotaCounts: what others use of it may matter, wherever they are.
	charged     *record.Replica
	shape       *record.Shape
	quotaCounts bool
	// list has the first of the partings that may be needed, in order, as far as they
	// were; the first so many of them are imagined.
	list  []state.Parting
	ended int
	// aside are the partings yet to come of replicas on their way out and of reservations: those
	// stand elsewhere in the order of endings. late has the next of overdue replicas, all at one
	// instant. The others should have ended before an instant.
	aside, late []state.Parting
	before      berth.Time
	begun       bool
	// next is where the list goes on; looked counts those that were looked at.
	next   state.Ending
	looked int
}

// first is the first instant at which the request fits; never: there is none.
func (p *planner) first() berth.Time {
	at := agenda.Never
	if p.gallop() {
		at = p.end()
	}
	p.moveTo(0)
	return at
}

// extend makes the list so long, or as long as it gets.
func (p *planner) extend(n int) {
	if !p.begun {
		p.begin()
	}
	if len(p.list) >= n || p.looked >= p.search.state.Bounds.Ends {
		return
	}
	st, from, more := p.search.state, p.next, false
	st.Endings.AscendGreaterOrEqual(from, func(e state.Ending) bool {
		if e == from {
			return true
		}
		leaves := st.Leaving.Has(e.Rep)
		if !leaves {
			p.mix(e.At, n)
		}
		if more = len(p.list) >= n; more {
			return false
		}
		p.next = e
		if p.looksAt(e.Rep) && !leaves {
			p.list = append(p.list, state.Parting{At: e.At, Piece: record.Piece{Rep: e.Rep}})
		}
		more = p.looked >= st.Bounds.Ends
		return !more
	})
	if !more {
		p.mix(agenda.Never, n)
	}
}

// begin sets aside replicas on their way out.
func (p *planner) begin() {
	st := p.search.state
	p.begun, p.before, p.next = true, st.Now+1, state.Ending{At: st.Now + 1}
	p.quotaCounts = p.charged != nil && (p.search.books.Keeping > 0 || !p.affords())
	st.Leaving.Ascend(func(rep *record.Replica) bool {
		if p.matters(rep) {
			p.aside = append(p.aside, st.Partings(rep)...)
		}
		return true
	})
	slices.SortFunc(p.aside, state.Parting.Compare)
}

// mix lists the partings of overdue replicas, and those set aside, that come before an instant, or
// at it, until the list is so long.
func (p *planner) mix(until berth.Time, n int) {
	for len(p.list) < n {
		if len(p.late) == 0 {
			p.late, p.before = p.search.state.Overdue(p.before, p.looksAt)
		}
		first := &p.aside
		if len(p.late) > 0 && (len(p.aside) == 0 || p.late[0].Compare(p.aside[0]) < 0) {
			first = &p.late
		}
		if len(*first) == 0 || (*first)[0].At > until {
			return
		}
		p.list = append(p.list, (*first)[0])
		*first = (*first)[1:]
	}
}

// looksAt reports whether a replica matters; beyond the bound none is looked at.
func (p *planner) looksAt(rep *record.Replica) bool {
	p.looked++
	return p.looked <= p.search.state.Bounds.Ends && p.matters(rep)
}

// matters reports whether a replica holds something where the request may go, or quota that it
// lacks.
func (p *planner) matters(rep *record.Replica) bool {
	if rep.Imagined || rep == p.charged { // ended already, or goes on and grows
		return false
	}
	if p.quotaCounts {
		return rep.Holds()
	}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		for i := range p.widest.Groups {
			for _, class := range p.widest.Groups[i].Classes {
				if int(class) == m.Node.Class {
					return true
				}
			}
		}
	}
	return false
}

// fitsBefore imagines as few ends as needed for the request to fit, if those before an instant do.
// Most reserved gangs fit no sooner; a count or one search shows that.
func (p *planner) fitsBefore(instant berth.Time) bool {
	if instant == agenda.Never {
		return p.gallop()
	}
	for n := 64; ; n *= 2 {
		if p.extend(n); len(p.list) < n || p.list[n-1].At >= instant {
			break
		}
	}
	most, _ := slices.BinarySearchFunc(p.list, instant, func(e state.Parting, t berth.Time) int { return cmp.Compare(e.At, t) })
	if !p.mayFit(most) {
		return false
	}
	if p.moveTo(most); !p.fits() {
		return false
	}
	p.bisect(-1)
	return true
}

// mayFit reports whether some domain of the level that the request requires may have room for the
// group that asks for the most GPUs after the first so many partings. It counts the GPUs that are
// free on each node then, and imagines nothing. O(replicas x members + nodes).
func (p *planner) mayFit(partings int) bool {
	tree, r := p.search.state.Fleet.Tree(), p.widest
	g := slices.MaxFunc(r.Groups, func(a, b gang.Group) int { return cmp.Compare(a.MinMembers*a.Claim.GPUs, b.MinMembers*b.Claim.GPUs) })
	each, level := g.Claim.GPUs, max(r.Required, tree.DomainLevel(r.Within))
	if each == 0 || level >= tree.NodeLevel() {
		return true
	}
	leaving, gained := p.leaving(partings), map[topology.DomainIndex]int{}
	for i, gpus := range leaving {
		if n := topology.NodeIndex(i); gpus > 0 {
			free := tree.Free(n)
			gained[tree.DomainOf(n, level)] += (free+gpus)/each - free/each
		}
	}
	var some func(topology.DomainIndex) bool
	some = func(d topology.DomainIndex) bool {
		if tree.DomainLevel(d) < level {
			return slices.ContainsFunc(tree.Children(d), some)
		}
		room := gained[d]
		for _, class := range g.Classes {
			room += tree.Capacity(d, class, each)
		}
		return room >= g.MinMembers
	}
	return some(r.Within)
}

// leaving counts the GPUs of each node that the first so many partings hold; a GPU that several
// hold counts for each of them. The result is scratch.
func (p *planner) leaving(partings int) []int {
	nodes := len(p.search.state.Nodes)
	gpus := slices.Grow(p.search.leaving[:0], nodes)[:nodes]
	clear(gpus)
	for _, e := range p.list[:partings] {
		if e.Piece.Rep != nil {
			e.Piece.EachHold(func(h *gang.Hold, n *record.Node) { gpus[n.Index] += berth.GPUSet(h.GPUs).Len() })
		}
	}
	p.search.leaving = gpus
	return gpus
}

// gallop imagines as few ends as needed for the request to fit: twice as many each
// time, and then by bisection. It reports whether any number will do.
func (p *planner) gallop() bool {
	short := -1 // so many are too few
	for step := 1; !p.fits(); step *= 2 {
		p.extend(p.ended + step)
		if p.ended == len(p.list) {
			return false
		}
		short = p.ended
		p.moveTo(min(p.ended+step, len(p.list)))
	}
	p.bisect(short)
	return true
}

// bisect takes back all ends that are not needed. With those that are imagined the request fits;
// with so many as are too few it does not.
func (p *planner) bisect(short int) {
	enough := p.ended
	for enough-short > 1 {
		p.moveTo(short + (enough-short)/2)
		if p.fits() {
			enough = p.ended
		} else {
			short = p.ended
		}
	}
	p.moveTo(enough)
}

// fits reports whether the request fits with what is imagined.
func (p *planner) fits() bool {
	request, se := p.widest, p.search
	if p.at != nil {
		request = p.at(p.end())
	}
	if p.charged == nil {
		if !se.find(request) {
			return false
		}
		se.books.LetGo()
		return true
	}
	return p.affords() && se.FindAllowed(request, func() (string, bool) {
		limited, ok := se.AffordsMembers(p.charged, se.books.Placement.Members)
		se.books.LetGo()
		return limited, ok
	}) == Fits
}

// affords reports whether the quota suffices with what is imagined.
func (p *planner) affords() bool {
	return p.search.backlog.Affords(p.charged.Job.Queue, p.shape.Least)
}

// moveTo imagines the first so many partings, and no others.
func (p *planner) moveTo(n int) {
	books := p.search.books
	for ; p.ended < n; p.ended++ {
		if gone := p.list[p.ended].Piece; gone.Rep != nil {
			books.Vanish(gone)
			if p.charged != nil {
				books.DischargeAll(gone)
			}
		}
	}
	for ; p.ended > n; p.ended-- {
		if gone := p.list[p.ended-1].Piece; gone.Rep != nil {
			if p.charged != nil {
				books.ChargeAll(gone)
			}
			books.Reappear(gone)
		}
	}
}

// end is when all that is imagined is expected to have come to pass.
func (p *planner) end() berth.Time {
	if p.ended == 0 {
		return p.search.state.Now
	}
	return max(p.search.state.Now, p.list[p.ended-1].At)
}
