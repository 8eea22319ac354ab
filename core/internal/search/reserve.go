package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
	"github.com/berth-sched/berth/quota"
)

// A gang that keeps losing to smaller work gets a reservation: the nodes on which it
// is expected to fit first, set aside from now on. What is placed there meanwhile is
// expected to end before it starts. So the first gangs in policy order cannot be
// delayed (conservative backfill), and all others are backfilled around them without
// a reservation of their own (EASY backfill; D. Lifka, "The ANL/IBM SP scheduling
// system", 1995; A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001). See Backfill.

// Reserve makes reservations for the first gangs in policy order, as far as the policy
// allows, at instants at which one more may be due.
func (se *Search) Reserve() {
	most := se.state.Config.Policy.ReservedGangs
	if !se.agenda.ReserveDue(se.state.Now) {
		return
	}
	if _, ready := se.state.Quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	se.agenda.BeginReserve()
	if most <= 0 {
		return
	}
	heads := se.dueHeads()
	for many := 2 * most; ; many *= 2 {
		order, more := se.dueEntries(heads, many)
		if some := se.reserveInOrder(order); more && some {
			se.agenda.ReserveNow(se.state.Now) // those behind have their turn in the next pass
			return
		} else if !more {
			return
		}
	}
}

// reserveInOrder plans for the gangs of a list, as many as one pass plans for. It reports whether
// it planned for any or put any off: the next list goes on behind those.
func (se *Search) reserveInOrder(order []*record.Entry) (some bool) {
	most := se.state.Config.Policy.ReservedGangs
	reserved, last := se.reservedGangs(), se.lastReserved(order)
	plans := 2 * most
	for i, e := range order {
		if at, ok := se.backlog.DueAt(e); !ok || at > se.state.Now {
			continue // it has a reservation, or had room made for it until just now
		}
		size := se.sizeOf(e.Bucket.Shape)
		full := reserved[size] >= most
		var instead *record.Replica
		if l := &last[size]; full && l.at > i && se.backlog.Outranks(e.Rep, l.entry.Rep) {
			instead = l.entry.Rep
		}
		switch {
		case e.Slot < 0, full && instead == nil:
			continue
		case plans == 0:
			se.agenda.ReserveNow(se.state.Now) // the rest goes on in the next pass
			return true
		case !se.withinQuota(e.Bucket):
			se.postpone(e.Rep)
		default:
			plans--
			switch {
			case se.reserveFor(e, instead):
				reserved, last = se.reservedGangs(), se.lastReserved(order)
			case se.state.Endings.Len() > se.state.Bounds.Ends: // its plan was cut short, and sees further as time goes by
				se.planLater(e.Rep)
			case !se.backlog.Hopeless(e.Rep):
				e.Rep.Reserve.HopelessAt = se.agenda.Despair()
			}
		}
		some = true
	}
	return some
}

// A gangSize tells gangs of several nodes from those that fit on one: as many of each kind may have
// reservations.
type gangSize int

const (
	ofOneNode gangSize = iota
	ofSeveralNodes
	gangSizes
)

func (se *Search) sizeOf(s *record.Shape) gangSize {
	if se.state.SpansNodes(s) {
		return ofSeveralNodes
	}
	return ofOneNode
}

// A turn is where a gang stands in an order; after all of it, where it is not in it.
type turn struct {
	entry *record.Entry
	at    int
}

// lastReserved is the last gang of each size that has a reservation and stands in an order, or
// behind it. O(reservations x order).
func (se *Search) lastReserved(order []*record.Entry) (last [gangSizes]turn) {
	for i := range last {
		last[i].at = -1
	}
	for _, w := range se.backlog.Reservations {
		if !w.GivesWay() {
			continue
		}
		e, l := w.Rep.Entries[0], &last[se.sizeOf(w.Rep.Job.Shape)]
		at := slices.Index(order, e)
		if at < 0 {
			at = len(order)
		}
		if at > l.at || at == l.at && record.CompareEntries(l.entry, e) < 0 {
			*l = turn{e, at}
		}
	}
	return last
}

// dueEntries lists the first so many entries that may get a reservation now, among those
// that have one, in policy order, of heads of buckets and those behind them, and reports whether
// there are more behind them that may get one: none does where as many have one as may, and all of
// those come before. O(buckets) as long as so many are few.
func (se *Search) dueEntries(heads []*record.Entry, many int) (order []*record.Entry, more bool) {
	r := se.backlog.NewRota(heads)
	defer r.End()
	turnouts := se.turnouts(heads)
	for due := 0; due < many; {
		e := r.Next()
		if e == nil {
			break
		}
		r.Charge(e)
		order = append(order, e)
		if e.Rep.Reserved == nil {
			due++
		}
		of := &turnouts[se.sizeOf(e.Bucket.Shape)]
		of.pass(e)
		if e == e.Bucket.Entries.Min() {
			of.ahead += se.addBehind(r, e.Bucket)
		}
		r.Drop(e.Rep.Job.Queue, func(other *record.Entry) bool { return other == e })
	}
	return order, turnouts[ofOneNode].open() || turnouts[ofSeveralNodes].open()
}

// dueHeads lists the first of each bucket that may get a reservation now, or has one.
func (se *Search) dueHeads() (heads []*record.Entry) {
	for _, s := range se.backlog.Blocked {
		if s.IsSingle() {
			continue
		}
		for _, b := range s.Buckets {
			e := b.Entries.Min()
			switch at, ok := se.backlog.DueAt(e); {
			case e.Grows: // it gets none
			case ok && at > se.state.Now:
				se.agenda.ReserveBy(at)
			case ok && !se.withinQuota(b):
				se.postpone(e.Rep) // it cannot start next, so that it is before nobody in the order
			case ok, e.Rep.Reserved != nil && b.QuotaSlot < 0: // those behind it may be due
				se.state.Compile(s)
				heads = append(heads, e)
			}
		}
	}
	return heads
}

// addBehind adds those of a bucket to a rota that come after the first one, as many as one pass
// plans for, and counts them. All ask for the same: those further behind do not fit where these do
// not.
func (se *Search) addBehind(r *backlog.Rota, b *record.Bucket) (added int) {
	for _, e := range se.backlog.First(b, 2*se.state.Config.Policy.ReservedGangs)[1:] {
		switch at, ok := se.backlog.DueAt(e); {
		case e.Grows:
		case ok && at > se.state.Now:
			se.agenda.ReserveBy(at)
		case ok, e.Rep.Reserved != nil:
			r.Add(e)
			added++
		}
	}
	return added
}

// A turnout counts the gangs of one size that are yet to come in policy order.
type turnout struct {
	ahead, reserved int
	full            bool // as many have a reservation as may
}

// turnouts are those of a list, and of what is reserved.
func (se *Search) turnouts(list []*record.Entry) (of [gangSizes]turnout) {
	for size, reserved := range se.reservedGangs() {
		of[size].reserved, of[size].full = reserved, reserved >= se.state.Config.Policy.ReservedGangs
	}
	for _, e := range list {
		of[se.sizeOf(e.Bucket.Shape)].ahead++
	}
	return of
}

// open reports whether one that is yet to come may get a reservation.
func (t *turnout) open() bool { return t.ahead > 0 && (!t.full || t.reserved > 0) }

// pass notes that an entry has come.
func (t *turnout) pass(e *record.Entry) {
	t.ahead--
	if w := e.Rep.Reserved; w != nil && w.GivesWay() {
		t.reserved--
	}
}

// postpone has the core not think about a reservation for a replica for a while, and not
// before something has become free.
func (se *Search) postpone(rep *record.Replica) {
	rep.Reserve.At = se.state.Now.Add(max(se.state.Config.Policy.ReserveAfter, berth.Second))
	if !se.backlog.Stalled(rep) {
		rep.Reserve.StalledAt = se.agenda.Stall()
	}
}

// planLater makes the core plan another reservation for a replica after one did not come true.
// What runs goes on for longer than it said, and nobody knows for how long: so that a fleet at
// rest comes to rest, the next one is made after twice as long each time, and none for a gang
// that has waited, or would, for longer than any span of the contract.
func (se *Search) planLater(rep *record.Replica) {
	wait, doublings := max(se.state.Config.Policy.ReserveAfter, berth.Second), min(rep.Reserve.Vain, 43)
	if wait > limits.MaxSpan>>doublings || se.state.Now.Sub(rep.PendingSince) > limits.MaxSpan {
		rep.Reserve.At = agenda.Never
	} else {
		rep.Reserve.At = se.state.Now.Add(wait << doublings)
	}
	rep.Reserve.Vain++
	se.agenda.ReserveBy(rep.Reserve.At)
}

func (se *Search) withinQuota(b *record.Bucket) bool {
	se.state.Compile(b.Shape)
	return se.backlog.Affords(b.Queue.Index, b.Shape.Least)
}

// reservedGangs counts the gangs of each size that have a reservation.
func (se *Search) reservedGangs() (of [gangSizes]int) {
	for _, w := range se.backlog.Reservations {
		if w.GivesWay() {
			of[se.sizeOf(w.Rep.Job.Shape)]++
		}
	}
	return of
}

// reserveFor sets nodes aside for a gang, if it is expected ever to fit, and ends the
// reservation in whose stead that is; nil: none.
func (se *Search) reserveFor(e *record.Entry, instead *record.Replica) bool {
	se.state.Compile(e.Bucket.Shape)
	at, nodes, ok := se.planAround(e)
	if !ok || !se.backlog.MaySetAside(nodes) {
		return false
	}
	if instead != nil {
		se.backlog.EndReservation(instead.Reserved)
	}
	w := record.GangReservation(record.KindPending, e.Rep)
	w.From, w.Until, w.Nodes = at, at.Add(se.state.Config.Policy.ReservationTimeout), nodes
	for _, n := range w.Nodes {
		se.backlog.Spoil(n) // its former owner plans anew, around this one
	}
	e.Rep.Reserved = w
	se.backlog.AddReservation(w)
	se.state.Totals.Reservations++
	return true
}

// planAround plans for an entry around what is set aside for others: at first on nodes that
// are to be left only after the gang has ended, and without these if that comes out too
// late.
func (se *Search) planAround(e *record.Entry) (at berth.Time, nodes []*record.Node, ok bool) {
	length, ends := se.state.Runtime(e.Rep.Job)
	for _, until := range [...]berth.Time{se.state.EndIfPlaced(e.Rep), agenda.Never} {
		at, where, ok := se.Plan(se.Wherever(e, until))
		if !ok {
			continue
		}
		nodes = nodes[:0]
		for i := range where {
			nodes = append(nodes, se.state.Nodes[where[i].Hold.Node])
		}
		slices.SortFunc(nodes, record.CompareNodes)
		nodes = slices.Compact(nodes)
		intime := true
		for _, n := range nodes {
			for _, w := range n.Reservations {
				switch {
				case w.IsExclusive() && w.Rep != e.Rep: // it is over when its gang is
					at = max(at, se.state.ExpectedEnd(w.Rep))
				case !se.backlog.Admits(w, e.Rep, agenda.Never) && !w.IsAwaited():
					intime = intime && ends && at.Add(length) <= w.From
				}
			}
		}
		if intime {
			return at, nodes, true
		}
	}
	return 0, nil, false
}

// Wherever is the request of an entry on all nodes that a reservation for it may be on:
// not on those that are reserved for others, unless it may end that, nor on those that are kept for
// a gang which backs off, and will run there by then. Domains of a gang that
// is expected to end are open too, and nodes that are to be left no sooner than at an
// instant.
func (se *Search) Wherever(e *record.Entry, until berth.Time) *gang.Request {
	s := e.Bucket.Shape
	return se.state.Widen(s.Spec.Groups, &s.Minimum, func(w *record.Reservation) bool {
		if w.IsAwaited() && w.Rep != e.Rep {
			return !w.IsPlanned() && se.mayEnd(e.Rep, w.Rep)
		}
		return se.backlog.Admits(w, e.Rep, agenda.Never) && !w.IsBackoff() || w.IsExclusive() && w.Rep.EndsAt != 0 || w.IsAdvance() && until <= w.From
	})
}

// mayEnd reports whether a reservation for a replica may end that of another: if it ranks
// above it or, for one that needs several nodes, if the other fits on one and does not rank
// above it. There is no circle, so that a fleet at rest comes to rest: the winner is further within
// its guarantee, or of a higher class, or equal in both and needs more nodes, or is of the same
// queue and of a higher priority.
func (se *Search) mayEnd(rep, other *record.Replica) bool {
	large, largeOther := se.state.SpansNodes(rep.Job.Shape), se.state.SpansNodes(other.Job.Shape)
	if large && !largeOther {
		return !se.backlog.Outranks(other, rep) && (se.backlog.WithinGuarantee(rep) || !se.backlog.WithinGuarantee(other)) && rep.Job.Spec.Class >= other.Job.Spec.Class
	}
	level := se.backlog.WithinGuarantee(rep) == se.backlog.WithinGuarantee(other) && rep.Job.Spec.Class == other.Job.Spec.Class
	return se.backlog.Outranks(rep, other) && (large == largeOther || !level)
}

// ServeReserved starts the gangs whose reservation has come true, or that fit
// elsewhere by now, the first in policy order first.
func (se *Search) ServeReserved() {
	if !se.agenda.ReservedDue() {
		return
	}
	var list []*record.Entry
	for _, w := range se.backlog.Reservations {
		if w.IsAwaited() {
			list = append(list, se.backlog.EntryOf(w))
		}
	}
	slices.SortFunc(list, record.CompareEntries)
	budget := se.state.Config.Policy.BackfillBudget
	for _, e := range list {
		if w := e.Rep.Reserved; w != nil {
			budget = se.serveTakers(w, budget)
		}
		switch w := e.Rep.Reserved; {
		case w == nil: // one that was placed before took its nodes
		case w.IsPlanned() && !se.mayServe(e):
		case w.IsPlanned():
			se.backlog.WithoutEarmark(e.Rep, func() { se.serveBeneficiary(e) })
		default:
			se.tryReserved(e)
		}
		w := e.Rep.Reserved
		if w != nil && !w.IsPlanned() && slices.ContainsFunc(w.Nodes, func(n *record.Node) bool { return n.Freed }) {
			w.From = min(w.From, se.estimate(w))
		}
	}
}

// serveTakers starts what waits in the queue of a gang and ranks above it, before the gang has its
// place: what came while the victims of the gang stopped would else find the place taken, and evict
// the gang from there. Other queues have their turn afterwards: what is guaranteed to them they
// reclaim. It tries what something has become free for, as often as the budget allows, and returns
// what is left of that. O(buckets of the queue), and a search for each that may fit now.
func (se *Search) serveTakers(w *record.Reservation, budget int) int {
	for _, b := range se.backlog.Takers(w) {
		for budget > 0 && b.Entries.Len() > 0 && se.backlog.Takes(b.Entries.Min(), w) && se.mayFitNow(b, w) {
			e := b.Entries.Min()
			budget--
			se.backlog.WithoutEarmark(e.Rep, func() { se.tryTaker(e) })
			if b.Entries.Len() > 0 && b.Entries.Min() == e {
				break
			}
		}
	}
	return budget
}

// mayFitNow reports whether the first of a bucket has not been tried since it came, or since
// something has become free on nodes that are set aside, or of use to it elsewhere.
func (se *Search) mayFitNow(b *record.Bucket, w *record.Reservation) bool {
	freed := func(n *record.Node) bool { return n.Freed }
	return b.Slot >= 0 || b.Entries.Min().FreshAt >= 0 || b.QuotaSlot >= 0 && se.agenda.QuotaFreed || slices.ContainsFunc(w.Nodes, freed) ||
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
	if lifted, some := se.Lift(e, request); some {
		se.try(e, lifted)
	}
}

// mayServe reports whether a beneficiary may start, or its plan may be over, since a pass served it
// last: its victims are gone, or its place is free all the same, or something became free that a
// member of it fits in. Nodes that are set aside for others meanwhile are none the freer for it.
func (se *Search) mayServe(e *record.Entry) bool {
	w, s := e.Rep.Reserved, e.Bucket.Shape
	se.state.Compile(s)
	limited := e.Bucket.QuotaSlot >= 0 || s.Least.Product == quota.NoProduct // limits on one of several products are noted nowhere
	if len(w.Plan.Victims) == 0 || s.LooksAround || se.agenda.QuotaFreed && limited {
		return true
	}
	if se.books.Hold(w.Plan.Where) {
		se.books.GiveBack(w.Plan.Where)
		return true
	}
	return slices.ContainsFunc(se.state.FreedNodes, func(n *record.Node) bool {
		return slices.ContainsFunc(s.Minimum.Groups, func(g gang.Group) bool { return se.state.Fleet.Fits(n.Index, &g.Claim) > 0 })
	})
}

// tryReserved places a gang that has a reservation, if it fits.
func (se *Search) tryReserved(e *record.Entry) {
	if request, ok := se.requestNow(e); ok {
		request, _ = se.Lift(e, request)
		se.try(e, request)
	}
}

// requestNow is what an entry may have now by its quota, which a search is to be made for. Its shape
// may be blocked, for others.
func (se *Search) requestNow(e *record.Entry) (*gang.Request, bool) {
	b := e.Bucket
	se.state.Compile(b.Shape)
	request, ok := se.affordable(b)
	if ok {
		se.state.Totals.PlacementAttempts++
	} else if b.QuotaSlot < 0 {
		se.backlog.QuotaBlock(b)
	}
	return request, ok
}

// serveBeneficiary starts a beneficiary, on its planned nodes or elsewhere, as soon as it fits. A
// plan that cannot come true any more is given up.
func (se *Search) serveBeneficiary(e *record.Entry) {
	w := e.Rep.Reserved
	p := w.Plan
	if se.takePlace(e, p, w.Kind.Cause()) {
		return
	}
	if e.Grows {
		se.tryPlanned(e, len(p.Where))
	}
	if e.Rep.Reserved == w {
		se.tryReserved(e)
	}
	if e.Rep.Reserved != w || len(p.Victims) > 0 || se.state.LeavingFrom(w) {
		return
	}
	if se.state.Leaving.Len() > 0 && se.books.Hold(p.Where) { // it is quota that it waits for, which others hold yet
		se.books.GiveBack(p.Where)
		return
	}
	se.FailBid(e.Rep)
	se.backlog.EndReservation(w)
}

// tryPlanned places as many further members of a gang as are planned, or more, on the nodes that
// are set aside for them or elsewhere. Fewer are placed elsewhere alone: those nodes are for all of
// them.
func (se *Search) tryPlanned(e *record.Entry, members int) {
	se.state.Compile(e.Bucket.Shape)
	request, ok := se.affordable(e.Bucket)
	if !ok || request.Groups[0].Members < members {
		return
	}
	planned := *request
	planned.Groups = slices.Clone(request.Groups)
	planned.Groups[0].MinMembers = members
	end := se.state.EndIfPlaced(e.Rep)
	se.state.Totals.PlacementAttempts++
	se.try(e, se.state.Widen(e.Bucket.Shape.Spec.Groups, &planned, func(w *record.Reservation) bool {
		return se.backlog.Admits(w, e.Rep, end) && !w.IsSpares()
	}))
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

// FailBid notes a plan that did not come true: the replica waits before the next one, longer each
// time, so that no job is evicted for it over and over.
func (se *Search) FailBid(rep *record.Replica) {
	for _, e := range rep.Entries {
		e.Bid.Forget()
	}
	rep.BidsAt = se.state.DeferBid(rep, 8)
}

// EndReservations ends what is over.
func (se *Search) EndReservations() {
	for i := 0; i < len(se.backlog.Reservations); {
		w := se.backlog.Reservations[i]
		if w.Until > se.state.Now {
			i++
			continue
		}
		if w.IsAwaited() {
			se.state.Totals.ReservationsExpired++
			if w.Rep.State == berth.ReplicaPending {
				se.planLater(w.Rep)
			}
			if w.IsPlanned() {
				se.FailBid(w.Rep)
			}
		}
		se.backlog.EndReservation(w)
	}
}
