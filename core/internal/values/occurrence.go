package values

import "github.com/berth-sched/berth"

// OccurrenceAt is a reservation as of the occurrence that is not over at an instant: the one that
// goes on then, or the next. One that does not come back stays as it is.
func OccurrenceAt(at berth.Time, r berth.Reservation) berth.Reservation {
	if late := at.Sub(r.Until); r.Every > 0 && late >= 0 {
		ahead := r.Every * (late/r.Every + 1)
		r.From, r.Until = r.From.Add(ahead), r.Until.Add(ahead)
	}
	return r
}
