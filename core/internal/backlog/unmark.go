package backlog

import (
	"github.com/berth-sched/berth"
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

// Try calls a function that may start what an entry waits for, as WithoutEarmark does. Meanwhile
// the job is what it waits for there, and it stays that if it starts.
func (bl *Backlog) Try(e *record.Entry, start func()) {
	was := e.Assume()
	bl.WithoutEarmark(e.Rep, start)
	if e.Rep.State == berth.ReplicaPending {
		e.Rep.Job.Become(was)
	}
}

// WithoutEarmark calls a function that may start a replica, without the earmarks that do not hold
// it up. A plan that the start leaves too little for is ended.
func (bl *Backlog) WithoutEarmark(rep *record.Replica, start func()) {
	var lifted []*record.Reservation
	for _, res := range bl.Reservations {
		if bl.books.Earmarked && res.IsPlanned() && !res.Unmarked && (res == rep.Reserved || bl.passes(rep, res)) {
			lifted = append(lifted, res)
		}
	}
	for _, res := range lifted {
		bl.earmarkFor(res, false)
		res.Unmarked = true
	}
	start()
	for _, res := range lifted {
		if res.Unmarked = false; res.Rep.Reserved != res { // over, and so without an earmark
			continue
		}
		bl.earmarkFor(res, true)
		if res.Rep != rep && rep.Has(record.MemberBinding) && !bl.bears(res) {
			bl.EndReservation(res)
		}
	}
}

// bears reports whether all that is earmarked for a plan keeps the limits on its queue once all are
// gone that are on their way out.
func (bl *Backlog) bears(res *record.Reservation) (ok bool) {
	ok = true
	bl.earmarkFor(res, false)
	for _, charge := range res.Plan.Charges {
		ok = ok && bl.affordsWithoutLeaving(res.Rep.Job.Queue, charge)
	}
	bl.earmarkFor(res, true)
	return ok
}
