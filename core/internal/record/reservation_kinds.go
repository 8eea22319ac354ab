package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/invariant"
	"github.com/berth-sched/berth/internal/enum"
	"github.com/berth-sched/berth/quota"
)

// A ReservationKind says what a Reservation is: one of a pending gang, one made in advance, a
// set of hot spares, ... The kind is the tag of the union that a Reservation is. Other files
// do not guess it from pointers, and tell kinds apart by the methods of Reservation below. All they
// know is this table:
//
//	kind           holder      own  inTime  queue  lowCost  lostHardware  taker    planned  expires
//	ended          forNobody   -    -       -      -        -             nobody   -        -
//	pending        forWaiting  x    x       -      -        -             byRank   -        x
//	preemption     forWaiting  x    x       -      -        -             byClaim  x        x
//	resume         forWaiting  x    x       -      -        -             nobody   x        x
//	partialResume  forWaiting  x    x       -      -        -             byRank   -        x
//	move           forMoving   x    x       -      -        -             nobody   x        x
//	partialMove    forMoving   x    x       -      -        -             nobody   -        x
//	backoff        forMoving   x    x       -      -        -             byClaim  x        x
//	exclusive      forRunning  x    -       -      -        -             nobody   -        -
//	advance        forQueue    -    x       x      -        -             nobody   -        x
//	burnIn         forItself   -    -       -      x        -             nobody   -        -
//	spares         forItself   -    -       -      -        x             nobody   -        -
//
// Own, inTime, queue, lowCost and lostHardware each admit work by themselves: the holder's own
// members; work that is expected to end by the start of the reservation; jobs of the queue that
// it is for, and of the queues below that one; work whose loss is cheap; gangs that lost
// hardware. The taker is admitted as well, and takes the place of the holder by it. Planned: the
// places of the holder's members are known, and their quota is earmarked. Expires: the
// reservation has an end of its own; the others end with what they are for.
//
// Cordons, quarantine and GPU holds are no reservations: they close a node, or a GPU of it, to
// all.
type ReservationKind uint8

const (
	// KindEnded: the reservation is over. Lists that were copied before may have it yet.
	KindEnded ReservationKind = iota
	// KindPending: the reservation of a gang that keeps losing to smaller work; see package search.
	KindPending
	// KindPreemption: victims are evicted for a gang that waits, or that runs and grows; see Plan.
	KindPreemption
	// KindResume: what was a move; its gang waits by now, and resumes here.
	KindResume
	// KindPartialResume: what was a partial move; its gang waits by now, and may bid for the rest.
	KindPartialResume
	// KindMove: a place for a gang that still holds another; see package search.
	KindMove
	// KindPartialMove: what a gang that is being stopped has left of its place.
	KindPartialMove
	// KindBackoff: the place of a gang that failed, while it backs off.
	KindBackoff
	// KindExclusive: the domains that a gang which runs has for itself; see package backlog.
	KindExclusive
	// KindAdvance: a Reservation, made in advance for a queue or for nobody.
	KindAdvance
	// KindBurnIn: the nodes that are back after a failure; see package upkeep.
	KindBurnIn
	// KindSpares: the hot spares of a pool.
	KindSpares
)

const kinds = KindSpares + 1

// A holder is what a reservation is for.
type holder uint8

const (
	forNobody holder = iota
	// forWaiting: for a gang that waits; its Replica.Reserved.
	forWaiting
	// forMoving: for a gang that has not left its old place, or backs off; its Replica.Moving.
	forMoving
	// forRunning: for a gang that runs; its Replica.Exclusive.
	forRunning
	// forQueue: for the jobs of a queue or, without one, for nobody.
	forQueue
	// forItself: the nodes are what counts, and come and go one by one.
	forItself
)

// A Taker is a gang that waits and may take what is set aside for another.
type Taker uint8

const (
	// Nobody takes it.
	Nobody Taker = iota
	// byRank: a gang that outranks the holder.
	byRank
	// ByClaim: of the same queue, one that outranks the holder; of another, one that claims what
	// is guaranteed to its queue where the holder would borrow. The class does not count between
	// queues: a gang that was reclaimed would else be the first to come back.
	ByClaim
)

// A rule is a row of the table.
type rule struct {
	holder                                    holder
	Own, InTime, Queue, LowCost, LostHardware bool
	Taker                                     Taker
	planned, expires                          bool
}

// Rule is the row of a kind.
func (k ReservationKind) Rule() rule {
	switch k {
	case KindPending, KindPartialResume:
		return rule{holder: forWaiting, Own: true, InTime: true, Taker: byRank, expires: true}
	case KindPreemption:
		return rule{holder: forWaiting, Own: true, InTime: true, Taker: ByClaim, planned: true, expires: true}
	case KindResume:
		return rule{holder: forWaiting, Own: true, InTime: true, planned: true, expires: true}
	case KindMove:
		return rule{holder: forMoving, Own: true, InTime: true, planned: true, expires: true}
	case KindPartialMove:
		return rule{holder: forMoving, Own: true, InTime: true, expires: true}
	case KindBackoff:
		return rule{holder: forMoving, Own: true, InTime: true, Taker: ByClaim, planned: true, expires: true}
	case KindExclusive:
		return rule{holder: forRunning, Own: true}
	case KindAdvance:
		return rule{holder: forQueue, InTime: true, Queue: true, expires: true}
	case KindBurnIn:
		return rule{holder: forItself, LowCost: true}
	case KindSpares:
		return rule{holder: forItself, LostHardware: true}
	}
	return rule{holder: forNobody}
}

// A ReservationSignal leads a reservation from one kind to the next.
type ReservationSignal uint8

const (
	// ReservationAwaited: the gang holds nothing any more, and waits for it.
	ReservationAwaited ReservationSignal = iota
	// ReservationBacksOff: the gang holds nothing any more, and may not be placed for a while.
	ReservationBacksOff
	// ReservationEnded: it came true, is over, or is given up.
	ReservationEnded
	reservationSignals
)

const (
	kindNames              enum.Names = "ReservationKind: ended|pending|preemption|resume|partial resume|move|partial move|backoff|exclusive|advance|burn-in|spares"
	reservationSignalNames enum.Names = "ReservationSignal: awaited|backs off|ended"
)

// String is the name in the tables of the states.
func (k ReservationKind) String() string { return enum.Text(kindNames, k) }

// String is the name in the tables of the states.
func (on ReservationSignal) String() string { return enum.Text(reservationSignalNames, on) }

// After is the kind after a signal. It reports false for a signal that cannot come to this kind.
func (on ReservationSignal) After(k ReservationKind) (ReservationKind, bool) {
	switch {
	case k == KindEnded:
	case on == ReservationEnded:
		return KindEnded, true
	case k == KindMove && on == ReservationBacksOff:
		return KindBackoff, true
	case (k == KindMove || k == KindBackoff) && on == ReservationAwaited:
		return KindResume, true
	case k == KindPartialMove && on == ReservationAwaited:
		return KindPartialResume, true
	}
	return k, false
}

// become makes a reservation what it is after a signal.
func (r *Reservation) become(on ReservationSignal) {
	next, ok := on.After(r.Kind)
	invariant.Hold(ok, "a reservation gets a signal that cannot come to its kind")
	r.Kind = next
}

// Arrive makes the place that was kept for a gang one that the gang waits for.
func (r *Reservation) Arrive() { r.become(ReservationAwaited) }

// kindOf is the kind of a reservation that is saved as what a gang waits for, or moves to.
func (s *SavedGangReservation) kindOf(moving bool, of berth.ReplicaState) ReservationKind {
	k := KindPending
	switch planned := len(s.Where) > 0; {
	case moving && planned && of == berth.ReplicaPending:
		k = KindBackoff
	case moving && planned, planned && s.Cause == berth.CauseResumed:
		k = KindMove
	case planned:
		k = KindPreemption
	case moving, s.Partial:
		k = KindPartialMove
	}
	if next, ok := ReservationAwaited.After(k); ok && !moving {
		return next
	}
	return k
}

// Cause is that of the Bind which takes a gang to where it is planned. It means nothing for a kind
// that is not planned.
func (k ReservationKind) Cause() berth.CauseCode {
	if k == KindMove || k == KindBackoff || k == KindResume {
		return berth.CauseResumed
	}
	return berth.CauseVictimsGone
}

// Taker is which gangs that wait may take the place of the holder.
func (r *Reservation) Taker() Taker { return r.Kind.Rule().Taker }

// IsAwaited reports whether a gang waits for a reservation.
func (r *Reservation) IsAwaited() bool { return r.Kind.Rule().holder == forWaiting }

// IsMove reports whether a reservation is kept for a gang that has not left its place yet, or that
// backs off.
func (r *Reservation) IsMove() bool { return r.Kind.Rule().holder == forMoving }

// KeepThrough makes a place that of a gang which backs off, until an instant.
func (r *Reservation) KeepThrough(until berth.Time) {
	r.become(ReservationBacksOff)
	r.Until = until
}

// IsBackoff reports whether a reservation is the place of a gang that backs off.
func (r *Reservation) IsBackoff() bool { return r.Kind == KindBackoff }

// IsExclusive reports whether a reservation has the domains of a gang that runs.
func (r *Reservation) IsExclusive() bool { return r.Kind.Rule().holder == forRunning }

// IsAdvance reports whether a reservation was made in advance, by a ReservationSet.
func (r *Reservation) IsAdvance() bool { return r.Kind.Rule().holder == forQueue }

// IsNodeSet reports whether nodes come to a reservation and go from it one by one.
func (r *Reservation) IsNodeSet() bool { return r.Kind.Rule().holder == forItself }

// IsBurnIn reports whether a reservation has the nodes that are back after a failure.
func (r *Reservation) IsBurnIn() bool { return r.Kind == KindBurnIn }

// IsSpares reports whether a reservation has the hot spares of a pool.
func (r *Reservation) IsSpares() bool { return r.Kind == KindSpares }

// IsForGang reports whether a reservation is for a gang, whatever that does.
func (r *Reservation) IsForGang() bool { return r.CountsOnNodes() || r.IsExclusive() }

// CountsOnNodes reports whether a reservation is of no use any more when one of its nodes changes,
// takes no work, or goes.
func (r *Reservation) CountsOnNodes() bool { return r.IsAwaited() || r.IsMove() }

// IsPlanned reports whether it is known where the members of a gang will be.
func (r *Reservation) IsPlanned() bool { return r.Kind.Rule().planned }

// IsAwaitedPlan reports whether a gang waits for where its members are planned.
func (r *Reservation) IsAwaitedPlan() bool { return r.IsAwaited() && r.IsPlanned() }

// GivesWay reports whether a gang waits for a reservation and has nothing but the nodes: what is
// planned for others may come before it.
func (r *Reservation) GivesWay() bool { return r.IsAwaited() && !r.IsPlanned() }

// IsPartial reports whether a reservation has a part of the place of a gang, and nothing for the
// rest of it.
func (r *Reservation) IsPartial() bool {
	return r.Kind == KindPartialMove || r.Kind == KindPartialResume
}

// IsPartialResume reports whether a reservation is such a part, and its gang waits. It ends with
// the first pass in which the gang could bid for the rest.
func (r *Reservation) IsPartialResume() bool { return r.Kind == KindPartialResume }

// ListsNodes reports whether its list alone says which nodes are in a reservation, so that a node
// that is described anew has to be put back. Hot spares are not: they are chosen anew.
func (r *Reservation) ListsNodes() bool { return r.IsBurnIn() || r.IsAdvance() && r.Advance.GPUs > 0 }

// MarkEnded makes a reservation one that has ended: nobody has it any more.
func (r *Reservation) MarkEnded() {
	switch r.Kind.Rule().holder {
	case forWaiting:
		r.Rep.Reserved = nil
	case forMoving:
		r.Rep.Moving = nil
	case forRunning:
		r.Rep.Exclusive = nil
	case forItself:
		*r.Home = nil
	}
	r.become(ReservationEnded)
}

// Agrees reports whether the kind of a reservation and all that it points to say the same.
func (r *Reservation) Agrees() bool {
	held := false
	switch r.Kind.Rule().holder {
	case forWaiting:
		held = r.Rep != nil && r.Rep.Reserved == r
	case forMoving:
		held = r.Rep != nil && r.Rep.Moving == r
	case forRunning:
		held = r.Rep != nil && r.Rep.Exclusive == r
	case forQueue:
		held = r.Advance != nil
	case forItself:
		held = len(r.Nodes) > 0 && *r.Home == r
	}
	rule := r.Kind.Rule()
	return held && r.IsForGang() == (r.Rep != nil) && r.IsAdvance() == (r.Advance != nil) && rule.planned == (r.Plan != nil) &&
		(rule.Queue || r.Queue == quota.NoQueue) && (rule.expires || r.From == agenda.BeforeAll && r.Until == agenda.Never)
}
