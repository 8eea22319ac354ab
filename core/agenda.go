package core

import (
	"fmt"

	"github.com/berth-sched/berth"
)

// An agenda says what has changed since the stages of a pass last looked, and when each stage
// is due. It is one comparable value: to save it is an assignment, and so is to roll it back.
// Apply does that for all refusals, so that a handler has no part of it to put back.
//
// It knows no node, no replica and no shape. Where a note asks whether it concerns anything, it
// asks a count; the owner of the records keeps that count with one call.
//
// Its invariants, of which valid tests what the agenda alone can tell:
//
//  1. No count is negative, the shapes that look around are among the blocked ones, and the
//     nodes whose GPUs may change are among those whose GPUs divide.
//  2. Nothing is fresh where nothing is set aside.
//  3. A turn is at least 1, so that the 0 of a record is no turn.
//  4. Between two passes it is neither placing nor taken.
//  5. Every count is that of the records. Core.Check compares them.
//  6. A note acts at once and never later: the same pass may ask for what it changes.
//
// The notes, and the stages that they make due (the stages of Core.Schedule: relocate,
// tendSpares, serveReserved, wake, reshape, reserve, backfill, preempt). A mark is a condition:
//
//	b  a shape is blocked or a bucket limited    q  a bucket is limited
//	d  a node is drained, or a gang homeless     s  a gang is stalled
//	g  GPUs may change                           w  nodes are set aside
//	h  a gang is hopeless                        x  none: it is due in any case
//	l  a blocked shape looks around
//
//	note           relocate  spares  reserved  wake  reshape  reserve  backfill  preempt
//	waits             .        .        .        .      g        .        .         b
//	block             .        .        .        .      g        .        .         x
//	limit             .        .        .        .      .        .        .         x
//	lookAgain         .        .        .        .      g        .        .         .
//	contend           .        .        .        .      .        .        .         b
//	relook            d        .        .        .      .        .        .         .
//	stir              d        .        .        .      .        .        .         b
//	changed           .        .        .        .      .        s        .         .
//	grew              .        .        .        .      .        h        .         .
//	reopened          d        .        w        b      g        .        w         b
//	quotaChanged      d        .        w        q      .        s        w         b
//	freedQuota        .        .        w        q      .        .        .         .
//	lessen            .        .        .        l      .        .        .         .
//	setAside          .        .        w        .      .        .        x         .
//	policyChanged     .        .        w        .      .        x        w         .
//	wantSpares        .        x        .        .      .        .        .         .
//
// Core.freed notes reopened and changed. Stages that become due by the clock alone say when:
// with moveBy, reshapeBy, reserveBy, preemptBy, preemptAt, ranked and watchUntil.
type agenda struct {
	// quotaFreed: a queue may have more than it could. lessened: a node takes less, or holds
	// less that others keep away from. backfillDue: something has changed on nodes that are set
	// aside. sparesDue: something has changed that matters to hot spares. homeless: a gang that
	// has to leave its place found no other the last time.
	quotaFreed, lessened, backfillDue, sparesDue, homeless bool
	// placing: the pass in progress has woken what it wakes. taken: it has placed something since
	// it last looked at what limits hold back.
	placing, taken bool

	// The instants from which on a stage is due; never: when something changes. Of nextRank, 0
	// says that there is nothing to forget.
	nextRank, nextMove, nextReshape, nextReserve, nextPreempt berth.Time
	// healthDue is when the first probation or trial is over.
	healthDue berth.Time

	// The turns: of what could make another look for GPUs to change worth while, and for victims;
	// of something that became free, for the stalled, and of more to plan with, for the hopeless.
	reshapeTurn, preemptTurn, freedTurn, grownTurn turn

	// blocked counts the shapes that fit nowhere, looking those of them that look around, limited
	// the buckets that quota holds back.
	blocked, looking, limited int
	// freedNodes counts the nodes on which something became free.
	freedNodes int
	// windows counts what is set aside, fresh the entries yet to be tried there.
	windows, fresh int
	// stalled counts the gangs that get no reservation before something is free, hopeless those
	// that get none before there is more to plan with.
	stalled, hopeless int
	// dividing counts the nodes whose GPUs divide, pliable those whose GPUs may change.
	dividing, pliable int
	// draining counts the nodes that are being drained.
	draining int
}

// A turn numbers the changes of one kind. A record that keeps the turn of its last look tells
// by comparing whether anything has changed since.
type turn uint64

func newAgenda() agenda {
	return agenda{
		nextMove: never, nextReshape: never, nextReserve: never, nextPreempt: never, healthDue: never,
		reshapeTurn: 1, preemptTurn: 1, freedTurn: 1, grownTurn: 1,
	}
}

// valid returns the first violation of an invariant, between two passes.
func (a *agenda) valid() error {
	switch {
	case min(a.blocked, a.looking, a.limited, a.freedNodes, a.windows, a.fresh, a.stalled, a.hopeless, a.dividing, a.pliable, a.draining) < 0,
		a.looking > a.blocked, a.pliable > a.dividing:
		return fmt.Errorf("a count is out of range: %+v", *a)
	case a.fresh > 0 && a.windows == 0:
		return fmt.Errorf("%d entries are fresh, and nothing is set aside", a.fresh)
	case min(a.reshapeTurn, a.preemptTurn, a.freedTurn, a.grownTurn) == 0:
		return fmt.Errorf("a turn is 0: %+v", *a)
	case a.placing || a.taken:
		return fmt.Errorf("a pass is over, and placing is %v, taken %v", a.placing, a.taken)
	}
	return nil
}

// lookAgain notes that something waits, or is free, that was not before, as far as that matters
// to the GPUs that may change.
func (a *agenda) lookAgain(now berth.Time) {
	if a.pliable > 0 {
		a.nextReshape = now
		a.reshapeTurn++
	}
}

// contend has the next pass look for victims, if anything is blocked.
func (a *agenda) contend(now berth.Time) {
	if a.blocked+a.limited > 0 {
		a.preemptBy(now)
	}
}

// relook has the next pass look for another place for gangs that have to leave theirs, if there
// may be any.
func (a *agenda) relook(now berth.Time) {
	if a.draining > 0 || a.homeless {
		a.moveBy(now)
	}
}

// stir notes that something has changed on which it depends who may take what from whom.
func (a *agenda) stir(now berth.Time) {
	a.preemptTurn++
	a.contend(now)
	a.relook(now)
}

// changed notes that something became free, for the gangs that are stalled.
func (a *agenda) changed(now berth.Time) {
	if a.stalled > 0 {
		a.stalled, a.nextReserve = 0, now
		a.freedTurn++
	}
}

// grew notes that there is more to plan with, for the gangs that are hopeless: a node, a GPU,
// an end of what was never expected to end, or of something set aside.
func (a *agenda) grew(now berth.Time) {
	if a.hopeless > 0 {
		a.hopeless, a.nextReserve = 0, now
		a.grownTurn++
	}
}

// reopened notes that a node has room that it had not, or that was set aside; first: since the
// last wake. A limit on one product may have been in the way, and the node has another.
func (a *agenda) reopened(first bool, now berth.Time) {
	a.lookAgain(now)
	a.stir(now)
	if first {
		a.freedNodes++
		a.quotaFreed = true
	}
	a.mayBackfill() // what is free may help together with what is set aside
}

// quotaChanged notes that queues may have more than before.
func (a *agenda) quotaChanged(now berth.Time) {
	a.quotaFreed = true
	a.mayBackfill()
	a.changed(now)
	a.stir(now)
}

// freedQuota notes that a queue uses less, or something else than before.
func (a *agenda) freedQuota() { a.quotaFreed = true }

// lessen notes that a node takes less, or holds less that others have to keep away from: that
// can help a gang whose topology depends on more than its own nodes.
func (a *agenda) lessen() { a.lessened = a.lessened || a.looking > 0 }

// policyChanged notes another policy, before its parts see to what they owe.
func (a *agenda) policyChanged(now berth.Time) {
	a.reserveNow(now)
	a.backfillAnew()
}

// waits notes an entry that comes to a blocked bucket.
func (a *agenda) waits(now berth.Time) {
	a.lookAgain(now)
	a.contend(now)
}

// block notes a shape that fits nowhere.
func (a *agenda) block(looksAround bool, now berth.Time) {
	a.countBlocked(looksAround, 1)
	a.waits(now)
}

// unblock notes that a shape is tried again.
func (a *agenda) unblock(looksAround bool) { a.countBlocked(looksAround, -1) }

func (a *agenda) countBlocked(looksAround bool, change int) {
	a.blocked += change
	if looksAround {
		a.looking += change
	}
}

// limit notes a bucket that quota holds back, unlimit that it does so no more.
func (a *agenda) limit(now berth.Time) {
	a.limited++
	a.contend(now)
}

func (a *agenda) unlimit() { a.limited-- }

// stall counts a gang that gets no reservation before something is free, and gives it the turn
// that it keeps; despair counts one that gets none before there is more to plan with.
func (a *agenda) stall() turn {
	a.stalled++
	return a.freedTurn
}

func (a *agenda) despair() turn {
	a.hopeless++
	return a.grownTurn
}

// endStall and endDespair count a gang no longer that was stalled, or hopeless, and holds nothing
// any more.
func (a *agenda) endStall() { a.stalled-- }

func (a *agenda) endDespair() { a.hopeless-- }

// freedGone notes that a node on which something became free is gone.
func (a *agenda) freedGone() { a.freedNodes-- }

// anySetAside reports whether any nodes are set aside.
func (a *agenda) anySetAside() bool { return a.windows > 0 }

// countWindows counts what is set aside.
func (a *agenda) countWindows(change int) { a.windows += change }

// setAside notes that nodes were set aside, or for somebody else than before.
func (a *agenda) setAside() { a.backfillDue = true }

// countFresh counts the entries that are yet to be tried on nodes that are set aside.
func (a *agenda) countFresh(change int) { a.fresh += change }

// mayBackfill has the next pass try again what is set aside, if anything is. backfillAnew does
// so and takes back what was noted where nothing is.
func (a *agenda) mayBackfill() { a.backfillDue = a.backfillDue || a.windows > 0 }

func (a *agenda) backfillAnew() { a.backfillDue = a.windows > 0 }

// backfilled notes that backfill has looked: what it places changes nothing for those that were
// tried.
func (a *agenda) backfilled() { a.backfillDue = false }

// countDraining counts a node that is being drained, or is so no longer.
func (a *agenda) countDraining(drains bool) {
	if drains {
		a.draining++
	} else {
		a.draining--
	}
}

// countGPUs counts a node by its GPUs: whether they divide, and whether they may change.
func (a *agenda) countGPUs(divides, pliable bool, change int) {
	if divides {
		a.dividing += change
	}
	if pliable {
		a.pliable += change
	}
	if a.pliable == 0 {
		a.nextReshape = never
	}
}

// recountGPUs begins that count anew.
func (a *agenda) recountGPUs() { a.dividing, a.pliable = 0, 0 }

// wantSpares notes a change that matters to hot spares, sparesTended that they are as they can be.
func (a *agenda) wantSpares() { a.sparesDue = true }

func (a *agenda) sparesTended() { a.sparesDue = false }

// noteHomeless notes that a gang which has to leave its place has no other: from then on
// every relook counts.
func (a *agenda) noteHomeless() { a.homeless = true }

// waking reports whether something became free that a blocked shape may fit in.
func (a *agenda) waking() bool { return a.freedNodes > 0 || a.lessened }

// mayWake reports whether wake has something to look at.
func (a *agenda) mayWake() bool {
	return a.waking() && a.blocked > 0 || a.quotaFreed && a.limited > 0
}

// woken notes that wake has looked at all that became free.
func (a *agenda) woken() { a.freedNodes, a.quotaFreed, a.lessened = 0, false, false }

// reservedDue reports whether a gang may fit by now for which nodes are set aside.
func (a *agenda) reservedDue() bool {
	return a.windows > 0 && (a.freedNodes > 0 || a.backfillDue || a.quotaFreed)
}

// dueNow reports whether a pass has something to do at once.
func (a *agenda) dueNow() bool { return a.mayWake() || a.backfillDue || a.fresh > 0 || a.sparesDue }

// next is when a pass has something to do though nothing changes, but for preempt, which the
// policy may forbid.
func (a *agenda) next() berth.Time {
	at := min(a.nextReserve, a.nextMove, a.healthDue)
	if a.pliable > 0 && a.blocked > 0 {
		at = min(at, a.nextReshape)
	}
	return at
}

// beginPlacing notes that the pass has woken what it wakes: what ends from now on, the next one
// looks at. endPass notes that it is over; its budget may have been spent before place could
// look again at what limits hold back.
func (a *agenda) beginPlacing() { a.placing = true }

func (a *agenda) endPass() {
	a.quotaFreed = a.quotaFreed || a.taken
	a.placing, a.taken = false, false
}

// take notes that something was placed. tookSome reports whether anything was since it was asked
// last.
func (a *agenda) take() { a.taken = true }

func (a *agenda) tookSome() bool {
	some := a.taken
	a.taken = false
	return some
}

// rankDue reports whether what is in demand has to be weighed; ranked says when again, if there
// is anything to weigh, or a change of GPUs to forget.
func (a *agenda) rankDue(now berth.Time) bool {
	return now >= a.nextRank && (a.dividing > 0 || a.nextRank != 0)
}

func (a *agenda) ranked(next berth.Time, remembers bool) {
	if a.nextRank = next; a.dividing == 0 && !remembers {
		a.nextRank = 0
	}
}

// beginMoves reports whether relocate is due, and counts on it to find a place for all. moveBy has
// it run at an instant at the latest.
func (a *agenda) beginMoves(now berth.Time) bool {
	if now < a.nextMove {
		return false
	}
	a.nextMove, a.homeless = never, false
	return true
}

func (a *agenda) moveBy(at berth.Time) { a.nextMove = min(a.nextMove, at) }

// beginReshape and reshapeBy are the same for reshape.
func (a *agenda) beginReshape(now berth.Time) bool {
	if a.pliable == 0 || now < a.nextReshape {
		return false
	}
	a.nextReshape = never
	return true
}

func (a *agenda) reshapeBy(at berth.Time) { a.nextReshape = min(a.nextReshape, at) }

// reserveDue reports whether one more gang may be due for a reservation, beginReserve notes that
// all are looked at, reserveBy has that done by an instant and reserveNow at once.
func (a *agenda) reserveDue(now berth.Time) bool { return now >= a.nextReserve }

func (a *agenda) beginReserve() { a.nextReserve = never }

func (a *agenda) reserveBy(at berth.Time) { a.nextReserve = min(a.nextReserve, at) }

func (a *agenda) reserveNow(now berth.Time) { a.nextReserve = now }

// preemptBy has a pass look for victims by an instant, preemptAt not before it, until something
// changes.
func (a *agenda) preemptBy(at berth.Time) { a.nextPreempt = min(a.nextPreempt, at) }

func (a *agenda) preemptAt(at berth.Time) { a.nextPreempt = at }

// watchUntil says when the first probation or trial is over.
func (a *agenda) watchUntil(at berth.Time) { a.healthDue = at }

// nextTurns begins turns at which nobody has looked for GPUs or victims, for Restore.
func (a *agenda) nextTurns() {
	a.reshapeTurn++
	a.preemptTurn++
}

// Dues are what an agenda says that does not follow from the records: what a snapshot saves.
type dues struct {
	quotaFreed, lessened, backfillDue, sparesDue, homeless    bool
	nextRank, nextMove, nextReshape, nextReserve, nextPreempt berth.Time
}

// save returns what does not follow from the records. The counts are counted anew by Restore,
// the turns only tell whether a record is up to date, and healthDue is that of the watched nodes.
func (a *agenda) save() dues {
	return dues{
		quotaFreed: a.quotaFreed, lessened: a.lessened, backfillDue: a.backfillDue, sparesDue: a.sparesDue, homeless: a.homeless,
		nextRank: a.nextRank, nextMove: a.nextMove, nextReshape: a.nextReshape, nextReserve: a.nextReserve, nextPreempt: a.nextPreempt,
	}
}

// restore takes over what was saved.
func (a *agenda) restore(d dues) {
	a.quotaFreed, a.lessened, a.backfillDue, a.sparesDue, a.homeless = d.quotaFreed, d.lessened, d.backfillDue, d.sparesDue, d.homeless
	a.nextRank, a.nextMove, a.nextReshape, a.nextReserve, a.nextPreempt = d.nextRank, d.nextMove, d.nextReshape, d.nextReserve, d.nextPreempt
}

// Counts are the counts of an agenda, as the records have them.
type counts struct {
	blocked, looking, limited, freedNodes, windows, fresh int
	stalled, hopeless, dividing, pliable, draining        int
}

// agrees reports whether the counts are those of the records.
func (a *agenda) agrees(n counts) bool {
	return n == counts{
		blocked: a.blocked, looking: a.looking, limited: a.limited, freedNodes: a.freedNodes, windows: a.windows, fresh: a.fresh,
		stalled: a.stalled, hopeless: a.hopeless, dividing: a.dividing, pliable: a.pliable, draining: a.draining,
	}
}
