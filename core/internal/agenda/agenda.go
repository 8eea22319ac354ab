// Package agenda says what has changed since the stages of a pass last looked, and when each stage
// is due. It knows no record.
package agenda

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// An Agenda says what has changed since the stages of a pass last looked, and when each stage
// is due. It is one comparable value: to save it is an assignment, and so is to roll it back.
// Apply does that for all refusals, so that a handler has no part of it to put back.
//
// It knows no node, no replica and no shape. Where a note asks whether it concerns anything, it
// asks a count; the owner of the records keeps that count with one call.
//
// Its invariants, of which Valid tests what the agenda alone can tell:
//
//  1. No count is negative, the shapes that look around are among the blocked ones, and the
//     nodes whose GPUs may change are among those whose GPUs divide.
//  2. Nothing is fresh where nothing is set aside.
//  3. A turn is at least 1, so that the 0 of a record is no turn.
//  4. Between two passes it is neither placing nor taken.
//  5. Every count is that of the records. Core.Check compares them.
//  6. A note acts at once and never later: the same pass may ask for what it changes.
//
// The notes, and the stages that they make due (the stages of Core.Schedule: Relocate,
// TendSpares, ServeReserved, Wake, Reshape, Reserve, Backfill, Preempt). A mark is a condition:
//
//	b  a shape is blocked or a bucket limited    q  a bucket is limited
//	d  a node is drained, or a gang homeless     s  a gang is stalled
//	g  GPUs may change                           w  nodes are set aside
//	h  a gang is hopeless                        x  none: it is due in any case
//	l  a blocked shape looks around
//
//	note           relocate  spares  reserved  wake  reshape  reserve  backfill  preempt
//	Waits             .        .        .        .      g        .        .         b
//	Block             .        .        .        .      g        .        .         x
//	Limit             .        .        .        .      .        .        .         x
//	LookAgain         .        .        .        .      g        .        .         .
//	contend           .        .        .        .      .        .        .         b
//	Relook            d        .        .        .      .        .        .         .
//	Stir              d        .        .        .      .        .        .         b
//	Reshare           .        .        .        .      .        .        .         b
//	Changed           .        .        .        .      .        s        .         .
//	Grew              .        .        .        .      .        h        .         .
//	Reopened          d        .        w        b      g        .        w         b
//	QuotaChanged      d        .        w        q      .        s        w         b
//	FreedQuota        .        .        w        q      .        .        .         .
//	Lessen            .        .        .        l      .        .        .         .
//	SetAside          .        .        w        .      .        .        x         .
//	PolicyChanged     .        .        w        .      .        x        w         .
//	WantSpares        .        x        .        .      .        .        .         .
//
// State.Freed notes Reopened and Changed. Stages that become due by the clock alone say when:
// with MoveBy, ReshapeBy, ReserveBy, PreemptBy, PreemptAt, Ranked and WatchUntil.
type Agenda struct {
	// QuotaFreed: a queue may have more than it could. lessened: a node takes less, or holds
	// less that others keep away from. BackfillDue: something has changed on nodes that are set
	// aside. SparesDue: something has changed that matters to hot spares. Homeless: a gang that
	// has to leave its place found no other the last time. MovesLeft: relocate has not yet looked
	// at all gangs of its round. takersLeft: the last pass has not looked at all that come before
	// a gang for which nodes are set aside.
	QuotaFreed, lessened, BackfillDue, SparesDue, Homeless, MovesLeft, takersLeft bool
	// Of the pass in progress: it has woken what it wakes; it has tried a gang with a reservation
	// in vain; it has placed something since it last looked at what limits hold back.
	Placing, TriedReserved, taken bool

	// The instants from which on a stage is due; Never: when something changes. Of nextRank, 0
	// says that there is nothing to forget.
	nextRank, NextMove, nextReshape, nextReserve, NextPreempt berth.Time
	// HealthDue is when the first quarantine or burn-in is over.
	HealthDue berth.Time

	// The turns: of what could make another look for GPUs to change worth while, and for victims;
	// of something that became free, for the stalled, and of more to plan with, for the hopeless;
	// and the rounds in which relocate looks at all gangs that have to leave their places.
	ReshapeTurn, PreemptTurn, FreedTurn, GrownTurn, MoveTurn Turn

	// blocked counts the shapes that fit nowhere, looking those of them that look around, limited
	// the buckets that quota holds back.
	blocked, looking, limited int
	// freedNodes counts the nodes on which something became free.
	freedNodes int
	// reservations counts what is set aside, fresh the entries yet to be tried there.
	reservations, fresh int
	// stalled counts the gangs that get no reservation before something is free, hopeless those
	// that get none before there is more to plan with.
	stalled, hopeless int
	// Dividing counts the nodes whose GPUs divide, pliable those whose GPUs may change.
	Dividing, Pliable int
	// Draining counts the nodes that are being drained.
	Draining int
}

// A Turn numbers the changes of one kind. A record that keeps the turn of its last look tells
// by comparing whether anything has changed since.
type Turn uint64

// Forget has a record keep no turn.
func (t *Turn) Forget() { *t = 0 }

// New returns an agenda on which nothing is due.
func New() *Agenda {
	return &Agenda{
		NextMove: Never, nextReshape: Never, nextReserve: Never, NextPreempt: Never, HealthDue: Never,
		ReshapeTurn: 1, PreemptTurn: 1, FreedTurn: 1, GrownTurn: 1, MoveTurn: 1,
	}
}

// Valid returns the first violation of an invariant, between two passes.
func (a *Agenda) Valid() error {
	switch {
	case min(a.blocked, a.looking, a.limited, a.freedNodes, a.reservations, a.fresh, a.stalled, a.hopeless, a.Dividing, a.Pliable, a.Draining) < 0,
		a.looking > a.blocked, a.Pliable > a.Dividing:
		return fmt.Errorf("a count is out of range: %+v", *a)
	case a.fresh > 0 && a.reservations == 0:
		return fmt.Errorf("%d entries are fresh, and nothing is set aside", a.fresh)
	case min(a.ReshapeTurn, a.PreemptTurn, a.FreedTurn, a.GrownTurn, a.MoveTurn) == 0:
		return fmt.Errorf("a turn is 0: %+v", *a)
	case a.Placing || a.TriedReserved || a.taken:
		return fmt.Errorf("a pass is over, and placing is %v, tried %v, taken %v", a.Placing, a.TriedReserved, a.taken)
	}
	return nil
}

// LookAgain notes that something waits, or is free, that was not before, as far as that matters
// to the GPUs that may change.
func (a *Agenda) LookAgain(now berth.Time) {
	if a.Pliable > 0 {
		a.nextReshape = now
		a.ReshapeTurn++
	}
}

// contend has the next pass look for victims, if anything is blocked.
func (a *Agenda) contend(now berth.Time) {
	if a.blocked+a.limited > 0 {
		a.PreemptBy(now)
	}
}

// Relook has the next pass look for another place for gangs that have to leave theirs, if there
// may be any.
func (a *Agenda) Relook(now berth.Time) {
	if a.Draining > 0 || a.Homeless {
		a.MoveBy(now)
	}
}

// Stir notes a change that may open or close a preemption.
func (a *Agenda) Stir(now berth.Time) {
	a.Reshare(now)
	a.Relook(now)
}

// Reshare notes that a queue wants more or less than before, so that the shares of others may be
// smaller or larger: what they have beyond them may be taken, and they may take.
func (a *Agenda) Reshare(now berth.Time) {
	a.PreemptTurn++
	a.contend(now)
}

// Changed notes that something became free, for the gangs that are stalled.
func (a *Agenda) Changed(now berth.Time) {
	if a.stalled > 0 {
		a.stalled, a.nextReserve = 0, now
		a.FreedTurn++
	}
}

// Grew notes that there is more to plan with, for the gangs that are hopeless: a node, a GPU,
// an end of what was never expected to end, or of something set aside.
func (a *Agenda) Grew(now berth.Time) {
	if a.hopeless > 0 {
		a.hopeless, a.nextReserve = 0, now
		a.GrownTurn++
	}
}

// Reopened notes that a node has new capacity, or capacity that was set aside; first: since the
// last wake. A limit on one product may have been in the way, and the node has another.
func (a *Agenda) Reopened(first bool, now berth.Time) {
	a.LookAgain(now)
	a.Stir(now)
	if first {
		a.freedNodes++
		a.QuotaFreed = true
	}
	a.mayBackfill() // what is free may help together with what is set aside
}

// QuotaChanged notes that queues may have more than before.
func (a *Agenda) QuotaChanged(now berth.Time) {
	a.QuotaFreed = true
	a.mayBackfill()
	a.Changed(now)
	a.Stir(now)
}

// FreedQuota notes that a queue uses less, or something else than before.
func (a *Agenda) FreedQuota() { a.QuotaFreed = true }

// Lessen notes that a node takes less, or holds less that others have to keep away from: that
// can help a gang whose topology depends on more than its own nodes.
func (a *Agenda) Lessen() { a.lessened = a.lessened || a.looking > 0 }

// PolicyChanged notes another policy, before its parts see to what they owe.
func (a *Agenda) PolicyChanged(now berth.Time) {
	a.ReserveNow(now)
	a.BackfillAnew()
}

// Waits notes an entry that comes to a blocked bucket.
func (a *Agenda) Waits(now berth.Time) {
	a.LookAgain(now)
	a.contend(now)
}

// Block notes a shape that fits nowhere.
func (a *Agenda) Block(looksAround bool, now berth.Time) {
	a.countBlocked(looksAround, 1)
	a.Waits(now)
}

// Unblock notes that a shape is tried again.
func (a *Agenda) Unblock(looksAround bool) { a.countBlocked(looksAround, -1) }

func (a *Agenda) countBlocked(looksAround bool, change int) {
	a.blocked += change
	if looksAround {
		a.looking += change
	}
}

// Limit notes a bucket that quota holds back.
func (a *Agenda) Limit(now berth.Time) {
	a.limited++
	a.contend(now)
}

// Unlimit notes that quota holds a bucket back no more.
func (a *Agenda) Unlimit() { a.limited-- }

// Stall counts a gang that gets no reservation before something is free, and gives it the turn
// that it keeps.
func (a *Agenda) Stall() Turn {
	a.stalled++
	return a.FreedTurn
}

// Despair counts a gang that gets no reservation before there is more to plan with, and gives it
// the turn that it keeps.
func (a *Agenda) Despair() Turn {
	a.hopeless++
	return a.GrownTurn
}

// EndStall counts a gang no longer that was stalled, and holds nothing any more.
func (a *Agenda) EndStall() { a.stalled-- }

// EndDespair counts a gang no longer that was hopeless, and holds nothing any more.
func (a *Agenda) EndDespair() { a.hopeless-- }

// FreedGone notes that a node on which something became free is gone.
func (a *Agenda) FreedGone() { a.freedNodes-- }

// AnySetAside reports whether any nodes are set aside.
func (a *Agenda) AnySetAside() bool { return a.reservations > 0 }

// CountReservations counts what is set aside.
func (a *Agenda) CountReservations(change int) { a.reservations += change }

// SetAside notes that nodes were set aside, or for somebody else than before.
func (a *Agenda) SetAside() { a.BackfillDue = true }

// CountFresh counts the entries that are yet to be tried on nodes that are set aside.
func (a *Agenda) CountFresh(change int) { a.fresh += change }

// mayBackfill has the next pass try again what is set aside, if anything is.
func (a *Agenda) mayBackfill() { a.BackfillDue = a.BackfillDue || a.reservations > 0 }

// BackfillAnew is mayBackfill, and takes back what was noted where nothing is set aside.
func (a *Agenda) BackfillAnew() { a.BackfillDue = a.reservations > 0 }

// Backfilled notes that backfill has looked: what it places changes nothing for those that were
// tried.
func (a *Agenda) Backfilled() { a.BackfillDue = false }

// CountDraining counts a node that is being drained, or a reservation that clears its nodes, or
// that it is so no longer.
func (a *Agenda) CountDraining(drains bool) {
	if drains {
		a.Draining++
	} else {
		a.Draining--
	}
}

// CountGPUs counts a node by its GPUs: whether they divide, and whether they may change.
func (a *Agenda) CountGPUs(divides, pliable bool, change int) {
	if divides {
		a.Dividing += change
	}
	if pliable {
		a.Pliable += change
	}
	if a.Pliable == 0 {
		a.nextReshape = Never
	}
}

// RecountGPUs begins that count anew.
func (a *Agenda) RecountGPUs() { a.Dividing, a.Pliable = 0, 0 }

// WantSpares notes a change that matters to hot spares.
func (a *Agenda) WantSpares() { a.SparesDue = true }

// SparesTended notes that hot spares are as they can be.
func (a *Agenda) SparesTended() { a.SparesDue = false }

// NoteHomeless notes that a gang which has to leave its place has no other: from then on
// every relook counts.
func (a *Agenda) NoteHomeless() { a.Homeless = true }

// Waking reports whether something became free that a blocked shape may fit in.
func (a *Agenda) Waking() bool { return a.freedNodes > 0 || a.lessened }

// MayWake reports whether wake has something to look at.
func (a *Agenda) MayWake() bool {
	return a.Waking() && a.blocked > 0 || a.QuotaFreed && a.limited > 0
}

// Woken notes that wake has looked at all that became free.
func (a *Agenda) Woken() { a.freedNodes, a.QuotaFreed, a.lessened = 0, false, false }

// BeginReserved reports whether a gang may fit by now for which nodes are set aside, and counts on
// the pass to look at all that come before it.
func (a *Agenda) BeginReserved() bool {
	due := a.reservations > 0 && (a.freedNodes > 0 || a.BackfillDue || a.QuotaFreed || a.takersLeft)
	a.takersLeft = false
	return due
}

// LeaveTakers notes that some of those are left for the next pass.
func (a *Agenda) LeaveTakers() { a.takersLeft = true }

// DueNow reports whether a pass has something to do at once.
func (a *Agenda) DueNow() bool {
	return a.MayWake() || a.BackfillDue || a.fresh > 0 || a.SparesDue || a.MovesLeft || a.takersLeft && a.AnySetAside()
}

// Next is when a pass has something to do though nothing changes, but for preempt.
func (a *Agenda) Next() berth.Time {
	at := min(a.nextReserve, a.NextMove, a.HealthDue)
	if a.Pliable > 0 && a.blocked > 0 {
		at = min(at, a.nextReshape)
	}
	return at
}

// Tried notes that a gang with a reservation was looked at, and whether in vain.
func (a *Agenda) Tried(vain bool) { a.TriedReserved = a.TriedReserved || vain }

// BeginPlacing notes that the pass has woken what it wakes: the next one looks at what ends now.
func (a *Agenda) BeginPlacing() { a.Placing = true }

// EndPass notes that a pass is over. Its budget may have been spent before place could look again
// at what limits hold back.
func (a *Agenda) EndPass() {
	a.QuotaFreed = a.QuotaFreed || a.taken
	a.Placing, a.TriedReserved, a.taken = false, false, false
}

// Take notes that something was placed.
func (a *Agenda) Take() { a.taken = true }

// TookSome reports whether anything was placed since it was asked last.
func (a *Agenda) TookSome() (some bool) {
	some, a.taken = a.taken, false
	return some
}

// RankDue reports whether what is in demand has to be weighed.
func (a *Agenda) RankDue(now berth.Time) bool {
	return now >= a.nextRank && (a.Dividing > 0 || a.nextRank != 0)
}

// Ranked says when demand is weighed again, if there is anything to weigh, or a change of GPUs to
// forget.
func (a *Agenda) Ranked(next berth.Time, remembers bool) {
	if a.nextRank = next; a.Dividing == 0 && !remembers {
		a.nextRank = 0
	}
}

// BeginMoves reports whether relocate is due. A round begins unless one goes on, and counts on it
// to find a place for all; what changes while it goes on makes the next one due.
func (a *Agenda) BeginMoves(now berth.Time) bool {
	switch {
	case a.MovesLeft:
	case now < a.NextMove:
		return false
	default:
		a.NextMove, a.Homeless = Never, false
	}
	return true
}

// EndMoves notes whether relocate has left some of its round over.
func (a *Agenda) EndMoves(left bool) {
	if a.MovesLeft = left; !left {
		a.MoveTurn++
	}
}

// MoveBy has relocate run at an instant at the latest.
func (a *Agenda) MoveBy(at berth.Time) { a.NextMove = min(a.NextMove, at) }

// BeginReshape reports whether reshape is due, and counts on it to find a layout for all.
func (a *Agenda) BeginReshape(now berth.Time) bool {
	if a.Pliable == 0 || now < a.nextReshape {
		return false
	}
	a.nextReshape = Never
	return true
}

// ReshapeBy has reshape run at an instant at the latest.
func (a *Agenda) ReshapeBy(at berth.Time) { a.nextReshape = min(a.nextReshape, at) }

// ReserveDue reports whether one more gang may be due for a reservation.
func (a *Agenda) ReserveDue(now berth.Time) bool { return now >= a.nextReserve }

// BeginReserve notes that every gang that may be due for a reservation is looked at.
func (a *Agenda) BeginReserve() { a.nextReserve = Never }

// ReserveBy has reserve look at them at an instant at the latest.
func (a *Agenda) ReserveBy(at berth.Time) { a.nextReserve = min(a.nextReserve, at) }

// ReserveNow has reserve look at them in the next pass.
func (a *Agenda) ReserveNow(now berth.Time) { a.nextReserve = now }

// PreemptBy has a pass look for victims at an instant at the latest.
func (a *Agenda) PreemptBy(at berth.Time) { a.NextPreempt = min(a.NextPreempt, at) }

// PreemptAt has a pass look for victims at an instant, and not before it until something changes.
func (a *Agenda) PreemptAt(at berth.Time) { a.NextPreempt = at }

// WatchUntil says when the first quarantine or burn-in is over.
func (a *Agenda) WatchUntil(at berth.Time) { a.HealthDue = at }

// NextTurns begins turns at which nobody has looked for GPUs or victims, for Restore.
func (a *Agenda) NextTurns() {
	a.ReshapeTurn++
	a.PreemptTurn++
}

// Dues are what an agenda says that does not follow from the records: what a snapshot saves.
type Dues struct {
	QuotaFreed, Lessened, BackfillDue, SparesDue, Homeless    bool
	MovesLeft, TakersLeft                                     bool
	NextRank, NextMove, NextReshape, NextReserve, NextPreempt berth.Time
}

// Save returns what does not follow from the records. The counts are counted anew by Restore,
// the turns only tell whether a record is up to date, and HealthDue is that of the watched nodes.
func (a *Agenda) Save() Dues {
	return Dues{
		QuotaFreed: a.QuotaFreed, Lessened: a.lessened, BackfillDue: a.BackfillDue, SparesDue: a.SparesDue, Homeless: a.Homeless, MovesLeft: a.MovesLeft, TakersLeft: a.takersLeft,
		NextRank: a.nextRank, NextMove: a.NextMove, NextReshape: a.nextReshape, NextReserve: a.nextReserve, NextPreempt: a.NextPreempt,
	}
}

// Restore takes over what was saved.
func (a *Agenda) Restore(d Dues) {
	a.QuotaFreed, a.lessened, a.BackfillDue, a.SparesDue = d.QuotaFreed, d.Lessened, d.BackfillDue, d.SparesDue
	a.Homeless, a.MovesLeft, a.takersLeft = d.Homeless, d.MovesLeft, d.TakersLeft
	a.nextRank, a.NextMove, a.nextReshape, a.nextReserve, a.NextPreempt = d.NextRank, d.NextMove, d.NextReshape, d.NextReserve, d.NextPreempt
}

// Counts are the counts of an agenda, as the records have them.
type Counts struct {
	Blocked, Looking, Limited, FreedNodes, Reservations, Fresh int
	Stalled, Hopeless, Dividing, Pliable, Draining             int
}

// Agrees reports whether the counts are those of the records.
func (a *Agenda) Agrees(n Counts) bool {
	return n == Counts{
		Blocked: a.blocked, Looking: a.looking, Limited: a.limited, FreedNodes: a.freedNodes, Reservations: a.reservations, Fresh: a.fresh,
		Stalled: a.stalled, Hopeless: a.hopeless, Dividing: a.Dividing, Pliable: a.Pliable, Draining: a.Draining,
	}
}

const (
	// Never is after all instants, BeforeAll before them.
	Never     berth.Time = 1<<63 - 1
	BeforeAll berth.Time = -1 << 63
)
