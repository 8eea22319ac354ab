package record

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/quota"
)

// A ReservationKind says what a window is: a reservation of a pending gang, an advance
// reservation, a hold of hot spares, ... The kind is the tag of the union that a window is, and
// no other file asks for it, or guesses it from pointers: the rest of the core asks the methods
// of Window below. All they know is this table:
//
//	kind       holder      own  inTime  queue  lowCost  struck  taker    planned  expires
//	ended      forNobody   -    -       -      -        -       nobody   -        -
//	pending    forWaiting  x    x       -      -        -       byRank   -        x
//	room       forWaiting  x    x       -      -        -       byClaim  x        x
//	resume     forWaiting  x    x       -      -        -       nobody   x        x
//	rest       forWaiting  x    x       -      -        -       byRank   -        x
//	move       forMoving   x    x       -      -        -       nobody   x        x
//	remnant    forMoving   x    x       -      -        -       nobody   -        x
//	exclusive  forRunning  x    -       -      -        -       nobody   -        -
//	advance    forQueue    -    x       x      -        -       nobody   -        x
//	burnIn     forItself   -    -       -      x        -       nobody   -        -
//	spares     forItself   -    -       -      -        x       nobody   -        -
//
// Own, inTime, queue, lowCost and struck say who is admitted, each by itself: the holder's own
// members; work that is expected to end by the start of the window; jobs of the queue that the
// window is for, and of those below it; work whose loss is cheap; gangs that lost hardware. The
// taker is admitted as well, and takes the place of the holder by it. Planned: it is known where
// the members of the holder will be, and their quota is earmarked. Expires: the window has an end
// of its own; the others end with what they are for.
//
// Cordons, quarantine and GPU holds are no windows: they close a node, or a GPU of it, to all.
type ReservationKind uint8

const (
	// KindEnded: the window is over. Lists that were copied before may have it yet.
	KindEnded ReservationKind = iota
	// KindPending: the reservation of a gang that keeps losing to smaller work; see package search.
	KindPending
	// KindRoom: others yield for a gang that waits; see Preemption.
	KindRoom
	// kindResume: a move whose gang waits by now, and resumes here.
	kindResume
	// kindRest: a remnant whose gang waits by now, and may bid for what it lacks.
	kindRest
	// KindMove: a place for a gang that still holds another; see package search.
	KindMove
	// KindRemnant: what a gang that is being stopped has left of its place.
	KindRemnant
	// KindExclusive: the domains that a gang which runs has for itself; see package backlog.
	KindExclusive
	// KindAdvance: a Reservation, made in advance for a queue or for nobody.
	KindAdvance
	// KindBurnIn: the nodes that are back after a failure; see package upkeep.
	KindBurnIn
	// KindSpares: the hot spares of a pool.
	KindSpares
)

// A holder is what a window is for.
type holder uint8

const (
	forNobody holder = iota
	// forWaiting: for a gang that waits; its Replica.Reserved.
	forWaiting
	// forMoving: for a gang that has not left its old place; its Replica.Moving.
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
	Nobody Taker = iota
	// byRank: a gang that outranks the holder.
	byRank
	// ByClaim: of the same queue, one that outranks the holder; of another, one that claims what
	// is owed to its queue where the holder would borrow. The class does not count between
	// queues: a gang that gave back would else be the first to come for it again.
	ByClaim
)

// A rule is a row of the table.
type rule struct {
	holder                              holder
	Own, InTime, Queue, LowCost, Struck bool
	Taker                               Taker
	planned, expires                    bool
}

// Rule is the row of a kind.
func (k ReservationKind) Rule() rule {
	switch k {
	case KindPending, kindRest:
		return rule{holder: forWaiting, Own: true, InTime: true, Taker: byRank, expires: true}
	case KindRoom:
		return rule{holder: forWaiting, Own: true, InTime: true, Taker: ByClaim, planned: true, expires: true}
	case kindResume:
		return rule{holder: forWaiting, Own: true, InTime: true, planned: true, expires: true}
	case KindMove:
		return rule{holder: forMoving, Own: true, InTime: true, planned: true, expires: true}
	case KindRemnant:
		return rule{holder: forMoving, Own: true, InTime: true, expires: true}
	case KindExclusive:
		return rule{holder: forRunning, Own: true}
	case KindAdvance:
		return rule{holder: forQueue, InTime: true, Queue: true, expires: true}
	case KindBurnIn:
		return rule{holder: forItself, LowCost: true}
	case KindSpares:
		return rule{holder: forItself, Struck: true}
	}
	return rule{holder: forNobody}
}

// Arrived is what becomes of the place that is kept for a gang when it waits for it.
func (k ReservationKind) Arrived() ReservationKind {
	switch k {
	case KindMove:
		return kindResume
	case KindRemnant:
		return kindRest
	}
	return k
}

// kindOf is the kind of a window that is saved as what a gang waits for, or moves to.
func (s *SavedWindow) kindOf(moving bool) ReservationKind {
	k := KindPending
	switch planned := len(s.Where) > 0; {
	case moving && planned, planned && s.Cause == berth.CauseResumed:
		k = KindMove
	case planned:
		k = KindRoom
	case moving, s.Remnant:
		k = KindRemnant
	}
	if !moving {
		k = k.Arrived()
	}
	return k
}

// Cause is that of the Bind which takes a gang to where it is planned.
func (k ReservationKind) Cause() berth.CauseCode {
	if k == KindMove || k == kindResume {
		return berth.CauseResumed
	}
	return berth.CauseRoomMade
}

// IsReservation reports whether a gang waits for a window.
func (w *Window) IsReservation() bool { return w.Kind.Rule().holder == forWaiting }

// IsMove reports whether a window is the place of a gang that still holds another.
func (w *Window) IsMove() bool { return w.Kind.Rule().holder == forMoving }

// IsExclusive reports whether a window has the domains of a gang that runs.
func (w *Window) IsExclusive() bool { return w.Kind.Rule().holder == forRunning }

// IsAdvance reports whether a window is a Reservation.
func (w *Window) IsAdvance() bool { return w.Kind.Rule().holder == forQueue }

// IsKept reports whether nodes come to a window and go from it one by one.
func (w *Window) IsKept() bool { return w.Kind.Rule().holder == forItself }

// IsBurnIn reports whether a window has the nodes that are back after a failure.
func (w *Window) IsBurnIn() bool { return w.Kind == KindBurnIn }

// IsSpares reports whether a window has the hot spares of a pool.
func (w *Window) IsSpares() bool { return w.Kind == KindSpares }

// IsForGang reports whether a window is for a gang, whatever that does.
func (w *Window) IsForGang() bool { return w.CountsOnNodes() || w.IsExclusive() }

// CountsOnNodes reports whether a window is of no use any more when one of its nodes changes,
// takes no work, or goes.
func (w *Window) CountsOnNodes() bool { return w.IsReservation() || w.IsMove() }

// IsPlanned reports whether it is known where the members of a gang will be.
func (w *Window) IsPlanned() bool { return w.Kind.Rule().planned }

// IsRoom reports whether a gang waits for where its members are planned.
func (w *Window) IsRoom() bool { return w.IsReservation() && w.IsPlanned() }

// GivesWay reports whether a gang waits for a window and has nothing but the nodes: what is
// planned for others may come before it.
func (w *Window) GivesWay() bool { return w.IsReservation() && !w.IsPlanned() }

// IsPart reports whether a window has what a gang has left of its place, without room for the
// rest of it.
func (w *Window) IsPart() bool { return w.Kind == KindRemnant || w.Kind == kindRest }

// IsRest reports whether a window is such a part, and its gang waits. It ends with the first
// pass in which the gang could bid for the rest.
func (w *Window) IsRest() bool { return w.Kind == kindRest }

// ListsNodes reports whether neither name nor place says which nodes are in a window, so that
// one that is described anew has to be put back.
func (w *Window) ListsNodes() bool { return w.IsBurnIn() || w.IsAdvance() && w.Advance.GPUs > 0 }

// Disown makes a window one that has ended: nobody has it any more.
func (w *Window) Disown() {
	switch w.Kind.Rule().holder {
	case forWaiting:
		w.Rep.Reserved = nil
	case forMoving:
		w.Rep.Moving = nil
	case forRunning:
		w.Rep.Exclusive = nil
	case forItself:
		*w.Home = nil
	}
	w.Kind = KindEnded
}

// Agrees reports whether the kind of a window and all that it points to say the same.
func (w *Window) Agrees() bool {
	held := false
	switch w.Kind.Rule().holder {
	case forWaiting:
		held = w.Rep != nil && w.Rep.Reserved == w
	case forMoving:
		held = w.Rep != nil && w.Rep.Moving == w
	case forRunning:
		held = w.Rep != nil && w.Rep.Exclusive == w
	case forQueue:
		held = w.Advance != nil
	case forItself:
		held = len(w.Nodes) > 0 && *w.Home == w
	}
	r := w.Kind.Rule()
	return held && w.IsForGang() == (w.Rep != nil) && w.IsAdvance() == (w.Advance != nil) && r.planned == (w.Preemption != nil) &&
		(r.Queue || w.Queue == quota.None) && (r.expires || w.From == agenda.BeforeAll && w.Until == agenda.Never)
}
