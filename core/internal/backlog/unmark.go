package backlog

import (
	"github.com/berth-sched/berth/core/internal/record"
)

// WithoutEarmark calls a function that may start a replica, as if nothing were kept for that
// one, nor for those in whose place it may come: a beneficiary of its queue that ranks below it
// holds up no job that leaves it its quota when it starts. What that start leaves too little for is
// ended.
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
