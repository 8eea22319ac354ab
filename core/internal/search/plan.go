package search

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
)

// The plan says when and where something that waits will fit, from the ends that are
// expected of what runs: nothing else comes, nothing ends early or late.

// Plan finds the first instant at which a request is expected to fit, and where. It
// imagines the end of one replica after the other on the fleet itself and leaves it as
// it was. O(replicas imagined ended x members + searches x log of that).
func (se *Search) Plan(request *gang.Request) (at berth.Time, where []gang.Member, ok bool) {
	p := planner{core: se, request: request}
	if !p.gallop() {
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

// estimate is when a gang's reservation is expected to start, as things stand: the plan
// with its own nodes alone. O(replicas there x members).
func (se *Search) estimate(w *record.Reservation) berth.Time {
	s := w.Rep.Job.Shape
	se.state.Compile(s)
	p := planner{core: se, looked: se.state.Bounds.Ends, request: se.state.Widen(s.Spec.Groups, &s.Minimum, func(other *record.Reservation) bool {
		return other == w || se.backlog.Admits(other, w.Rep, agenda.Never)
	})}
	for _, n := range w.Nodes {
		for _, m := range n.Members {
			if m.Rep.EndsAt != 0 {
				p.list = append(p.list, m.Rep)
			}
		}
	}
	slices.SortFunc(p.list, func(a, b *record.Replica) int {
		return cmp.Or(cmp.Compare(a.EndsAt, b.EndsAt), record.CompareReplicas(a, b))
	})
	p.list = slices.Compact(p.list)
	at := agenda.Never
	if p.gallop() {
		at = p.end()
	}
	p.moveTo(0)
	return at
}

// A planner is a plan in the making.
type planner struct {
	core    *Search
	request *gang.Request
	// list has the first of the replicas that may have to end, in order, as far as they
	// were needed; the first so many of them are imagined ended.
	list  []*record.Replica
	ended int
	// next is where the list goes on; looked counts those that were looked at.
	next   record.Ending
	looked int
}

// extend makes the list so long, or as long as it gets.
func (p *planner) extend(n int) {
	if len(p.list) >= n || p.looked >= p.core.state.Bounds.Ends {
		return
	}
	from := p.next
	p.core.state.Endings.AscendGreaterOrEqual(from, func(e record.Ending) bool {
		if e == from && p.looked > 0 {
			return true
		}
		p.next = e
		p.looked++
		if p.matters(e.Rep) {
			p.list = append(p.list, e.Rep)
		}
		return len(p.list) < n && p.looked < p.core.state.Bounds.Ends
	})
}

// matters reports whether a replica holds something where the request may go.
func (p *planner) matters(rep *record.Replica) bool {
	if rep.Imagined { // ended already
		return false
	}
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		for i := range p.request.Groups {
			for _, class := range p.request.Groups[i].Classes {
				if int(class) == m.Node.Class {
					return true
				}
			}
		}
	}
	return false
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
	return true
}

func (p *planner) fits() bool {
	if !p.core.find(p.request) {
		return false
	}
	p.core.books.LetGo()
	return true
}

// moveTo imagines the first so many ended, and no others.
func (p *planner) moveTo(n int) {
	for ; p.ended < n; p.ended++ {
		p.core.books.Vanish(record.Piece{Rep: p.list[p.ended]})
	}
	for ; p.ended > n; p.ended-- {
		p.core.books.Reappear(record.Piece{Rep: p.list[p.ended-1]})
	}
}

// end is when all that is imagined ended is expected to have: what is overdue ends late,
// and comes first in the list.
func (p *planner) end() berth.Time {
	at := p.core.state.Now
	for _, rep := range p.list[:p.ended] {
		at = max(at, p.core.state.ExpectedEnd(rep))
	}
	return at
}

// ExpectedStart is when a request is expected to fit: when enough of what runs has ended,
// or a reservation made in advance that is in the way; zero: unknown, or never.
func (se *Search) ExpectedStart(e *record.Entry, request *gang.Request) berth.Time {
	at, _, ok := se.Plan(request)
	for _, w := range se.backlog.Reservations {
		if !w.IsAdvance() || w.Until <= se.state.Now || ok && w.Until >= at {
			continue
		}
		over := se.state.Widen(e.Bucket.Shape.Spec.Groups, request, func(other *record.Reservation) bool {
			return se.backlog.Admits(other, e.Rep, se.state.EndIfPlaced(e.Rep)) || other.Until <= w.Until
		})
		if se.find(over) {
			se.books.LetGo()
			at, ok = w.Until, true
		}
	}
	if last, over := se.afterTrials(e, request); over && (!ok || last < at) {
		at, ok = last, true
	}
	if !ok {
		return 0
	}
	return max(at, se.state.Now)
}
