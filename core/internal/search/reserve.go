package search

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/backlog"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/due"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/gang"
	"github.com/berth-sched/berth/internal/limits"
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
	most, renews := se.state.Config.Policy.ReservedGangs, se.freed
	if se.freed = false; !se.agenda.ReserveDue(se.state.Now) && !renews {
		return
	}
	if _, ready := se.state.Quota.Next(); ready {
		return // the budget is spent: what fits comes first
	}
	if renews {
		se.renew()
	}
	se.agenda.BeginReserve()
	if most <= 0 {
		return
	}
	se.lookAtHeads()
	plans := 2 * most
	for _, size := range [...]due.Size{due.SeveralNodes, due.OneNode} { // a large gang may end what is set aside for a small one
		if se.backlog.AnyMayReserve(size) && !se.reserveForSize(size, &plans) {
			se.agenda.ReserveNow(se.state.Now) // the rest goes on in the next pass
			return
		}
	}
}

// reserveForSize plans for gangs of one size, which have an order of their own: no pass looks past
// those of the other size. It reports whether nothing is left for the next pass.
func (se *Search) reserveForSize(size due.Size, plans *int) (all bool) {
	for many := 2 * se.state.Config.Policy.ReservedGangs; ; many *= 2 {
		order, more := se.dueEntries(size, many)
		switch some, left := se.reserveInOrder(size, order, plans); {
		case left, some && more && se.backlog.AnyMayReserve(size):
			return false
		case some, !more:
			return true
		}
	}
}

// reserveInOrder plans for the gangs of a list, as many as there are plans left. Some: it planned
// for any or put any off, and the next list goes on behind those. Left: some are left over.
func (se *Search) reserveInOrder(size due.Size, order []*record.Entry, plans *int) (some, left bool) {
	full, last := se.lastReserved(size, order)
	for i, e := range order {
		if at, ok := se.backlog.Due.At(e); !ok || at > se.state.Now {
			continue // it has a reservation, or had room made for it until just now
		}
		var instead *record.Replica
		if full && last.At > i && se.backlog.OutranksAs(e, last.Entry.Rep) {
			instead = last.Entry.Rep
		}
		switch {
		case e.Slot < 0, full && instead == nil:
			continue
		case *plans == 0:
			return some, true
		case !se.backlog.AnyWithinQuota(e.Rep):
			se.postpone(e.Rep)
		default:
			*plans--
			switch {
			case se.reserveFor(e, instead):
				full, last = se.lastReserved(size, order)
			case se.state.Endings.Len() > se.state.Bounds.Ends: // its plan was cut short, and sees further as time goes by
				se.planLater(e.Rep)
			case !se.backlog.Due.CannotPlan(e.Rep):
				e.Rep.Reserve.Note().HopelessAt = se.agenda.Despair()
				se.backlog.Due.NoteEntries(e.Rep)
			}
		}
		some = true
	}
	return some, false
}

// lastReserved reports whether as many gangs of a size have a reservation as may, and the last of
// them in an order.
func (se *Search) lastReserved(size due.Size, order []*record.Entry) (full bool, last backlog.Position) {
	reserved, last := se.backlog.LastReserved(size, order)
	return reserved >= se.state.Config.Policy.ReservedGangs, last
}

// dueEntries lists the first so many entries of a size that may get a reservation now, among those
// that have one, in policy order, of heads of buckets and those behind them. More: others behind
// them may get one, unless as many have one as may and come before. O(queues with heads) as long as
// so many are few, and O(heads) of those queues that have their turn.
func (se *Search) dueEntries(size due.Size, many int) (order []*record.Entry, more bool) {
	heads := se.backlog.Due.HeadsOf(size)
	r := se.books.NewPolicyOrderOfHeads(heads)
	defer r.End()
	ahead, reserved := heads.Len(), se.backlog.ReservedGangs(size)
	full := reserved >= se.state.Config.Policy.ReservedGangs
	for due := 0; due < many; {
		e := r.Next()
		if e == nil {
			break
		}
		if !e.IsAlternative() || !slices.ContainsFunc(order, func(o *record.Entry) bool { return o.Rep == e.Rep }) {
			r.Charge(e) // a job is charged once, as the first that it is in the order
		}
		order = append(order, e)
		ahead--
		switch res := e.Rep.Reserved; {
		case res == nil:
			due++
		case res.GivesWay():
			reserved--
		}
		if e == e.Bucket.Entries.Min() {
			ahead += se.addBehind(r, e.Bucket)
		}
		r.Pop(e)
	}
	return order, ahead > 0 && (!full || reserved > 0)
}

// lookAtHeads finds the first of each bucket that may get a reservation now, or has one. One that
// is not within its quota is put off: it cannot start next, so that it is before nobody in the
// order. O(what changed), and O(heads) of the queues that quota may hold back.
func (se *Search) lookAtHeads() {
	se.agenda.ReserveBy(se.backlog.Due.SyncHeads())
	late := se.backlog.HeadsBeyondQuota()
	for _, e := range late {
		se.postpone(e.Rep)
	}
	if len(late) > 0 {
		se.backlog.Due.SyncHeads() // they wait until something is free
	}
}

// addBehind adds those of a bucket to a policy order that come after the first one, as many as one
// pass plans for, and counts them. All ask for the same: those further behind do not fit where
// these do not.
func (se *Search) addBehind(r *books.PolicyOrder, b *record.Bucket) (added int) {
	for _, e := range se.backlog.First(b, 2*se.state.Config.Policy.ReservedGangs)[1:] {
		switch at, ok := se.backlog.Due.At(e); {
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

// postpone has the core not think about a reservation for a replica for a while, and not
// before something has become free.
func (se *Search) postpone(rep *record.Replica) {
	rep.Reserve.Note().At = se.state.Now.Add(max(se.state.Config.Policy.ReserveAfter, berth.Second))
	if !se.backlog.Due.Stalled(rep) {
		rep.Reserve.Note().StalledAt = se.agenda.Stall()
	}
	se.backlog.Due.NoteEntries(rep)
}

// planLater makes the core plan another reservation for a replica after one did not come true.
// What runs goes on for longer than it said, and nobody knows for how long: so that a fleet at
// rest comes to rest, the next one is made after twice as long each time, and none for a gang
// that has waited, or would, for longer than any span of the contract.
func (se *Search) planLater(rep *record.Replica) {
	wait, doublings := max(se.state.Config.Policy.ReserveAfter, berth.Second), min(rep.Reserve.Get().Vain, 43)
	if wait > limits.MaxSpan>>doublings || se.state.Now.Sub(rep.PendingSince) > limits.MaxSpan {
		rep.Reserve.Note().At = agenda.Never
	} else {
		rep.Reserve.Note().At = se.state.Now.Add(wait << doublings)
	}
	rep.Reserve.Note().Vain++
	se.backlog.Due.NoteEntries(rep)
	se.agenda.ReserveBy(rep.Reserve.Get().At)
}

// reserveFor sets nodes aside for a gang, if it is expected ever to fit, and ends the
// reservation in whose stead that is; nil: none.
func (se *Search) reserveFor(e *record.Entry, instead *record.Replica) bool {
	as, at, nodes := se.choose(e.Rep, instead, agenda.Never)
	if as == nil || !se.backlog.MaySetAside(nodes) {
		return false
	}
	if instead != nil {
		se.backlog.EndReservation(instead.Reserved)
	}
	se.setAside(as, at, nodes)
	se.state.Totals.Reservations++
	return true
}

// choose plans for a gang that waits as each of what its job may run as: until one is expected to
// fit before an instant, or for all of them if the one that starts the soonest is to have it; nil:
// none fits. Quota that a plan lacks is no plan, a single GPU needs none, and what does not outrank
// the gang that it would replace gets none; nil: it replaces none.
func (se *Search) choose(rep, instead *record.Replica, before berth.Time) (as *record.Entry, at berth.Time, nodes []*record.Node) {
	soonest := rep.Job.Pattern.Option(0).Choose == berth.ChooseSoonest
	for _, e := range rep.Entries {
		if b := e.Bucket; len(rep.Entries) > 1 && (b.QuotaSlot >= 0 || b.Shape.IsSingle() || !se.backlog.WithinQuota(b)) || as != nil && !soonest {
			continue
		}
		if instead != nil && !se.backlog.OutranksAs(e, instead) {
			continue
		}
		if start, where, ok := se.planBesideOthers(e, before); ok && (as == nil || start < at) {
			as, at, nodes, before = e, start, where, min(before, start)
		}
	}
	return as, at, nodes
}

// setAside makes the reservation of an entry.
func (se *Search) setAside(e *record.Entry, at berth.Time, nodes []*record.Node) {
	e.Assume()
	res := record.GangReservation(record.KindPending, e.Rep)
	se.date(res, at)
	res.Nodes = nodes
	for _, n := range res.Nodes {
		se.backlog.EndGangReservationsOn(n) // its former owner plans anew, around this one
	}
	e.Rep.Reserved = res
	se.backlog.Due.NoteEntries(e.Rep)
	se.backlog.AddReservation(res)
}

// date has a reservation begin at an instant.
func (se *Search) date(res *record.Reservation, at berth.Time) {
	res.From, res.Until = at, at.Add(se.state.Config.Policy.ReservationTimeout)
}

// renew plans anew for the gangs that have a reservation, in policy order, after something became
// free. What runs mostly ends sooner than it said, and then a gang may start sooner than it was
// promised, there or elsewhere. A reservation is brought forward, and put off only if its instant
// has come and gone, since what runs there goes on for longer than it said: until it is, nothing
// could be backfilled there. It keeps its nodes if they are empty by then.
func (se *Search) renew() {
	var list []*record.Entry
	for _, res := range se.backlog.Reservations {
		if res.GivesWay() && !res.IsPartialResume() {
			list = append(list, se.backlog.EntryOf(res))
		}
	}
	slices.SortFunc(list, record.CompareEntries)
	for _, e := range list {
		res := e.Rep.Reserved
		switch {
		case res == nil: // one before it was given its nodes
			continue
		case se.oneTooMany(res):
			continue
		case !se.backlog.WithinQuota(e.Bucket):
			continue // it is no plan that it lacks, and it may not hold nodes for as long as that lasts
		}
		before := agenda.Never
		if res.From > se.state.Now {
			before = res.From
		}
		as, at, nodes := se.planAnew(e, before)
		switch {
		case as == nil, at >= before, at <= se.state.Now: // at once it would have started
		case as == e && (slices.Equal(nodes, res.Nodes) || se.emptyBy(res) <= at):
			se.date(res, at)
			se.agenda.SetAside()
		case se.backlog.MaySetAside(nodes):
			se.backlog.EndReservation(res)
			se.setAside(as, at, nodes)
		}
	}
}

// oneTooMany reports whether the policy, by now, allows fewer reservations of gangs than there are
// of the size of one. Such a reservation is not made anew, nor put off.
func (se *Search) oneTooMany(res *record.Reservation) bool {
	return se.backlog.ReservedGangs(se.backlog.Due.SizeOf(res.Rep)) > se.state.Config.Policy.ReservedGangs
}

// planAnew plans for an entry that has a reservation: for what it is for, or for whichever of the
// job's alternatives is to start the soonest.
func (se *Search) planAnew(e *record.Entry, before berth.Time) (as *record.Entry, at berth.Time, nodes []*record.Node) {
	if e.Rep.Job.Pattern.Option(0).Choose == berth.ChooseSoonest {
		return se.choose(e.Rep, nil, before)
	}
	if at, nodes, ok := se.planBesideOthers(e, before); ok {
		return e, at, nodes
	}
	return nil, 0, nil
}

// emptyBy is when nothing is expected to run on the nodes of a reservation any more; never: they
// are set aside for others too, or more has to be empty.
func (se *Search) emptyBy(res *record.Reservation) berth.Time {
	at := se.state.Now
	for _, n := range res.Nodes {
		if len(n.Reservations) > 1 || res.Rep.Job.Spec.Topology.Exclusive != "" {
			return agenda.Never
		}
		for _, m := range n.Members {
			at = max(at, se.state.ExpectedEnd(m.Rep))
		}
	}
	return at
}

// planBesideOthers plans for an entry around what is set aside for others, if it fits before an
// instant: at first on nodes that are to be left only after the gang has ended, and without these
// if that comes out too late.
func (se *Search) planBesideOthers(e *record.Entry, before berth.Time) (at berth.Time, nodes []*record.Node, ok bool) {
	defer e.Rep.Job.Become(e.Assume())
	se.state.Compile(e.Bucket.Shape)
	length, ends := se.state.Runtime(e.Rep.Job)
	for _, until := range [...]berth.Time{se.state.EndIfPlaced(e.Rep), agenda.Never} {
		at, where, ok := se.Plan(se.Wherever(e, until), before)
		if !ok {
			return 0, nil, false // nor on fewer nodes
		}
		nodes = nodes[:0]
		for i := range where {
			nodes = append(nodes, se.state.Nodes[where[i].Hold.Node])
		}
		slices.SortFunc(nodes, record.CompareNodes)
		nodes = slices.Compact(nodes)
		intime := true
		for _, n := range nodes {
			for _, res := range n.Reservations {
				switch {
				case res.IsExclusive() && res.Rep != e.Rep: // it is over when its gang is
					at = max(at, se.state.ExpectedEnd(res.Rep))
				case !se.backlog.Admits(res, e.Rep, agenda.Never) && !res.IsAwaited():
					intime = intime && ends && se.backlog.LeavesBefore(res, e.Rep, at.Add(length))
				}
			}
		}
		if intime {
			return at, nodes, true
		}
	}
	return 0, nil, false
}

// Wherever is the request of an entry on all nodes that a reservation for it may be on: not on
// those that are reserved for others, unless it may end that, nor on those that are kept for a gang
// which backs off, and will run there by then. Domains of a gang that is expected to end are open
// too, and nodes that are to be left no sooner than at an instant.
func (se *Search) Wherever(e *record.Entry, until berth.Time) *gang.Request {
	s := e.Bucket.Shape
	return se.state.Widen(&s.Spec, &s.Minimum, func(res *record.Reservation) bool {
		if res.IsAwaited() && res.Rep != e.Rep {
			return !res.IsPlanned() && se.mayEnd(e.Rep, res.Rep)
		}
		return se.backlog.Admits(res, e.Rep, agenda.Never) && !res.IsBackoff() || res.IsExclusive() && res.Rep.EndsAt != 0 || res.IsAdvance() && se.backlog.LeavesBefore(res, e.Rep, until)
	})
}

// mayEnd reports whether a reservation for a replica may end that of another: if it ranks
// above it or, for one that needs several nodes, if the other fits on one and does not rank
// above it. There is no circle, so that a fleet at rest comes to rest: the winner is further within
// its guarantee, or of a higher class, or equal in both and needs more nodes, or is of the same
// queue and of a higher priority.
func (se *Search) mayEnd(rep, other *record.Replica) bool {
	large, largeOther := se.state.SpansNodes(rep.Job.Shape()), se.state.SpansNodes(other.Job.Shape())
	if large && !largeOther {
		return !se.backlog.Outranks(other, rep) && (se.backlog.WithinGuarantee(rep) || !se.backlog.WithinGuarantee(other)) && rep.Job.Spec.Class >= other.Job.Spec.Class
	}
	level := se.backlog.WithinGuarantee(rep) == se.backlog.WithinGuarantee(other) && rep.Job.Spec.Class == other.Job.Spec.Class
	return se.backlog.Outranks(rep, other) && (large == largeOther || !level)
}

// FailBid notes a plan that did not come true: the replica waits before the next one, longer each
// time, so that no job is evicted for it over and over.
func (se *Search) FailBid(rep *record.Replica) {
	for _, e := range rep.Entries {
		e.Bid.Forget()
	}
	rep.BidsAt = se.state.DeferBid(rep, 8)
	se.backlog.Due.NoteEntries(rep)
}

// vainAtMost is how often at the most the reservation of a gang that waits for long is put off.
const vainAtMost = 16

// holdsOn puts off, and does not end, the reservation of a gang that waits for long, a few times:
// in the pass that ends it others would take what is free, and the gang might starve. It reports
// whether it did.
func (se *Search) holdsOn(res *record.Reservation) bool {
	if !res.GivesWay() || res.IsPartialResume() || se.oneTooMany(res) || !se.state.WaitsLong(res.Rep) || res.Rep.Reserve.Get().Vain >= vainAtMost {
		return false
	}
	at := se.emptyBy(res)
	if at <= se.state.Now || at == agenda.Never {
		return false
	}
	res.Rep.Reserve.Note().Vain++
	// What is late is expected to be as late again: without a bound the age of the world would
	// double.
	se.date(res, min(at, se.state.Now.Add(se.state.Config.Policy.AssumedRuntime)))
	se.agenda.SetAside()
	return true
}

// EndReservations ends what is over. Gangs that had to leave nodes for that may go on there.
func (se *Search) EndReservations() {
	var over []*record.Reservation
	for i := 0; i < len(se.backlog.Reservations); {
		res := se.backlog.Reservations[i]
		if res.Until > se.state.Now || se.holdsOn(res) {
			i++
			continue
		}
		if res.IsAwaited() {
			se.state.Totals.ReservationsExpired++
			if res.Rep.State == berth.ReplicaPending {
				se.planLater(res.Rep)
			}
			if res.IsPlanned() {
				se.FailBid(res.Rep)
			}
		}
		if !se.backlog.Recur(res) {
			se.backlog.EndReservation(res)
		}
		over = append(over, res)
	}
	for _, res := range over {
		se.life.DrainsAnew(res)
	}
}

// BeginDrains has gangs leave the nodes that reservations begin to clear.
func (se *Search) BeginDrains() {
	for _, res := range se.backlog.BeginDrains() {
		se.life.DrainsAnew(res)
	}
}
