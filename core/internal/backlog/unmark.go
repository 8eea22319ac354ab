package backlog

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// This file is about the quota that plans hold. A plan books what its beneficiary will be charged
// at every queue above it, its earmark, so that nobody takes the room that victims leave there.
//
// The law. Let r be a replica that may start now, W the plans, and of r
//
//	lifted(r) = { w in W : w is of r itself, or r ranks above the beneficiary of w in its own
//	              queue, does not rest, and does not take the queue beyond a fair share in which
//	              the beneficiary leaves it }
//
// r starts if it fits within all limits beside what is in use and the earmarks of W \ lifted(r).
// After a start each w of lifted(r) is earmarked again, and ends if the limits no longer bear it
// once all have gone that are on their way out.
//
// The case (script 227): within a limit of 12 GPUs a job of priority 5 had a plan, and a node was
// idle. A job of priority 10 of the same queue waited beside the idle node, as the earmark of the
// one below it filled the limit.
//
// Rejected: to end every plan that ranks below before r is tried. Mostly r does not start, or
// leaves room for both, and then victims were asked for checkpoints in vain. Also rejected: to
// lift the earmarks of other queues. A limit above both is not the queue's own, and a guarantee
// that is being collected would be taken again by its borrowers.

// WithoutEarmark calls a function that may start a replica, without the earmarks that do not hold
// it up. A plan that the start leaves too little for is ended.
func (bl *Backlog) WithoutEarmark(rep *record.Replica, start func()) {
	var lifted []*record.Reservation
	for _, w := range bl.Reservations {
		if bl.books.Earmarked && w.IsPlanned() && !w.Unmarked && (w == rep.Reserved || bl.passes(rep, w)) {
			lifted = append(lifted, w)
		}
	}
	for _, w := range lifted {
		bl.earmarkFor(w, false)
		w.Unmarked = true
	}
	start()
	for _, w := range lifted {
		if w.Unmarked = false; w.Rep.Reserved != w { // over, and so without an earmark
			continue
		}
		bl.earmarkFor(w, true)
		if w.Rep != rep && rep.Has(record.MemberBinding) && !bl.bears(w) {
			bl.EndReservation(w)
		}
	}
}

// bears reports whether all that is earmarked for a plan keeps the limits on its queue once all are
// gone that are on their way out.
func (bl *Backlog) bears(w *record.Reservation) (ok bool) {
	ok = true
	bl.earmarkFor(w, false)
	for _, charge := range w.Plan.Charges {
		ok = ok && bl.affordsWithoutLeaving(w.Rep.Job.Queue, charge)
	}
	bl.earmarkFor(w, true)
	return ok
}
