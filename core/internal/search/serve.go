package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// ServeReserved starts gangs that wait with a reservation, as soon as it comes true or they fit
// elsewhere, in policy order.
func (se *Search) ServeReserved() {
	if !se.agenda.BeginReserved() {
		return
	}
	se.freed = len(se.state.FreedNodes) > 0
	var list []*record.Entry
	for _, res := range se.backlog.Reservations {
		if res.IsAwaited() {
			list = append(list, se.backlog.EntryOf(res))
		}
	}
	slices.SortFunc(list, record.CompareEntries)
	budget := se.state.Config.Policy.BackfillBudget
	untried := map[*record.Queue][]*record.Bucket{} // as long as nothing changes
	for _, e := range list {
		left := false
		if res := e.Rep.Reserved; res != nil && se.anyTaker(res, untried) {
			clear(untried)
			budget, left = se.serveTakers(res, budget)
		}
		switch res := e.Rep.Reserved; {
		case left: // they come first, in the next pass
			se.agenda.LeaveTakers()
		case res == nil: // one that was placed before took its nodes
		case res.IsPlanned() && !se.mayServe(e):
		case res.IsPlanned():
			clear(untried)
			se.backlog.WithoutEarmark(e.Rep, func() {
				if se.serveBeneficiary(e); e.Rep.Job.HasAlternatives() {
					se.tryOptions(e.Rep)
				}
			})
		default:
			clear(untried)
			se.tryOptions(e.Rep)
		}
		se.agenda.Tried(e.Rep.Reserved != nil && !left)
	}
}

// anyTaker reports whether serveTakers may have something to try. Where nothing has become free,
// those are buckets yet to be tried, which are noted by queue as long as nothing changes.
func (se *Search) anyTaker(res *record.Reservation, untried map[*record.Queue][]*record.Bucket) bool {
	if len(se.state.FreedNodes) > 0 {
		return true
	}
	q := se.books.Queues[res.Rep.Job.Queue]
	list, known := untried[q]
	if !known {
		list = slices.DeleteFunc(slices.Clone(q.List), func(b *record.Bucket) bool { return !se.backlog.Untried(b) })
		untried[q] = list
	}
	return slices.ContainsFunc(list, func(b *record.Bucket) bool { return se.backlog.Takes(b.Entries.Min(), res) })
}

// serveTakers starts what waits in the queue of a gang and ranks above it, before the gang has its
// place: what came while its victims stopped would else evict it from there. Other queues reclaim
// afterwards what is theirs. It returns the rest of the budget of searches, and whether it was too
// small for some of them, which stay fresh. O(buckets).
func (se *Search) serveTakers(res *record.Reservation, budget int) (rest int, left bool) {
	for _, b := range se.backlog.Takers(res) {
		for b.Entries.Len() > 0 && se.backlog.Takes(b.Entries.Min(), res) && se.mayFitNow(b, res) {
			e := b.Entries.Min()
			if budget == 0 {
				se.backlog.Freshen(e)
				left = true
				break
			}
			budget--
			se.backlog.Try(e, func() { se.tryTaker(e) })
			if b.Entries.Len() > 0 && b.Entries.Min() == e {
				break
			}
		}
	}
	return budget, left
}

// mayFitNow reports whether the first of a bucket has not been tried since it came, or since
// something has become free on nodes that are set aside, or of use to it elsewhere.
func (se *Search) mayFitNow(b *record.Bucket, res *record.Reservation) bool {
	return se.backlog.Untried(b) || slices.ContainsFunc(res.Nodes, func(n *record.Node) bool { return n.Freed }) ||
		slices.ContainsFunc(se.state.FreedNodes, func(n *record.Node) bool { return se.backlog.Helps(n, b.Shape) })
}

// tryTaker places a gang that may take what is set aside for another there, unless it fits where
// nothing is: what is free to all is dealt out in the order of queues, and leaves the other its
// place.
func (se *Search) tryTaker(e *record.Entry) {
	request, ok := se.requestNow(e)
	if !ok {
		return
	}
	if se.find(request) {
		se.books.LetGo()
		return
	}
	if wider, some := se.WithReservedNodes(e, request); some {
		se.try(e, wider)
	}
}

// mayServe reports whether a beneficiary may start, or its plan may be over, since a pass served it
// last: its victims are gone, or its place is free all the same, or something became free that a
// member of it fits in. Nodes that are set aside for others meanwhile are none the freer for it:
// where it may take these by now, it starts as backfill, and an elastic gang with its minimum.
func (se *Search) mayServe(e *record.Entry) bool {
	res, s := e.Rep.Reserved, e.Bucket.Shape
	se.state.Compile(s)
	limited := e.Bucket.QuotaSlot >= 0 || s.Least.Product == quota.NoProduct // limits on one of several products are noted nowhere
	if len(res.Plan.Victims) == 0 || s.LooksAround || se.agenda.QuotaFreed && limited {
		return true
	}
	if se.books.Hold(res.Plan.Where) {
		se.books.GiveBack(res.Plan.Where)
		return true
	}
	return slices.ContainsFunc(se.state.FreedNodes, func(n *record.Node) bool {
		return slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool { return se.state.Fleet.Fits(n.Index, &g.Claim) > 0 })
	})
}

// tryOptions places a gang that has a reservation as the first of its job's options that fits,
// whichever the place is for.
func (se *Search) tryOptions(rep *record.Replica) {
	for _, e := range rep.Entries {
		if rep.Reserved != nil {
			se.tryReserved(e)
		}
	}
}

// tryReserved places a gang that has a reservation, if it fits.
func (se *Search) tryReserved(e *record.Entry) {
	if request, ok := se.requestNow(e); ok {
		request, _ = se.WithReservedNodes(e, request)
		se.try(e, request)
	}
}

// serveBeneficiary starts a beneficiary, on its planned nodes or elsewhere, as soon as it fits. A
// plan that cannot come true any more is given up.
func (se *Search) serveBeneficiary(e *record.Entry) {
	res := e.Rep.Reserved
	p := res.Plan
	if se.takePlace(e, p, res.Kind.Cause()) {
		return
	}
	if e.Grows {
		se.tryPlanned(e, len(p.Where))
	}
	if e.Rep.Reserved == res {
		se.tryReserved(e)
	}
	if e.Rep.Reserved != res || len(p.Victims) > 0 || se.state.LeavingFrom(res) {
		return
	}
	if se.state.Leaving.Len() > 0 && se.books.Hold(p.Where) { // it is quota that it waits for, which others hold yet
		se.books.GiveBack(p.Where)
		return
	}
	se.FailBid(e.Rep)
	se.backlog.EndDisplaced(res)
}

// takePlace starts the beneficiary of a preemption where it was planned, if all of that is
// free by now. Where a group is spread depends on nodes that it is not on, so that it is
// searched for anew.
func (se *Search) takePlace(e *record.Entry, p *record.Plan, cause berth.CauseCode) bool {
	spec := &e.Bucket.Shape.Spec
	if slices.ContainsFunc(spec.Groups, func(g berth.Group) bool { return g.Topology.Spread != "" }) {
		return false
	}
	if idle := se.state.Idle(spec); idle != nil && slices.ContainsFunc(p.Where, func(m gang.Member) bool { return !idle(se.state.Nodes[m.Hold.Node]) }) {
		return false
	}
	if se.backlog.InTheWay(e.Rep, p) || !se.books.PlaceAt(p.Where) {
		return false
	}
	if _, ok := se.bookPlacement(e.Rep, 0); !ok {
		if !e.Grows {
			e.Rep.Members = nil
		}
		return false
	}
	se.life.Resume(e.Rep, cause == berth.CauseResumed)
	se.placed(e, berth.Cause{Code: cause})
	return true
}
