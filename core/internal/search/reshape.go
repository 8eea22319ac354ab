package search

import (
	"iter"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/gpus"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/quota"
)

// When work waits for capacity, a GPU of a pool that is not fixed may become another:
// divided otherwise, divided at all, or whole again. The core looks at what it could
// become, one GPU after the other from the cheapest, has the search try it, and orders
// what the search used. See Geometry for when that pays.

// reshapeEvery is how long a request waits at least to be looked at again when no GPU
// would do, whatever changes.
const reshapeEvery = 15 * berth.Second

// A wish is an entry that GPUs could be repartitioned for.
type wish struct {
	*record.Entry
	request *gang.Request
	milli   int64      // of a GPU that one member claims
	members int        // without which it does not start
	many    int        // members that wait for the same
	soonest berth.Time // when a GPU may be changed that may not be now
	skip    int        // offers, or domains, that were tried in vain before
	cut     bool       // there are more than one pass tries
}

// Reshape looks for GPUs to repartition for what waits, in policy order.
func (se *Search) Reshape() {
	if !se.agenda.BeginReshape(se.state.Now) {
		return
	}
	done := false
	se.nodesLooked = 0
	defer func() {
		clear(se.listed)
		se.listed = se.listed[:0]
	}()
	for looked, e := range se.wishes() {
		if looked == se.state.Bounds.Reshapes || se.nodesLooked > se.state.Bounds.NodesLooked {
			se.agenda.ReshapeBy(se.state.Now) // the rest in the next pass
			break
		}
		if e.Slot >= 0 && e.Bucket.Slot < 0 && e.Bucket.QuotaSlot < 0 {
			placed, next := se.reshapeFor(e)
			done = done || placed
			se.agenda.ReshapeBy(next)
		}
	}
	if done { // what was made beside it serves others
		se.agenda.LookAgain(se.state.Now)
		se.Wake()
		se.Place()
	}
}

// wishes lists, of every blocked request, the first entry that GPUs may be repartitioned
// for now, in policy order.
func (se *Search) wishes() []*record.Entry {
	var list []*record.Entry
	for s := range se.backlog.Blocked.All() {
		noneOpen := func(g gang.Group) bool { return len(g.Classes) == 0 } // what is set aside may do
		if se.state.Compile(s); !s.ClaimsDevice() || len(se.backlog.Reservations) == 0 && slices.ContainsFunc(s.Minimum.Groups, noneOpen) {
			continue
		}
		first := s.FirstWish()
		switch {
		case first == nil:
		case se.lookAt(first.Rep) > se.state.Now:
			se.agenda.ReshapeBy(se.lookAt(first.Rep))
		default:
			list = append(list, first)
		}
	}
	slices.SortFunc(list, record.CompareEntries)
	return list
}

// lookAt is when to look for GPUs to change for a replica.
func (se *Search) lookAt(rep *record.Replica) berth.Time {
	if rep.Look.Get().Turn == se.agenda.ReshapeTurn {
		return rep.Look.Get().PayAt
	}
	return min(rep.Look.Get().PayAt, rep.Look.Get().ReshapeAt)
}

// reshapeFor repartitions GPUs for an entry, if that pays now; else it says when it may;
// never: when something changes.
func (se *Search) reshapeFor(e *record.Entry) (placed bool, next berth.Time) {
	s := e.Bucket.Shape
	se.state.Compile(s)
	skip, later := 0, agenda.Never
	look := e.Rep.Look.Note()
	if look.Tried > 0 && look.Turn == se.agenda.ReshapeTurn {
		skip, later = look.Tried, look.Later
	}
	look.Tried, look.Later = 0, 0
	look.ReshapeAt, look.PayAt, look.Turn = se.state.Now.Add(reshapeEvery), agenda.Never, se.agenda.ReshapeTurn
	request, ok := se.affordable(e.Bucket)
	if !ok {
		return false, agenda.Never // its quota is in the way, and the next change wakes it
	}
	placed, next = se.reshapeWith(e, request, skip)
	if wider, some := se.WithReservedNodes(e, request); !placed && some {
		var also berth.Time // on nodes that are set aside, where it may be all the same
		placed, also = se.reshapeWith(e, wider, skip)
		next = min(next, also)
	}
	if !placed && max(skip, e.Rep.Look.Get().Tried) > 0 {
		next = se.goOn(e.Rep, min(next, later))
	}
	if !s.IsSingle() {
		return placed, next
	}
	return placed, min(next, se.holdFor(s))
}

// goOn says when to look again for a replica that has, or had, more offers than one pass tries:
// soon, as long as some are left; in the end when the first of those pays that did not, and if that
// is over by now, from the first one on.
func (se *Search) goOn(rep *record.Replica, later berth.Time) (next berth.Time) {
	next, soon := later, se.state.Now.Add(reshapeEvery)
	look := rep.Look.Note()
	if look.Tried > 0 {
		look.Later, next = later, min(later, soon)
	}
	if next <= se.state.Now {
		next = soon
	}
	look.PayAt = next
	return next
}

// holdFor keeps a GPU for the first member that waits for what a shape asks, when no GPU may be
// divided for it at once: neither on open nodes, nor on those that are set aside and that it may be
// on. It returns when that may pay; never: one is kept, or when something changes.
func (se *Search) holdFor(s *record.Shape) (next berth.Time) {
	next = agenda.Never
	e := s.FirstWish()
	if e == nil || e.Bucket.Slot >= 0 {
		return next
	}
	request, ok := se.affordable(e.Bucket)
	if !ok {
		return next
	}
	requests := []*gang.Request{request}
	if wider, some := se.WithReservedNodes(e, request); some {
		requests = append(requests, wider)
	}
	for _, r := range requests {
		w := se.wishOf(e, r)
		if w.milli == 0 {
			continue
		}
		if se.holdGPUFor(&w) {
			return agenda.Never
		}
		next = min(next, w.soonest)
	}
	look := e.Rep.Look.Note()
	look.PayAt = min(look.PayAt, next)
	return next
}

// reshapeWith is reshapeFor on the nodes that a request names, behind so many that were tried.
func (se *Search) reshapeWith(e *record.Entry, request *gang.Request, skip int) (placed bool, next berth.Time) {
	w := se.wishOf(e, request)
	w.skip = skip
	if w.milli == 0 {
		return false, agenda.Never
	}
	if e.Bucket.Shape.IsSingle() {
		return se.reshapeSingles(w)
	}
	if se.tryDomains(&w, se.offers(&w)) {
		se.state.Totals.RepartitionsForMembers++
		return true, agenda.Never
	}
	se.inVain(&w)
	return false, w.soonest
}

// inVain notes that nothing was changed for a wish.
func (se *Search) inVain(w *wish) {
	look := w.Rep.Look.Note()
	look.PayAt = min(look.PayAt, w.soonest)
	if w.cut {
		look.Tried = w.skip + se.state.Bounds.Offers
	}
}

// reshapeSingles is reshapeFor for members with a GPU or a part of one, as many as wait for
// the same and for which it pays.
func (se *Search) reshapeSingles(w wish) (placed bool, next berth.Time) {
	offers := se.offers(&w)
	for many := 0; se.tryOffers(&w, offers); many++ {
		placed = true
		se.state.Totals.RepartitionsForMembers++
		se.Wake() // what was made beside it serves others
		se.Place()
		e := w.Bucket.Shape.FirstWish()
		if e == nil || e.Bucket.Slot >= 0 {
			return true, agenda.Never
		}
		request, ok := se.affordable(e.Bucket)
		if !ok {
			return true, se.state.Now
		}
		w = se.wishOf(e, request)
		look := e.Rep.Look.Note()
		look.ReshapeAt, look.PayAt, look.Turn = se.state.Now.Add(reshapeEvery), agenda.Never, se.agenda.ReshapeTurn
		switch {
		case w.milli == 0:
			return true, agenda.Never // all nodes for it were set aside since
		case many+1 == se.state.Bounds.Singles:
			look.PayAt = se.state.Now // the rest in the next pass
			return true, se.state.Now
		}
	}
	if placed && w.cut {
		w.later(se.state.Now.Add(reshapeEvery))
		w.cut = false // what was changed has it begin anew
	}
	se.inVain(&w)
	return placed, w.soonest
}

// paysAt is when the wait of so many members outweighs a cost.
func (w *wish) paysAt(price int64, members int) berth.Time {
	each := w.milli * int64(max(1, min(members, w.many)))
	return w.Rep.PendingSince.Add(berth.Duration((price + each - 1) / each))
}

// tryOffers looks for the first offer that pays now and with which one member with a GPU
// or a part of one fits.
func (se *Search) tryOffers(w *wish, offers []gpus.Offer) bool {
	passed, tried := 0, 0
	var limited []quota.ProductIndex // of which no more is allowed
	for o := range each(offers) {
		if se.gpus.Untouchable(o.Node, o.GPU) || slices.Contains(limited, o.Node.Product) {
			continue
		}
		now, ok := se.offer(w, o.Node, o.GPU, &w.request.Groups[0].Claim)
		if !ok {
			continue // somebody was placed there since the list was made
		}
		o = now
		if at := max(w.paysAt(o.Cost, o.Serves), se.gpus.Changeable(o.Node, o.GPU)); at > se.state.Now {
			w.later(at)
			continue
		}
		if passed < w.skip {
			passed++
			continue
		}
		if w.cut = tried == se.state.Bounds.Offers; w.cut {
			return false
		}
		tried++
		se.stage(&o)
		outcome := se.tryStaged(w)
		se.unstageRest([]gpus.Offer{o})
		switch outcome {
		case Fits:
			return true
		case fitsNoLimit:
			limited = append(limited, o.Node.Product)
		}
	}
	return false
}

// each goes through offers, a GPU at a time.
func each(offers []gpus.Offer) iter.Seq[gpus.Offer] {
	return func(yield func(gpus.Offer) bool) {
		for i := range offers {
			o := offers[i]
			for o.Alike = 0; o.GPU <= offers[i].GPU+offers[i].Alike; o.GPU++ {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// tryDomains is tryTogether in one domain of the level that a gang requires after the
// other, from the one with the cheapest GPU; of a gang of one group that is to have one product,
// among the GPUs of one product there. Those of another are of no use to it, and count all the same
// in what it costs and in what a pool allows.
func (se *Search) tryDomains(w *wish, offers []gpus.Offer) bool {
	level := w.request.Required
	if len(w.request.Groups) == 1 {
		level = w.request.Around(0)
	}
	type domain struct{ at, product int }
	alike := len(w.request.Groups) == 1 && w.request.Groups[0].Kinds != nil
	domainOf := func(o *gpus.Offer) (d domain) {
		if alike {
			d.product = int(o.Node.Product)
		}
		if d.at = int(o.Node.Index); level < se.state.Fleet.Tree().NodeLevel() {
			d.at = int(se.state.Fleet.Tree().DomainOf(o.Node.Index, level))
		}
		return d
	}
	var order []domain
	byDomain := map[domain][]gpus.Offer{}
	for o := range each(offers) {
		d := domainOf(&o)
		if byDomain[d] == nil {
			order = append(order, d)
		}
		byDomain[d] = append(byDomain[d], o)
	}
	for i, d := range order {
		if i < w.skip {
			continue
		}
		if w.cut = i-w.skip == se.state.Bounds.Offers; w.cut {
			break
		}
		if se.tryTogether(w, byDomain[d]) {
			return true
		}
	}
	return false
}

// tryTogether takes one offer after the other, as long as they pay together and the pools
// allow, until a gang that needs several GPUs fits.
func (se *Search) tryTogether(w *wish, offers []gpus.Offer) bool {
	total, taken := int64(0), map[string]int{}
	var staged []gpus.Offer
	placed := false
	for i := range offers {
		o := &offers[i]
		pool := o.Node.Spec.Pool
		if se.allowance(o.Node)-taken[pool] <= 0 || len(staged) == se.state.Bounds.Offers {
			continue
		}
		if at := w.paysAt(total+o.Cost, w.members); at > se.state.Now {
			w.later(at)
			break
		}
		total += o.Cost
		taken[pool]++
		se.stage(o)
		staged = append(staged, *o)
		if placed = se.tryStaged(w) == Fits; placed {
			break
		}
	}
	se.unstageRest(staged)
	return placed
}

// allowance is how many more GPUs of a node's pool may be repartitioned now.
func (se *Search) allowance(n *record.Node) int {
	left := n.Geometry.PerHour
	if p := se.catalogue.Pools[n.Spec.Pool]; p != nil {
		for _, at := range p.Changes {
			if at.Add(berth.Hour) > se.state.Now {
				left--
			}
		}
	}
	return left
}

// Wake makes ready what could have become possible since it was last called.
//
// Of the blocked shapes, those are unblocked that the search finds a place for now. It is asked
// only for those of which some member fits on a node where something became free, and for which the
// classes they may use have enough free GPUs in all: both are necessary for a yes to which that
// node contributes. Asking first costs less than making ready, and blocking again, a bucket in
// every queue. Of the buckets blocked by quota, those that fit it now. O(freed) for each blocked
// shape that asks for no more GPUs than are free, O(1) for one that asks for up to twice as many.
func (se *Search) Wake() {
	if se.agenda.Waking() {
		for s := range se.backlog.Blocked.Within(se.state.FreeOpen()) {
			se.state.Compile(s)
			helps := func(n *record.Node) bool { return se.backlog.Helps(n, s) }
			if se.backlog.FreeFor(s) >= s.GPUs && (s.LooksAround || slices.ContainsFunc(se.state.FreedNodes, helps)) && se.find(&s.Minimum) {
				se.books.LetGo()
				se.backlog.Unblock(s)
			}
		}
	}
	if se.agenda.QuotaFreed {
		se.backlog.WakeLimited()
	}
	se.state.ClearFreed()
}
