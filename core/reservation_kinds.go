package core

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/quota"
)

// A reservationKind says what a window is: a reservation of a pending gang, an advance
// reservation, a hold of hot spares, ... The kind is the tag of the union that a window is, and
// no other file asks for it, or guesses it from pointers: the rest of the core asks the methods
// of window below. All they know is this table:
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
type reservationKind uint8

const (
	// kindEnded: the window is over. Lists that were copied before may have it yet.
	kindEnded reservationKind = iota
	// kindPending: the reservation of a gang that keeps losing to smaller work; see reserve.go.
	kindPending
	// kindRoom: others yield for a gang that waits; see room.go.
	kindRoom
	// kindResume: a move whose gang waits by now, and resumes here.
	kindResume
	// kindRest: a remnant whose gang waits by now, and may bid for what it lacks.
	kindRest
	// kindMove: a place for a gang that still holds another; see move.go.
	kindMove
	// kindRemnant: what a gang that is being stopped has left of its place.
	kindRemnant
	// kindExclusive: the domains that a gang which runs has for itself; see exclusive.go.
	kindExclusive
	// kindAdvance: a Reservation, made in advance for a queue or for nobody.
	kindAdvance
	// kindBurnIn: the nodes that are back after a failure; see kept.go.
	kindBurnIn
	// kindSpares: the hot spares of a pool.
	kindSpares
)

// A holder is what a window is for.
type holder uint8

const (
	forNobody holder = iota
	// forWaiting: for a gang that waits; its replica.reserved.
	forWaiting
	// forMoving: for a gang that has not left its old place; its replica.moving.
	forMoving
	// forRunning: for a gang that runs; its replica.exclusive.
	forRunning
	// forQueue: for the jobs of a queue or, without one, for nobody.
	forQueue
	// forItself: the nodes are what counts, and come and go one by one.
	forItself
)

// A taker is a gang that waits and may take what is set aside for another.
type taker uint8

const (
	nobody taker = iota
	// byRank: a gang that outranks the holder.
	byRank
	// byClaim: of the same queue, one that outranks the holder; of another, one that claims what
	// is owed to its queue where the holder would borrow. The class does not count between
	// queues: a gang that gave back would else be the first to come for it again.
	byClaim
)

// A rule is a row of the table.
type rule struct {
	holder                              holder
	own, inTime, queue, lowCost, struck bool
	taker                               taker
	planned, expires                    bool
}

func (k reservationKind) rule() rule {
	switch k {
	case kindPending, kindRest:
		return rule{holder: forWaiting, own: true, inTime: true, taker: byRank, expires: true}
	case kindRoom:
		return rule{holder: forWaiting, own: true, inTime: true, taker: byClaim, planned: true, expires: true}
	case kindResume:
		return rule{holder: forWaiting, own: true, inTime: true, planned: true, expires: true}
	case kindMove:
		return rule{holder: forMoving, own: true, inTime: true, planned: true, expires: true}
	case kindRemnant:
		return rule{holder: forMoving, own: true, inTime: true, expires: true}
	case kindExclusive:
		return rule{holder: forRunning, own: true}
	case kindAdvance:
		return rule{holder: forQueue, inTime: true, queue: true, expires: true}
	case kindBurnIn:
		return rule{holder: forItself, lowCost: true}
	case kindSpares:
		return rule{holder: forItself, struck: true}
	}
	return rule{holder: forNobody}
}

// arrived is what becomes of the place that is kept for a gang when it waits for it.
func (k reservationKind) arrived() reservationKind {
	switch k {
	case kindMove:
		return kindResume
	case kindRemnant:
		return kindRest
	}
	return k
}

// kindOf is the kind of a window that is saved as what a gang waits for, or moves to.
func (s *savedWindow) kindOf(moving bool) reservationKind {
	k := kindPending
	switch planned := len(s.Where) > 0; {
	case moving && planned, planned && s.Cause == berth.CauseResumed:
		k = kindMove
	case planned:
		k = kindRoom
	case moving, s.Remnant:
		k = kindRemnant
	}
	if !moving {
		k = k.arrived()
	}
	return k
}

// cause is that of the Bind which takes a gang to where it is planned.
func (k reservationKind) cause() berth.CauseCode {
	if k == kindMove || k == kindResume {
		return berth.CauseResumed
	}
	return berth.CauseRoomMade
}

// admits reports whether a member of a replica may be placed in a window if it is expected to
// end at an instant.
func (c *Core) admits(w *window, rep *replica, end berth.Time) bool {
	r := w.kind.rule()
	return r.own && w.rep == rep || r.inTime && end <= w.From ||
		r.queue && w.queue != quota.None && c.below(rep.job.queue, w.queue) ||
		r.lowCost && mayTry(rep) || r.struck && c.maySpare(rep) || c.mayTake(r.taker, rep, w)
}

// mayTake reports whether a replica may take what is set aside for another.
func (c *Core) mayTake(by taker, rep *replica, w *window) bool {
	switch {
	case by == nobody:
		return false
	case by == byClaim && rep.job.queue != w.rep.job.queue:
		return c.owed(rep) && !c.owed(w.rep)
	}
	return c.outranks(rep, w.rep)
}

// isReservation reports whether a gang waits for a window.
func (w *window) isReservation() bool { return w.kind.rule().holder == forWaiting }

// isMove reports whether a window is the place of a gang that still holds another.
func (w *window) isMove() bool { return w.kind.rule().holder == forMoving }

// isExclusive reports whether a window has the domains of a gang that runs.
func (w *window) isExclusive() bool { return w.kind.rule().holder == forRunning }

// isAdvance reports whether a window is a Reservation.
func (w *window) isAdvance() bool { return w.kind.rule().holder == forQueue }

// isKept reports whether nodes come to a window and go from it one by one.
func (w *window) isKept() bool { return w.kind.rule().holder == forItself }

func (w *window) isBurnIn() bool { return w.kind == kindBurnIn }

func (w *window) isSpares() bool { return w.kind == kindSpares }

// isForGang reports whether a window is for a gang, whatever that does.
func (w *window) isForGang() bool { return w.countsOnNodes() || w.isExclusive() }

// countsOnNodes reports whether a window is of no use any more when one of its nodes changes,
// takes no work, or goes.
func (w *window) countsOnNodes() bool { return w.isReservation() || w.isMove() }

// isPlanned reports whether it is known where the members of a gang will be.
func (w *window) isPlanned() bool { return w.kind.rule().planned }

// isRoom reports whether a gang waits for where its members are planned.
func (w *window) isRoom() bool { return w.isReservation() && w.isPlanned() }

// givesWay reports whether a gang waits for a window and has nothing but the nodes: what is
// planned for others may come before it.
func (w *window) givesWay() bool { return w.isReservation() && !w.isPlanned() }

// isPart reports whether a window has what a gang has left of its place, without room for the
// rest of it.
func (w *window) isPart() bool { return w.kind == kindRemnant || w.kind == kindRest }

// isRest reports whether a window is such a part, and its gang waits. It ends with the first
// pass in which the gang could bid for the rest.
func (w *window) isRest() bool { return w.kind == kindRest }

// listsNodes reports whether neither name nor place says which nodes are in a window, so that
// one that is described anew has to be put back.
func (w *window) listsNodes() bool { return w.isBurnIn() || w.isAdvance() && w.advance.GPUs > 0 }

// disown makes a window one that has ended: nobody has it any more.
func (c *Core) disown(w *window) {
	switch w.kind.rule().holder {
	case forWaiting:
		w.rep.reserved = nil
	case forMoving:
		w.rep.moving = nil
	case forRunning:
		w.rep.exclusive = nil
	case forItself:
		*w.home = nil
	}
	w.kind = kindEnded
}

// agrees reports whether the kind of a window and all that it points to say the same.
func (w *window) agrees() bool {
	held := false
	switch w.kind.rule().holder {
	case forWaiting:
		held = w.rep != nil && w.rep.reserved == w
	case forMoving:
		held = w.rep != nil && w.rep.moving == w
	case forRunning:
		held = w.rep != nil && w.rep.exclusive == w
	case forQueue:
		held = w.advance != nil
	case forItself:
		held = len(w.nodes) > 0 && *w.home == w
	}
	r := w.kind.rule()
	return held && w.isForGang() == (w.rep != nil) && w.isAdvance() == (w.advance != nil) && r.planned == (w.preemption != nil) &&
		(r.queue || w.queue == quota.None) && (r.expires || w.From == beforeAll && w.Until == never)
}

// setsAside reports whether what a replica has set aside is in force, and of the kind for which
// it has it.
func (rep *replica) setsAside() bool {
	return (rep.reserved == nil || rep.reserved.isReservation()) && (rep.moving == nil || rep.moving.isMove()) &&
		(rep.exclusive == nil || rep.exclusive.isExclusive())
}
