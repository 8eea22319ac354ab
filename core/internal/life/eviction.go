package life

import (
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/refusal"
	"github.com/berth-sched/berth/core/internal/values"
)

// How a victim is evicted: it is asked for a checkpoint, if it writes any, then stopped.

// Ask begins the eviction of a part of a replica.
func (l *Life) Ask(p record.Piece, rep *record.Replica) {
	victim := p.Rep
	cause := berth.Cause{Code: berth.CausePreempted, Beneficiary: rep.Ref()}
	if victim.Job.Queue != rep.Job.Queue {
		cause.Code = berth.CauseReclaimed
		cause.Detail = "queue " + string(rep.Job.Spec.Queue)
	}
	if !p.Whole() {
		l.shrink(p, rep, cause)
		return
	}
	victim.Beneficiary = rep
	l.Stop(victim, cause, l.state.GraceOf(victim))
}

// Stop stops a gang that runs: after it has written a checkpoint, or the time for that is
// over, if it writes any.
func (l *Life) Stop(rep *record.Replica, cause berth.Cause, grace berth.Duration) {
	l.NoteLeaving(rep)
	l.agenda.Relook(l.state.Now) // what it leaves may be a place for others
	if !rep.Job.Spec.Checkpoint.Supported {
		l.evict(rep, cause)
		return
	}
	l.backlog.Unawait(rep)
	rep.Order = berth.RequestCheckpoint{
		OrderHeader: l.state.Order(rep, grace, cause),
		Members:     l.state.Placements(rep, record.MemberRunning),
	}
	l.state.OpenOrder(rep)
	l.state.Totals.CheckpointsRequested++
}

// shrink stops members of a gang for another, or for none; the rest of it goes on. One Release may
// stop some for several others: its cause is that of the first.
func (l *Life) shrink(p record.Piece, rep *record.Replica, cause berth.Cause) {
	victim := p.Rep
	l.NoteLeaving(victim)
	if !victim.Has(record.MemberStopping) {
		l.backlog.Unawait(victim)
		release := victim.Release.Note()
		release.Cause, release.Attempt = cause, 0
		l.state.NoteTodo(victim, true)
		l.state.Totals.ReplicasShrunk++
	}
	for _, flat := range p.Flats {
		m := &victim.Members[flat]
		m.Become(record.MemberStopped)
		m.Beneficiary = rep
	}
}

// DescribeStops fills in the members of a Release and, if the gang continues, its remaining size
// and the beneficiaries of its surplus.
func (l *Life) DescribeStops(rep *record.Replica, r berth.Release) berth.Release {
	r.Members, r.Remaining, r.SurplusEvictions = l.state.Placements(rep, record.MemberStopping), nil, nil
	if rep.State != berth.ReplicaRunning {
		return r
	}
	for g := range rep.Job.Spec.Groups {
		r.Remaining = append(r.Remaining, berth.GroupSize{Group: rep.Job.Spec.Groups[g].Name, Members: rep.Count(g, record.MemberRunning)})
	}
	for i := range r.Members {
		ref := r.Members[i].Ref()
		to := rep.Members[rep.Job.Flat(ref)].Beneficiary
		if to == nil {
			continue
		}
		at := slices.IndexFunc(r.SurplusEvictions, func(y berth.SurplusEviction) bool { return y.Beneficiary == to.Ref() })
		if at < 0 {
			at = len(r.SurplusEvictions)
			r.SurplusEvictions = append(r.SurplusEvictions, berth.SurplusEviction{Beneficiary: to.Ref()})
		}
		r.SurplusEvictions[at].Members = append(r.SurplusEvictions[at].Members, ref)
	}
	slices.SortStableFunc(r.SurplusEvictions, func(a, b berth.SurplusEviction) int {
		return values.CompareBool(a.Beneficiary != r.Cause.Beneficiary, b.Beneficiary != r.Cause.Beneficiary)
	})
	return r
}

// evict stops a replica that has to go.
func (l *Life) evict(victim *record.Replica, cause berth.Cause) {
	switch cause.Code {
	case berth.CauseMaxRuntime:
		l.overrun(victim, cause)
		return
	case berth.CauseIdle:
		l.state.Totals.JobsIdle++
		l.endJob(victim, cause)
		return
	case berth.CauseGivenBack:
		l.state.Totals.ReplicasGivenBack++
		l.TakeBack(victim, cause, false)
		return
	case berth.CauseOverLimit:
		l.state.Totals.ReplicasOverLimit++
		l.TakeBack(victim, cause, false)
		return
	case berth.CauseBudget:
		l.state.Totals.ReplicasOutOfBudget++
		l.TakeBack(victim, cause, false)
		return
	}
	l.state.Totals.ReplicasEvicted++
	if victim.Beneficiary != nil {
		l.noteEviction(victim, cause.Code)
	}
	l.TakeBack(victim, cause, false)
}

// CheckpointReported handles the answer of a replica that was asked for a checkpoint.
func (l *Life) CheckpointReported(rep *record.Replica, e *berth.OrderReported) *berth.Error {
	if e.Outcome != berth.OutcomeDone && e.Outcome != berth.OutcomeFailed || len(e.Members) > 0 {
		return refusal.Of(berth.ErrInvalid, "outcome", fmt.Sprintf("a checkpoint is done or has failed, as a whole; not %s with %d members", e.Outcome, len(e.Members)))
	}
	if e.Outcome == berth.OutcomeDone {
		rep.Eviction.Note().Checkpointed = l.state.Now
		l.state.NoteChangedBy(record.Piece{Rep: rep})
	}
	cause := rep.Order.Header().Cause
	if e.Outcome == berth.OutcomeFailed {
		cause.Detail += Separator(cause.Detail) + values.Detail("it wrote no checkpoint", e.Reason)
	}
	l.state.CloseOrder(rep)
	l.Answered(rep, cause)
	return nil
}

// Answered has a replica go that was asked for a checkpoint and need not be waited for any
// longer; or go on, if nobody needs its place by now.
func (l *Life) Answered(rep *record.Replica, cause berth.Cause) {
	if rep.Beneficiary != nil || rep.Leaves {
		l.evict(rep, cause)
		return
	}
	l.state.NoteTodo(rep, rep.NeedsOrder())
	l.backlog.Await(rep)
	l.agenda.Relook(l.state.Now) // it may have to leave a node that is being drained
}

// GiveUpBroken has a gang that has lost hardware give up what it holds of segments that can never
// be whole again where they are: to its job those members are of no use, and to others they are.
// The gang goes on with its whole segments, and grows by whole ones. Where these are fewer than its
// minimum it is taken back, as if the members had been lost.
func (l *Life) GiveUpBroken(rep *record.Replica) {
	retry := rep.Retry.Get()
	retry.LostOfSegments = false
	rep.Retry.Set(retry)
	broken := l.state.BrokenForGood(rep)
	if len(broken) == 0 {
		return
	}
	cause := berth.Cause{Code: berth.CauseHardwareLost, Detail: "its segment cannot be whole again"}
	gone := make([]int, len(rep.Job.Spec.Groups))
	for _, flat := range broken {
		gone[rep.Job.Group(flat)]++
	}
	for g := range gone {
		if rep.Count(g, record.MemberRunning)-gone[g] < record.Least(&rep.Job.Spec.Groups[g]) {
			rep.NoteHardwareLoss()
			l.TakeBack(rep, cause, false)
			return
		}
	}
	l.shrink(record.Piece{Rep: rep, Flats: broken}, nil, cause)
}

// LimitDue asks a gang for its last checkpoint, or stops it at its time limit. A gang with an order
// out, or with members to stop, is asked once that is over, and stopped at its limit in any case.
func (l *Life) LimitDue(rep *record.Replica) {
	by, _ := rep.RunsUntil()
	cause := berth.Cause{Code: berth.CauseMaxRuntime, Detail: "it may run for " + rep.Job.Spec.MaxRuntime.String()}
	switch {
	case !rep.MayMove() && rep.LimitAt() < by: // what falls due before that comes first
		l.state.SetLimit(rep, by)
	case by <= l.state.Now:
		l.overrun(rep, cause)
	default:
		if drained := l.state.DrainOf(rep).By; drained > l.state.Now {
			by = min(by, drained)
		}
		l.state.SetLimit(rep, 0)
		rep.Leaves = true
		l.Stop(rep, cause, by.Sub(l.state.Now))
	}
}

// overrun stops a gang at its time limit.
func (l *Life) overrun(rep *record.Replica, cause berth.Cause) {
	l.state.Totals.JobsOverrun++
	l.state.LearnFrom(rep)
	l.endJob(rep, cause)
}

// endJob stops the gang of a job that shall not come back.
func (l *Life) endJob(rep *record.Replica, cause berth.Cause) {
	rep.Job.Cancelled = true
	l.TakeBack(rep, cause, true)
}

// WithdrawRequest tells a replica that it need not go.
func (l *Life) WithdrawRequest(rep *record.Replica) {
	request := rep.Order.Header().ID
	l.state.CloseOrder(rep)
	l.state.Emit(berth.Withdraw{OrderHeader: l.state.Order(rep, 0, berth.Cause{Code: berth.CauseNotNeeded}), Request: request})
	l.state.Totals.RequestsWithdrawn++
	l.state.NoteTodo(rep, rep.NeedsOrder())
	l.backlog.Await(rep)
	l.agenda.Relook(l.state.Now) // it may have to leave a node that is being drained
	if rep.LimitAt() != 0 && rep.LimitAt() <= l.state.Now {
		l.LimitDue(rep)
	}
}

// What is known of the checkpoints that jobs write by themselves.

// CheckpointWritten notes when a replica wrote its last checkpoint.
func (l *Life) CheckpointWritten(e berth.CheckpointWritten) *berth.Error {
	rep, err := l.books.KnownLife(e.Job, e.Replica, e.Incarnation)
	if err != nil {
		return err
	}
	switch {
	case rep.State == berth.ReplicaReleasing:
		return refusal.Of(berth.ErrStale, "incarnation", "the gang is being released")
	case rep.State != berth.ReplicaRunning:
		return refusal.Of(berth.ErrConflict, "incarnation", fmt.Sprintf("the gang is %s, and not known to run", rep.State))
	}
	at := e.At
	if at == 0 {
		at = l.state.Now
	}
	if at < rep.Started || at > l.state.Now {
		return refusal.Of(berth.ErrInvalid, "at", fmt.Sprintf("%d is outside %d..%d, from the start of the incarnation until now", at, rep.Started, l.state.Now))
	}
	eviction := rep.Eviction.Note()
	eviction.Checkpointed, eviction.Tells = max(eviction.Checkpointed, at), true
	l.state.NoteChangedBy(record.Piece{Rep: rep})
	if !rep.Job.Spec.Checkpoint.Supported { // less is lost with it now
		l.agenda.Stir(l.state.Now)
	}
	return nil
}

// Separator is what stands between a text and one more clause: nothing after an empty text.
func Separator(text string) string {
	if text == "" {
		return ""
	}
	return "; "
}

// Depart has a gang leave where it is on its own account, by an instant if that is yet to
// come: 0 is none.
func (l *Life) Depart(rep *record.Replica, cause berth.Cause, by berth.Time) {
	grace := l.state.GraceOf(rep)
	if by > l.state.Now {
		grace = min(grace, by.Sub(l.state.Now))
	}
	rep.Leaves = rep.Job.Spec.Checkpoint.Supported
	l.Stop(rep, cause, grace)
}
