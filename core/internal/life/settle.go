package life

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-sched/berth"
	"github.com/berth-sched/berth/core/internal/agenda"
	"github.com/berth-sched/berth/core/internal/record"
	"github.com/berth-sched/berth/core/internal/state"
	"github.com/berth-sched/berth/core/internal/values"
	"github.com/berth-sched/berth/internal/limits"
)

// The life of a replica: from its placement over whatever befalls it to the end, or to the next
// life.

// Settle brings a replica that is not Pending into the state that its members
// call for, after any of them changed. It is the one place where that is
// decided. The cause is that of the Release, should it come to one.
func (l *Life) Settle(rep *record.Replica, cause berth.Cause) {
	if rep.State == berth.ReplicaRunning {
		l.noteStopped(rep)
	}
	switch left := rep.Left(); rep.Next(left) {
	case berth.ReplicaBinding: // its report decides
		rep.Release.Note().Cause = cause
	case berth.ReplicaRepairing:
		rep.Release.Note().Cause = cause
		l.become(rep, left)
		l.state.NoteTodo(rep, true)
	case berth.ReplicaRunning:
		if rep.Order == nil {
			lost := rep.Has(record.MemberLost)
			l.books.UnbookAll(rep, record.MemberLeft, record.MemberFailed, record.MemberLost)
			l.run(rep, left, l.state.Now)
			if lost && rep.State == berth.ReplicaRunning { // as it was being started
				l.noteLackOfSegments(rep)
			}
		} else {
			l.MayStay(rep) // those may be gone that had to leave
		}
		l.spareStandIn(rep)
	case berth.ReplicaReleasing:
		if rep.State != berth.ReplicaReleasing {
			l.TakeBack(rep, cause, false)
		} else if rep.Order == nil {
			l.state.NoteTodo(rep, true)
		}
	case berth.ReplicaPending:
		backoff := rep.State != berth.ReplicaReleasing || rep.Release.Get().Backoff
		if rep.State == berth.ReplicaReleasing {
			cause = rep.Release.Get().Cause
		}
		rep.CountRequeue(cause.Code)
		l.books.UnbookAll(rep, record.MemberLeft, record.MemberFailed, record.MemberLost)
		l.requeue(rep, backoff)
		if rep.IsStandIn() {
			l.partStandIn(rep, cause)
			l.Forget(rep)
		}
	case record.ReplicaGone:
		l.Forget(rep)
	}
}

// noteStopped notes of a gang that runs that members are gone which it was to stop, or that it has
// none that are to go.
func (l *Life) noteStopped(rep *record.Replica) {
	if rep.Has(record.MemberStopping) {
		return
	}
	if _, stops := rep.Order.(berth.Release); stops {
		l.state.CloseOrder(rep)
	}
	if rep.Beneficiary == nil && !rep.Leaves {
		l.state.NoteLeaving(rep, false)
	}
}

// Begin has a replica be in a life that the world has begun.
func (l *Life) Begin(rep *record.Replica, life berth.Incarnation) {
	rep.Incarnation, rep.Observed = life, true
}

// BeginNext has a replica that waited begin its next life with a Bind.
func (l *Life) BeginNext(rep *record.Replica) {
	retry := rep.Retry.Get()
	retry.Backfilled = rep.FillsGap()
	rep.Retry.Set(retry)
	rep.Incarnation = max(rep.Incarnation, rep.Incarnation+1) // the highest that there is stays, as 0 is none
	rep.Observed = false
	l.AwaitBind(rep)
}

// become puts a replica in the state after a signal.
func (l *Life) become(rep *record.Replica, on record.ReplicaSignal) {
	l.States[rep.State]--
	rep.Become(on)
	l.States[rep.State]++
	l.state.NoteLending(rep)
}

// AwaitBind has a replica wait for the report of a Bind.
func (l *Life) AwaitBind(rep *record.Replica) { l.become(rep, record.ReplicaBound) }

// Resume notes whether the next life of a replica goes on in a place that was kept for it.
func (l *Life) Resume(rep *record.Replica, resumed bool) { rep.Resumed = resumed }

// Observe has a replica run that the world has started, since an instant.
func (l *Life) Observe(rep *record.Replica, since berth.Time) {
	l.run(rep, record.ReplicaObserved, since)
}

// run makes a replica Running, or keeps it so, and sees to what it is short of. If it has
// just begun to run, that was at an instant.
func (l *Life) run(rep *record.Replica, on record.ReplicaSignal, since berth.Time) {
	if rep.State != berth.ReplicaRunning {
		if rep.Resumed {
			rep.Resumed = false
		} else {
			rep.CameAt = since
		}
		l.become(rep, on)
		rep.Started, rep.FailedBids = since, 0
		l.awaitLimit(rep)
		l.weighIdleness(rep)
		retry := rep.Retry.Get()
		retry.LostHardware, retry.Attempts, retry.Repairs, retry.Avoid = false, 0, 0, nil
		rep.Retry.Set(retry)
		l.state.SetEnd(rep, l.state.EndIfPlaced(rep))
		l.noteRunning(rep, true)
		l.state.Totals.ReplicasStarted++
		l.agenda.Stir(l.state.Now)
	}
	l.agenda.Relook(l.state.Now)            // it may have to leave a node that is being drained
	l.state.NoteTodo(rep, rep.NeedsOrder()) // those it was to stop may be gone
	if !rep.Has(record.MemberStopping) {
		l.backlog.Unawait(rep) // what it is short of may have changed
		l.backlog.Await(rep)
	}
	if rep.IsStandIn() { // until it runs
		l.relieve(rep)
	}
}

// awaitLimit has the time limit of a gang that has begun to run looked at: in time for a last
// checkpoint, if it writes any. That time is what a checkpoint takes, or half of the limit at the
// most where the job does not tell, and never more than the grace of the policy: while the request
// is out the gang is no victim, and a submitter could keep it so.
func (l *Life) awaitLimit(rep *record.Replica) {
	at, limited := rep.RunsUntil()
	if !limited {
		return
	}
	if c := &rep.Job.Spec.Checkpoint; c.Supported {
		at = at.Add(-min(cmp.Or(c.Cost, rep.Job.Spec.MaxRuntime/2), l.state.GraceOf(rep)))
	}
	l.state.SetLimit(rep, max(at, 1)) // 0 is none
}

// noteRunning enters a replica among those of its queue that run, or takes it out.
func (l *Life) noteRunning(rep *record.Replica, runs bool) {
	change := 1
	if runs {
		l.books.Enter(rep)
	} else {
		l.books.Exit(rep)
		change = -1
		if rep.Beneficiary == nil {
			l.books.Queues[rep.Job.Queue].DropFloor()
		}
	}
	l.state.NoteChangedBy(record.Piece{Rep: rep})
	if rep.Job.IsElastic() {
		l.Stretching += change
	}
}

// NoteLeaving enters a gang among those that are on their way out. Limits that hold others back
// count such a gang as gone where queues keep what they do not use: see Backlog.Affords.
func (l *Life) NoteLeaving(rep *record.Replica) {
	l.state.NoteLeaving(rep, true)
	if l.books.Keeping > 0 {
		l.agenda.FreedQuota()
	}
}

// TakeBack starts to stop everything that a replica still holds. gone says that
// it shall not come back.
func (l *Life) TakeBack(rep *record.Replica, cause berth.Cause, gone bool) {
	if gone = gone || rep.IsStandIn(); gone {
		l.partStandIn(rep, cause)
		rep.Release.Note().Gone = true
	}
	if rep.Release.Get().Gone {
		l.backlog.EndMove(rep)
	}
	switch rep.State {
	case berth.ReplicaReleasing:
		return // its Release goes on; only the end of it may have changed
	case berth.ReplicaPending:
		if gone {
			l.Forget(rep)
		}
		return
	}
	l.withdraw(rep)
	release := rep.Release.Note()
	release.Cause, release.Attempt = cause, 0
	l.books.UnbookAll(rep, record.MemberLeft, record.MemberFailed, record.MemberLost)
	for flat := range rep.Members {
		if rep.Members[flat].State.Holds() {
			rep.Members[flat].Become(record.MemberStopped)
		}
	}
	retry := rep.Retry.Get()
	if rep.State == berth.ReplicaRunning {
		l.noteRunning(rep, false)
		if !l.justStarted(rep) {
			retry.Crashes = 0
		}
	}
	if cause.Code != berth.CauseMemberFailed {
		retry.Stood = nil
	}
	retry.LostHardware, retry.LostOfSegments = retry.LostHardware || cause.Code == berth.CauseDrained, false
	rep.Retry.Set(retry)
	l.become(rep, record.ReplicaStopped)
	l.state.SetLimit(rep, 0)
	l.weighIdleness(rep)
	rep.Leaves = false
	l.NoteLeaving(rep)
	l.agenda.Relook(l.state.Now) // what it leaves may be a place for others
	l.state.SetEnd(rep, l.state.Now.Add(l.state.Config.Policy.ReleaseTimeout))
	l.Settle(rep, cause)
	if rep.Resumes() { // somebody is left to be stopped first
		l.agenda.MoveBy(l.state.Now)
	}
}

// withdraw ends the order that is out, and the wait for a place, without
// touching the members.
func (l *Life) withdraw(rep *record.Replica) {
	l.state.CloseOrder(rep)
	waits := rep.Entries != nil
	if l.backlog.Unawait(rep); waits {
		l.agenda.Reshare(l.state.Now)
	}
	l.endBackoff(rep)
	l.state.NoteTodo(rep, false)
}

// LeavePending ends what is due only while the replica is pending.
func (l *Life) LeavePending(rep *record.Replica) {
	if at, limited := rep.DropAt(); limited && rep.State == berth.ReplicaPending {
		l.state.StopTimer(record.Timer{At: at, Kind: record.TimerGang, Rep: rep})
	}
}

// requeue makes a replica that holds nothing Pending again.
func (l *Life) requeue(rep *record.Replica, backoff bool) {
	l.withdraw(rep)
	l.holdsNothing(rep)
	rep.Members, rep.Resumed = nil, false
	retry := rep.Retry.Get()
	retry.Repairs, retry.LostOfSegments = 0, false
	rep.Retry.Set(retry)
	rep.Release.Set(record.ReleasePart{})
	if backoff {
		l.BackOff(rep)
	}
	l.become(rep, record.ReplicaVacant)
	l.Pend(rep)
	if backoff {
		l.keepPlace(rep)
	}
}

// PendBatch makes a replica Pending that has just come, and so many behind it, of the numbers
// after its own.
func (l *Life) PendBatch(rep *record.Replica, behind int) {
	l.Pend(rep)
	if behind > 0 {
		l.state.NewBatch(rep, behind)
		l.backlog.AwaitBatch(rep)
	}
}

// Pend has a replica that is Pending wait as of now.
func (l *Life) Pend(rep *record.Replica) {
	rep.PendingSince = l.state.Now
	if rep.Job.Gate != nil {
		l.enterGate(rep.Job)
		return
	}
	if at, limited := rep.DropAt(); limited {
		l.state.SetTimer(record.Timer{At: at, Kind: record.TimerGang, Rep: rep})
	}
	l.backlog.Await(rep)
}

// holdsNothing ends what a replica has while it holds something.
func (l *Life) holdsNothing(rep *record.Replica) {
	if rep.EndsAt == 0 && rep.State != berth.ReplicaPending {
		l.agenda.Grew(l.state.Now) // no plan has imagined that
	}
	l.state.SetEnd(rep, agenda.Never)
	l.vacated(rep)
	rep.ActiveMilli = 0
	l.state.SetLendAt(rep, 0)
	l.state.SetIdleAt(rep, 0)
	rep.Idle.Set(record.IdlePart{})
	rep.ForgetSurge()
	retry := rep.Retry.Get()
	retry.Backfilled = false
	rep.Retry.Set(retry)
	if l.backlog.Due.Stalled(rep) {
		rep.ForgetStall()
		l.agenda.EndStall()
	}
	if l.backlog.Due.CannotPlan(rep) {
		rep.ForgetDespair()
		l.agenda.EndDespair()
	}
	if rep.Exclusive != nil {
		l.backlog.EndReservation(rep.Exclusive)
	}
}

// Forget removes a replica that holds nothing, and its job with the last one. Its stand-in stays in
// its place.
func (l *Life) Forget(rep *record.Replica) {
	if other := rep.Relocation.Get().StandIn; other != nil {
		other.StandsInNoMore()
	}
	l.withdraw(rep)
	l.holdsNothing(rep)
	l.backlog.EndMove(rep)
	l.LeavePending(rep)
	l.leavesRoom()
	j := rep.Job
	if j.Spec.Service == nil {
		l.endAtGates(j)
	}
	j.Former = max(j.Former, rep.Incarnation)
	l.States[rep.State]--
	rep.Become(record.ReplicaEnded)
	l.state.RemoveReplica(rep)
	if j.Live == 0 && (j.Cancelled || j.Spec.Service == nil) {
		l.ForgetJob(j)
	}
}

// leavesRoom has stand-ins looked for anew as replicas are forgotten of as many as there may be.
func (l *Life) leavesRoom() {
	if l.state.Replicas >= l.state.Config.Limits.Replicas {
		l.agenda.Relook(l.state.Now)
	}
}

// ForgetBatch removes the replicas of a batch from a number on.
func (l *Life) ForgetBatch(t *record.Batch, from int) {
	t.Job.Former = max(t.Job.Former, t.Incarnation)
	l.leavesRoom()
	l.backlog.CutBatch(t, from)
	l.agenda.Reshare(l.state.Now)
}

// ForgetJob removes a job without replicas.
func (l *Life) ForgetJob(j *record.Job) {
	for option := range j.Pattern.Many() {
		l.backlog.DropShape(j.Pattern.Option(option).Shape)
	}
	l.books.Dismiss(j)
}

// SettleAll settles replicas that were hit by one thing, in the order of the list. Those that
// lost hardware may be placed on spares from then on.
func (l *Life) SettleAll(hit []*record.Replica, cause berth.Cause) {
	for _, rep := range hit {
		if cause.Code == berth.CauseHardwareLost {
			rep.NoteHardwareLoss()
		}
		l.Settle(rep, cause)
		if rep.State == berth.ReplicaRunning { // enough of it is left
			retry := rep.Retry.Get()
			retry.LostHardware = false
			rep.Retry.Set(retry)
		}
	}
	if cause.Code != berth.CauseHardwareLost {
		return
	}
	for _, q := range l.books.Queues {
		if q != nil {
			q.Elastic.Ascend(func(rep *record.Replica) bool {
				l.noteLackOfSegments(rep)
				return true
			})
		}
	}
}

// noteLackOfSegments has the next pass look whether the segments of a gang that runs can be whole
// again, where they lack members: hardware is lost that the gang had, or may have counted on.
func (l *Life) noteLackOfSegments(rep *record.Replica) {
	if !rep.LacksOfSegments() {
		return
	}
	rep.Retry.Note().LostOfSegments = true
	if rep.NeedsOrder() {
		l.state.NoteTodo(rep, true)
	}
}

// DrainsAnew looks anew at the gangs on the nodes of a reservation that has begun to clear them,
// has changed or is over: some go on, and others are asked anew.
func (l *Life) DrainsAnew(res *record.Reservation) {
	if res.Draining {
		l.agenda.Relook(l.state.Now)
		l.DrainAnew(res.Nodes...)
		l.SpareStandIns(res.Nodes...)
	}
}

// DrainAnew looks anew at the gangs on nodes that are drained or cleared, or are so no longer; at
// each once, as that takes as long as it has members.
func (l *Life) DrainAnew(nodes ...*record.Node) {
	var list []*record.Replica
	for _, n := range nodes {
		for _, at := range n.Members {
			list = append(list, at.Rep)
		}
	}
	slices.SortFunc(list, record.CompareReplicas)
	for _, rep := range slices.Compact(list) {
		l.state.NoteLending(rep)
		l.hasten(rep)
		l.MayStay(rep)
	}
}

// MayStay has a gang go on where it is that was asked to leave, if nothing of it is on a node
// any more that it has to leave.
func (l *Life) MayStay(rep *record.Replica) {
	if l.state.DrainOf(rep).Node == nil {
		l.Stay(rep)
	}
}

// hasten has a gang be asked anew that was asked to leave by an instant after that by which it
// has to be gone now: the next pass takes the request back and gives one with less time.
func (l *Life) hasten(rep *record.Replica) {
	if by := l.state.DrainOf(rep).By; rep.Leaves && !rep.GivesBack() && by > l.state.Now && rep.Order.Header().Deadline > by {
		if rep.Overruns() {
			l.state.SetLimit(rep, l.state.Now)
		}
		l.stay(rep)
	}
}

// Stay has a gang go on where it is that was asked to leave, unless it is to be stopped anyway.
func (l *Life) Stay(rep *record.Replica) {
	if !rep.Stops() {
		l.stay(rep)
	}
}

func (l *Life) stay(rep *record.Replica) {
	if rep.Leaves {
		l.unask(rep)
		l.backlog.Remain(rep)
	}
}

// unask notes that a gang has to leave no more.
func (l *Life) unask(rep *record.Replica) {
	rep.Leaves = false
	l.awaitIdle(rep)
}

// vacated notes that a replica holds nothing any more, or is no victim any more.
func (l *Life) vacated(rep *record.Replica) {
	if beneficiary := rep.Beneficiary; beneficiary != nil {
		rep.Beneficiary = nil
		rep.NoLongerVictimOf(beneficiary)
	}
	l.state.NoteLeaving(rep, false)
}

// relieve has a replica go, as its stand-in runs; or the stand-in, if it is not needed any more.
func (l *Life) relieve(standIn *record.Replica) {
	rep := standIn.Relocation.Get().Instead
	standIn.StandsInNoMore()
	rep.ForgetSurge()
	drain := l.state.DrainOf(rep)
	if rep.Stands() && drain.Node == nil {
		l.TakeBack(standIn, needless(rep), true)
		return
	}
	cause := berth.Cause{Code: berth.CauseSurge, Detail: fmt.Sprintf("%v runs in its place", standIn.Ref())}
	if rep.State == berth.ReplicaRunning && drain.Node != nil {
		cause.Detail = values.Detail(cause.Detail, DrainCause(drain).Detail)
	}
	l.TakeBack(rep, cause, true)
}

// needless is why a stand-in goes that is not needed any more.
func needless(rep *record.Replica) berth.Cause {
	return berth.Cause{Code: berth.CauseSurge, Detail: fmt.Sprintf("%v need not leave any more", rep.Ref())}
}

// SpareStandIns looks for stand-ins that are not needed any more, of what is on nodes that are
// drained or cleared no longer.
func (l *Life) SpareStandIns(nodes ...*record.Node) {
	var list []*record.Replica
	for _, n := range nodes {
		for _, at := range n.Members {
			if at.Rep.Relocation.Get().StandIn != nil {
				list = append(list, at.Rep)
			}
		}
	}
	slices.SortFunc(list, record.CompareReplicas)
	for _, rep := range list {
		l.spareStandIn(rep)
	}
}

// spareStandIn has the stand-in of a replica go that need not leave any more.
func (l *Life) spareStandIn(rep *record.Replica) {
	if other := rep.Relocation.Get().StandIn; other != nil && rep.Stands() && l.state.DrainOf(rep).Node == nil {
		l.TakeBack(other, needless(rep), true)
	}
}

// partStandIn sees to a replica that goes for good, as far as it is a stand-in, or has one. A
// stand-in that came to nothing is tried again after a backoff. The stand-in of a replica goes with
// it.
func (l *Life) partStandIn(rep *record.Replica, cause berth.Cause) {
	surge := rep.Relocation.Get()
	if surge.Instead != nil {
		switch rep.StandsInNoMore(); cause.Code {
		case berth.CauseSurge, berth.CauseScaledDown, berth.CauseCancelled:
		default:
			l.awaitStandIn(surge.Instead, rep.Retry.Get().Avoid)
		}
		l.agenda.Relook(l.state.Now)
	}
	if surge.StandIn != nil {
		surge.StandIn.StandsInNoMore()
		l.TakeBack(surge.StandIn, cause, true)
	}
}

// awaitStandIn has the next stand-in of a replica wait, longer each time, and keep off some nodes.
func (l *Life) awaitStandIn(rep *record.Replica, shunned []berth.NodeID) {
	surge := rep.Relocation.Note()
	surge.At = l.state.Now.Add(l.backoff(surge.FailedStarts))
	surge.FailedStarts = min(surge.FailedStarts+1, limits.MaxAttempts)
	surge.Shunned = slices.Clone(shunned)
	l.agenda.MoveBy(surge.At)
}

// DrainCause is why a gang has to leave a node.
func DrainCause(d state.Drain) berth.Cause {
	what, reason := " is being drained", d.Node.Reason
	if d.For != nil {
		what, reason = " is cleared for reservation "+string(d.For.Advance.ID), d.For.Advance.Reason
	}
	return berth.Cause{Code: berth.CauseDrained, Detail: values.Detail("node "+string(d.Node.Spec.ID)+what, reason)}
}
