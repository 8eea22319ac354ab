package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/books"
	"github.com/berth-sched/berth/core/internal/record"
)

// BringWithin stops a part of a gang because a queue uses more than it may.
func (l *Life) BringWithin(p record.Piece, cause berth.Cause) {
	if !p.Whole() {
		l.shrink(p, nil, cause)
		return
	}
	if p.Rep.Reserved != nil { // it grows no further
		l.backlog.EndReservation(p.Rep.Reserved)
	}
	l.Depart(p.Rep, cause, l.state.DrainOf(p.Rep).By)
}

// SpareWithin brings up to date which queues use more than they may, and has gangs go on that
// were asked to leave on that account and need not any more: the last victims first. It reports
// whether any does: plans that counted on what such a gang holds are to be ended, and those that
// did not are not, as a victim that is on its way out may be the reason for which others go on.
func (l *Life) SpareWithin() (some bool) {
	if len(l.books.OverLimit) == 0 {
		return false // nobody is asked: what is asked is in use until it is gone
	}
	asked := l.leaving((*record.Replica).IsOverLimit)
	l.books.DropWithinLimit()
	slices.SortFunc(asked, books.CompareVictims)
	for _, rep := range slices.Backward(asked) {
		if !l.books.HasToGo(rep) && rep.Leaves {
			l.unask(rep)
			l.backlog.RemainBeside(rep)
			some = true
		}
	}
	return some
}

// leaving lists those of the gangs that are being stopped, or will be, of which a test is true.
func (l *Life) leaving(test func(*record.Replica) bool) (list []*record.Replica) {
	l.state.Leaving.Ascend(func(rep *record.Replica) bool {
		if test(rep) {
			list = append(list, rep)
		}
		return true
	})
	return list
}
