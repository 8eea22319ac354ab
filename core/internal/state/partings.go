package state

import (
	"cmp"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/values"
)

// A Parting is when a part of a replica is expected to hold nothing any more; without a replica,
// when a reservation is over.
type Parting struct {
	At berth.Time
	record.Piece
}

// Compare orders partings by instant, then job and number, what goes before the rest of its gang.
func (a Parting) Compare(b Parting) int {
	if a.At != b.At || a.Rep == nil || b.Rep == nil {
		return cmp.Or(cmp.Compare(a.At, b.At), values.CompareBool(a.Rep != nil, b.Rep != nil))
	}
	return cmp.Or(record.CompareReplicas(a.Rep, b.Rep), values.CompareBool(a.Whole(), b.Whole()))
}

// Partings lists when the parts of a replica are expected to hold nothing any more: the members
// that are being stopped while its gang goes on, and all of it.
func (st *State) Partings(rep *record.Replica) []Parting {
	var list []Parting
	end := st.ExpectedEnd(rep)
	if p := st.Going(rep); !p.Whole() && st.Leaving.Has(rep) {
		if by := st.GoneBy(rep); len(p.Flats) > 0 && by < end {
			list = append(list, Parting{by, p})
		}
	}
	if end != agenda.Never {
		list = append(list, Parting{end, record.Piece{Rep: rep}})
	}
	return list
}

// Overdue lists the partings of replicas that should have ended before an instant, now at the
// latest, of those that matter and are not on their way out: all that are expected at the first
// instant at which one is, in order. The others should have ended before rest. What is late for the
// shortest time is expected first, so none of the others is looked at.
// O(log endings + those listed + those that do not matter on the way there).
func (st *State) Overdue(before berth.Time, matters func(*record.Replica) bool) (list []Parting, rest berth.Time) {
	rest = before
	st.Endings.DescendLessOrEqual(Ending{At: before}, func(e Ending) bool {
		at := st.notYet(e.At)
		if len(list) > 0 && at != list[0].At {
			return false
		}
		rest = e.At
		if at != agenda.Never && !st.Leaving.Has(e.Rep) && matters(e.Rep) {
			list = append(list, Parting{at, record.Piece{Rep: e.Rep}})
		}
		return true
	})
	slices.SortFunc(list, Parting.Compare)
	return list, rest
}
