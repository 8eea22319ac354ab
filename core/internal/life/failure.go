package life

import (
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/internal/limits"
)

// A gang whose members die comes back to where it stood: it is taken back, backs off, and its place
// is kept for it from the next pass on until then. How many members died, and in how many reports,
// makes no difference. No place is kept if the job is at fault, or if it crashes in a loop: if it
// is not the first life in a row that ended so within Policy.MaxRetryBackoff of its start. What is
// kept stands idle, and a job that fails by itself would only do so again.

// MembersDied ends members, which run or are being started, and settles what is left of the gang.
func (l *Life) MembersDied(rep *record.Replica, flats []int, fault berth.Fault, cause berth.Cause) {
	runs := rep.State == berth.ReplicaRunning
	if runs && !rep.Job.Borrows() { // of which the place is another's
		l.noteStood(rep, flats)
	}
	for _, flat := range flats {
		m := &rep.Members[flat]
		if fault == berth.FaultNode {
			rep.Shun(m.Node.Spec.ID)
		}
		switch {
		case m.State == record.MemberBinding:
			m.Become(record.MemberBroke) // it keeps its place until the Bind is reported
		case runs:
			l.books.Unbook(rep, flat, record.MemberLeft)
		default: // it counts as placed until then
			l.books.Unbook(rep, flat, record.MemberLostEarly)
		}
	}
	switch {
	case !runs:
		l.Settle(rep, cause)
	case rep.Enough(record.MemberRunning):
		l.BackOff(rep)
		l.Settle(rep, cause)
	default:
		l.fail(rep, fault, cause)
	}
}

// fail takes a gang back that ran, and has too few members left. A gang that dies as soon as it
// starts must not do so at the speed of passes.
func (l *Life) fail(rep *record.Replica, fault berth.Fault, cause berth.Cause) {
	p := rep.Retry.Note()
	p.Attempts = 0
	if l.justStarted(rep) {
		p.Attempts = p.Crashes
		p.Crashes = min(p.Crashes+1, limits.MaxAttempts)
	}
	keeps := fault != berth.FaultJob && p.Attempts == 0
	if !keeps {
		p.Stood = nil
	}
	rep.Release.Note().Backoff = true
	l.Settle(rep, cause)
	if !keeps {
		l.backlog.EndMove(rep)
	}
}

// noteStood notes where a gang stands of which some members die: all of it if too few are left,
// else those that die.
func (l *Life) noteStood(rep *record.Replica, die []int) {
	left := slices.Clone(rep.Members)
	for _, flat := range die {
		left[flat] = record.Member{}
	}
	enough := (&record.Replica{Job: rep.Job, Members: left}).Enough(record.MemberRunning)
	stood := rep.Retry.Get().Stood
	for flat := range rep.Members {
		if rep.Members[flat].There() && (!enough || slices.Contains(die, flat)) {
			at := l.state.PlacementOf(rep, flat)
			stood = slices.DeleteFunc(stood, func(p berth.MemberPlacement) bool { return p.Ref() == at.Ref() })
			stood = append(stood, at)
		}
	}
	slices.SortFunc(stood, func(a, b berth.MemberPlacement) int { return rep.Job.Flat(a.Ref()) - rep.Job.Flat(b.Ref()) })
	rep.Retry.Note().Stood = stood
}
