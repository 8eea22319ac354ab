package life

import (
	"fmt"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/internal/limits"
)

// What is held and idle is lent, and given back.
//
// The law. A replica r of a job that lends is quiet at t if the last report of its present life
// says so. It lends while it is quiet and runs undisturbed (Replica.Lends), but for members that
// are being stopped (Member.Lends) or have to leave their node (State.DrainOn). Its GPUs are lent
// to newcomers while it lends, once it was quiet for Policy.Lending.QuietFor. A borrower b stands
// if each of its GPUs is held by a member that lends, and none of its members has to leave its
// node. When it comes not to stand, at t, it is given until
//
//	by = t + (the least Within of its lenders) / 2
//
// or, if that is earlier, until a node that it has to leave is to be empty, to write a
// checkpoint, and is stopped then; if it writes none, or does not run yet, in the next pass.
//
// The case: a service that is idle at night, and training jobs that run over it until it is busy.
//
// Rejected: to have a pass look at all that is lent. What follows from the records is brought up to
// date after each event and within each pass, where something was noted (SettleLoans), so that by
// counts from the event itself. Orders are for a pass (LendingDue).

// ActivityReported notes how busy a replica is.
func (l *Life) ActivityReported(e berth.ActivityReported) *berth.Error {
	if err := l.books.ActivityReported(e); err != nil {
		return err
	}
	rep, err := l.books.KnownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	rep.Idle.Note().Reported = true
	l.weighActivity(rep)
	l.weighIdleness(rep)
	return nil
}

// WeighActivities looks at what was reported by the policy as it is now, which may be another of
// what is idle.
func (l *Life) WeighActivities(idleAnew bool) {
	_ = l.state.EachReplica(func(rep *record.Replica) error {
		l.weighActivity(rep)
		if p := rep.Idle.Get(); idleAnew && p.Reported {
			l.forgetWarning(rep)
			if rep.EndsIdle() {
				l.stay(rep)
			}
			l.weighIdleness(rep)
		}
		return nil
	})
}

// weighActivity notes whether a replica that lends is quiet, and has it looked at when it has been
// for long enough.
func (l *Life) weighActivity(rep *record.Replica) {
	if rep.Job.Spec.Lend == nil {
		return
	}
	p, at := rep.Idle.Get(), berth.Time(0)
	switch {
	case !isQuiet(rep, l.state.Config.Policy.Lending.QuietMilli):
		p.QuietSince, p.Lent = 0, false
	case p.QuietSince == 0:
		p.QuietSince = max(l.state.Now, 1) // 0 is none
	default:
		p.Lent = p.Lent && l.lendsFrom(p.QuietSince) <= l.state.Now // the policy may ask for longer
	}
	if rep.Idle.Set(p); p.QuietSince != 0 && !p.Lent {
		at = l.lendsFrom(p.QuietSince)
	}
	l.state.SetLendAt(rep, at)
	l.state.NoteLending(rep)
}

// lendsFrom is when what is quiet since an instant has been so for long enough.
func (l *Life) lendsFrom(since berth.Time) berth.Time {
	return since.Add(max(l.state.Config.Policy.Lending.QuietFor, 0))
}

// SettleLoans brings up to date what is lent, and by when borrowers have to give back, where
// something has changed. It gives no order.
func (l *Life) SettleLoans() {
	for {
		rep, some := l.state.NextLending()
		switch {
		case !some:
			return
		case rep.Job.Spec.Lend != nil:
			l.settleLender(rep)
		default:
			l.settleBorrower(rep)
		}
	}
}

// settleLender lends what a replica leaves idle, and looks at those that stand over it.
func (l *Life) settleLender(rep *record.Replica) {
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() || !record.IsWhole(&m.Hold) {
			continue
		}
		l.books.Lend(rep, flat, l.lentMiB(rep, m))
		l.books.EachBorrower(m.Node, m.Hold.GPUs, func(borrower *record.Replica, _ *record.Member) { l.state.NoteLending(borrower) })
	}
}

// lentMiB is how much of the memory of each GPU a member lends to newcomers; 0: nothing.
func (l *Life) lentMiB(rep *record.Replica, m *record.Member) int64 {
	if !rep.Idle.Get().Lent || !l.lends(rep, m) {
		return 0
	}
	return max(0, m.Node.Spec.GPUMemoryMiB-rep.Job.Spec.Lend.MemoryMiB)
}

// lends reports whether others may stay on the GPUs of a member of a replica.
func (l *Life) lends(rep *record.Replica, m *record.Member) bool {
	return m.Lends(rep) && l.state.DrainOn(rep, m.Node).Node == nil
}

// stands reports whether a borrower may stay where it is, and the least span within which its
// lenders want their GPUs back.
func (l *Life) stands(rep *record.Replica) (within berth.Duration, ok bool) {
	within = limits.MaxSpan
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		if l.state.DrainOn(rep, m.Node).Node != nil {
			return 0, false
		}
		if !m.Hold.Share.Over {
			continue
		}
		lender, at := l.books.LenderOf(m)
		if lender == nil || !l.lends(lender, at) {
			return 0, false
		}
		within = min(within, lender.Job.Spec.Lend.Within)
	}
	return within, true
}

// settleBorrower notes by when a borrower has to give back what it has, if it may not stay.
func (l *Life) settleBorrower(rep *record.Replica) {
	p := rep.Idle.Get()
	if !rep.Holds() || rep.State == berth.ReplicaReleasing {
		return
	}
	if within, ok := l.stands(rep); ok && !rep.GivesBack() {
		p.Within, p.GiveBackBy = within, 0
		rep.Idle.Set(p)
		l.state.SetLendAt(rep, 0)
		return
	}
	if p.GiveBackBy == 0 {
		p.GiveBackBy = max(l.state.Now.Add(p.Within/2), 1) // 0 is none
	}
	if by := l.state.DrainOf(rep).By; by > l.state.Now {
		p.GiveBackBy = min(p.GiveBackBy, by)
	}
	if rep.Idle.Set(p); p.LendAt == 0 && !l.isGoneBy(rep, p.GiveBackBy) {
		l.state.SetLendAt(rep, max(l.state.Now, 1))
	}
}

// isGoneBy reports whether a borrower was asked for a checkpoint for another cause, with no more
// time than it has. If that request is withdrawn, it is looked at again.
func (l *Life) isGoneBy(rep *record.Replica, by berth.Time) bool {
	return rep.Asked() && rep.Order.Header().Deadline <= by
}

// LendingDue lends what was quiet for long enough, or has a borrower give back what it has.
func (l *Life) LendingDue(rep *record.Replica) {
	l.state.SetLendAt(rep, 0)
	if rep.Job.Spec.Lend != nil {
		p := rep.Idle.Get()
		p.Lent = true
		rep.Idle.Set(p)
		l.state.NoteLending(rep)
		return
	}
	by := rep.Idle.Get().GiveBackBy
	if !rep.Holds() || rep.State == berth.ReplicaReleasing || l.isGoneBy(rep, by) {
		return
	}
	end, limited := rep.RunsUntil()
	anew := rep.Asked() // for another cause, or with more time than there is
	if anew {
		rep.Leaves = false
		l.state.SetLimit(rep, 0) // else it would be asked for its last checkpoint now
		l.WithdrawRequest(rep)
	}
	cause := berth.Cause{Code: berth.CauseGivenBack, Detail: l.whyGivenBack(rep)}
	if rep.State != berth.ReplicaRunning || !rep.Job.Spec.Checkpoint.Supported || by <= l.state.Now {
		l.evict(rep, cause)
		return
	}
	rep.Leaves = true
	l.Stop(rep, cause, min(l.state.GraceOf(rep), by.Sub(l.state.Now)))
	if anew && limited { // its limit holds all the same
		l.state.SetLimit(rep, end)
	}
}

// whyGivenBack says what became of the first GPU that a borrower cannot keep.
func (l *Life) whyGivenBack(rep *record.Replica) string {
	for flat := range rep.Members {
		m := &rep.Members[flat]
		if !m.State.Holds() {
			continue
		}
		if drain := l.state.DrainOn(rep, m.Node); drain.Node != nil {
			return DrainCause(drain).Detail
		}
		if !m.Hold.Share.Over {
			continue
		}
		switch lender, at := l.books.LenderOf(m); {
		case lender == nil:
			return fmt.Sprintf("nobody holds the GPU on %s any more that it borrowed", m.Node.Spec.ID)
		case lender.Idle.Get().QuietSince == 0:
			return fmt.Sprintf("%v is busy, or not known to be quiet", lender.Ref())
		case !l.lends(lender, at):
			return fmt.Sprintf("%v has to leave", lender.Ref())
		}
	}
	return ""
}

// RestoreLending takes back since when replicas are quiet, and by when they have to give back, and
// lends what was lent.
func (l *Life) RestoreLending(noted []state.Noted) *berth.Error {
	if err := l.state.EachNoted(noted, func(rep *record.Replica, s *record.SavedReplica) *berth.Error {
		l.state.RestoreLendAt(rep)
		if field, why := l.lendingAmiss(rep); field != "" {
			return refusal.Of(berth.ErrInvalid, field, why)
		}
		l.state.NoteLending(rep)
		return nil
	}); err != nil {
		return err
	}
	l.SettleLoans()
	return nil
}

// lendingAmiss names what is noted of a replica that lends or borrows and cannot be so; empty: all
// of it can.
func (l *Life) lendingAmiss(rep *record.Replica) (field, why string) {
	p, due := rep.Idle.Get(), berth.Time(0)
	if p.QuietSince != 0 && !p.Lent {
		due = l.lendsFrom(p.QuietSince)
	}
	lends, holds := rep.Job.Spec.Lend != nil, rep.State != berth.ReplicaPending
	for _, c := range [...]struct {
		field string
		ok    bool
	}{
		{"activityReported", !p.Reported || holds},
		{"quietSince", p.QuietSince >= 0 && p.QuietSince <= max(l.state.Now, 1) && (p.QuietSince != 0) == (lends && isQuiet(rep, l.state.Config.Policy.Lending.QuietMilli))},
		{"lent", !p.Lent || p.QuietSince != 0 && l.lendsFrom(p.QuietSince) <= l.state.Now},
		{"borrowedWithin", p.Within >= 0 && p.Within <= limits.MaxSpan && (p.Within == 0 || rep.Job.Borrows() && holds)},
		{"giveBackBy", p.GiveBackBy >= 0 && p.GiveBackBy <= limits.MaxFuture && (p.GiveBackBy == 0 || rep.Job.Borrows() && holds)},
		{"lendAt", lends && p.LendAt == due || !lends && (p.LendAt == 0 || p.GiveBackBy != 0 && p.LendAt > 0 && p.LendAt <= max(l.state.Now, 1))},
	} {
		if !c.ok {
			return c.field, fmt.Sprintf("does not go with the rest: %+v, active %d, lends %t, borrows %t", p, rep.ActiveMilli, lends, rep.Job.Borrows())
		}
	}
	return "", ""
}

// CheckLending checks that what is lent is what is quiet, and that a borrower which may not stay is
// asked to go, is stopped, or is looked at.
func (l *Life) CheckLending() error {
	marks := map[*record.Node]uint64{}
	if l.state.Lending.Len() > 0 {
		return fmt.Errorf("%d replicas are yet to be looked at for what they lend or borrow", l.state.Lending.Len())
	}
	if err := l.state.EachReplica(func(rep *record.Replica) error {
		if field, why := l.lendingAmiss(rep); field != "" {
			return fmt.Errorf("its %s %s", field, why)
		}
		for flat := range rep.Members {
			m := &rep.Members[flat]
			if !m.State.Holds() {
				continue
			}
			lends := record.IsWhole(&m.Hold) && rep.Job.Spec.Lend != nil && l.lentMiB(rep, m) > 0
			if lends != (m.Lent != 0) {
				return fmt.Errorf("member %d lends: %v, and is not noted so", flat, lends)
			}
			if lends {
				marks[m.Node] |= m.Hold.GPUs
			}
		}
		if !rep.Job.Borrows() || !rep.Holds() || rep.State == berth.ReplicaReleasing {
			return nil
		}
		within, ok := l.stands(rep)
		ok = ok && !rep.GivesBack()
		switch p := rep.Idle.Get(); {
		case ok && (p.GiveBackBy != 0 || p.Within != within):
			return fmt.Errorf("it may stay, and has %+v", p)
		case !ok && (p.GiveBackBy == 0 || p.LendAt == 0 && !l.isGoneBy(rep, p.GiveBackBy)):
			return fmt.Errorf("it may not stay, and nobody looks at it: %+v", p)
		}
		return nil
	}); err != nil {
		return err
	}
	return l.state.EachNode(func(n *record.Node) error {
		if is := l.state.Fleet.Lent(n.Index); is != marks[n] {
			return fmt.Errorf("its GPUs %#x are lent, and %#x are marked", marks[n], is)
		}
		return nil
	})
}
