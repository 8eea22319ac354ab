package answer

import (
	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
)

// This file is about jobs with alternatives. The reason of one is that of the alternative for which
// a place is kept, or else of its own gang, and says in short why it does not start as the others.

// Explained is the entry of which the reason of a replica that waits is.
func (an *Answers) Explained(rep *record.Replica) *record.Entry {
	if rep.Reserved != nil {
		return an.backlog.EntryOf(rep.Reserved)
	}
	return rep.Entries[0]
}

// waitsFor is why an entry waits, at a position in its queue, and when it is expected to wait no
// longer. A search for victims is made for it.
func (an *Answers) waitsFor(e *record.Entry, position int) berth.Reason {
	defer e.Rep.Job.Become(e.Assume())
	reason, gone := an.Reason(e), agenda.Never
	if e.Bucket.Slot < 0 {
		gone, _, _ = an.explainVictims(e, &reason)
	}
	an.expect(e.Rep, e.Bucket.Shape, e.Grows, position, gone, &reason)
	return reason
}

// addAlternatives adds to the reason of an entry what keeps its job from starting as each of the
// others. It is expected to start as the soonest of all.
func (an *Answers) addAlternatives(e *record.Entry, position int, reason *berth.Reason) {
	if e.Grows || !e.Rep.Job.HasAlternatives() {
		return
	}
	reason.Alternative = e.Part()
	for _, other := range e.Rep.Entries {
		if other == e {
			continue
		}
		found := an.waitsFor(other, position)
		reason.Alternatives = append(reason.Alternatives, berth.AlternativeFinding{
			Alternative: other.Part(), Code: found.Code, Text: found.Text, Remedy: found.Remedy, ExpectedStart: found.ExpectedStart,
		})
		reason.ExpectedStart = sooner(reason.ExpectedStart, found.ExpectedStart)
	}
}

// expectAny is expect for a replica that has no place among those that wait, as the soonest of what
// its job may run as.
func (an *Answers) expectAny(rep *record.Replica, reason *berth.Reason) {
	was, soonest := rep.Job.Alternative(), berth.Forecast{}
	for option := range rep.Job.Pattern.Many() {
		rep.Job.Become(option)
		reason.ExpectedStart = berth.Forecast{}
		an.expect(rep, rep.Job.Shape(), false, 0, agenda.Never, reason)
		soonest = sooner(soonest, reason.ExpectedStart)
	}
	rep.Job.Become(was)
	reason.ExpectedStart = soonest
}

// sooner is the one of two forecasts that begins earlier, where both are known, or the one that is.
func sooner(a, b berth.Forecast) berth.Forecast {
	if a.IsZero() || !b.IsZero() && b.Earliest < a.Earliest {
		return b
	}
	return a
}
